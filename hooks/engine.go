// Package hooks runs the on_fail hooks of a sealed run. An agent hook reproduces the failure in a copy of the tree,
// lets agents work there under one budget, verifies what they leave, and records a fix. It never changes the verdict
// or the user's tree, and does not import pipeline/run: the command passes it RunTask.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/contextpack"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/person"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// An Engine runs the hooks of one root. Its fields are not changed while it works.
type Engine struct {
	Config  *pipeline.Config
	Store   *record.Store
	Redact  *redact.Set
	Environ []string // the person's environment, KEY=VALUE
	Cache   string   // the person's cache folder for this program: build caches, scratch copies
	// removes copies, which the caller empties when there is nothing left to say; nil: they are removed at once
	Bin      *scratch.Bin
	RunTask  failedtask.RunTask
	Define   failedtask.Define        // nil: patches are verified with the commands of Config
	Agents   map[string]agent.Agent   // by name
	Tier     sandbox.Tier             // asked for on the command line; empty: the best there is
	CI       bool                     // CI mode
	Asked    bool                     // --heal, or the verb heal
	Parallel int                      // tasks that may run at a time; 0: as Config says
	Idle     time.Duration            // ends an agent that says nothing for so long; 0: two minutes
	Since    func(task string) string // what changed since the recorded run, in words; nil: the run has just ended
	Observer Observer
}

// An Observer is told what the engine does, one call at a time; nil funcs are not called.
type Observer struct {
	Started func(h Started)
	Step    func(s Step)
	Done    func(o Outcome)
}

// Started is told when a hook begins.
type Started struct {
	Task      string
	Kind      string // agent | run
	Agent     string
	Tier      sandbox.Tier
	WallClock time.Duration
	Attempts  int
}

// A Step is one thing that happens in a hook, in words for a person.
type Step struct {
	Task string
	Text string
	Left time.Duration // of the wall clock; 0 before it started
}

// An Outcome is how a hook ended.
type Outcome struct {
	Task string
	Kind string         // agent | run
	Fix  *fix.Fix       // of an agent hook
	Run  *RunHookResult // of a run hook
}

// Packs builds the context packs of a run's failed tasks.
func (e *Engine) Packs() *contextpack.Builder {
	return &contextpack.Builder{Config: e.Config, Store: e.Store, Redact: e.Redact, RunTask: e.RunTask}
}

// Answer runs the hooks of every failed task of a sealed run: one after the other, tasks in graph order, hooks in
// file order, agents under heal.lock. In a process that a hook started it starts nothing. An error means that a hook could
// not be recorded. The verdict of the run never changes.
func (e *Engine) Answer(ctx context.Context, run *record.Sealed) ([]Outcome, error) {
	if run.Status != record.Failed {
		return nil, nil
	}
	return e.answer(ctx, run, false, func(_ *pipeline.Task, h pipeline.Hook) bool {
		// Inside a hook not even a notification starts: a hook's failure starts no hook.
		return h.Agent != nil || e.inHook() == ""
	})
}

// Heal runs the agent hooks of a recorded failure again, with the tree and the Config as they are now. An empty task
// means every failed one. Because a person asked for it, neither earlier proposals for the same failure nor MostOpen
// prevent it. The error tells why there is nothing to heal.
func (e *Engine) Heal(ctx context.Context, run *record.Sealed, task string) ([]Outcome, error) {
	if err := e.healable(run, task); err != nil {
		return nil, err
	}
	return e.answer(ctx, run, true, func(t *pipeline.Task, h pipeline.Hook) bool {
		return h.Agent != nil && (task == "" || t.Name == task)
	})
}

// healable returns why a run, or one task of it, cannot be healed; nil: it can.
func (e *Engine) healable(run *record.Sealed, task string) error {
	if run.Status != record.Failed {
		return fmt.Errorf("run %s %s: only a failed run can be fixed", run.ID, run.Status)
	}
	hooked := false
	for i := range run.Tasks {
		r := &run.Tasks[i]
		if !failedtask.Failed(r) || task != "" && r.Name != task {
			continue
		}
		t := e.Config.Task(r.Name)
		if t == nil {
			return fmt.Errorf("task %q of run %s is no longer in %s: put it back, or run again",
				pipeline.ShownName(r.Name), run.ID,
				e.Config.File)
		}
		hooked = hooked || slices.ContainsFunc(t.OnFail, func(h pipeline.Hook) bool { return h.Agent != nil })
	}
	shown := pipeline.ShownName(task)
	switch {
	case hooked:
		return nil
	case task == "":
		return fmt.Errorf("no failed task of run %s has an on_fail \"agent\": add one in %s", run.ID, e.Config.File)
	case run.Task(task) == nil:
		return fmt.Errorf("run %s has no task %q", run.ID, shown)
	case !failedtask.Failed(run.Task(task)):
		return fmt.Errorf("task %q of run %s is %s: only a failed task can be fixed", shown, run.ID,
			run.Task(task).Status)
	}
	return fmt.Errorf("task %q has no on_fail \"agent\": add one in %s", shown, e.Config.File)
}

// answer runs those hooks of the failed tasks that want reports true for.
func (e *Engine) answer(
	ctx context.Context, run *record.Sealed, typed bool, want func(*pipeline.Task, pipeline.Hook) bool,
) (outcomes []Outcome, err error) {
	journal, err := fix.OpenJournal(run.Dir, run.Digest, e.Redact.Bytes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	w := &walk{store: e.Store, typed: typed, began: timestamp.Now()}
	defer w.release()

	var errs []error
	for i := range run.Tasks {
		ended := &run.Tasks[i]
		t := e.Config.Task(ended.Name)
		if !failedtask.Failed(ended) || t == nil {
			continue
		}
		for n, hook := range t.OnFail {
			if !want(t, hook) {
				continue
			}
			var o Outcome
			var err error
			if hook.Run != nil {
				tell := ctx
				if ctx.Err() != nil { // Ctrl-C ends agents; a notification has a timeout of its own
					tell = context.WithoutCancel(ctx)
				}
				_ = w.takeLock() // a notification is sent without the lock, too
				o, err = e.notify(tell, run, ended, t, hook.Run, n, journal)
			} else {
				o, err = e.heal(ctx, run, ended, t, hook.Agent, w)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("hook of task %q: %w", t.Shown(), err))
				continue
			}
			if e.Observer.Done != nil {
				e.Observer.Done(o)
			}
			outcomes = append(outcomes, o)
		}
	}
	return outcomes, errors.Join(errs...)
}

// A walk is one pass over the failures of a run. It takes heal.lock for the first hook and keeps it to the end.
type walk struct {
	typed bool   // a person typed heal
	began string // see timestamp
	store *record.Store
	lock  *record.Lock
}

func (w *walk) takeLock() (err error) {
	if w.lock == nil {
		w.lock, err = w.store.HealLock()
	}
	return err
}

func (w *walk) release() {
	if w.lock != nil {
		_ = w.lock.Unlock() // the end of the process would release it, too
	}
}

// inHook returns how it is known that a hook started this process; empty: none did.
func (e *Engine) inHook() string { return person.Hook(homes.Lookup(e.Environ)) }

// fixes returns the store of fixes beside the runs.
func (e *Engine) fixes() *fix.Store { return &fix.Store{Root: e.Store.Root, Dir: e.Store.Dir} }
