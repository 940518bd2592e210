// Package run carries out a graph: environment → process → record.
package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// An Observer is told what happens, in order, one call at a time. Nil funcs are not called. A call that takes long holds
// up the tasks.
type Observer struct {
	Started  func(t *pipeline.Task)
	Output   func(t *pipeline.Task, chunk []byte)               // redacted; any bytes, not always whole lines; not to be kept
	Retried  func(t *pipeline.Task, attempt int, r record.Task) // which attempt comes next, from 2, and how those before it ended
	Finished func(t *pipeline.Task, r record.Task)              // also of a task that was not started (record.Skipped)
}

// A Runner carries out graphs. It is safe for concurrent use.
type Runner struct {
	Config    *pipeline.Config
	Environ   []string // the person's environment, KEY=VALUE
	Redact    *redact.Set
	Parallel  int  // below 1: Config.Concurrency, else the number of CPUs
	KeepGoing bool // after a failure, tasks that do not depend on it go on
	Observer  Observer

	once   sync.Once
	person *person // Environ, taken apart
}

// errNotPassed tells the scheduler that a task did not pass; the record says why.
var errNotPassed = errors.New("did not pass")

// Run carries out g and records every task in d: fail-fast with drain, or KeepGoing. It gives the tasks in g's order; sealing is the
// caller's. ctx's end cancels what runs. An error means that something could not be recorded; the tasks are given all the
// same, and those that could not be recorded any more were not started.
func (r *Runner) Run(ctx context.Context, g *pipeline.Graph, d *record.Draft) ([]record.Task, error) {
	c := &carrying{r: r, d: d, done: make(map[string]record.Task, len(g.Tasks()))}
	s := pipeline.Scheduler{Parallel: r.parallel(), KeepGoing: r.KeepGoing, Do: c.do, Skip: c.skip}
	ends := s.Walk(ctx, g)
	tasks := make([]record.Task, len(ends))
	for i, e := range ends {
		tasks[i] = c.done[e.Task.Name]
	}
	return tasks, errors.Join(c.broken...)
}

func (r *Runner) parallel() int {
	switch {
	case r.Parallel > 0:
		return r.Parallel
	case r.Config.Concurrency > 0:
		return r.Config.Concurrency
	}
	return runtime.NumCPU()
}

// carrying is one Run. Its lock is what makes the observer's calls one at a time, in the order of the journal.
type carrying struct {
	r *Runner
	d *record.Draft

	mu        sync.Mutex
	done      map[string]record.Task // by name
	broken    []error                // what could not be recorded
	unwritten bool                   // a line of the journal could not be written: one of broken
}

// do runs one task and records it.
func (c *carrying) do(ctx context.Context, t *pipeline.Task) error {
	log, err := c.start(t)
	if err != nil {
		return c.end(t, notStarted(t, record.Failed, fmt.Sprintf("task %q was not started, as the run cannot be recorded: %v", t.Name, err)))
	}
	box := sandbox.Box{Tier: sandbox.None, Secrets: true}
	retried := func(attempt int, before record.Task) { c.retried(t, attempt, before) }
	got, _ := c.r.runTask(ctx, c.r.Config.Root, t, box, &output{c, t, log}, retried) // got.Error says what the error says
	if got.Status == record.Failed {
		tail, _ := log.Tail(hintTail) // without it the command is looked at
		got.Hint = c.r.hint(t, box, tail)
	}
	kept, err := log.Finish()
	got.Log = &kept
	if err != nil {
		c.mu.Lock()
		c.broken = append(c.broken, fmt.Errorf("log of task %q: %w", t.Name, err))
		c.mu.Unlock()
	}
	return c.end(t, got)
}

// start says that a task begins. After the first thing that could not be recorded no task does.
func (c *carrying) start(t *pipeline.Task) (*record.LogWriter, error) {
	c.mu.Lock()
	err := c.sound()
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	log, err := c.d.Log(t.Name) // without the lock: making a file is most of what a record costs
	if err = c.started(t, err); err != nil {
		if log != nil {
			_, _ = log.Finish() // it stays, and is empty
		}
		return nil, err
	}
	return log, nil
}

