// Tasks that an agent does: pipeline/run is lent the function that asks the agent, and a person is told how to take the
// patch.
package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/cachedir"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agenttask"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// askAgent returns what does the agent tasks of a run.
func askAgent(prog *program, c *pipeline.Config, store *record.Store, tier sandbox.Tier) run.AskAgent {
	agents := sync.OnceValue(func() map[string]agent.Agent { return prog.Agents(c) })
	return func(ctx context.Context, t *pipeline.Task, d *record.Draft, say func(string)) (record.Task, string) {
		cache, err := cachedir.Dir(prog.Env)
		if err != nil {
			return record.Task{Name: t.Name, Status: record.Failed, Error: new(err.Error())}, ""
		}
		r := &agenttask.Runner{
			Config: c, Store: store, Redact: prog.Secrets, Environ: prog.Environ, Cache: cache, Bin: &prog.bin,
			Agents: agents(), Tier: tier,
		}
		return r.Run(ctx, t, d, say)
	}
}

// takePatches returns the commands that take what agent tasks changed in their copies.
func takePatches(prog *program, root, runDir string, tasks []record.Task) (next []view.Next) {
	for _, t := range tasks {
		if t.Agent == nil || t.Agent.Patch == nil {
			continue
		}
		p := t.Agent.Patch
		next = append(next, view.Next{
			Does: fmt.Sprintf("take what %s changed (%s)", view.TaskName(t.Name), english.Count(p.Changed, "file")),
			Type: gitApply(prog, root, filepath.Join(runDir, filepath.FromSlash(p.Path))),
		})
	}
	return next
}

// gitApply returns the command that applies a patch. Its paths begin at git's top, or at the root where there is no
// repository.
func gitApply(prog *program, root, file string) string {
	top := root
	if repo, err := git.Of(context.Background(), root); err == nil {
		top = repo.Top
	}
	here, err := filepath.EvalSymlinks(prog.Dir)
	if at, fault := filepath.EvalSymlinks(top); cmp.Or(err, fault) == nil && at == here {
		return "git apply " + view.Quote(prog.Messages().Path(file))
	}
	return "git -C " + view.Quote(top) + " apply " + view.Quote(file)
}
