package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks"
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

// person is who types this, for the record.
func (h *hall) person() string {
	if name := h.env("USER"); name != "" {
		return name
	}
	uid := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(uid); err == nil && u.Username != "" {
		return u.Username
	}
	return uid
}

func (h *hall) apply(o fix.Options, args []string) error {
	// No hook, agent or task applies anything: not even one that a PIPELINE.hcl tells to.
	for _, mark := range []string{hooks.Mark, "ASYNC_PIPELINE_RUNNER"} {
		if h.env(mark) != "" {
			return refuse("this process was started by a hook or a task (%s is set): only a person applies a fix", mark)
		}
	}
	s, p, err := h.findFix(args)
	if err != nil {
		return err
	}
	o.By = h.person()
	if o.Dir, err = h.start(); err != nil {
		return err
	}
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
