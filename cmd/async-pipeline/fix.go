package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// fixCommand holds what a person does with proposals. None of it needs a PIPELINE.hcl that can be read.
func (h *hall) fixCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "fix",
		Short: "Review proposed fixes and apply one",
		Long: `A proposed fix is a patch with the evidence for it. Nothing but fix apply, typed
by a person, writes it to the tree. These verbs work without PIPELINE.hcl too.

One argument is a TASK of the newest run that has a proposal; two are RUN TASK.
latest means that run too.`,
		Example: `  async-pipeline fix list
  async-pipeline fix show test
  async-pipeline fix diff 20261121T024000Z-7f3a test
  async-pipeline fix apply 20261121T024000Z-7f3a test`,
	}
	group(c)
	c.AddCommand(h.fixListCommand(), h.fixShowCommand(), h.fixDiffCommand(), h.fixApplyCommand(), h.fixRevertCommand(), h.fixRejectCommand())
	c.AddCommand(h.fixAuditCommand(), h.fixReplayCommand(), h.fixImportCommand())
	return c
}

// fixStore is the fixes of the root, after settling what an interrupted apply left.
func (h *hall) fixStore() (*fix.Store, error) {
	root, err := h.recordRoot()
	if err != nil {
		return nil, err
	}
	if err := h.settle(root); err != nil {
		return nil, err
	}
	return h.fixes(root), nil
}

// findFix finds the fix that [RUN] [TASK] name.
func (h *hall) findFix(args []string) (*fix.Store, *fix.Proposal, error) {
	if slices.Contains(args, "") {
		return nil, nil, refuse("an argument is empty: is a variable not set? Without arguments it is the newest fix; with them, TASK or RUN TASK")
	}
	s, err := h.fixStore()
	if err != nil {
		return nil, nil, err
	}
	run, task := "latest", ""
	switch args = unquoted(args); len(args) {
	case 1:
		task = args[0]
	case 2:
		run, task = args[0], args[1]
	}
	p, err := s.Find(run, task)
	if errors.Is(err, fix.ErrNone) && len(args) == 1 && task == "latest" { // no task is named so
		p, err = s.Find(task, "")
		return s, p, err
	}
	if errors.Is(err, fix.ErrNone) && len(args) == 1 {
		return nil, nil, refuse("%v\n(one argument is a TASK of the newest run with a proposal; two are RUN TASK)", err)
	}
	return s, p, err
}
