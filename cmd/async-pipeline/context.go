package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func (h *program) contextCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "context RUN TASK",
		Short: "Print the context pack of a failed task",
		Long: `Prints what is known of a failed task as one JSON object of at most 16 KiB: the
command, how it ended, the end of its log, what changed since it last passed.
Any program that wants to repair the failure can start from it: it is what
agents are given, byte for byte.`,
		Example: `  async-pipeline context latest test`,
		Args:    exactly(2),
		RunE: func(_ *cobra.Command, args []string) error {
			args = unquoted(args)
			return h.context(args[0], args[1])
		},
	}
	h.varFlag(c)
	return c
}

func (h *program) context(id, task string) error {
	root, err := h.Root()
	if err != nil {
		return err
	}
	if err := h.settle(root); err != nil {
		return err
	}
	store := record.At(root)
	run, err := findRun(store, id)
	if err != nil {
		return err
	}
	pack, err := h.packOf(store, run, task)
	if err != nil {
		return err
	}
	if n := len(pack); n == 0 || pack[n-1] != '\n' {
		pack = append(pack, '\n')
	}
	h.WriteJSON(pack)
	return nil
}
