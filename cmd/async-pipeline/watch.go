// run --watch: rounds of the same tasks, each a run with a record of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/console"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/rounds"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// A watching is one run --watch.
type watching struct {
	rounds.Watch
	tasks    int  // that are watched; 0: the first round has not begun
	idle     bool // nothing was run since it was said that files are watched
	store    *record.Store
	locked   bool               // the last round could not begin, as another run was at work
	stop     *console.Interrupt // of all rounds
	services run.Kept           // that go on between rounds
	ended    chan string        // of them, those that ended by themselves: what is said of it
}

// watchable returns an error for what cannot be typed together with --watch.
func (r *runFlags) watchable() error {
	switch {
	case r.dryRun || r.json || r.trace != "":
		return exit.Misused("--watch cannot be used with --dry-run, --json or --trace")
	case r.only || r.affected.asked || r.resume != "":
		return exit.Misused("--watch cannot be used with --only, --affected or --resume")
	}
	r.noHeal = r.noHeal || !r.heal.asked
	return nil
}

// watchTasks runs rounds until a signal comes or the folder of the project is gone.
func watchTasks(prog *program, r *runFlags, names []string) error {
	file, err := prog.settledFile()
	if err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return err
	}
	w := &watching{store: record.At(root), ended: make(chan string, 16), Watch: rounds.Watch{
		Root: root,
		Know: func(c *pipeline.Config) { r.cache.know(prog, c) },
		Loops: func(path string, rounds int) {
			prog.Messages().Warning(fmt.Sprintf("%s changed in each of %d rounds in a row while tasks ran: it begins no round until they rest\ndeclare it as an output, or let git ignore it",
				view.Harmless(path), rounds))
		},
	}}
	if repo, err := git.Find(context.Background(), root); err == nil {
		w.Repo = repo
	}
	w.services.Ended = func(service, how string) {
		select {
		case w.ended <- "service " + view.Harmless(view.TaskName(service)) + " ended" + how:
		default: // so many are told already
		}
	}
	w.stop = prog.Listen(w.interrupted)
	defer w.stop.Stop()
	defer prog.JobControl().End()
	r.rounds = w
	defer w.Close()
	defer func() { w.services.Close(w.stop.Again) }()
	for {
		w.Reading()
		err := runTasks(prog, r, names)
		w.locked = errors.Is(err, record.ErrLocked)
		code := prog.code(err)
		if w.tasks > 0 && code < exit.Signal && prog.Out.Problem() == nil { // a round that changes ended has no such code
			w.wait(prog)
		}
		switch first := w.stop.First(); {
		case first != 0 && code < exit.Signal:
			return exit.With(exit.Signal + int(first))
		case w.tasks == 0, code >= exit.Signal, prog.Out.Problem() != nil: // or there is nothing that could be watched
			return exit.With(code)
		case w.Gone():
			return exit.Refuse("the folder of the project is gone: %s was removed or moved\nstart --watch again where the project is now", view.Harmless(root))
		}
	}
}

// wait waits until there are changes, the run that was in the way has ended, a signal comes, or the folder of the project is
// gone.
func (w *watching) wait(prog *program) {
	select {
	case <-w.Changed():
		return
	case <-w.stop.Ctx.Done():
		return
	default:
	}
	if w.Gone() {
		return
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	if !w.idle {
		prog.Results().Line("Watching %s. Ctrl-C ends.", english.Count(w.tasks, "task"))
	}
	w.idle = false
	for {
		prog.Out.Flush()
		select {
		case <-w.Changed():
			return
		case <-w.stop.Ctx.Done():
			return
		case <-look.C:
			if w.Gone() || w.locked && !w.store.Running() {
				return
			}
		case text := <-w.ended:
			prog.Results().Line("%s", text)
		}
	}
}

// interrupted is told a signal that comes between rounds. The next thing that happens is the end.
func (*watching) interrupted(syscall.Signal) {}

// choose returns the tasks of the next round, or nil for none. The first round has all of g.
func (w *watching) choose(prog *program, c *pipeline.Config, g *pipeline.Graph, screen *view.Screen) (*pipeline.Graph, error) {
	files := definingFiles(prog, c, w.Root)
	if w.tasks == 0 {
		polls, err := w.Open(c, g, files)
		if err != nil {
			return nil, exit.Refuse("%v", err)
		}
		if polls != "" {
			prog.Messages().Notice("all files are looked at each second: " + polls)
		}
		w.tasks = len(g.Tasks())
		return g, nil
	}
	w.tasks = len(g.Tasks())
	w.services.Retain(c, g)
	names, paths, changed := w.Next(c, g, files)
	w.services.Changed(changed)
	if len(names) == 0 || w.stop.First() != 0 {
		w.idle = true
		return nil, nil
	}
	what := "files changed"
	switch {
	case len(paths) > 0:
		what = english.List(paths, 3) + " changed"
	case w.locked:
		what = "the other run has ended"
	}
	screen.Line("\n%s: %s", view.Harmless(what), english.Count(len(names), "task"))
	return selectTasks(prog, c, c.WithServices(names), true)
}
