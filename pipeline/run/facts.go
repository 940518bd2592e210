package run

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/digest"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// gitTime bounds the questions to git.
const gitTime = 10 * time.Second

// GitFacts returns what git knows of the tree: nil outside of a work tree, and fields nil where git does not answer
// in time.
func GitFacts(ctx context.Context, root string) *record.Git {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	if f, err := git.FactsOf(ctx, root); err == nil {
		facts := &record.Git{Dirty: &f.Dirty}
		if f.Commit != "" {
			facts.Commit = &f.Commit
		}
		if f.Branch != "" {
			facts.Branch = &f.Branch
		}
		return facts
	}
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
		facts.Dirty = new(len(paths) > 0)
	}
	return facts
}

// AskGit begins to ask for GitFacts. The function that it returns waits for the answer, or for the end of its
// context: then it returns nil.
func AskGit(root string) func(context.Context) *record.Git {
	answer := make(chan *record.Git, 1)
	go func() { answer <- GitFacts(context.Background(), root) }()
	return func(ctx context.Context) *record.Git {
		select {
		case facts := <-answer:
			return facts
		case <-ctx.Done():
			return nil
		}
	}
}

// nodes returns the selected tasks for graph.json.
func nodes(g *pipeline.Graph, secrets *redact.Set) ([]record.Node, error) {
	var list []record.Node
	for _, t := range g.Tasks() {
		print, err := Fingerprint(t, secrets)
		if err != nil {
			return nil, err
		}
		list = append(list, record.Node{Name: t.Name, DependsOn: append([]string{}, g.DependsOn(t.Name)...), Fingerprint: print})
	}
	return list, nil
}

// Prepare makes, in the background, the encoders of what a run writes. encoding/json makes those of a type when it is
// first encoded, in a third of a millisecond for a task and as much for a run. Calling it is optional.
func Prepare() {
	go func() {
		for _, v := range []any{pipeline.Task{}, record.Run{Tasks: []record.Task{{}}}} {
			_, _ = json.Marshal(v)
		}
	}()
}

// Fingerprint returns a digest of a task as written, without its place in the file. No secret value goes into it,
// because short values could be guessed from a digest.
func Fingerprint(t *pipeline.Task, secrets *redact.Set) (string, error) {
	b, err := json.Marshal(withoutSecrets(t))
	if err != nil {
		return "", err
	}
	return digest.Of(secrets.Bytes(b)), nil
}

// withoutSecrets returns a copy of a task in which every text shows the names of its secrets in place of their values.
func withoutSecrets(t *pipeline.Task) pipeline.Task {
	c := *t
	c.Pos = pipeline.Pos{}
	c.Run = shownCommand(t.Run)
	c.Env = slices.Clone(t.Env)
	for i := range c.Env {
		c.Env[i].Text = shownText(t.Env[i].Text)
	}
	if t.Service != nil && t.Service.Command != nil {
		service, command := *t.Service, shownCommand(*t.Service.Command)
		service.Command = &command
		c.Service = &service
	}
	c.OnFail = append([]pipeline.Hook{}, t.OnFail...)
	for i := range c.OnFail {
		h := &c.OnFail[i]
		h.Pos = pipeline.Pos{}
		if h.Run != nil {
			run := *h.Run
			run.Run = shownCommand(run.Run)
			h.Run = &run
		}
	}
	return c
}

func shownCommand(c pipeline.Command) pipeline.Command {
	c.Argv, c.Args, c.Shell = slices.Clone(c.Argv), slices.Clone(c.Args), shownText(c.Shell)
	for _, words := range [][]pipeline.Text{c.Argv, c.Args} {
		for i := range words {
			words[i] = shownText(words[i])
		}
	}
	return c
}

// shownText keeps the names of the secrets; whether they are set now is not part of how the task is written.
func shownText(t pipeline.Text) pipeline.Text {
	return pipeline.Text{Value: t.Show(), Secrets: t.Secrets, Hidden: t.Hidden}
}
