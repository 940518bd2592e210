package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func (h *hall) fixShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show [RUN] [TASK]",
		Short: "Show a fix: cause, doubts, patch, verification, cost",
		Example: `  async-pipeline fix show
  async-pipeline fix show test
  async-pipeline fix show 20261121T024000Z-7f3a test`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error {
			s, p, err := h.findFix(args)
			if err != nil {
				return err
			}
			switch came, err := s.Foreign(context.Background()); {
			case err != nil:
				h.said().Warning("whether these records came with the repository is not known: " + err.Error())
			case came:
				h.said().Warning(fix.ErrForeign.Error())
			}
			ends, _, _ := hooks.Ends(record.At(s.Root)) // a run that cannot be read links to nothing
			p.Follow(ends)
			c := h.commands(p.Dir, &p.Fix)
			c.Imported = p.Imported()
			h.shown().ShowFix(p, c)
			return nil
		},
	}
}
