// Package run is the life of a run: lock, record, tasks, verdict, seal. It is the only author of a run's journal,
// and it returns the sealed record; what hooks do about a failure comes after and is not its concern. Old runs are
// removed by Prune.
package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/task"
)

// A Run is one run to be carried out, and the functions that are called meanwhile. They may be nil.
type Run struct {
	Config    *pipeline.Config
	Graph     *pipeline.Graph // of Config
	Store     *record.Store
	Tasks     *task.Runner // of Config
	Parallel  int          // tasks at a time; below 1: see Parallel
	KeepGoing bool         // after a failure, tasks that do not depend on it still start
	Serve     bool         // services that nothing depends on are started, and the run goes on until they end

	// Keep has services that go on when the run has ended; nil: they end with it.
	Keep *Kept

	// Cache, where it is not nil, replaces tasks whose result it has. Config, Describe and Run of it are filled in.
	Cache    *cache.Cache
	CacheOff string // why there is none, as tasks with inputs record it: the flag that was typed

	// Agent does the tasks that an agent does; nil: they fail. The command makes it from hooks/agenttask, which this package does not import.
	Agent     AskAgent
	AgentsOff bool // they are left out unless the cache has their results

	// Git returns what git knows of the tree before the first task; nil: GitFacts is asked. See AskGit.
	Git func(context.Context) *record.Git

	Job      *string // these five are recorded as they are
	Affected *record.Affected
	Resumes  *record.Resumed
	CI       bool
	Healing  record.Healing

	Observer Observer
	Locked   func(*record.Lock) // called once run.lock is held, before anything is recorded
	Journal  func(line []byte)  // called with each journal line, without its line end

	// Abandon ends the run at once when it is closed: running tasks are recorded as cancelled, and their processes
	// end with this process. Ending the context of Do is the polite way: it stops the tasks and waits for them.
	Abandon <-chan struct{}
	// Interrupted is called once, after the last task. It returns the exit code of what interrupted the run, or 0.
	// What happens later does not change the verdict.
	Interrupted func() int
}

// An Observer is called as things happen, in order, one call at a time. Nil functions are not called. A slow call
// delays the tasks.
type Observer struct {
	Started func(t *pipeline.Task)
	// it is carried out: the cache, where there is one, does not have its result
	Runs func(t *pipeline.Task)
	// redacted; any bytes, not always whole lines; not to be kept
	Output func(t *pipeline.Task, chunk []byte)
	// the number of the next attempt, from 2, and how those before it ended
	Retried func(t *pipeline.Task, attempt int, r record.Task)
	// a service, and how long that took. One that goes on since an earlier run, whose id is since, is not told to Started
	Ready func(t *pipeline.Task, took time.Duration, since string)
	// also for a task that was not started (record.Skipped)
	Finished func(t *pipeline.Task, r record.Task)
	// nothing else was told for a minute; after that for two more, four more, and so on up to ten
	Quiet func()
	// all of them, unless the run was abandoned or cannot be recorded
	Ended func(tasks []record.Task)
}

// Exit codes of a verdict, as run.json has them. That of an interrupted run comes from Interrupted.
const (
	codePassed  = 0
	codeFailed  = 1
	codeRefused = 2 // it could not be carried out
)

// Do carries out the run and returns its sealed record, whatever the verdict. With an error there is no verdict.
// The error is record.ErrLocked while another run is at work in the same root.
func (r *Run) Do(ctx context.Context) (*record.Sealed, error) {
	lock, err := r.Store.RunLock()
	if errors.Is(err, record.ErrLocked) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("the run cannot be recorded: %w", err)
	}
	if r.Locked != nil {
		r.Locked(lock)
	}
	sealed, err := r.record(ctx)
	if unlock := lock.Unlock(); err == nil && unlock != nil {
		err = fmt.Errorf("run.lock: %w", unlock)
	}
	return sealed, err
}

// record runs the tasks and seals the verdict.
func (r *Run) record(ctx context.Context) (*record.Sealed, error) {
	started := time.Now()
	draft, err := r.Store.Begin(started, r.Tasks.Redact.Bytes, r.Journal)
	if err != nil {
		return nil, fmt.Errorf("the run cannot be recorded: %w", err)
	}
	go draft.LookBack()
	sealed, err := r.write(ctx, draft, started)
	if err != nil {
		return nil, fmt.Errorf("run %s could not be recorded, so there is no verdict: %w", draft.ID, err)
	}
	return sealed, nil
}

