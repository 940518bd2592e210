// What verbs do with a project: they read PIPELINE.hcl, settle what was interrupted, and find recorded runs.
package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// varFlag adds --var to a verb that reads PIPELINE.hcl.
func (prog *program) varFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&prog.Vars, "var", nil, "set a variable of PIPELINE.hcl: `NAME=VALUE`; may be repeated")
	c.Flags().StringArrayVar(&prog.VarFiles, "var-file", nil,
		"set variables from the file `PATH`: NAME = VALUE lines, or a JSON object where it ends in .json; may be repeated")
}

// settledFile finds PIPELINE.hcl and settles an interrupted apply.
func (prog *program) settledFile() (string, error) {
	file, err := prog.File()
	if err != nil {
		return "", err
	}
	return file, prog.recoverApply(filepath.Dir(file))
}

// load finds and reads PIPELINE.hcl, after settling an interrupted apply. Its faults have been printed when it
// returns an error. It goes on where this user may not look into .async: a verb that needs the records says so itself.
func (prog *program) load() (*pipeline.Config, error) {
	file, err := prog.settledFile()
	closed := file != "" && errors.Is(err, fs.ErrPermission) &&
		errors.Is(unix.Access(filepath.Join(filepath.Dir(file), ".async"), unix.X_OK), unix.EACCES)
	if err != nil && !closed {
		return nil, err
	}
	return prog.loadFile(file)
}

// loadFile is load for the file that settledFile returned.
func (prog *program) loadFile(file string) (*pipeline.Config, error) {
	sandbox.Hold(filepath.Dir(file)) // before anything is started
	c, err := prog.read(file)
	if faults := pipeline.Errors(nil); errors.As(err, &faults) {
		prog.Messages().Diagnostics(faults)
		return nil, exit.Refuse("%s%s; nothing was run", english.Count(len(faults), "error"), inFiles(prog, faults))
	}
	return c, err
}

// read reads a PIPELINE.hcl and prints warnings about its secrets.
func (prog *program) read(file string) (*pipeline.Config, error) {
	c, warnings, err := prog.Read(file)
	for _, w := range warnings {
		prog.Messages().Warning(w)
	}
	return c, err
}

// recoverApply completes or undoes an apply that was interrupted.
func (prog *program) recoverApply(root string) error {
	r, err := prog.tree(root).Recover(context.Background())
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return nil // something else has our name: nobody began to apply there
	case err != nil || r == nil:
		return err
	}
	what := "was undone; these files are as they were before it"
	if r.To == "completed" {
		what = "was completed"
	}
	settled := slices.DeleteFunc(slices.Clone(r.Files), func(p string) bool { return slices.Contains(r.Left, p) })
	fixed := "the fix for " + view.TaskName(r.Task) + " of run " + r.Run
	text := "an interrupted " + r.What + " of " + fixed + " " + what + ": " + harmless(settled)
	if len(r.Left) > 0 {
		text += "\nnot touched, because somebody edited them since: " + harmless(r.Left)
	}
	if r.Kept != "" {
		text += "\nwhat they held before the " + r.What + " is in " + r.Kept
	}
	prog.Messages().Note(text)
	return nil
}

// harmless lists names of files.
func harmless(names []string) string { return view.Harmless(strings.Join(names, ", ")) }

func (prog *program) fixes(root string) *fix.Store {
	return &fix.Store{Root: root, Dir: filepath.Join(root, ".async"), Typed: prog.Typed}
}

// tree returns the tree that fixes of a root are applied to.
func (prog *program) tree(root string) apply.Tree { return apply.Tree{Fixes: prog.fixes(root)} }

// findRun finds a recorded run. Its error says what to type.
func (prog *program) findRun(s *record.Store, id string) (*record.Sealed, error) {
	r, err := s.Find(id)
	switch {
	case errors.Is(err, record.ErrNoRun), errors.Is(err, fs.ErrNotExist):
		if _, faults := s.List(); id == "latest" && len(faults) > 0 {
			return nil, exit.Refuse("no run that is recorded here can be read: %v", errors.Join(faults...))
		}
		return prog.withoutVerdict(s, id)
	case errors.Is(err, record.ErrAmbiguous):
		return nil, ambiguous(s, id)
	}
	return r, err
}

// withoutVerdict returns why there is no verdict of a run, unless there is one by now.
func (prog *program) withoutVerdict(s *record.Store, id string) (*record.Sealed, error) {
	const going = "run %s has no verdict yet: it is still going"
	if id == "latest" {
		if e, ok := s.Going(); ok {
			return nil, exit.Refuse(going, e.ID)
		}
		if ids, _ := s.IDs(); len(ids) > 0 {
			return nil, exit.Refuse("no run here has a verdict: they were ended before; %s lists them", prog.Typed("runs"))
		}
		return nil, exit.Refuse("no run is recorded here yet: %s makes one", prog.Typed("run"))
	}
	switch e, err := s.Look(id); {
	case errors.Is(err, record.ErrNoRun), errors.Is(err, fs.ErrNotExist):
		return nil, exit.Refuse("there is no run %q here: %s lists them", id, prog.Typed("runs"))
	case errors.Is(err, record.ErrAmbiguous):
		return nil, ambiguous(s, id)
	case err != nil || e.Sealed != nil:
		return e.Sealed, err
	case e.Live:
		return nil, exit.Refuse(going, e.ID)
	default:
		return nil, exit.Refuse("run %s was ended before its verdict; %s goes on with it", e.ID, prog.Typed("run", "--resume", e.ID))
	}
}

// ambiguous returns the error for a prefix that several run ids have; a few of them are listed.
func ambiguous(s *record.Store, prefix string) error {
	ids, _ := s.IDs() // where they cannot be read none is listed
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, prefix) })
	return exit.Refuse("run id prefix is ambiguous: %q begins %s", prefix, english.List(ids, 5))
}
