// Which old runs are removed: by gc, and after a run where PIPELINE.hcl has keep_runs.
package main

import (
	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// pruneAfter removes the runs beyond keep_runs after a run was sealed. Its errors are warnings. While another run or
// hooks are at work it leaves all to the next run.
func pruneAfter(prog *program, c *pipeline.Config, store *record.Store, sealed string) {
	if c.KeepRuns < 1 || prog.Env(hooks.Mark) != "" || len(store.Held()) > 0 {
		return
	}
	p := run.Prune(store, c.KeepRuns, sealed, prog.fixes(store.Root).Keeps)
	if p.None() {
		return
	}
	if _, err := store.Prune(p.Keeps); err != nil {
		prog.Messages().Warning("removing old runs (keep_runs): " + err.Error())
	}
}
