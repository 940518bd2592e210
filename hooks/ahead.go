package hooks

import (
	"context"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Ahead copies the tree while other tasks of the run still work, if an agent will be asked about t, which has failed,
// and no base is kept from an earlier fix. The fix then looks only for what has changed since. Ahead starts no agent
// and records nothing. Its error is no fault of the run: the fix makes the base itself, and reports what fails then.
func (e *Engine) Ahead(ctx context.Context, t *pipeline.Task) (err error) {
	i := slices.IndexFunc(t.OnFail, e.asks)
	if i < 0 || needsService(e.Config, t.Name, t.OnFail[i].Agent) != "" {
		return nil
	}
	tier, err := homes.Tier(e.Tier)
	if err != nil {
		return err
	}
	at, err := homes.Find(ctx, e.Store, e.Cache)
	if err != nil {
		return err
	}
	kept := at.KeptBase(tier)
	if kept == "" || recordfile.Exists(kept) {
		return nil
	}
	w := &walk{store: e.Store}
	if err := w.takeLock(); err != nil {
		return err
	}
	defer w.release()
	base, err := scratch.Make(ctx, at.Work, scratch.Source{
		Root: e.Config.Root, Include: t.Scratch.Include, Exclude: t.Scratch.Exclude, Kept: kept, Bin: e.Bin,
	})
	if err != nil {
		return err
	}
	return base.Leave()
}

// asks reports whether a hook asks an agent that can be started, as far as that depends on no failure.
func (e *Engine) asks(h pipeline.Hook) bool {
	if h.Agent == nil {
		return false
	}
	j := &job{Engine: e, walk: &walk{store: e.Store}, hook: h.Agent}
	return j.forbidden() == "" && slices.ContainsFunc(append([]string{h.Agent.Use}, h.Agent.Fallback...),
		func(name string) bool { a := e.Agents[name]; return a != nil && j.unable(a) == "" })
}
