// Finding and reading what a verb works on: the root, its PIPELINE.hcl, its records.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/policy"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// varFlag gives a verb that reads PIPELINE.hcl the flag --var.
func varFlag(c *cobra.Command, vars *[]string) {
	c.Flags().StringArrayVar(vars, "var", nil, "set a variable of PIPELINE.hcl: `NAME=VALUE`; may be repeated")
}

// varFileFlag gives every verb with the flag --var the flag --var-file.
func (h *hall) varFileFlag(c *cobra.Command) {
	if c.Flags().Lookup("var") != nil {
		c.Flags().StringArrayVar(&h.varFiles, "var-file", nil, "set variables from the file `PATH`: NAME = VALUE lines, or a JSON object where it ends in .json; may be repeated")
	}
	for _, sub := range c.Commands() {
		h.varFileFlag(sub)
	}
}

// start is the folder a verb looks from: the working directory or -C.
func (h *hall) start() (string, error) {
	dir := h.dir
	if h.into == "" {
		return "", misused("-C has an empty folder: is a variable not set?")
	}
	if h.into != here {
		dir = h.into
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(h.dir, dir)
		}
	}
	// Symlinks are resolved once, here: a copy of the tree stands at the very path that is recorded.
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", misused("-C %s: there is no such folder", h.into)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", misused("-C %s is not a folder", h.into)
	}
	return real, nil
}

// pipelineFile finds PIPELINE.hcl.
func (h *hall) pipelineFile() (string, error) {
	dir, err := h.start()
	if err != nil {
		return "", err
	}
	file, err := hclfile.Find(dir)
	if errors.Is(err, hclfile.ErrNotFound) {
		return "", refuse("no PIPELINE.hcl in %s or a folder above\n%s writes one for what is there; -C DIR names another folder", dir, h.typed("init"))
	}
	return file, err
}

// load finds and reads PIPELINE.hcl, after settling what an interrupted apply left. Its faults have been shown when the error comes back.
func (h *hall) load(vars []string) (*pipeline.Config, error) {
	file, err := h.pipelineFile()
	if err != nil {
		return nil, err
	}
	if err := h.settle(filepath.Dir(file)); err != nil {
		return nil, err
	}
	sandbox.Hold(filepath.Dir(file)) // before anything is started
	c, err := h.read(file, vars)
	if faults := pipeline.Errors(nil); errors.As(err, &faults) {
		h.said().Diagnostics(faults)
		return nil, refuse("%s in %s; nothing was run", english.Count(len(faults), "error"), h.said().Path(file))
	}
	if err != nil {
		return nil, err
	}
	h.said().Diagnostics(c.Warnings)
	return c, nil
}

