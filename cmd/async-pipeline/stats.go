package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
)

func statsCommand(prog *program) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count runs, fixes, retries and what they took",
		Long: `Counts over all recorded runs: how runs and healings ended, what was proposed,
applied, rejected and came back, which retries of an agent helped, and what the
agents took, for fixes and for agent tasks. What nobody measured is unknown,
never 0. Runs that were pruned are not counted (keep_runs). It works without
PIPELINE.hcl too.`,
		Example: `  async-pipeline stats
  async-pipeline stats --json`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			store, err := recordStore(prog)
			if err != nil {
				return err
			}
			ended := failedtask.Ends(store)
			stats, damaged := prog.fixes(store.Root).Stats(ended.Tasks, ended.Agents...)
			for _, err := range append(ended.Errs, damaged...) {
				prog.Messages().Warning(err.Error())
			}
			stats.Runs = ended.Runs
			if asJSON {
				return prog.PrintJSON(stats)
			}
			prog.Results().Stats(stats, prog.Typed("fix", "list", "--recurring"))
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print them as one JSON object")
	return c
}
