package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

func (h *hall) fixListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List all fixes, newest first",
		Example: `  async-pipeline fix list
  async-pipeline fix list --json`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			s, err := h.fixStore()
			if err != nil {
				return err
			}
			items, unread := s.List()
			for _, err := range unread {
				h.said().Warning(err.Error())
			}
			if asJSON {
				return h.printJSON(append([]fix.Item{}, items...))
			}
			if len(items) == 0 && len(unread) > 0 {
				return refuse("nothing that is recorded here can be read; see the warnings above")
			}
			h.shown().Fixes(items)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print them as a JSON list")
	return c
}