// read reads the file and makes its secrets known to everything that writes.
func (h *hall) read(file string, vars []string) (*pipeline.Config, error) {
	values := map[string]string{}
	for _, v := range vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, misused("--var %q is not of the form NAME=VALUE", v)
		}
		values[name] = value
	}
	files, err := h.variableFiles()
	if err != nil {
		return nil, err
	}
	c, err := hclfile.Load(file, hclfile.Options{Vars: values, VarFiles: files, Env: h.lookup, Pattern: policy.CheckPattern, BaseURL: model.CheckURL})
	if c == nil {
		return nil, err
	}
	for _, s := range c.Secrets {
		if name := named(c, s); name != "" {
			h.said().Warning(fmt.Sprintf("the value of the secret %s also stands in the name of %s, which everybody may read: it is not kept out of logs and records", s.Name, name))
			continue
		}
		if !h.secrets.Add(s.Name, s.Value) && s.Value != "" {
			h.said().Warning("the secret " + s.Name + " is shorter than 6 bytes: it cannot be kept out of logs and records")
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// variableFiles are the absolute paths of --var-file, from where the verb works.
func (h *hall) variableFiles() ([]string, error) {
	var all []string
	for _, path := range h.varFiles {
		if path == "" {
			return nil, misused("--var-file has an empty path: is a variable not set?")
		}
		if !filepath.IsAbs(path) {
			dir, err := h.start()
			if err != nil {
				return nil, err
			}
			path = filepath.Join(dir, path)
		}
		all = append(all, path)
	}
	return all, nil
}

// named is the task or job whose name holds the value of a secret, or "". Such a value is not hidden: a name with
// [redacted] in it can neither be typed nor found in the record.
func named(c *pipeline.Config, s pipeline.Secret) string {
	if len(s.Value) < redact.MinLen {
		return ""
	}
	for _, t := range c.Tasks {
		if strings.Contains(t.Name, s.Value) {
			return fmt.Sprintf("task %q", t.Name)
		}
	}
	for _, j := range c.Jobs {
		if strings.Contains(j.Name, s.Value) {
			return fmt.Sprintf("job %q", j.Name)
		}
	}
	return ""
}

// settle completes or undoes an apply that was interrupted.
func (h *hall) settle(root string) error {
	r, err := h.tree(root).Recover(context.Background())
	if errors.Is(err, syscall.ENOTDIR) {
		return nil // something else has our name: nobody began to apply there
	}
	if err != nil {
		return err
	}
	if r == nil {
		return nil
	}
	what := "was undone; these files are as they were before it"
	if r.To == "completed" {
		what = "was completed"
	}
	settled := slices.DeleteFunc(slices.Clone(r.Files), func(p string) bool { return slices.Contains(r.Left, p) })
	text := "an interrupted " + r.What + " of the fix for " + r.Task + " of run " + r.Run + " " + what + ": " + strings.Join(settled, ", ")
	if len(r.Left) > 0 {
		text += "\nnot touched, because somebody edited them since: " + strings.Join(r.Left, ", ")
	}
	if r.Kept != "" {
		text += "\nwhat they held before the " + r.What + " is in " + r.Kept
	}
	h.said().Note(text)
	return nil
}

func (h *hall) fixes(root string) *fix.Store {
	return &fix.Store{Root: root, Dir: filepath.Join(root, ".async")}
}

// tree is what fixes of a root are applied to.
func (h *hall) tree(root string) apply.Tree { return apply.Tree{Fixes: h.fixes(root)} }

// recordRoot finds the root by its PIPELINE.hcl or, where that is gone, by its records.
func (h *hall) recordRoot() (string, error) {
	dir, err := h.start()
	if err != nil {
		return "", err
	}
	if file, err := hclfile.Find(dir); err == nil {
		return filepath.Dir(file), nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, ".async", "runs")); err == nil && info.IsDir() {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", refuse("neither a PIPELINE.hcl nor recorded runs in %s or a folder above: go to the project, or name it with -C DIR", dir)
		}
	}
}

// findRun finds a recorded run and says what to do where there is none.
func findRun(s *record.Store, id string) (*record.Sealed, error) {
	r, err := s.Find(id)
	switch {
	case errors.Is(err, record.ErrNoRun), errors.Is(err, fs.ErrNotExist):
		if _, faults := s.List(); id == "latest" && len(faults) > 0 {
			return nil, refuse("no run that is recorded here can be read: %v", errors.Join(faults...))
		}
		if id == "latest" {
			return nil, refuse("no run is recorded here yet: async-pipeline run makes one")
		}
		return nil, refuse("there is no run %q here: async-pipeline runs lists them", id)
	case errors.Is(err, record.ErrAmbiguous):
		return nil, ambiguous(s, id)
	}
	return r, err
}

// ambiguous refuses the beginning of an id that more than one run has; a few of them are named.
func ambiguous(s *record.Store, prefix string) error {
	const most = 5
	ids, _ := s.IDs() // where they cannot be listed none is named
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, prefix) })
	if len(ids) < 2 {
		return refuse("more than one run begins with %q: write more of its id", prefix)
	}
	few := strings.Join(ids[:min(len(ids), most)], "\n")
	if more := len(ids) - most; more > 0 {
		few += fmt.Sprintf("\nand %d more", more)
	}
	return refuse("%d runs begin with %q: write more of the id\n%s", len(ids), prefix, few)
}
