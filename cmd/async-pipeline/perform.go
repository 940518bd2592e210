// One run from the lock to the sealed verdict, and then the hooks. The order of what stands here is the promise
// "judge first, repair after".
package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// A performance is one run being carried out.
type performance struct {
	h      *hall
	call   *runCall
	names  []string // as they were typed
	tier   sandbox.Tier
	config *pipeline.Config
	graph  *pipeline.Graph
	screen *view.Screen
	drawn  bool   // in a terminal, not as plain lines
	trace  string // file of --trace; empty: none
	store  *record.Store
	job    *string

	showing  sync.Mutex // held while progress is told something; as long as nobody reads the output
	progress progress
	over     bool // progress is told nothing more
}

func (p *performance) perform() error {
	lock, err := p.store.RunLock()
	if errors.Is(err, record.ErrLocked) {
		return refuse("%v", err)
	}
	if err != nil {
		return refuse("the run cannot be recorded: %v", err)
	}
	p.h.sweep(p.store)
	// One listener over both phases: between the verdict and the hooks a signal must not kill what is left to say.
	stop := p.h.listen(p.interrupted)
	defer stop.stop()
	defer p.h.stands().end()
	sealed, code, err := p.record(stop)
	if unlock := lock.Unlock(); err == nil && unlock != nil {
		err = refuse("run.lock: %v", unlock)
	}
	if err != nil {
		return err
	}
	p.h.judged = true
	p.writeTrace(sealed)
	p.summary(sealed)
	if sealed.Status == record.Failed && code == exitFailed {
		p.answer(stop, sealed)
	}
	if !stop.now() {
		p.h.pruneAfter(p.config, p.store, sealed.ID)
	}
	if code == 0 {
		return nil
	}
	return &fault{code: code}
}

// record runs the tasks and seals the verdict. The code is the run's exit code; with an error there is no verdict.
func (p *performance) record(stop *interruption) (*record.Sealed, int, error) {
	h := p.h
	names := make([]string, 0, len(p.graph.Tasks()))
	for _, t := range p.graph.Tasks() {
		names = append(names, t.Name)
	}
	if p.drawn {
		live := p.screen.Live(names, time.Now)
		p.progress = live
		defer h.draw(live).close()
	} else {
		p.progress = p.screen.Lines(names)
	}

	started := time.Now()
	var follow func([]byte)
	if p.call.json {
		follow = func(line []byte) { h.journalLine(line) }
	}
	draft, err := p.store.Begin(started, h.secrets.Bytes, follow)
	if err != nil {
		return nil, 0, refuse("the run cannot be recorded: %v", err)
	}
	unrecorded := func(err error) (*record.Sealed, int, error) {
		return nil, 0, refuse("run %s could not be recorded, so there is no verdict: %v", draft.ID, err)
	}

	h.out.onLost(stop.unread)
	defer h.out.onLost(nil)

	r := record.Run{
		Root: p.config.Root, Job: p.job, CI: p.call.heal.ci, Healing: h.healing(p.call),
		StartedAt: record.Time{Time: started}, Git: gitFacts(stop.ctx, p.config.Root),
	}
	graph, err := nodes(p.graph, h.secrets)
	if err != nil {
		return unrecorded(err)
	}
	if err := draft.Graph(graph); err != nil {
		return unrecorded(err)
	}
	if err := draft.Event(record.Event{Type: "run_started", Data: map[string]any{
		"run": draft.ID, "root": r.Root, "job": r.Job, "ci": r.CI, "tasks": names, "healing": r.Healing,
	}}); err != nil {
		return unrecorded(err)
	}

	tasks, broken := p.tasks(stop, draft)
	if broken == nil && !stop.now() {
		p.watch(func() { p.progress.End(tasks) })
	}
	if !p.drawn {
		h.out.flush() // whether anybody reads is part of the verdict
	}

	// From here on it is decided what the run was; a signal that comes later ends the healing and nothing else.
	interrupted := 0
	switch first := stop.next(h.healingEnds); {
	case first != 0:
		interrupted = exitSignal + int(first)
	case errors.Is(h.out.problem(), syscall.EPIPE):
		interrupted = exitPipe
	}
	r.Tasks = tasks
	r.Status, r.ExitCode = status(tasks, interrupted)
	if broken != nil {
		r.Status, r.ExitCode = record.Interrupted, exitRefused
	}
	finished := time.Now()
	r.FinishedAt, r.DurationMS = record.Time{Time: finished}, finished.Sub(started).Milliseconds()
	eventErr := draft.Event(record.Event{Type: "run_finished", Data: map[string]any{
		"run": draft.ID, "status": r.Status, "exit_code": r.ExitCode, "duration_ms": r.DurationMS,
	}})
	if eventErr != nil && broken == nil {
		r.Status, r.ExitCode, broken = record.Interrupted, exitRefused, eventErr
	}
	sealed, err := draft.Seal(r)
	if err := errors.Join(broken, err); err != nil {
		return unrecorded(err)
	}
	return sealed, r.ExitCode, nil
}

