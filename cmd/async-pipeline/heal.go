package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func (h *hall) healCommand() *cobra.Command {
	f := healFlags{asked: true}
	var vars []string
	var how string
	c := &cobra.Command{
		Use:   "heal [RUN] [TASK]",
		Short: "Have a fix proposed for a recorded failure",
		Long: `Carries out the on_fail "agent" of a failed task of a recorded run, now, from
the tree and PIPELINE.hcl as they are now. Without RUN it is the newest run,
without TASK every failed task. In CI mode the hook needs ci = true.

Exit code: 0 with a proposal, 1 without, 2 could not be carried out.`,
		Example: `  async-pipeline heal
  async-pipeline heal test
  async-pipeline heal 20261121T024000Z-7f3a test`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error {
			f.ci = f.ci || h.ciMode()
			if how == progressJSON {
				return misused("--progress json is the journal of a run, and heal makes none: `fix list --json` gives what came of it")
			}
			drawn, err := h.drawn(how, healWays, f.ci)
			if err != nil {
				return err
			}
			if slices.Contains(args, "") {
				return misused("An argument is empty: is a variable not set? Without arguments every failed task of the newest run is healed; with them, RUN, TASK or RUN TASK.")
			}
			return h.heal(f, vars, drawn, unquoted(args))
		},
	}
	f.flags(c)
	progressFlag(c, &how, healWays)
	varFlag(c, &vars)
	return c
}

func (h *hall) heal(f healFlags, vars []string, drawn bool, args []string) error {
	tier, err := f.check()
	if err != nil {
		return err
	}
	c, err := h.load(vars)
	if err != nil {
		return err
	}
	if h.env(hooks.Mark) != "" {
		return refuse("this process was started by a hook (%s is set): a hook never heals", hooks.Mark)
	}
	store := record.At(c.Root)
	run, task, err := healed(store, c, args)
	if err != nil {
		return err
	}
	h.sweep(store)
	stop := h.listen(h.healingEnds)
	defer stop.stop()
	defer h.stands().end()
	screen, live, shown := h.healingScreen(h.shown(), drawn)
	defer shown()
	e, err := h.engine(c, run, screen, live, f, tier)
	if err != nil {
		return err
	}
	e.Since = func(task string) string { return h.since(c, run, task) }
	h.out.onLost(stop.unread)
	defer h.out.onLost(nil)

	outcomes, err := untilStopped(stop, func() ([]hooks.Outcome, error) { return e.Heal(stop.ctx, run, task) })
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.Fix != nil && o.Fix.State == fix.Proposed {
			return nil
		}
	}
	return &fault{code: exitFailed}
}

// healed reads the arguments: RUN TASK, RUN alone, or TASK alone, which is one of the newest run.
func healed(store *record.Store, c *pipeline.Config, args []string) (*record.Sealed, string, error) {
	id, task := "latest", ""
	switch len(args) {
	case 2:
		id, task = args[0], args[1]
	case 1:
		_, err := store.Find(args[0])
		if errors.Is(err, record.ErrNoRun) {
			task = args[0]
		} else {
			id = args[0]
		}
	}
	run, err := findRun(store, id)
	if err != nil {
		return nil, "", err
	}
	if task != "" && run.Task(task) == nil {
		if len(args) == 1 && c.Task(task) == nil {
			return nil, "", refuse("%q is neither a recorded run nor a task of the newest run %s", task, run.ID)
		}
		return nil, "", refuse("run %s has no task %q", run.ID, task)
	}
	return run, task, nil
}
