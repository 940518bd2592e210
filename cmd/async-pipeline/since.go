package main

import (
	"context"
	"strings"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// changesSince returns what changed since a run that is healed later: the task as written, and the commit.
func changesSince(prog *program, c *pipeline.Config, r *record.Sealed, task string) string {
	var changes []string
	if t := c.Task(task); t != nil {
		now, err := run.Fingerprint(t, prog.Secrets)
		nodes, graph := r.Graph()
		switch {
		case err != nil || graph != nil:
			changes = append(changes, "it is not known whether the task is as it was")
		default:
			for _, n := range nodes {
				if n.Name == task && n.Fingerprint != now {
					changes = append(changes, "the task is written differently in PIPELINE.hcl")
				}
			}
		}
	}
	was, is := "", ""
	if r.Git != nil && r.Git.Commit != nil {
		was = *r.Git.Commit
	}
	if git := run.GitFacts(context.Background(), c.Root); git != nil && git.Commit != nil {
		is = *git.Commit
	}
	if was != is {
		changes = append(changes, "the commit was "+short(was)+" and is "+short(is))
	}
	return strings.Join(changes, "; ")
}

func short(commit string) string {
	if commit == "" {
		return "none"
	}
	return commit[:min(12, len(commit))]
}
