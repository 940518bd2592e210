package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func fixListCommand(prog *program) *cobra.Command {
	var asJSON, recurring bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List all fixes, newest first",
		Long: `Lists what came of every healing, newest first: proposals with their verdict and
what became of them, and why there is none. Where a task was healed more than
once in a run, an older proposal is called TASK@N, as every verb takes it.

Of an applied fix it says the first later run that passed, and later runs in
which the same failure came back; --recurring lists only these. Of an open one
it says whether its files have changed since, and whether the task passes
without it.`,
		Example: `  async-pipeline fix list
  async-pipeline fix list --recurring
  async-pipeline fix list --json`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			s, err := fixStore(prog)
			if err != nil {
				return err
			}
			items, unread := s.List()
			for _, err := range unread {
				prog.Messages().Warning(err.Error())
			}
			if !asJSON && len(items) == 0 && len(unread) > 0 {
				return exit.Refuse("nothing that is recorded here can be read; see the warnings above")
			}
			// a run that cannot be read links to nothing; runs says so
			ends := failedtask.Ends(record.At(s.Root)).Tasks
			fix.Follow(items, ends)
			apply.Tree{Fixes: s}.FitNow(context.Background(), items)
			none := "No fix has been proposed here yet."
			if recurring {
				items, none = fix.Recurring(items), "No failure has come back after its fix was applied."
			}
			switch {
			case asJSON:
				return prog.PrintJSON(append([]fix.Item{}, items...))
			case len(items) == 0:
				prog.Results().Line("%s", none)
			default:
				prog.Results().Fixes(items, func(i fix.Item) string { return filepath.Join(s.Dir, "runs", i.Run) },
					func(i fix.Item) string { return prog.Typed("fix", "apply", i.Run, *i.Verified) })
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print them as a JSON list")
	c.Flags().BoolVar(&recurring, "recurring", false, "only applied fixes whose failure came back")
	return c
}

func fixDiffCommand(prog *program) *cobra.Command {
	return &cobra.Command{
		Use:   "diff [RUN] [TASK]",
		Short: "Print the patch as it is; `git apply` takes it",
		Example: `  async-pipeline fix diff test
  async-pipeline fix diff 20261121T024000Z-7f3a test > fix.patch`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error {
			_, p, err := findFix(prog, args)
			if err != nil {
				return err
			}
			if p.Diff == nil {
				return exit.Fail("the fix for %s of run %s has no patch (%s)", view.TaskName(p.Task), p.Run, p.State)
			}
			_, err = prog.Out.Write(p.Diff)
			return err
		},
	}
}

func fixRejectCommand(prog *program) *cobra.Command {
	var o apply.Options
	var reason string
	c := &cobra.Command{
		Use:   "reject [RUN] [TASK]",
		Short: "Say no to a proposed fix",
		Long: `Records that you do not want a proposed fix. It is no longer open: fix apply
refuses it, and its run may be removed with the older ones. A fix that is in the
tree is refused; fix revert takes it out first.

Exit code: 0 rejected, 1 refused, 2 could not be carried out.`,
		Example: `  async-pipeline fix reject
  async-pipeline fix reject test --reason "the test was right"
  async-pipeline fix reject 20261121T024000Z-7f3a test --dry-run`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error { return rejectFix(prog, o, reason, args) },
	}
	f := c.Flags()
	f.StringVar(&reason, "reason", "", "why, in your own `WORDS`; recorded")
	f.BoolVar(&o.DryRun, "dry-run", false, "make all checks and write nothing")
	return c
}

func rejectFix(prog *program, o apply.Options, reason string, args []string) error {
	s, p, err := chosenFix(prog, "rejects", &o, args)
	if err != nil {
		return err
	}
	done, err := apply.Tree{Fixes: s}.Reject(context.Background(), p, prog.Secrets.String(reason), o)
	if err != nil {
		return refusal(err)
	}
	prog.Results().Rejected(p, done, o.DryRun)
	return nil
}

func fixRevertCommand(prog *program) *cobra.Command {
	var o apply.Options
	c := &cobra.Command{
		Use:   "revert [RUN] [TASK]",
		Short: "Take an applied fix out of the tree again",
		Long: `Gives each file that fix apply wrote what it held before: all files or none. It
is refused when a file no longer holds what was applied; --3way then takes the
fix out and leaves what was changed since. Nothing is committed. A reverted fix
can be applied again, unless it was rejected.

Exit code: 0 reverted, 1 refused, in conflict or not applied, 2 could not be
carried out.`,
		Example: `  async-pipeline fix revert
  async-pipeline fix revert --dry-run test
  async-pipeline fix revert 20261121T024000Z-7f3a test --files sum.go
  async-pipeline fix revert test --3way`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error { return revertFix(prog, o, args) },
	}
	f := c.Flags()
	f.BoolVar(&o.DryRun, "dry-run", false, "make all checks and write nothing")
	f.StringArrayVar(&o.Files, "files", nil, "only this `PATH` of the patch; may be repeated")
	f.BoolVar(&o.ThreeWay, "3way", false, "also out of files that were edited since")
	return c
}

func revertFix(prog *program, o apply.Options, args []string) error {
	s, p, err := chosenFix(prog, "reverts", &o, args)
	if err != nil {
		return err
	}
	done, err := apply.Tree{Fixes: s}.Revert(context.Background(), p, o)
	if err := notDone(prog, done, err); err != nil {
		return err
	}
	if p.Disposition == fix.Superseded { // it stays so, and is applied by its number only
		p.ByNumber = true
	}
	prog.Results().Reverted(p, done, o.DryRun, prog.Typed("fix", "apply", p.Run, p.Exact()))
	return nil
}
