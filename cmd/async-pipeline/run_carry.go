// One run, and then its hooks. The order in perform is the promise "judge first, repair after": the verdict is
// sealed before the first hook starts.
package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/cachedir"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/console"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/leftovers"
	"github.com/async-pipeline/async-pipeline/hooks/person"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// runCall is one run that is carried out and shown.
type runCall struct {
	selection
	prog   *program
	flags  *runFlags
	names  []string // as they were typed
	tier   sandbox.Tier
	screen *view.Screen
	drawn  bool   // in a terminal, not as plain lines
	trace  string // file of --trace; empty: none
	store  *record.Store
	git    func(context.Context) *record.Git // see run.AskGit
	stop   *console.Interrupt                // nil in a round of --watch

	progress progress
	ahead    ahead
	ctx      context.Context // of the tasks
	sealed   *record.Sealed
}

func (p *runCall) perform() error {
	prog := p.prog
	// One listener over both phases: between the verdict and the hooks a signal must not kill what is left to say.
	stop := p.stop
	if w := p.flags.rounds; w != nil { // it listens over all rounds
		stop = w.stop
		stop.Next(p.interrupted)
		defer stop.Next(w.interrupted)
		var end func(*record.Sealed)
		p.ctx, end = w.Begin(stop.Ctx, p.graph)
		defer func() { end(p.sealed) }()
	} else {
		stop.Heeds(p.interrupted)
		defer prog.JobControl().End()
		p.ctx = stop.Ctx
	}
	sealed, err := p.record(stop)
	p.sealed = sealed
	defer func() {
		if !prog.Hurried() {
			p.ahead.Wait()
		}
	}()
	switch {
	case errors.Is(err, record.ErrLocked) && sandbox.Inside(p.config.Root):
		return exit.Refuse("a task of a run cannot start another run of the same project: it would wait for itself\nlet it depend on the tasks that it needs (depends_on)")
	case err != nil:
		return err
	}
	prog.recorded = true
	p.writeTrace(sealed)
	p.summary(sealed)
	if sealed.Status == record.Failed && sealed.ExitCode == exit.Failed {
		p.answer(stop, sealed)
	}
	if !stop.Now() {
		pruneAfter(prog, p.config, p.store, sealed.ID)
		if !p.flags.cache.off {
			_ = cache.CollectDaily(p.flags.cache.place(prog, p.config.Root)) // gc tells what is wrong
		}
	}
	if sealed.ExitCode == 0 {
		return nil
	}
	return exit.With(sealed.ExitCode)
}

// record runs the tasks and shows their progress.
func (p *runCall) record(stop *console.Interrupt) (*record.Sealed, error) {
	prog := p.prog
	p.ahead.running = map[string]bool{}
	end := func() {}
	defer func() { end() }()
	prog.Out.OnFailure(stop.Unread)
	defer prog.Out.OnFailure(nil)
	r := &run.Run{
		Config: p.config, Graph: p.graph, Store: p.store, Tasks: taskRunner(prog, p.config),
		Parallel: p.flags.concurrency, KeepGoing: p.flags.keepGoing, Serve: p.flags.serves(p.names),
		Job: p.job, Affected: p.since, Resumes: p.taken, CI: p.flags.heal.ci, Healing: p.healingMode(),
		Agent: askAgent(prog, p.config, p.store, p.tier), AgentsOff: p.flags.watch && !p.flags.heal.asked,
		Git:   p.git,
		Cache: p.flags.cache.open(prog, p.config), CacheOff: p.flags.cache.reason(),
		Locked: func(lock *record.Lock) {
			p.cleanUp(lock)
			end = p.show()
		},
		Observer: run.Observer{
			Started: func(t *pipeline.Task) {
				p.ahead.running[t.Name] = true
				p.progress.Started(t)
			},
			Runs:   func(t *pipeline.Task) { p.progress.Runs(t) },
			Output: func(t *pipeline.Task, chunk []byte) { p.progress.Output(t.Name, chunk) },
			Retried: func(t *pipeline.Task, attempt int,
				before record.Task,
			) {
				p.progress.Retried(t, attempt, before)
			},
			Ready: func(t *pipeline.Task, took time.Duration, since string) { p.progress.Ready(t, took, since) },
			Finished: func(t *pipeline.Task, r record.Task) {
				delete(p.ahead.running, t.Name)
				p.copyAhead(stop.Ctx, t, r)
				p.progress.Finished(r)
			},
			Quiet: func() { p.progress.Quiet() },
			Ended: func(tasks []record.Task) {
				sandbox.Retire() // while the verdict is written
				p.progress.End(tasks)
			},
		},
		Abandon: stop.Again,
		Interrupted: func() int {
			if !p.drawn {
				prog.Out.Flush() // whether anybody reads is part of the verdict
			}
			told := func(syscall.Signal) { noteHealingEnds(prog, p.config) }
			if p.flags.rounds != nil && p.flags.noHeal {
				told = func(syscall.Signal) {}
			}
			switch first := stop.Next(told); { // from here on a signal ends the hooks only
			case first != 0:
				return exit.Signal + int(first)
			case errors.Is(prog.Out.Problem(), syscall.EPIPE):
				return exit.Pipe
			}
			return 0
		},
	}
	if w := p.flags.rounds; w != nil {
		r.Keep = &w.services
	}
	if p.flags.json {
		r.Journal = func(line []byte) { prog.JournalLine(line) }
	}
	return r.Do(p.ctx)
}

