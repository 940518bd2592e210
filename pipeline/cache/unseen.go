package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// Unseen tells of inputs whose changes git does not tell, for Affected: what it ignores, and what is doubtful.
type Unseen struct {
	Doubtful []string // see files.Changes
	// Ignored returns which of paths, relative to the root, git ignores.
	Ignored func(paths []string) (map[string]bool, error)
	// IsCached reports whether the cache has the result of a task for its inputs as they are. nil: there is no cache.
	IsCached func(t *pipeline.Task) bool

	root    string
	outputs func(t *pipeline.Task) []files.Pattern
	ignored map[string]bool
}

// ask asks git once for all tasks.
func (u *Unseen) ask(c *pipeline.Config, tasks []*pipeline.Task) error {
	u.root = c.Root
	needs := needsOf(c)
	u.outputs = func(t *pipeline.Task) []files.Pattern {
		makes := files.ParseAll(t.Outputs)
		for _, d := range needs.of(t) {
			makes = append(makes, files.ParseAll(d.Outputs)...)
		}
		return makes
	}
	var names []string
	for _, t := range tasks {
		if !t.HasInputs() {
			continue
		}
		for _, p := range sees(t).In {
			if !p.Not && p.Folder != "" {
				names = append(names, p.Folder)
			}
		}
	}
	slices.Sort(names)
	var err error
	if names = slices.Compact(names); len(names) > 0 {
		u.ignored, err = u.Ignored(names)
	}
	return err
}

// reason returns why a task is affected by itself although no path that git tells of is an input, or "".
func (u *Unseen) reason(t *pipeline.Task) string {
	if u.namesNothing(t) {
		return errNoInput.Error()
	}
	name := u.input(t)
	if name == "" || u.IsCached != nil && u.IsCached(t) {
		return ""
	}
	return name + ": git does not see it"
}

// namesNothing reports whether no file is there that the patterns of inputs match, so that t is not cached: see
// errNoInput.
func (u *Unseen) namesNothing(t *pipeline.Task) bool {
	if t.Auto || len(t.Reads) > 0 || len(u.outputs(t)) > len(t.Outputs) {
		return false
	}
	all := files.ParseAll(t.Inputs)
	return !slices.ContainsFunc(all, func(p files.Pattern) bool { return !p.Not && u.hasMatch(all, p.Folder) })
}

// hasMatch reports whether patterns match a file in a folder of the tree, or the folder itself where it is a file. What
// cannot be read may hold one.
func (u *Unseen) hasMatch(all []files.Pattern, folder string) bool {
	found := false
	err := filepath.WalkDir(filepath.Join(u.root, filepath.FromSlash(folder)), func(p string, d fs.DirEntry, err error) error {
		name, in := files.InRoot(u.root, p)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".async"):
			return fs.SkipDir
		case !d.IsDir() && in && files.Matches(all, name):
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// input returns an input of t whose changes git does not tell, or "". What its dependencies make is none: they decide that.
func (u *Unseen) input(t *pipeline.Task) string {
	of := sees(t)
	for _, p := range u.Doubtful {
		if concerned(t, of, p) {
			return p
		}
	}
	var makes []files.Pattern
	for _, p := range of.In {
		if p.Not || !u.ignored[p.Folder] {
			continue
		}
		if makes == nil {
			makes = u.outputs(t)
		}
		if p.Plain {
			_, err := os.Lstat(filepath.Join(u.root, filepath.FromSlash(p.Folder)))
			if files.Matches(of.In, p.Folder) && !files.Matches(makes, p.Folder) && (err == nil || u.IsCached != nil) {
				return p.Folder
			}
		} else if !slices.ContainsFunc(makes, func(m files.Pattern) bool { return m.Folder != "" && files.Within(p.Folder, m.Folder) }) {
			return p.Folder
		}
	}
	return ""
}
