package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

func (h *hall) fixApplyCommand() *cobra.Command {
	var o fix.Options
	c := &cobra.Command{
		Use:   "apply [RUN] [TASK]",
		Short: "Write a proposed fix to the tree",
		Long: `Writes the patch to your tree: all checks first, then all files or none. It is
refused when a touched file is no longer as the fix found it, or has uncommitted
changes. Nothing is committed. Applying twice says so and changes nothing.

Exit code: 0 applied, 1 refused or in conflict, 2 could not be carried out.`,
		Example: `  async-pipeline fix apply
  async-pipeline fix apply --dry-run test
  async-pipeline fix apply 20261121T024000Z-7f3a test --files sum.go`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error { return h.apply(o, args) },
	}
	f := c.Flags()
	f.BoolVar(&o.DryRun, "dry-run", false, "make all checks and write nothing")
	f.BoolVar(&o.AllowDirty, "allow-dirty", false, "also where a touched file has uncommitted changes")
	f.StringArrayVar(&o.Accept, "accept", nil, "accept the flagged item `ID`; may be repeated")
	f.StringArrayVar(&o.Files, "files", nil, "only this `PATH` of the patch; may be repeated")
	return c
}

func (h *hall) apply(o fix.Options, args []string) error {
	s, p, err := h.findFix(args)
	if err != nil {
		return err
	}
	o.By = h.env("USER")
	done, err := s.Apply(context.Background(), p, o)
	for _, sort := range []error{fix.ErrRefused, fix.ErrConflict, fix.ErrDirty, fix.ErrFlagged} {
		if errors.Is(err, sort) {
			return &fault{exitFailed, err.Error()}
		}
	}
	if err != nil && len(done.Files) > 0 {
		return refuse("the files are written: %s; but not the record of it, which the next command completes: %v", strings.Join(done.Files, ", "), err)
	}
	if err != nil {
		return err
	}
	h.shown().Applied(&p.Fix, done, o.DryRun, h.typed("run", p.Task))
	return nil
}