// cleanUp ends and removes what killed runs left, where the lock tells of one or there are copies.
func (p *runCall) cleanUp(lock *record.Lock) {
	if !lock.Killed() && !leftovers.AnyCopy(p.store, cachedir.Candidates(p.prog.Env)...) || !sweep(p.prog, p.store) {
		return
	}
	if c := p.flags.cache.open(p.prog, p.config); c != nil && lock.Killed() {
		c.Config = p.config
		if err := c.RemoveAbandoned(p.ctx); err != nil {
			return // the next run tries again
		}
	}
	lock.Settled()
}

// ahead is the copy of the tree that is made for a fix while tasks still work.
type ahead struct {
	sync.WaitGroup
	running map[string]bool // tasks by name; belongs to the observer of the run
	begun   bool
}

// copyAhead begins the copy for the first failed task whose hook will need it, if other tasks still work.
func (p *runCall) copyAhead(ctx context.Context, t *pipeline.Task, ended record.Task) {
	failed := ended.Status == record.Failed || ended.Status == record.TimedOut
	asks := slices.ContainsFunc(t.OnFail, func(h pipeline.Hook) bool { return h.Agent != nil })
	flaky := ended.Cache != nil && ended.Cache.Flaky != nil // then no agent starts
	if !failed || flaky || !asks || p.flags.noHeal || p.ahead.begun || len(p.ahead.running) == 0 {
		return
	}
	p.ahead.begun = true
	e, err := newEngine(p.prog, p.config, nil, p.screen, nil, p.flags.heal, p.tier)
	if err != nil {
		return // said when the failure is answered
	}
	p.ahead.Go(func() { _ = e.Ahead(ctx, t) }) // the fix reports what fails again
}

// show begins to show the progress of the tasks, until end is called.
func (p *runCall) show() (end func()) {
	var names []string
	for _, t := range p.graph.Tasks() {
		names = append(names, t.Name)
	}
	if !p.drawn {
		p.progress = p.screen.Lines(names)
		return func() {}
	}
	live := p.screen.Live(names, time.Now)
	p.progress = live
	return p.prog.Draw(live).Close
}

func (p *runCall) interrupted(s syscall.Signal) {
	if live := p.prog.Drawn(); live != nil {
		live.Interrupted()
	}
	p.prog.Messages().Notice("interrupted (" + s.String() +
		"): nothing new starts; what runs has 3s to end;\nonce more kills it at once")
}

// answer runs the hooks of a sealed failure; the exit code stays. A signal, or that nobody reads the output any more,
// cancels the hooks, which is recorded. Context packs are written in any case.
func (p *runCall) answer(stop *console.Interrupt, sealed *record.Sealed) {
	prog := p.prog
	if foreign, err := prog.tree(p.store.Root).Foreign(context.Background()); err == nil && foreign {
		prog.Messages().Warning("git tracks files in .async: a fix that is proposed here cannot be applied while it does; git rm -r --cached .async")
	}
	screen, live, drawn := healingScreen(prog, p.screen, p.drawn)
	defer drawn()
	e, err := newEngine(prog, p.config, sealed, screen, live, p.flags.heal, p.tier)
	if err != nil {
		prog.Messages().Warning("the failure is not answered: " + err.Error())
		return
	}
	e.Parallel = p.flags.concurrency
	prog.Out.OnFailure(stop.Unread)
	defer prog.Out.OnFailure(nil)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if err := e.Packs().WriteAll(context.WithoutCancel(stop.Ctx), sealed); err != nil {
			prog.Messages().Warning(err.Error())
		}
		p.ahead.Wait()
		if p.flags.noHeal || !p.hooked(sealed) {
			return
		}
		if _, err := e.Answer(stop.Ctx, sealed); err != nil {
			prog.Messages().Warning(err.Error())
		}
	}()
	stop.Await(answered)
}

// hooked reports whether a failed task has hooks.
func (p *runCall) hooked(sealed *record.Sealed) bool {
	return slices.ContainsFunc(failedTasks(sealed), func(r *record.Task) bool {
		t := p.config.Task(r.Name)
		return t != nil && len(t.OnFail) > 0
	})
}

// noteHealingEnds is told the first signal while the hooks of a configuration work: it ends the hooks only.
func noteHealingEnds(prog *program, c *pipeline.Config) {
	asksAgent := func(h pipeline.Hook) bool { return h.Agent != nil }
	if slices.ContainsFunc(c.Tasks, func(t *pipeline.Task) bool { return slices.ContainsFunc(t.OnFail, asksAgent) }) {
		prog.Messages().Notice("stopping the fix; once more to leave at once\nwhat an agent has changed so far is kept as a rescue patch")
		return
	}
	prog.Messages().Notice("stopping the on_fail \"run\" at work, not those after it; once more to leave at once")
}

// healingMode returns what run.json says about fixes.
func (p *runCall) healingMode() record.Healing {
	c := p.flags
	because := func(mode, reason string) record.Healing { return record.Healing{Mode: mode, Reason: &reason} }
	switch {
	case c.watch && !c.heal.asked:
		return because("off", "--watch without --heal")
	case c.noHeal:
		return because("off", "--no-heal")
	case p.inHook() != "":
		return because("off", "started by a hook ("+p.inHook()+")")
	case c.heal.ci && !c.heal.asked:
		return because("ci", "CI mode without --heal")
	case c.heal.ci:
		return because("on", "--heal")
	}
	return record.Healing{Mode: "on"}
}

// inHook returns how it is known that a hook started this run; empty: none did. Only where the file has hooks the
// ancestors of this process are looked at.
func (p *runCall) inHook() string {
	hooked := slices.ContainsFunc(p.config.Tasks, func(t *pipeline.Task) bool { return len(t.OnFail) > 0 })
	if !hooked && p.prog.Env(sandbox.HookMark) == "" {
		return ""
	}
	return person.Hook(p.prog.Env)
}
