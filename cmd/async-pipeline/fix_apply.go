package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/person"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func fixApplyCommand(prog *program) *cobra.Command {
	var o apply.Options
	var edit bool
	c := &cobra.Command{
		Use:   "apply [RUN] [TASK]",
		Short: "Write a proposed fix to the tree",
		Long: `Writes the patch to your tree: all checks first, then all files or none. It is
refused when a touched file is no longer as the fix found it, or has uncommitted
changes. Nothing is committed. Applying twice says so and changes nothing.

--3way merges into files that changed since, as git apply --3way does; conflicts
are shown and nothing is written. --files and --hunk take a part, and the rest
can follow later; the hunks of a file are numbered from 1 in the order of its @@
lines in fix diff. --edit opens the patch first: what is edited applies to the
files as the fix found them, and may touch no other.

Exit code: 0 applied, 1 refused or in conflict, 2 could not be carried out.`,
		Example: `  async-pipeline fix apply
  async-pipeline fix apply --dry-run test
  async-pipeline fix apply 20261121T024000Z-7f3a test --files sum.go
  async-pipeline fix apply test --hunk sum.go:1 --edit
  async-pipeline fix apply test --3way`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error { return applyFix(prog, o, edit, args) },
	}
	f := c.Flags()
	f.BoolVar(&o.DryRun, "dry-run", false, "make all checks and write nothing")
	f.BoolVar(&o.AllowDirty, "allow-dirty", false, "also where a touched file has uncommitted changes")
	f.StringArrayVar(&o.Accept, "accept", nil, "accept the flagged item `ID`, or several: ID,ID; may be repeated")
	f.StringArrayVar(&o.Files, "files", nil, "only this `PATH` of the patch; may be repeated")
	f.StringArrayVar(&o.Hunks, "hunk", nil, "only this hunk, `PATH:N`, or N where the patch has one file; may be repeated")
	f.BoolVar(&o.ThreeWay, "3way", false, "merge into files that changed since")
	f.BoolVar(&edit, "edit", false, "edit the patch first, in $VISUAL or $EDITOR")
	return c
}

// onlyPerson returns an error unless a person started this process. action is as in person.Only.
func onlyPerson(prog *program, action string) error {
	root, err := prog.Root()
	if err != nil {
		return err
	}
	return person.Only(root, action, prog.Env)
}

// notInHook returns an error in a process that a hook started. rule says what does not happen there.
func notInHook(prog *program, rule string) error {
	if why := person.Hook(prog.Env); why != "" {
		return exit.Refuse("this process was started by a hook (%s): %s", why, rule)
	}
	return nil
}

// chosenFix is findFix for a verb that only a person may use. It fills in who and where they are.
func chosenFix(prog *program, what string, o *apply.Options, args []string) (*fix.Store, *fix.Proposal, error) {
	if err := onlyPerson(prog, what+" a fix"); err != nil {
		return nil, nil, err
	}
	s, p, err := findFix(prog, args)
	if err != nil {
		return nil, nil, err
	}
	knowSecrets(prog)
	o.By, o.Secrets = person.Name(prog.Env), prog.Secrets
	o.Dir, err = prog.Start()
	return s, p, err
}

// knowSecrets adds the secrets of PIPELINE.hcl to those that are redacted, as far as it can be read.
func knowSecrets(prog *program) {
	file, err := prog.File()
	if err != nil {
		return
	}
	if c, _ := hclfile.Load(file, hclfile.Options{Env: prog.Lookup}); c != nil { // the verb works without it
		prog.Redact(c)
	}
}

func applyFix(prog *program, o apply.Options, edit bool, args []string) error {
	s, p, err := chosenFix(prog, "applies", &o, args)
	if err != nil {
		return err
	}
	prog.Results().Taken(p)
	e := &editing{}
	if edit {
		if e, err = editPatch(prog, s, p, o); err != nil {
			return refusal(err)
		}
		o.Edited = e.patch
	}
	done, err := apply.Tree{Fixes: s}.Apply(context.Background(), p, o)
	if err != nil {
		err = e.keep(err)
	} else if err = e.discard(); err != nil {
		return err
	}
	if errors.Is(err, apply.ErrFlagged) {
		args := []string{"fix", "apply", p.Run, p.Exact()}
		return exit.Fail("%v\nto accept all of them:\n%s", err,
			prog.Typed(accepting(append(args, retyped(o, edit)...), &p.Fix)...))
	}
	if err := notDone(prog, done, err); err != nil {
		return err
	}
	better := ""
	if p.Verified != nil {
		better = prog.Typed("fix", "apply", p.Run, *p.Verified)
	}
	check := prog.Typed("run", p.Task)
	if run, err := record.At(s.Root).Find(p.Run); err == nil && run.Task(p.Task) != nil {
		check += behindTask(run.Task(p.Task).Args)
	}
	prog.Results().Applied(p, done, o.DryRun, check, better)
	return nil
}

// retyped returns the flags of an apply as they are typed again, besides --accept.
func retyped(o apply.Options, edit bool) []string {
	var words []string
	for _, f := range o.Files {
		words = append(words, "--files", f)
	}
	for _, h := range o.Hunks {
		words = append(words, "--hunk", h)
	}
	for _, f := range []struct {
		typed bool
		flag  string
	}{{o.ThreeWay, "--3way"}, {o.AllowDirty, "--allow-dirty"}, {o.DryRun, "--dry-run"}, {edit, "--edit"}} {
		if f.typed {
			words = append(words, f.flag)
		}
	}
	return words
}

// notDone prints conflicts and returns the error of an apply or revert that failed, or nil.
func notDone(prog *program, done apply.Applied, err error) error {
	if c := (*apply.Conflicts)(nil); errors.As(err, &c) {
		prog.Results().Conflicts(c)
	}
	if err != nil && len(done.Files) > 0 {
		return exit.Refuse("the files are written: %s; but not the record of it, which the next command completes: %v",
			strings.Join(done.Files, ", "), err)
	}
	return refusal(err)
}

// refusal gives an error of the checks the exit code 1.
func refusal(err error) error {
	for _, sort := range []error{apply.ErrRefused, apply.ErrConflict, apply.ErrDirty, apply.ErrFlagged} {
		if errors.Is(err, sort) {
			return &exit.Error{Code: exit.Failed, Text: err.Error()}
		}
	}
	return err
}
