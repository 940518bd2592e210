package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
)

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
				return &exit.Error{Code: exit.Failed, Text: "the fix for " + p.Task + " of run " + p.Run + " has no patch (" + p.State + ")"}
			}
			_, err = prog.Out.Write(p.Diff)
			return err
		},
	}
}
