package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
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
			args = unquoted(args)
			return printPack(prog, args[0], args[1])
		},
	}
	prog.varFlag(c)
	return c
}

func printPack(prog *program, id, task string) error {
	root, err := prog.Root()
	if err != nil {
		return err
	}
	if err := prog.settle(root); err != nil {
		return err
	}
	store := record.At(root)
	run, err := findRun(store, id)
	if err != nil {
		return err
	}
	pack, err := packOf(prog, store, run, task)
	if err != nil {
		return err
	}
	if n := len(pack); n == 0 || pack[n-1] != '\n' {
		pack = append(pack, '\n')
	}
	prog.WriteJSON(pack)
	return nil
}
