// The flag --resume of run: what it refuses, and what is said of what pipeline/resume finds.
package main

import (
	"context"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/resume"
)

// resumable returns an error for what cannot be typed together with --resume.
func (r *runFlags) resumable(names []string) error {
	switch {
	case r.resume == "":
		return exit.Misused("--resume has an empty run: is a variable not set?")
	case len(names) > 0 || len(r.args) > 0:
		return exit.Misused("--resume runs what is left of its run: name no tasks, and no arguments")
	case r.only || r.affected.asked:
		return exit.Misused("--resume cannot be used with --only or --affected")
	}
	return nil
}

// resumed returns the run to resume. latest is the newest one that does not go on, with a verdict or killed.
func (prog *program) resumed(store *record.Store, id string) (record.Entry, error) {
	if id != "latest" {
		return prog.lookRun(store, id)
	}
	ids, err := store.IDs()
	if err != nil {
		return record.Entry{}, err
	}
	for _, id := range ids {
		if e := store.Entry(id); !e.Live {
			return e, nil
		}
	}
	return record.Entry{}, exit.Refuse("there is no run here that could be resumed: %s lists them", prog.Typed("runs"))
}

// leftOf finds out what is left of the run that --resume names.
func leftOf(prog *program, r *runFlags, c *pipeline.Config) (*resume.Left, error) {
	store := record.At(c.Root)
	e, err := prog.resumed(store, r.resume)
	if err != nil {
		return nil, err
	}
	if e.Live {
		return nil, exit.Refuse("run %s goes on: wait for it, or end it", e.ID)
	}
	past, err := resume.Read(store, e, c)
	if err != nil {
		return nil, exit.Refuse("run %s cannot be resumed: %v", e.ID, err)
	}
	for _, t := range past.Tasks {
		if err := repeatable(prog, past.Tasks, t.Name); err != nil {
			return nil, err
		}
	}
	k := (&cacheFlags{dir: r.cache.dir}).peek(prog, past.Config) // also with --no-cache
	left, err := past.Left(context.Background(), k, prog.Secrets)
	return left, diagnosed(prog, err)
}

// selectLeft returns the graph of the tasks that are left, or without --resume of the named ones. nil: no task is left.
func selectLeft(prog *program, c *pipeline.Config, left *resume.Left, names []string, only bool) (*pipeline.Graph, error) {
	switch {
	case left == nil:
		return selectTasks(prog, c, names, only)
	case len(left.Names) == 0:
		return nil, nil
	}
	return selectTasks(prog, c, left.Names, true)
}

// whyLeft returns why a task runs that is left, for a plan.
func whyLeft(left *resume.Left, task string) string {
	why, ok := left.Again[task]
	switch {
	case !ok:
		return "for its outputs"
	case why.After != "":
		return view.TaskName(why.After) + " runs again"
	}
	return why.Text
}

// passedAndAgain returns the tasks that passed and run all the same, with the reason.
func passedAndAgain(left *resume.Left) map[string]string {
	again := map[string]string{}
	for name, why := range left.Again {
		if why.Passed {
			again[name] = whyLeft(left, name)
		}
	}
	return again
}
