package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// fixCommand has the verbs for proposals. None of them needs a valid PIPELINE.hcl.
func fixCommand(prog *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "fix",
		Short: "Review proposed fixes and apply one",
		Long: `A proposed fix is a patch with the evidence for it. Nothing but fix apply, typed
by a person, writes it to the tree. These verbs work without PIPELINE.hcl too.

One argument is a TASK of the newest run that has a proposal; two are RUN TASK.
latest means that run too. Where a task was healed more than once in a run, the
newest proposal counts; TASK@1, TASK@2 are the first and the second, as fix list
names them.`,
		Example: `  async-pipeline fix list
  async-pipeline fix show test
  async-pipeline fix diff 20261121T024000Z-7f3a test
  async-pipeline fix apply 20261121T024000Z-7f3a test`,
	}
	group(prog, c)
	c.AddCommand(fixListCommand(prog), fixShowCommand(prog), fixDiffCommand(prog), fixApplyCommand(prog),
		fixRevertCommand(prog), fixRejectCommand(prog))
	c.AddCommand(fixAuditCommand(prog), fixReplayCommand(prog), fixImportCommand(prog))
	for _, verb := range c.Commands() {
		run := verb.RunE
		verb.RunE = func(c *cobra.Command, args []string) error { return wrapped(run(c, args)) }
	}
	return c
}

// wrapped makes the text of an error wrap at the width of the screen, because a person decides by it.
func wrapped(err error) error {
	if err == nil {
		return nil
	}
	f := ending(err)
	return &exit.Error{Code: f.Code, Text: f.Text, Wrap: true}
}

// fixStore returns the fixes of the root, after settling an interrupted apply and what killed runs left.
func fixStore(prog *program) (*fix.Store, error) {
	store, err := recordStore(prog)
	if err != nil {
		return nil, err
	}
	s := prog.fixes(store.Root)
	if killed, _ := s.Abandoned(); len(killed) > 0 {
		sweep(prog, store)
	}
	return s, nil
}

// noneEmpty refuses an empty argument: a variable that is not set would select another fix. without is what the verb
// does without arguments.
func noneEmpty(args []string, without string) error {
	if slices.Contains(args, "") {
		return exit.Refuse("an argument is empty: is a variable not set? Without arguments %s; with them, TASK or RUN TASK", without)
	}
	return nil
}

// tasksOf is recordedNames for arguments that may be TASK@N.
func tasksOf(store *record.Store, args []string) []string {
	all := make([]string, len(args))
	for i, arg := range args {
		task, number := arg, ""
		if n := strings.LastIndexByte(arg, '@'); n >= 0 {
			task, number = arg[:n], arg[n:]
		}
		all[i] = recordedNames(store, []string{task})[0] + number
	}
	return all
}

// findFix returns the fix that [RUN] [TASK] select.
func findFix(prog *program, args []string) (*fix.Store, *fix.Proposal, error) {
	if err := noneEmpty(args, "it is the newest fix"); err != nil {
		return nil, nil, err
	}
	s, err := fixStore(prog)
	if err != nil {
		return nil, nil, err
	}
	run, task := "latest", ""
	switch args = tasksOf(record.At(s.Root), args); len(args) {
	case 1:
		task = args[0]
	case 2:
		run, task = args[0], args[1]
	}
	p, err := s.Find(run, task)
	if errors.Is(err, fix.ErrNone) && len(args) == 1 && task == "latest" { // no task is named so
		p, err = s.Find(task, "")
	} else if errors.Is(err, fix.ErrNone) && !errors.Is(err, fix.ErrDamaged) && len(args) == 1 {
		return nil, nil, exit.Misused("%v\n(one argument is a TASK of the newest run with a proposal; two are RUN TASK)", err)
	}
	if (errors.Is(err, fix.ErrNone) || errors.Is(err, fix.ErrAmbiguous)) && !errors.Is(err, fix.ErrDamaged) {
		err = exit.Misused("%v", err)
	}
	return s, p, err
}
