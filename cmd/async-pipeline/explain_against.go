package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A comparison is explain --against RUN --json: what differs between a task in a recorded run and the task now.
type comparison struct {
	Task    string   `json:"task"`
	Against string   `json:"against"` // id of the run
	Status  string   `json:"status"`  // of the task there
	Changed []string `json:"changed"` // never null
}

// explainAgainst compares what a task was made of in a recorded run with what it is made of now.
func explainAgainst(prog *program, e *explainCall, c *pipeline.Config, t *pipeline.Task) error {
	run, err := prog.findRun(record.At(c.Root), e.against)
	if err != nil {
		return err
	}
	then := run.Task(t.Name)
	if then == nil {
		return exit.Refuse("run %s has no task %q: %s lists the runs", run.ID, view.TaskName(t.Name), prog.Typed("runs"))
	}
	r, err := record.ReadReceipt(run.Dir, t.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exit.Refuse("run %s does not know what task %q was made of: %s", run.ID, view.TaskName(t.Name), whyNoReceipt(t, then))
	case err != nil:
		return exit.Refuse("%v", err)
	case r.MadeOf == nil:
		return exit.Refuse("run %s does not know what task %q was made of: the cache was off (%s)", run.ID, view.TaskName(t.Name), text(r.Reason))
	}
	changed, err := e.cache.peek(prog, c).Against(context.Background(), t, r.MadeOf)
	if err != nil {
		return exit.Refuse("task %q cannot be compared: %v", view.TaskName(t.Name), err)
	}
	safe := []string{}
	for _, line := range changed {
		safe = append(safe, prog.Secrets.String(line))
	}
	if e.json {
		return prog.PrintJSON(comparison{Task: t.Name, Against: run.ID, Status: then.Status, Changed: safe})
	}
	prog.Results().Against(t.Name, run.ID, then.Status, safe)
	return nil
}

// whyNoReceipt returns why a run has no receipt of a task.
func whyNoReceipt(t *pipeline.Task, then *record.Task) string {
	switch {
	case then.Status == record.Skipped:
		return "it was not started there"
	case !t.HasInputs():
		return "a task without inputs runs every time, whatever it is made of"
	}
	return "it had no inputs then, or the run was made by an older version"
}

func text(s *string) string {
	if s == nil {
		return "no reason was recorded"
	}
	return *s
}