// tasks carries out the graph. After a second signal it returns at once with what is known: the supervisors end what
// still runs when this process is gone.
func (p *performance) tasks(stop *interruption, draft *record.Draft) ([]record.Task, error) {
	type end struct {
		tasks []record.Task
		err   error
	}
	runner := p.h.runner(p.config, p.call.concurrency)
	runner.KeepGoing = p.call.keepGoing
	runner.Observer = run.Observer{
		Started: func(t *pipeline.Task) { p.watch(func() { p.progress.Started(t) }) },
		Output:  func(t *pipeline.Task, chunk []byte) { p.watch(func() { p.progress.Output(t.Name, chunk) }) },
		Retried: func(t *pipeline.Task, attempt int, before record.Task) {
			p.watch(func() { p.progress.Retried(t, attempt, before) })
		},
		Finished: func(_ *pipeline.Task, r record.Task) { p.watch(func() { p.progress.Finished(r) }) },
	}
	ends := make(chan end, 1)
	go func() {
		tasks, err := runner.Run(stop.ctx, p.graph, draft)
		ends <- end{tasks, err}
	}()
	select {
	case e := <-ends:
		return e.tasks, e.err
	case <-stop.again:
		p.watch(func() { p.over = true }) // what still runs may print: nothing of it stands below the verdict
		return p.asKnown(draft)
	}
}

// watch is one thing that is shown, with the lock held, until over.
func (p *performance) watch(f func()) {
	p.showing.Lock()
	defer p.showing.Unlock()
	if !p.over {
		f()
	}
}

// asKnown is the tasks of the graph as far as the journal has their ends; the others are cancelled. The runner still goes
// on, and what it reports now is recorded no more.
func (p *performance) asKnown(draft *record.Draft) ([]record.Task, error) {
	ended, err := draft.Stop()
	reason := string(pipeline.Signal)
	var tasks []record.Task
	for _, t := range p.graph.Tasks() {
		r, ok := ended[t.Name]
		if !ok {
			r = record.Task{Name: t.Name, Status: record.Cancelled, Reason: &reason}
		}
		tasks = append(tasks, r)
	}
	return tasks, err
}

func (p *performance) interrupted(s syscall.Signal) {
	if t := p.h.terminal.Load(); t != nil {
		t.live.Interrupted()
	}
	p.h.said().Notice("interrupted (" + s.String() + "): nothing new starts; what runs has 3s to end;\nonce more kills it at once")
}

// answer lets the hooks answer a sealed failure. Whatever happens in it, the exit code stays. What ends the healing: a
// signal, and that nobody reads the output any more, as with heal; both are recorded as cancelled. The context packs are
// no healing, and are written all the same.
func (p *performance) answer(stop *interruption, sealed *record.Sealed) {
	h := p.h
	if foreign, err := h.fixes(p.store.Root).Foreign(context.Background()); err == nil && foreign {
		h.said().Warning("git tracks files in .async: a fix that is proposed here cannot be applied while it does; git rm -r --cached .async")
	}
	screen, live, drawn := h.healingScreen(p.screen, p.drawn)
	defer drawn()
	e, err := h.engine(p.config, sealed, screen, live, p.call.heal, p.tier)
	if err != nil {
		h.said().Warning("the failure is not answered: " + err.Error())
		return
	}
	h.out.onLost(stop.unread)
	defer h.out.onLost(nil)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if err := e.WritePacks(context.WithoutCancel(stop.ctx), sealed); err != nil {
			h.said().Warning(err.Error())
		}
		if p.call.noHeal || !p.hooked(sealed) {
			return
		}
		if _, err := e.Answer(stop.ctx, sealed); err != nil {
			h.said().Warning(err.Error())
		}
	}()
	stop.await(answered)
}

// hooked says whether a failed task has hooks at all.
func (p *performance) hooked(sealed *record.Sealed) bool {
	for _, r := range sealed.Tasks {
		if t := p.config.Task(r.Name); t != nil && len(t.OnFail) > 0 && (r.Status == record.Failed || r.Status == record.TimedOut) {
			return true
		}
	}
	return false
}

// healingEnds is said of the first signal while hooks work: it ends the healing, and only that.
func (h *hall) healingEnds(syscall.Signal) {
	h.said().Notice("healing is being ended; once more to leave at once\nwhat the agent changed so far is kept as a rescue patch")
}

// healing is what run.json says of it.
func (h *hall) healing(c *runCall) record.Healing {
	because := func(mode, reason string) record.Healing { return record.Healing{Mode: mode, Reason: &reason} }
	switch {
	case c.noHeal:
		return because("off", "--no-heal")
	case h.env(hooks.Mark) != "":
		return because("off", "started by a hook ("+hooks.Mark+" is set)")
	case c.heal.ci && !c.heal.asked:
		return because("ci", "CI mode without --heal")
	case c.heal.ci:
		return because("on", "--heal")
	}
	return record.Healing{Mode: "on"}
}

// gitFacts is what git says of the tree; nil where it is in no work tree, fields nil where git does not say in time.
func gitFacts(ctx context.Context, root string) *record.Git {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	repo, err := git.Of(ctx, root)
	if err != nil {
		return nil
	}
	facts := &record.Git{}
	if commit, branch, err := repo.Head(ctx); err == nil {
		if commit != "" {
			facts.Commit = &commit
		}
		if branch != "" {
			facts.Branch = &branch
		}
	}
	if paths, err := repo.Dirty(ctx); err == nil {
		dirty := len(paths) > 0
		facts.Dirty = &dirty
	}
	return facts
}

// logPath is where a task's log stands.
func logPath(s *record.Sealed, t *record.Task) string {
	if t.Log == nil {
		return ""
	}
	return filepath.Join(s.Dir, filepath.FromSlash(t.Log.Path))
}
