package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func (h *hall) contextCommand() *cobra.Command {
	var vars []string
	c := &cobra.Command{
		Use:   "context RUN TASK",
		Short: "Print the context pack of a failed task",
		Long: `Prints what is known of a failed task as one JSON object of at most 16 KiB: the
command, how it ended, the end of its log, what changed since. Any program that
wants to repair the failure can start from it.`,
		Example: `  async-pipeline context latest test`,
		Args:    exactly(2),
		RunE: func(_ *cobra.Command, args []string) error {
			args = unquoted(args)
			return h.context(vars, args[0], args[1])
		},
	}
	varFlag(c, &vars)
	return c
}

func (h *hall) context(vars []string, id, task string) error {
	root, err := h.recordRoot()
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
	// A stored pack needs no PIPELINE.hcl; a broken one costs only what a new pack would have told of the task.
	config := &pipeline.Config{Root: root}
	if file, err := hclfile.Find(root); err == nil {
		if c, err := h.read(file, vars); err == nil {
			config = c
		}
	}
	e := &hooks.Engine{Config: config, Store: store, Redact: h.secrets, Environ: h.environ}
	pack, err := e.Pack(context.Background(), run, task)
	if err != nil {
		return err
	}
	if n := len(pack); n == 0 || pack[n-1] != '\n' {
		pack = append(pack, '\n')
	}
	h.writeJSON(pack)
	return nil
}
