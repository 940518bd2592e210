package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/flake"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/task"
)

// errNotPassed tells the scheduler that a task did not pass; the record has the reason.
var errNotPassed = errors.New("did not pass")

// Parallel returns how many tasks run at a time: asked, else what PIPELINE.hcl says, else the number of CPUs.
func Parallel(c *pipeline.Config, asked int) int {
	switch {
	case asked > 0:
		return asked
	case c.Concurrency > 0:
		return c.Concurrency
	}
	return runtime.NumCPU()
}

// A walker runs the tasks of a graph and records them. Its lock makes the observer's calls one at a time, in the
// order of the journal.
type walker struct {
	r   *Run
	d   *record.Draft
	ctx context.Context // of walk: services outlive the call that starts them

	history  *flake.History      // nil: there is no cache
	services map[string]*service // of the run, by name
	serves   bool                // PIPELINE.hcl has services
	stopped  chan struct{}       // closed when no task starts any more, as one has failed; its name is first

	mu        sync.Mutex
	done      map[string]record.Task // by name
	first     string                 // the first task that did not pass
	ports     map[int]string         // of services: whose each is
	broken    []error                // what could not be recorded
	unwritten bool                   // a line of the journal could not be written: one of broken
	silent    bool                   // the observer is not called any more
	shown     time.Time              // when the observer was called last
}

func (r *Run) walker(d *record.Draft) *walker {
	w := &walker{r: r, d: d, services: services(r), stopped: make(chan struct{}), done: make(map[string]record.Task, len(r.Graph.Tasks()))}
	w.serves = slices.ContainsFunc(r.Config.Tasks, func(t *pipeline.Task) bool { return t.Service != nil })
	if r.Cache != nil {
		w.history = &flake.History{Store: r.Store, Dir: r.Cache.Dir}
	}
	return w
}

// walk runs the tasks, fail-fast or with KeepGoing, and returns them in the order of the graph. The end of ctx
// cancels what runs. An error means that something could not be recorded; after it no task starts.
func (w *walker) walk(ctx context.Context) ([]record.Task, error) {
	w.ctx = ctx
	defer w.tellQuiet()()
	s := pipeline.Scheduler{Parallel: Parallel(w.r.Config, w.r.Parallel), KeepGoing: w.r.KeepGoing, Do: w.do, Skip: w.skip}
	ends := s.Walk(ctx, w.r.Graph)
	w.endServices(ctx)
	tasks := make([]record.Task, len(ends))
	for i, e := range ends {
		tasks[i] = w.done[e.Task.Name]
	}
	return tasks, advice.Join(w.broken...)
}

// silence stops the calls of the observer; none is in progress when it returns.
func (w *walker) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = true
}

// show makes a call of the observer; the caller holds the lock.
func (w *walker) show(call func()) {
	if !w.silent {
		w.shown = time.Now()
		call()
	}
}

