// run --watch: rounds of the same tasks, each a run with a record of its own.
package main

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/rounds"
)

// A watching is one run --watch.
type watching struct {
	rounds.Watch
	tasks  int            // that are watched; 0: the first round has not begun
	signal syscall.Signal // that came while the last round was at work; 0: none
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

// watchTasks runs rounds until a signal comes.
func watchTasks(prog *program, r *runFlags, names []string) error {
	file, err := prog.settledFile()
	if err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return err
	}
	w := &watching{Watch: rounds.Watch{
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
	r.rounds = w
	defer w.Close()
	for {
		code := prog.code(runTasks(prog, r, names))
		if w.tasks == 0 { // there is nothing that could be watched
			return exit.With(code)
		}
		if code >= exit.Signal || prog.Out.Problem() != nil { // a round that changes ended has no such code
			return exit.With(code)
		}
		if w.signal != 0 {
			return exit.With(exit.Signal + int(w.signal))
		}
		select {
		case <-w.Changed():
			continue
		default:
		}
		prog.Results().Line("Watching %s. Ctrl-C ends.", english.Count(w.tasks, "task"))
		prog.Out.Flush()
		<-w.Changed()
	}
}

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
	names, paths := w.Next(c, g, files)
	if len(names) == 0 {
		return nil, nil
	}
	what := "files"
	if len(paths) > 0 {
		what = english.List(paths, 3)
	}
	screen.Line("\n%s changed: %s", view.Harmless(what), english.Count(len(names), "task"))
	return selectTasks(prog, c, c.WithServices(names), true)
}
