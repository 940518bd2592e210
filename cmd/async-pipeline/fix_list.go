package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
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
			ends, _, _ := failedtask.Ends(record.At(s.Root)) // a run that cannot be read links to nothing; runs says so
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