// do runs one task and records it.
func (w *walker) do(ctx context.Context, t *pipeline.Task) error {
	if s := w.services[t.Name]; s != nil {
		if s.wanted {
			_ = w.ready(ctx, s) // whoever needs it asks again
		}
		return nil
	}
	if err := w.admit(ctx, t); err != nil {
		return err
	}
	if w.leaveOut(ctx, t) {
		return nil
	}
	log, err := w.start(t, "")
	if err != nil {
		why := fmt.Sprintf("task %q was not started, as the run cannot be recorded: %v", t.Shown(), err)
		return w.end(t, record.Task{Name: t.Name, Status: record.Failed, Error: &why})
	}
	box := sandbox.Box{Tier: sandbox.None, Secrets: true}
	retried := func(attempt int, before record.Task) { w.retried(t, attempt, before) }
	out := &output{w, t, log}
	got, ok, entry := w.cached(ctx, t, out)
	if !ok {
		s := w.startServices(ctx, t) // the cache may not have given what it had
		switch {
		case s != nil && s.hasFailed():
			got = record.Task{Name: t.Name, Status: record.Failed, Error: new(fmt.Sprintf("the service %q, which it needs, has failed", s.t.Shown()))}
		case s != nil && ctx.Err() == nil:
			got = record.Task{Name: t.Name, Status: record.Skipped, Reason: new(string(pipeline.FailFast)), BlockedBy: w.firstFailure()}
		case t.Agent != nil && w.r.AgentsOff:
			got = record.Task{Name: t.Name, Status: record.Skipped, Reason: new(record.AgentsOff)}
		case t.Agent != nil:
			w.runs(t)
			got = w.agent(ctx, t, out)
		default:
			w.runs(t)
			// got.Error has the error's text
			got, _ = w.r.Tasks.Watched(ctx, w.r.Config.Root, t, box, out, task.Watch{Retried: retried, Seen: entry.See()})
		}
	}
	if got.Status == record.Failed && t.Agent == nil {
		tail, _ := log.Tail(task.HintTail) // without it the hint is of the command alone
		got.Hint = w.r.Tasks.Hint(t, tail)
	}
	kept, err := log.Finish()
	got.Log = &kept
	if err != nil && entry != nil {
		entry.NotWhole = "its log could not be written"
	}
	if !ok {
		w.store(ctx, t, entry, &got)
	}
	got.Cache = receipt(w.r, t, entry, got.Cache)
	if !ok && t.Agent == nil && w.failedService(t) == nil { // else it may be the service that comes and goes
		w.flaky(ctx, entry, &got)
	}
	if failed := w.put(t, entry, &got); failed != nil {
		w.mu.Lock()
		w.broken = append(w.broken, fmt.Errorf("receipt of task %q: %w", t.Shown(), failed))
		w.mu.Unlock()
	}
	if err != nil {
		w.mu.Lock()
		w.broken = append(w.broken, fmt.Errorf("log of task %q: %w", t.Shown(), err))
		w.mu.Unlock()
	}
	return w.end(t, got)
}

// start records that a task begins and returns its log, which is made by the first output: where it cannot be made, that
// shows when the task ends. After the first error of the record no task starts. since is the
// run that started a service that goes on; empty: it is started now.
func (w *walker) start(t *pipeline.Task, since string) (*record.LogWriter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.broken) == 0 {
		w.tell(record.Event{Type: "task_started", Task: t.Name})
	}
	if err := cmp.Or(w.broken...); err != nil {
		return nil, err
	}
	if w.r.Observer.Started != nil && since == "" {
		w.show(func() { w.r.Observer.Started(t) })
	}
	return w.d.Log(t.Name), nil
}

// runs tells that a task which has started is carried out.
func (w *walker) runs(t *pipeline.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.r.Observer.Runs != nil {
		w.show(func() { w.r.Observer.Runs(t) })
	}
}

