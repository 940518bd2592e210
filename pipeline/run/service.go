package run

// Services: tasks that keep running beside the tasks that depend on them. One is started when the first of those is
// about to run, and ended when no other task is left, unless the run has a Kept in which it goes on.

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/task"
)

// A service is a task of the run that keeps running.
type service struct {
	t      *pipeline.Task
	wanted bool // it was asked for itself: the run goes on until it ends

	once    sync.Once
	settled sync.Once
	up      chan struct{} // closed when it is ready, or will never be
	ended   chan struct{} // closed when it is recorded

	p     *instance // set before up is closed; nil: none was started
	since string    // id of the earlier run that started it; empty: this one

	mu     sync.Mutex
	begun  bool
	stop   context.CancelCauseFunc
	failed bool   // it was not ready in time, or ended too early
	took   *int64 // milliseconds until it was ready; nil: it is not
}

// Why a service is ended, as causes of its context.
var errRunEnded = errors.New("no other task is left")

type neverReady struct{ error } // it was not ready in time

// services returns the services of a run by name.
func services(r *Run) map[string]*service {
	var all map[string]*service
	for _, t := range r.Graph.Tasks() {
		if t.Service != nil {
			if all == nil {
				all = map[string]*service{}
			}
			all[t.Name] = &service{t: t, up: make(chan struct{}), ended: make(chan struct{})}
		}
	}
	if all == nil {
		return nil
	}
	for _, t := range Endless(r.Config, r.Graph, r.Serve) {
		all[t.Name].wanted = true
	}
	return all
}

// Endless returns the services of a graph that start although nothing needs them, and whose end the run waits for: named,
// as Run.Serve is, or where there is nothing else in the graph.
func Endless(c *pipeline.Config, g *pipeline.Graph, named bool) (all []*pipeline.Task) {
	needed := map[string]bool{}
	others := false
	for _, t := range g.Tasks() {
		others = others || t.Service == nil
		for _, s := range c.Services(t) {
			needed[s.Name] = true
		}
	}
	for _, t := range g.Tasks() {
		if t.Service != nil && !needed[t.Name] && (named || !others) {
			all = append(all, t)
		}
	}
	return all
}

// startServices makes the services ready that a task needs, and returns the first that is not, or nil: it has failed, or the
// run is over.
func (w *walker) startServices(ctx context.Context, t *pipeline.Task) *service {
	if w.services == nil {
		return nil
	}
	for _, d := range w.r.Config.Services(t) {
		if s := w.services[d.Name]; s != nil && !w.ready(ctx, s) && ctx.Err() == nil {
			return s
		}
	}
	return nil
}

// admit makes the services ready that a task needs if it is to run. Its error is a *pipeline.Blocked: one of them has
// failed, or the run is over meanwhile.
func (w *walker) admit(ctx context.Context, t *pipeline.Task) error {
	if w.services == nil {
		return nil
	}
	if !w.isCached(ctx, t) {
		if s := w.startServices(ctx, t); s != nil && s.hasFailed() {
			return &pipeline.Blocked{By: s.t.Name, Reason: pipeline.Dependency}
		}
	}
	if ctx.Err() != nil {
		return &pipeline.Blocked{Reason: pipeline.Signal}
	}
	if w.isStopped() {
		return &pipeline.Blocked{By: w.first, Reason: pipeline.FailFast}
	}
	return nil
}

// isCached reports whether the cache has the result of a task that needs services, which then need not run.
func (w *walker) isCached(ctx context.Context, t *pipeline.Task) bool {
	if w.r.Cache == nil || len(w.r.Config.Services(t)) == 0 {
		return false
	}
	e := w.r.Cache.Look(ctx, t)
	return e != nil && e.Result == cache.Hit
}

