package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
)

func fixRevertCommand(prog *program) *cobra.Command {
	var o apply.Options
	c := &cobra.Command{
		Use:   "revert [RUN] [TASK]",
		Short: "Take an applied fix out of the tree again",
		Long: `Gives each file that fix apply wrote what it held before: all files or none. It
is refused when a file no longer holds what was applied; --3way then takes the
fix out and leaves what was changed since. Nothing is committed. A reverted fix
can be applied again.

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
	prog.Results().Reverted(p, done, o.DryRun, prog.Typed("fix", "apply", p.Run, p.Exact()))
	return nil
}
