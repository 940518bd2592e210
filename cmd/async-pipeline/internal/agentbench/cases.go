package agentbench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// A Case is a failure of the past.
type Case struct {
	Name      string // run and fix, or the folder's name
	Task      string
	Args      []string // that the task was given on the command line
	Reference []byte   // a patch with which the task passes; nil: none is known

	base func(ctx context.Context, parent string, bin *scratch.Bin) (*scratch.Base, error)
}

// Past returns the newest failures among the recorded fixes that came back in a copy, at most most of them, each
// failure once. One that had a secret among its arguments cannot be made again.
func Past(store *record.Store, fixes *fix.Store, most int) []Case {
	var cases []Case
	seen := map[string]bool{}
	for _, p := range slices.Backward(fixes.All()) {
		if len(cases) == most {
			break
		}
		if p.Fingerprint == nil || seen[*p.Fingerprint] || p.Reproduction == nil || p.Reproduction.Result != "same" {
			continue
		}
		saved, err := p.SavedBase()
		if err != nil {
			continue // it is not kept any more
		}
		var args []string
		if r, err := store.Find(p.Run); err == nil && r.Task(p.Task) != nil {
			if r.Task(p.Task).ArgsHidden {
				continue
			}
			args = r.Task(p.Task).Args
		}
		seen[*p.Fingerprint] = true
		cases = append(cases, Case{
			Name: p.Run + " " + p.Name, Task: p.Task, Args: args,
			base: func(ctx context.Context, parent string, bin *scratch.Bin) (*scratch.Base, error) {
				return scratch.Restore(ctx, parent, scratch.Saved{
					Root: store.Root, Sub: saved.Sub, Commit: saved.Commit, Manifest: saved.Manifest, Content: saved.Content,
					Bin: bin,
				})
			},
		})
	}
	return cases
}

// caseFile is in the folder of each case.
const caseFile = "case.json"

// ReadFolder returns the cases in a folder: each is a folder with a case.json, {"commit": full id, "task": name,
// "reference": file of a patch in that folder, or absent}. root is the folder of PIPELINE.hcl, in a git repository
// that has the commits.
func ReadFolder(root, dir string) ([]Case, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, e := range entries {
		file := filepath.Join(dir, e.Name(), caseFile)
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || !e.IsDir() {
			continue
		}
		if err != nil {
			return nil, err
		}
		c, err := parseCase(root, filepath.Dir(file), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s has no case: make a folder for each, with a %s in it", dir, caseFile)
	}
	return cases, nil
}

func parseCase(root, dir string, text []byte) (c Case, err error) {
	var f struct {
		Commit    string `json:"commit"`
		Task      string `json:"task"`
		Reference string `json:"reference"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return c, fmt.Errorf(`%w; it should be {"commit": "…", "task": "…", "reference": "fix.patch"}`, err)
	}
	if f.Commit == "" || f.Task == "" {
		return c, errors.New("commit and task must be there")
	}
	c = Case{Name: filepath.Base(dir), Task: f.Task}
	if f.Reference != "" {
		if !filepath.IsLocal(f.Reference) {
			return c, fmt.Errorf("reference %q must be a file in this folder", f.Reference)
		}
		if c.Reference, err = os.ReadFile(filepath.Join(dir, f.Reference)); err != nil {
			return c, err
		}
		if _, err := patch.Parse(c.Reference); err != nil {
			return c, fmt.Errorf("%s: %w", f.Reference, err)
		}
	}
	c.base = func(ctx context.Context, parent string, bin *scratch.Bin) (*scratch.Base, error) {
		return scratch.AtCommit(ctx, parent, root, f.Commit, bin)
	}
	return c, nil
}

// Named reports whether a case is the one with a name, or its folder among the records is.
func (c Case) Named(name string) bool { return c.Name == name || filename.Of(c.Name) == name }