// ready starts a service if nobody has yet, waits until it is ready or the run ends, and reports whether it is.
func (w *walker) ready(ctx context.Context, s *service) bool {
	s.once.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.begun = true
		var of context.Context
		// Not of ctx: who asks first may be another service, which can end before those that need this one.
		of, s.stop = context.WithCancelCause(w.ctx) //nolint:gosec // endServices calls it, and run does when it has ended
		go w.run(of, s)
	})
	select {
	case <-s.up:
	case <-ctx.Done():
	case <-w.stopped:
	}
	return s.isReady() && !s.hasFailed()
}

func (s *service) hasFailed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// run runs a service until it ends or the run does, and records it. One that goes on since an earlier run is used.
func (w *walker) run(ctx context.Context, s *service) {
	defer close(s.ended)
	defer s.stop(nil)
	if d := w.startServices(ctx, s.t); d != nil && d.hasFailed() {
		s.announce(true)
		w.skip(pipeline.End{Task: s.t, Reason: pipeline.Dependency, BlockedBy: d.t.Name})
		return
	}
	made, exact := w.made(ctx, s)
	if ctx.Err() != nil || w.isStopped() { // while it waited for another service
		s.announce(false)
		reason := pipeline.Reason(record.NotNeeded)
		if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errRunEnded) {
			reason = pipeline.Signal
		}
		w.skip(pipeline.End{Task: s.t, Reason: reason})
		return
	}
	var old *instance
	if s.p, old = w.r.Keep.take(s.t.Name, made, exact); s.p != nil {
		s.since = s.p.since
	}
	log, err := w.start(s.t, s.since)
	if err != nil {
		s.announce(true)
		why := fmt.Sprintf("service %q was not started, as the run cannot be recorded: %v", s.t.Shown(), err)
		_ = w.end(s.t, record.Task{Name: s.t.Name, Status: record.Failed, Error: &why})
		return
	}
	if s.since == "" {
		w.runs(s.t)
	}
	out := &output{w, s.t, log}
	if old != nil {
		old.out.rest(out, w.r.Tasks.Redact.Bytes)
	}
	got := w.use(ctx, s, made, out)
	s.announce(got.Status == record.Failed)
	if got.Status == record.Failed {
		tail, _ := log.Tail(task.HintTail)
		got.Hint = w.r.Tasks.Hint(s.t, tail)
	}
	kept, err := log.Finish()
	got.Log = &kept
	if err != nil {
		w.mu.Lock()
		w.broken = append(w.broken, fmt.Errorf("log of task %q: %w", s.t.Shown(), err))
		w.mu.Unlock()
	}
	_ = w.end(s.t, got)
}

// announce tells who waits for a service that it is ready, or will never be: then it has failed, or the run is over.
func (s *service) announce(failed bool) {
	s.mu.Lock()
	s.failed = s.failed || failed
	s.mu.Unlock()
	s.settled.Do(func() { close(s.up) })
}

// made returns of what a service is made, for a run whose services may go on. exact: that tells all; else only how it
// is written. It is empty for a service that does not go on.
func (w *walker) made(ctx context.Context, s *service) (made string, exact bool) {
	if w.r.Keep == nil || s.wanted {
		return "", false
	}
	if w.r.Cache != nil {
		if key, err := w.r.Cache.ServiceKey(ctx, s.t); err == nil {
			rule, err := Fingerprint(&pipeline.Task{Service: s.t.Service}, w.r.Tasks.Redact) // which is not in the key
			return key + " " + rule, err == nil
		}
	}
	made, err := Fingerprint(s.t, w.r.Tasks.Redact)
	if err != nil {
		return "", false
	}
	return made, false
}