func (r *Run) write(ctx context.Context, draft *record.Draft, started time.Time) (*record.Sealed, error) {
	names := make([]string, 0, len(r.Graph.Tasks()))
	given := map[string]record.Args{}
	for _, t := range r.Graph.Tasks() {
		names = append(names, t.Name)
		if len(t.Run.Args) > 0 {
			got := withArgs(record.Task{}, t)
			given[t.Name] = record.Args{Args: got.Args, Hidden: got.ArgsHidden}
		}
	}
	v := record.Run{
		Root: r.Config.Root, Job: r.Job, Affected: r.Affected, Resumes: r.Resumes, CI: r.CI, Healing: r.Healing, StartedAt: record.Time{Time: started},
	}
	graph, err := nodes(r.Graph, r.Tasks.Redact)
	if err != nil {
		return nil, err
	}
	if err := draft.Graph(graph); err != nil {
		return nil, err
	}
	if err := draft.Event(record.Event{Type: "run_started", Data: map[string]any{
		"run": draft.ID, "root": v.Root, "job": v.Job, "ci": v.CI, "tasks": names, "healing": v.Healing, "resumes": v.Resumes, "arguments": given,
	}}); err != nil {
		return nil, err
	}

	// The answer must not depend on what the tasks write.
	if r.Git != nil {
		v.Git = r.Git(ctx)
	} else {
		v.Git = GitFacts(ctx, r.Config.Root)
	}
	if c := r.Cache; c != nil {
		c.Config, c.Describe, c.Ask, c.Run = r.Config, r.Tasks.Describe, r.Tasks.Ask, draft.ID
		c.Secrets = r.Tasks.Redact
		defer func() {
			if !r.abandoned() { // it would wait for a walk of the tree that still goes on
				_ = c.Close() // what is not remembered is read again
			}
		}()
	}
	var broken error
	v.Tasks, broken = r.tasks(ctx, draft)
	interrupted := 0
	if r.Interrupted != nil {
		interrupted = r.Interrupted()
	}
	v.Status, v.ExitCode = status(v.Tasks, interrupted)
	if broken != nil {
		v.Status, v.ExitCode = record.Interrupted, codeRefused
	}
	finished := time.Now()
	v.FinishedAt, v.DurationMS = record.Time{Time: finished}, finished.Sub(started).Milliseconds()
	err = draft.Event(record.Event{Type: "run_finished", Data: map[string]any{
		"run": draft.ID, "status": v.Status, "exit_code": v.ExitCode, "duration_ms": v.DurationMS,
	}})
	if err != nil && broken == nil {
		v.Status, v.ExitCode, broken = record.Interrupted, codeRefused, err
	}
	sealed, err := draft.Seal(v) // also after an error: what is known is kept
	return sealed, advice.Join(broken, err)
}

// tasks carries out the graph. Once the run is abandoned it returns what the journal has.
func (r *Run) tasks(ctx context.Context, draft *record.Draft) ([]record.Task, error) {
	type end struct {
		tasks []record.Task
		err   error
	}
	w := r.walker(draft)
	ends := make(chan end, 1)
	go func() {
		tasks, err := w.walk(ctx)
		ends <- end{tasks, err}
	}()
	select {
	case e := <-ends:
		if e.err == nil && r.Observer.Ended != nil && !r.abandoned() {
			r.Observer.Ended(e.tasks)
		}
		return e.tasks, e.err
	case <-r.Abandon:
		w.silence() // before the verdict is shown
	}
	ended, err := draft.Stop()
	reason := string(pipeline.Signal)
	var tasks []record.Task
	for _, t := range r.Graph.Tasks() {
		got, ok := ended[t.Name]
		if !ok {
			got = record.Task{Name: t.Name, Status: record.Cancelled, Reason: &reason, Service: w.services[t.Name].known()}
		}
		tasks = append(tasks, withArgs(got, t))
	}
	return tasks, err
}

func (r *Run) abandoned() bool {
	select {
	case <-r.Abandon:
		return true
	default:
		return false
	}
}

// status returns a run's status and exit code. interrupted is the exit code of what interrupted it, or 0.
func status(tasks []record.Task, interrupted int) (string, int) {
	passed, failed, cancelled := true, false, false
	for _, t := range tasks {
		switch t.Status {
		case record.Passed, record.Cached:
		case record.Skipped:
			passed = passed && t.Reason != nil && (*t.Reason == record.NotNeeded || *t.Reason == record.AgentsOff)
		case record.Cancelled:
			passed, cancelled = false, true
		case record.Failed, record.TimedOut:
			passed, failed = false, true
		default:
			passed = false
		}
	}
	switch {
	case passed:
		return record.Passed, codePassed
	case interrupted != 0:
		return record.Interrupted, interrupted
	case failed && !cancelled:
		return record.Failed, codeFailed
	}
	// Tasks were cancelled or left out: this must not look like a pass.
	return record.Interrupted, codeRefused
}

// CheckOutputs returns an error when a task of g depends on one that is not in g and whose outputs do not exist
// (run --only).
func CheckOutputs(c *pipeline.Config, g *pipeline.Graph) error {
	in := map[string]bool{}
	for _, t := range g.Tasks() {
		in[t.Name] = true
	}
	for _, t := range g.Tasks() {
		for _, name := range t.DependsOn {
			d := c.Task(name)
			if in[name] || d == nil {
				continue
			}
			glob, err := MissingOutput(c.Root, d)
			if err != nil {
				return err
			}
			if glob != "" {
				return fmt.Errorf("task %q needs what %q makes, and there is no %s: run it too (leave out --only)",
					t.Shown(), name, glob)
			}
		}
	}
	return nil
}

// MissingOutput returns the first pattern of a task's outputs that matches no file, or "".
func MissingOutput(root string, t *pipeline.Task) (string, error) {
	for _, glob := range t.Outputs {
		if strings.HasPrefix(glob, "!") {
			continue
		}
		found, err := doublestar.Glob(os.DirFS(root), filepath.ToSlash(filepath.Clean(glob)))
		if err != nil {
			return "", fmt.Errorf("outputs of task %q: %q is not a pattern: %w", t.Shown(), glob, err)
		}
		if len(found) == 0 {
			return glob, nil
		}
	}
	return "", nil
}