// recordReady records that a service is ready, after so many milliseconds, and lets the tasks that wait for it start.
func (w *walker) recordReady(s *service, took int64) {
	s.mu.Lock()
	s.took = &took
	s.mu.Unlock()
	defer s.announce(false)
	fields := []record.Field{{Name: "duration_ms", Value: took}}
	if s.since != "" {
		fields = append(fields, record.Field{Name: "since", Value: s.since})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(record.Event{Type: "task_ready", Task: s.t.Name, Fields: fields})
	if w.r.Observer.Ready != nil {
		w.show(func() { w.r.Observer.Ready(s.t, time.Duration(took)*time.Millisecond, s.since) })
	}
}

// retried records that a task gets another attempt.
func (w *walker) retried(t *pipeline.Task, attempt int, before record.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(record.Event{Type: "task_retried", Task: t.Name, Fields: []record.Field{
		{Name: "attempt", Value: attempt},
		{Name: "exit_code", Value: before.ExitCode},
		{Name: "delay_ms", Value: t.Retry.Delay.Milliseconds()},
	}})
	if w.r.Observer.Retried != nil {
		w.show(func() { w.r.Observer.Retried(t, attempt, before) })
	}
}

// end records how a task ended and returns what the scheduler needs.
func (w *walker) end(t *pipeline.Task, got record.Task) error {
	fields := []record.Field{
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
		{Name: "cache", Value: got.Cache},
		{Name: "service", Value: got.Service},
	}
	if got.Agent != nil {
		fields = append(fields, record.Field{Name: "agent", Value: got.Agent})
	}
	w.recordEnd(t, got, record.Event{Type: "task_finished", Task: t.Name, Fields: fields})
	if got.Status == record.Passed || got.Status == record.Cached || got.Reason != nil && *got.Reason == record.AgentsOff {
		return nil // what needs an agent task that is left out runs
	}
	return errNotPassed
}

// skip records a task that was not started.
func (w *walker) skip(e pipeline.End) {
	got := record.Task{Name: e.Task.Name, Status: record.Skipped, Reason: new(string(e.Reason))}
	if e.BlockedBy != "" {
		got.BlockedBy = &e.BlockedBy
	}
	w.recordEnd(e.Task, got, record.Event{Type: "task_skipped", Task: e.Task.Name, Fields: []record.Field{
		{Name: "reason", Value: got.Reason}, {Name: "blocked_by", Value: got.BlockedBy},
	}})
}

func (w *walker) recordEnd(t *pipeline.Task, got record.Task, e record.Event) {
	got = withArgs(got, t)
	if len(got.Args) > 0 {
		e.Fields = append(e.Fields, record.Field{Name: "args", Value: got.Args}, record.Field{Name: "args_hidden", Value: got.ArgsHidden})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[t.Name] = got
	if w.first == "" && (got.Status == record.Failed || got.Status == record.TimedOut) {
		w.first = t.Name
		if !w.r.KeepGoing {
			close(w.stopped)
		}
	}
	w.tell(e)
	if w.r.Observer.Finished != nil {
		w.show(func() { w.r.Observer.Finished(t, got) })
	}
}

// withArgs adds the arguments of a command line to the record of a task.
func withArgs(got record.Task, t *pipeline.Task) record.Task {
	got.Args, got.ArgsHidden = nil, false
	for _, a := range t.Run.Args {
		got.Args = append(got.Args, a.Show())
		got.ArgsHidden = got.ArgsHidden || len(a.Secrets) > 0
	}
	return got
}

// WithRecordedArgs returns the configuration in which tasks run with the arguments that they had in a run. Those that
// record.Task.ArgsHidden tells of are not known.
func WithRecordedArgs(c *pipeline.Config, tasks []record.Task) *pipeline.Config {
	for _, t := range tasks {
		texts := make([]pipeline.Text, len(t.Args))
		for i, a := range t.Args {
			texts[i].Value = a
		}
		c = c.WithArgs([]string{t.Name}, texts)
	}
	return c
}

// tell writes a line of the journal; the caller holds the lock. After the first line that could not be written it
// writes none, so that the journal has no gap.
func (w *walker) tell(e record.Event) {
	if w.unwritten {
		return
	}
	if err := w.d.Event(e); err != nil {
		w.unwritten = true
		w.broken = append(w.broken, err)
	}
}

// An output writes a task's redacted output to the log, then to the observer. It never fails.
type output struct {
	w   *walker
	t   *pipeline.Task
	log *record.LogWriter
}

func (o *output) Write(p []byte) (int, error) {
	_, _ = o.log.Write(p) // Finish reports what could not be written
	o.w.print(o.t, p)
	return len(p), nil
}

// all writes all that a task printed.
func (o *output) all(p []byte) {
	o.log.All(p)
	o.w.print(o.t, p)
}

// print tells the observer what a task printed.
func (w *walker) print(t *pipeline.Task, p []byte) {
	if w.r.Observer.Output == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.shown
	w.show(func() { w.r.Observer.Output(t, p) })
	if !bytes.ContainsAny(p, "\r\n") { // nothing of a line without its end may be on the screen
		w.shown = before
	}
}
