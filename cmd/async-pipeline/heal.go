package main

import (
	"errors"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/console"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

func healCommand(prog *program) *cobra.Command {
	f := healFlags{asked: true}
	var how string
	c := &cobra.Command{
		Use:   "heal [RUN] [TASK]",
		Short: "Have a fix proposed for a recorded failure",
		Long: `Carries out the on_fail "agent" of a failed task of a recorded run, now, from
the tree and PIPELINE.hcl as they are now. Without RUN it is the newest failed
run whose tasks have not passed since, without TASK every failed task. In CI
mode the hook needs ci = true.

Exit code: 0 with a proposal, 1 without, 2 could not be carried out.`,
		Example: `  async-pipeline heal
  async-pipeline heal test
  async-pipeline heal 20261121T024000Z-7f3a test`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error {
			f.ci = f.ci || prog.ciMode()
			if how == progressJSON {
				return exit.Misused("heal has no --progress json; fix list --json prints the fixes")
			}
			drawn, err := drawsLive(prog, how, healWays, f.ci)
			if err != nil {
				return err
			}
			if slices.Contains(args, "") {
				return exit.Misused("an argument is empty: is a variable not set? write RUN, TASK or RUN TASK, or nothing for every failed task of the newest failed run")
			}
			return healRun(prog, f, drawn, args)
		},
	}
	f.flags(c)
	progressFlag(c, &how, healWays)
	prog.varFlag(c)
	return c
}

func healRun(prog *program, f healFlags, drawn bool, args []string) error {
	tier, err := f.check()
	if err != nil {
		return err
	}
	c, err := prog.load()
	if err != nil {
		return err
	}
	if err := notInHook(prog, "a hook starts no agent"); err != nil {
		return err
	}
	store := record.At(c.Root)
	sealed, task, err := prog.healed(store, c, recordedNames(store, args))
	if err != nil {
		return err
	}
	if err := repeatable(prog, sealed.Tasks, task); err != nil {
		return err
	}
	c = run.WithRecordedArgs(c, sealed.Tasks)
	sweep(prog, store)
	stop := prog.Listen(func(syscall.Signal) { noteHealingEnds(prog, c) })
	defer stop.Stop()
	defer prog.JobControl().End()
	screen, live, shown := healingScreen(prog, prog.Results(), drawn)
	defer shown()
	e, err := newEngine(prog, c, sealed, screen, live, f, tier)
	if err != nil {
		return err
	}
	e.Since = func(task string) string { return changesSince(prog, c, sealed, task) }
	prog.Out.OnFailure(stop.Unread)
	defer prog.Out.OnFailure(nil)

	outcomes, err := console.Await(stop, func() ([]hooks.Outcome, error) { return e.Heal(stop.Ctx, sealed, task) })
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.Fix != nil && o.Fix.State == fix.Proposed {
			return nil
		}
	}
	return exit.With(exit.Failed)
}

// healed reads the arguments: RUN TASK, RUN alone, or TASK alone. Without RUN it is the newest failed run, or the
// newest in which TASK failed.
func (prog *program) healed(store *record.Store, c *pipeline.Config, args []string) (*record.Sealed, string, error) {
	id, task := "", ""
	switch len(args) {
	case 2:
		id, task = args[0], args[1]
	case 1:
		_, err := store.Look(args[0])
		if errors.Is(err, record.ErrNoRun) && args[0] != "latest" {
			task = args[0]
		} else {
			id = args[0]
		}
	}
	if id == "" {
		if run := newestFailed(store, task); run != nil {
			return run, task, nil
		}
		id = "latest" // says what is wrong with that
	}
	run, err := prog.findRun(store, id)
	if err != nil {
		return nil, "", err
	}
	if task != "" && run.Task(task) == nil {
		if len(args) == 1 && c.Task(task) == nil {
			name := view.TaskName(task)
			return nil, "", exit.Refuse("%q is neither a recorded run nor a task of the newest run %s", name, run.ID)
		}
		return nil, "", exit.Refuse("run %s has no task %q", run.ID, view.TaskName(task))
	}
	return run, task, nil
}

// newestFailed returns the newest run with a failure, of task if it is not empty, that passed in no later run; nil if
// there is none.
func newestFailed(store *record.Store, task string) *record.Sealed {
	ids, _ := store.IDs() // reported by whatever is done instead
	passed := map[string]bool{}
	for _, id := range ids {
		s := store.Entry(id).Sealed
		if s == nil {
			continue
		}
		for _, t := range s.Tasks {
			check := t.Name + behindTask(t.Args) // with other arguments it is another check
			switch {
			case t.Status == record.Passed:
				passed[check] = true
			case s.Status == record.Failed && failed(t) && !passed[check] && (task == "" || t.Name == task):
				return s
			}
		}
	}
	return nil
}

func failed(t record.Task) bool { return t.Status == record.Failed || t.Status == record.TimedOut }
