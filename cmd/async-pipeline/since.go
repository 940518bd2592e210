package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// nodes are the selected tasks for graph.json.
func nodes(g *pipeline.Graph, secrets *redact.Set) ([]record.Node, error) {
	var list []record.Node
	for _, t := range g.Tasks() {
		print, err := fingerprint(t, secrets)
		if err != nil {
			return nil, err
		}
		list = append(list, record.Node{Name: t.Name, DependsOn: append([]string{}, g.DependsOn(t.Name)...), Fingerprint: print})
	}
	return list, nil
}

// fingerprint is a digest of a task as written: all that it does, not where it stands in the file, and no secret value,
// which a digest could be made to tell.
func fingerprint(t *pipeline.Task, secrets *redact.Set) (string, error) {
	b, err := json.Marshal(aloud(t))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(secrets.Bytes(b))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// aloud is a task as it may be said: a copy of which no text holds the secrets that made it, however short they are.
func aloud(t *pipeline.Task) pipeline.Task {
	at := *t
	at.Pos = pipeline.Pos{}
	at.Run = aloudCommand(t.Run)
	at.Env = slices.Clone(t.Env)
	for i := range at.Env {
		at.Env[i].Text = aloudText(t.Env[i].Text)
	}
	at.OnFail = append([]pipeline.Hook{}, t.OnFail...)
	for i := range at.OnFail {
		h := &at.OnFail[i]
		h.Pos = pipeline.Pos{}
		if h.Run != nil {
			run := *h.Run
			run.Run = aloudCommand(run.Run)
			h.Run = &run
		}
	}
	return at
}

func aloudCommand(c pipeline.Command) pipeline.Command {
	c.Argv, c.Shell = slices.Clone(c.Argv), aloudText(c.Shell)
	for i := range c.Argv {
		c.Argv[i] = aloudText(c.Argv[i])
	}
	return c
}

// aloudText keeps which secrets it was made of; whether they are set now is not how the task is written.
func aloudText(t pipeline.Text) pipeline.Text {
	return pipeline.Text{Value: t.Show(), Secrets: t.Secrets, Hidden: t.Hidden}
}

// since says what changed since a run that is healed later: the task as written, and the commit.
func (h *hall) since(c *pipeline.Config, run *record.Sealed, task string) string {
	var changes []string
	if t := c.Task(task); t != nil {
		now, err := fingerprint(t, h.secrets)
		nodes, graph := run.Graph()
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
	if run.Git != nil && run.Git.Commit != nil {
		was = *run.Git.Commit
	}
	if git := gitFacts(context.Background(), c.Root); git != nil && git.Commit != nil {
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
