package main

import "github.com/spf13/cobra"

func (h *hall) fixShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show [RUN] [TASK]",
		Short: "Show a fix: cause, doubts, patch, verification, cost",
		Example: `  async-pipeline fix show
  async-pipeline fix show test
  async-pipeline fix show 20261121T024000Z-7f3a test`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error {
			_, p, err := h.findFix(args)
			if err != nil {
				return err
			}
			h.shown().ShowFix(p, h.commands(p.Dir, &p.Fix))
			return nil
		},
	}
}