// use uses the process of a service, or starts one that writes to out, until it or the run has ended. It returns what is
// to be recorded.
func (w *walker) use(ctx context.Context, s *service, made string, out *output) record.Task {
	began := time.Now()
	if why := w.claim(ctx, s.t, s.p != nil); why != "" {
		return s.verdict(record.Task{Name: s.t.Name, Status: record.Failed, Error: &why}, context.Cause(ctx))
	}
	watched := make(chan struct{})
	if s.p != nil {
		close(watched)
		w.recordReady(s, 0)
		s.p.out.use(out, w.r.Tasks.Redact.Bytes)
	} else {
		heard := w.launch(s, made, out)
		go func() {
			defer close(watched)
			if w.watch(ctx, s, heard) && !s.p.over() {
				w.recordReady(s, time.Since(began).Milliseconds())
			}
		}()
	}
	goesOn, cause := w.await(ctx, s)
	s.stop(nil)
	<-watched
	got := record.Task{Name: s.t.Name, Status: record.Passed, Reason: new(record.RunEnded), Attempts: 1, Sandbox: new(string(sandbox.None))}
	if !goesOn {
		got = s.verdict(s.p.got, cause)
	}
	got.Service = &record.Service{ReadyMS: s.took, Since: s.since, Kept: goesOn}
	if goesOn || s.since != "" {
		got.StartedAt, got.DurationMS = &record.Time{Time: began}, new(time.Since(began).Milliseconds())
	}
	if s.since != "" {
		got.Attempts = 0 // it was started by another run
	}
	return got
}

// launch starts the process of a service.
func (w *walker) launch(s *service, made string, out *output) *listener {
	s.p = &instance{name: s.t.Name, made: made, since: w.d.ID}
	for _, d := range w.r.Config.Services(s.t) {
		if n := w.services[d.Name]; n != nil && n.p != nil {
			s.p.needs = append(s.p.needs, n.p)
		}
	}
	s.p.out.use(out, w.r.Tasks.Redact.Bytes)
	heard := &listener{to: &s.p.out, heard: make(chan struct{})}
	if s.t.Service.Log != "" && w.startable(s.t) { // else the only line is the one that says why it cannot start
		heard.line = regexp.MustCompile(s.t.Service.Log)
	}
	s.p.start(w.r.Tasks, s.t, heard, w.keeps(s))
	return heard
}

// keeps returns what a service goes on in when the run has ended; nil: it does not.
func (w *walker) keeps(s *service) *Kept {
	if s.wanted {
		return nil
	}
	return w.r.Keep
}

// await waits until the process of a service or the run has ended, and ends the process then, unless it is ready and
// kept: in that case it goes on. cause is why it was ended; nil: it ended by itself.
func (w *walker) await(ctx context.Context, s *service) (goesOn bool, cause error) {
	k := w.keeps(s)
	select {
	case <-s.p.exited:
		if !s.wanted { // now, and not when its last process has ended: what needs it must neither start nor be stored
			s.announce(true)
		}
		<-s.p.ended
	case <-ctx.Done():
		if k != nil && s.isReady() && s.p.out.leave() {
			return true, nil
		}
		cause = context.Cause(ctx)
		s.p.stop(cause)
		<-s.p.ended
	}
	if k != nil {
		k.forget(s.p)
	}
	return false, cause
}

func (s *service) isReady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took != nil
}

// claim takes the port of a service for it, and returns why it cannot have it, or "". goesOn: it listens there itself.
func (w *walker) claim(ctx context.Context, t *pipeline.Task, goesOn bool) string {
	port := t.Service.Port
	if port == 0 {
		return ""
	}
	w.mu.Lock()
	other := w.ports[port]
	if other == "" {
		if w.ports == nil {
			w.ports = map[int]string{}
		}
		w.ports[port] = t.Name
	}
	w.mu.Unlock()
	switch {
	case other != "":
		return fmt.Sprintf("the service %s has port %d too: give one of them another port", pipeline.ShownName(other), port)
	case !goesOn && listens(ctx, port):
		return fmt.Sprintf("something else listens on port %d already: end it, or use another port", port)
	}
	return ""
}

