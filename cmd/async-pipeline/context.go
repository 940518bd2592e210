package main

import (
	"bytes"

	"github.com/spf13/cobra"
)

func contextCommand(prog *program) *cobra.Command {
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
			store, err := recordStore(prog)
			if err != nil {
				return err
			}
			run, err := prog.findRun(store, args[0])
			if err != nil {
				return err
			}
			pack, err := packOf(prog, store, run, recordedNames(store, args)[1])
			if err != nil {
				return err
			}
			prog.WriteJSON(append(bytes.TrimSuffix(pack, []byte("\n")), '\n'))
			return nil
		},
	}
	prog.varFlag(c)
	return c
}