// started tells that a task begins whose log was made, or could not be. Meanwhile something of another may have got lost.
func (c *carrying) started(t *pipeline.Task, log error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if log != nil {
		c.broken = append(c.broken, log)
	}
	if len(c.broken) == 0 {
		c.tell(record.Event{Type: "task_started", Task: t.Name})
	}
	if err := c.sound(); err != nil {
		return err
	}
	if c.r.Observer.Started != nil {
		c.r.Observer.Started(t)
	}
	return nil
}

// sound is the first thing that could not be recorded, or nil; with the lock held.
func (c *carrying) sound() error {
	if len(c.broken) > 0 {
		return c.broken[0]
	}
	return nil
}

// retried says that a task is tried once more.
func (c *carrying) retried(t *pipeline.Task, attempt int, before record.Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(record.Event{Type: "task_retried", Task: t.Name, Fields: []record.Field{
		{Name: "attempt", Value: attempt}, {Name: "exit_code", Value: before.ExitCode}, {Name: "delay_ms", Value: t.Retry.Delay.Milliseconds()},
	}})
	if c.r.Observer.Retried != nil {
		c.r.Observer.Retried(t, attempt, before)
	}
}

// end records how a task ended and gives the scheduler what it needs to know.
func (c *carrying) end(t *pipeline.Task, got record.Task) error {
	c.settle(t, got, record.Event{Type: "task_finished", Task: t.Name, Fields: []record.Field{
		{Name: "status", Value: got.Status},
		{Name: "reason", Value: got.Reason},
		{Name: "exit_code", Value: got.ExitCode},
		{Name: "signal", Value: got.Signal},
		{Name: "error", Value: got.Error},
		{Name: "hint", Value: got.Hint},
		{Name: "attempts", Value: got.Attempts},
		{Name: "duration_ms", Value: got.DurationMS},
		{Name: "log", Value: got.Log},
		{Name: "sandbox", Value: got.Sandbox},
		{Name: "processes_left", Value: got.ProcessesLeft},
	}})
	if got.Status != record.Passed {
		return errNotPassed
	}
	return nil
}

// skip records a task that is not started.
func (c *carrying) skip(e pipeline.End) {
	got := record.Task{Name: e.Task.Name, Status: record.Skipped}
	if e.Reason != "" {
		got.Reason = ptr(string(e.Reason))
	}
	if e.BlockedBy != "" {
		got.BlockedBy = &e.BlockedBy
	}
	c.settle(e.Task, got, record.Event{Type: "task_skipped", Task: e.Task.Name, Fields: []record.Field{
		{Name: "reason", Value: got.Reason}, {Name: "blocked_by", Value: got.BlockedBy},
	}})
}

func (c *carrying) settle(t *pipeline.Task, got record.Task, e record.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[t.Name] = got
	c.tell(e)
	if c.r.Observer.Finished != nil {
		c.r.Observer.Finished(t, got)
	}
}

// tell writes a line of the journal, with the lock held. After the first one that could not be written there is none: the
// journal ends before what it could not hold, and has no gap.
func (c *carrying) tell(e record.Event) {
	if c.unwritten {
		return
	}
	if err := c.d.Event(e); err != nil {
		c.unwritten = true
		c.broken = append(c.broken, err)
	}
}

// An output is where a task's redacted output goes: the log, then the observer. It never fails.
type output struct {
	c   *carrying
	t   *pipeline.Task
	log *record.LogWriter
}

func (o *output) Write(p []byte) (int, error) {
	_, _ = o.log.Write(p) // Finish says what could not be kept
	if o.c.r.Observer.Output != nil {
		o.c.mu.Lock()
		defer o.c.mu.Unlock()
		o.c.r.Observer.Output(o.t, p)
	}
	return len(p), nil
}

func ptr[T any](v T) *T { return &v }