// verdict returns the record of a service that has ended. cause is why it was ended; nil: it ended by itself.
func (s *service) verdict(got record.Task, cause error) record.Task {
	got.Service = &record.Service{ReadyMS: s.took}
	fail := func(why string) record.Task {
		got.Status, got.Reason = record.Failed, nil
		if got.Error == nil {
			got.Error = &why
		}
		return got
	}
	late := neverReady{}
	switch {
	case errors.Is(cause, errRunEnded):
		if got.Status == record.Cancelled { // how it ended then was our doing
			got.Status, got.Reason, got.ExitCode, got.Signal = record.Passed, new(record.RunEnded), nil, nil
		}
		return got
	case errors.As(cause, &late):
		got.ExitCode, got.Signal = nil, nil
		return fail(late.Error())
	case cause != nil: // the run was interrupted
		return got
	case s.wanted && got.Status == record.Passed:
		return got
	case s.took == nil:
		return fail("it ended before it was ready" + howEnded(got))
	}
	return fail("it ended before the run did" + howEnded(got))
}

func howEnded(got record.Task) string {
	switch {
	case got.Signal != nil:
		return " (" + *got.Signal + ")"
	case got.ExitCode != nil:
		return fmt.Sprintf(" (exit %d)", *got.ExitCode)
	}
	return ""
}

// endServices waits for the services that were asked for, ends the others, those first that need others, and records
// those that no task needed.
func (w *walker) endServices(ctx context.Context) {
	tasks := w.r.Graph.Tasks()
	for _, t := range tasks {
		if s := w.services[t.Name]; s != nil && s.wanted && s.started() && !w.failed() {
			select {
			case <-s.ended:
			case <-ctx.Done():
			}
		}
	}
	for _, t := range slices.Backward(tasks) {
		s := w.services[t.Name]
		if s == nil {
			continue
		}
		if s.started() {
			s.stop(errRunEnded)
			<-s.ended
			continue
		}
		w.mu.Lock()
		_, told := w.done[t.Name] // skipped, as what it depends on has failed
		w.mu.Unlock()
		if !told {
			w.skip(pipeline.End{Task: t, Reason: record.NotNeeded})
		}
	}
}

// isStopped reports whether no task starts any more, as one has failed.
func (w *walker) isStopped() bool {
	select {
	case <-w.stopped:
		return true
	default:
		return false
	}
}

// firstFailure returns the first task that did not pass, nil where all did.
func (w *walker) firstFailure() *string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == "" {
		return nil
	}
	return new(w.first)
}

// failed reports whether a task has not passed.
func (w *walker) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first != ""
}

// failedService returns the first service of a task that has failed, or nil.
func (w *walker) failedService(t *pipeline.Task) *service {
	if w.services == nil {
		return nil
	}
	for _, d := range w.r.Config.Services(t) {
		if s := w.services[d.Name]; s != nil && s.hasFailed() {
			return s
		}
	}
	return nil
}

// WithoutService returns what takes the place of the cache's answer for a task with inputs that needs a service which is
// not in the graph (run --only). nil: there is no such service.
func WithoutService(c *pipeline.Config, g *pipeline.Graph, t *pipeline.Task) *cache.Entry {
	if !t.HasInputs() {
		return nil
	}
	for _, d := range c.Services(t) {
		if !slices.ContainsFunc(g.Tasks(), func(t *pipeline.Task) bool { return t.Name == d.Name }) {
			why := fmt.Sprintf("the service %s, which it needs, is not of this run", pipeline.ShownName(d.Name))
			return &cache.Entry{Result: cache.Off, Why: []string{why}}
		}
	}
	return nil
}

// known returns what can be recorded of a service before it has ended; nil: it is none, or was not started.
func (s *service) known() *record.Service {
	if s == nil || !s.started() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := &record.Service{ReadyMS: s.took}
	if s.took != nil { // else another goroutine may be about to set it
		known.Since = s.since
	}
	return known
}

func (s *service) started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}
