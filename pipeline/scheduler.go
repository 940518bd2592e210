package pipeline

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Reason is why a task was not started.
type Reason string

const (
	FailFast   Reason = "fail_fast"  // another task failed first
	Dependency Reason = "dependency" // a task it waits for, directly or not, did not pass
	Signal     Reason = "signal"     // the walk was cancelled
)

// An End is how one task ended in a walk.
type End struct {
	Task      *Task
	Started   bool
	Err       error  // what Do returned; nil when not started
	Reason    Reason // why it was not started; empty when it was
	BlockedBy string // the task that failed and is to blame, when there is one; never one that was only skipped
}

// A Blocked is the error of Do for a task that it did not start, because another one that had passed has failed since.
type Blocked struct {
	By     string // that task
	Reason Reason // Dependency | FailFast
}

func (b *Blocked) Error() string { return fmt.Sprintf("task %q has failed", ShownName(b.By)) }

// A Scheduler walks a Graph. All the state of the walk belongs to the goroutine that called Walk.
type Scheduler struct {
	Parallel  int                                      // tasks at a time; below 1 means 1
	KeepGoing bool                                     // after a failure, what does not depend on it goes on
	Do        func(ctx context.Context, t *Task) error // an error means: did not pass, or with a *Blocked: did not start
	// called with each task that is not started, as soon as that is known; may be nil
	Skip func(End)
}

// Walk runs every task of g after what it depends on. After the first failure nothing new starts, and what runs is
// allowed to finish; with KeepGoing only what waits for the failed task, directly or not, is skipped. Of several
// failed tasks that one waits for, the first to fail is BlockedBy; Skip is called at that time. When ctx ends nothing
// new starts in either case; Do gets the same ctx and must end its task. Ready tasks start in the order of g.Tasks(),
// and so are the Ends. Skip is called by the goroutine that called Walk, in that order too for what one failure
// skips.
func (s Scheduler) Walk(ctx context.Context, g *Graph) []End {
	w := begin(g)
	finished := make(chan finish)
	cancelled := ctx.Done()
	running := 0
	for {
		if !w.stopped && ctx.Err() != nil {
			w.stop(s.Skip, func(int) (Reason, string) { return Signal, "" })
		}
		for !w.stopped && w.ready.Len() > 0 && running < max(s.Parallel, 1) {
			i := w.next()
			running++
			t := w.ends[i].Task
			go func() { finished <- finish{i, s.Do(ctx, t)} }()
		}
		if running == 0 {
			return w.ends
		}
		select {
		case f := <-finished:
			running--
			guilty := w.ends[f.at].Task.Name
			var blocked *Blocked
			if errors.As(f.err, &blocked) {
				w.ends[f.at].Started, guilty = false, blocked.By
				w.giveUp(f.at, blocked.Reason, guilty, s.Skip)
			} else {
				w.ends[f.at].Err = f.err
			}
			switch {
			case f.err == nil:
				w.release(f.at)
			case ctx.Err() != nil || w.stopped: // a task that was cancelled is nobody's fault
			case blocked != nil && blocked.Reason == FailFast:
				w.stop(s.Skip, func(int) (Reason, string) { return FailFast, guilty })
			case s.KeepGoing:
				w.leaveOut(f.at, guilty, s.Skip)
			default:
				w.fail(f.at, guilty, s.Skip)
			}
		case <-cancelled:
			cancelled = nil
		}
	}
}

// A finish is the one message a running task sends.
type finish struct {
	at  int
	err error
}

// A walk is the state of Walk. Tasks are identified by their index in g.Tasks().
type walk struct {
	ends       []End
	waits      []int   // how many dependencies have not passed yet
	dependents [][]int // who waits for this one
	ready      places  // may start now: a heap, so that a wide graph costs no more a task than a narrow one
	stopped    bool    // nothing new starts
}

func begin(g *Graph) *walk {
	n := len(g.tasks)
	w := &walk{ends: make([]End, n), waits: make([]int, n), dependents: make([][]int, n)}
	at := make(map[string]int, n)
	for i, t := range g.tasks {
		w.ends[i].Task = t
		at[t.Name] = i
	}
	for i, t := range g.tasks {
		w.waits[i] = len(g.deps[t.Name])
		for _, d := range g.deps[t.Name] {
			w.dependents[at[d]] = append(w.dependents[at[d]], i)
		}
		if w.waits[i] == 0 {
			w.ready = append(w.ready, i) // ascending, so a heap already
		}
	}
	return w
}

// next removes the task to start now from the ready ones.
func (w *walk) next() int {
	i := heap.Pop(&w.ready).(int)
	w.ends[i].Started = true
	return i
}

// release makes what waited only for a task that has passed ready.
func (w *walk) release(passed int) {
	for _, i := range w.dependents[passed] {
		if w.waits[i]--; w.waits[i] == 0 {
			heap.Push(&w.ready, i)
		}
	}
}

// fail stops the walk after the first failure. Whatever waits for the failed task, directly or not, is skipped
// because of its dependency, the rest because of fail-fast. Both are blocked by the guilty task, mostly itself, as
// nothing starts after it.
func (w *walk) fail(at int, guilty string, skip func(End)) {
	below := w.below(at)
	w.stop(skip, func(i int) (Reason, string) {
		if _, found := slices.BinarySearch(below, i); found {
			return Dependency, guilty
		}
		return FailFast, guilty
	})
}

// leaveOut skips what waits for a task that failed. None of it is ready or running.
func (w *walk) leaveOut(at int, guilty string, skip func(End)) {
	for _, i := range w.below(at) {
		w.giveUp(i, Dependency, guilty, skip)
	}
}

// below lists, ascending, what waits for a task, directly or not, without what is skipped already and all that waits
// for that: so all the failures of a walk together visit each edge once.
func (w *walk) below(at int) []int {
	seen := map[int]bool{at: true}
	var all []int
	for todo := []int{at}; len(todo) > 0; todo = todo[1:] {
		for _, i := range w.dependents[todo[0]] {
			if !seen[i] && w.ends[i].Reason == "" {
				seen[i] = true
				all = append(all, i)
				todo = append(todo, i)
			}
		}
	}
	slices.Sort(all)
	return all
}

// stop ends the walk: nothing new starts, and each task that has not started is skipped with the reason that why
// returns.
func (w *walk) stop(skip func(End), why func(int) (Reason, string)) {
	w.stopped = true
	for i := range w.ends {
		if e := &w.ends[i]; !e.Started && e.Reason == "" {
			reason, by := why(i)
			w.giveUp(i, reason, by, skip)
		}
	}
}

func (w *walk) giveUp(i int, why Reason, by string, skip func(End)) {
	e := &w.ends[i]
	e.Reason, e.BlockedBy = why, by
	if skip != nil {
		skip(*e)
	}
}
