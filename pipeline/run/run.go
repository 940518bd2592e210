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
	Output   func(t *pipeline.Task, chunk []byte)  // redacted; any bytes, not always whole lines; not to be kept
	Finished func(t *pipeline.Task, r record.Task) // also of a task that was not started (record.Skipped)
}

// A Runner carries out graphs. It is safe for concurrent use.
type Runner struct {
	Config    *pipeline.Config
	Environ   []string // the person's environment, KEY=VALUE
	Redact    *redact.Set
	Parallel  int  // below 1: Config.Concurrency, else the number of CPUs
	KeepGoing bool // after a failure, tasks that do not depend on it go on
	Observer  Observer
}

// errNotPassed tells the scheduler that a task did not pass; the record says why.
var errNotPassed = errors.New("did not pass")

// Run carries out g and records every task in d: fail-fast with drain. It gives the tasks in g's order; sealing is the
// caller's. ctx's end cancels what runs. An error means that something could not be recorded; the tasks are given all the
// same, and those that could not be recorded any more were not started.
func (r *Runner) Run(ctx context.Context, g *pipeline.Graph, d *record.Draft) ([]record.Task, error) {
	c := &carrying{r: r, d: d, done: make(map[string]record.Task, len(g.Tasks()))}
	ends := pipeline.Scheduler{Parallel: r.parallel(), Do: c.do, Skip: c.skip}.Walk(ctx, g)
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

	mu     sync.Mutex
	done   map[string]record.Task // by name
	broken []error                // what could not be recorded
}

// do runs one task and records it.
func (c *carrying) do(ctx context.Context, t *pipeline.Task) error {
	log, err := c.start(t)
	if err != nil {
		return c.end(t, notStarted(t, record.Failed, fmt.Sprintf("task %q was not started, as the run cannot be recorded: %v", t.Name, err)))
	}
	box := sandbox.Box{Tier: sandbox.None, Secrets: true}
	got, _ := c.r.RunTask(ctx, c.r.Config.Root, t, box, &output{c, t, log}) // got.Error says what the error says
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
	defer c.mu.Unlock()
	if len(c.broken) > 0 {
		return nil, c.broken[0]
	}
	log, err := c.d.Log(t.Name)
	if err == nil {
		err = c.d.Event(record.Event{Type: "task_started", Task: t.Name})
	}
	if err != nil {
		c.broken = append(c.broken, err)
		return nil, err
	}
	if c.r.Observer.Started != nil {
		c.r.Observer.Started(t)
	}
	return log, nil
}

// end records how a task ended and gives the scheduler what it needs to know.
func (c *carrying) end(t *pipeline.Task, got record.Task) error {
	data := map[string]any{
		"status": got.Status, "exit_code": got.ExitCode, "signal": got.Signal, "error": got.Error, "duration_ms": got.DurationMS,
		"log": got.Log, "processes_left": got.ProcessesLeft,
	}
	c.settle(t, got, record.Event{Type: "task_finished", Task: t.Name, Data: data})
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
	data := map[string]any{"reason": got.Reason, "blocked_by": got.BlockedBy}
	c.settle(e.Task, got, record.Event{Type: "task_skipped", Task: e.Task.Name, Data: data})
}

func (c *carrying) settle(t *pipeline.Task, got record.Task, e record.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[t.Name] = got
	if err := c.d.Event(e); err != nil {
		c.broken = append(c.broken, err)
	}
	if c.r.Observer.Finished != nil {
		c.r.Observer.Finished(t, got)
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
