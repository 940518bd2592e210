package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
)

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
