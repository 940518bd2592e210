package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// Affected returns by name which of tasks may end otherwise after paths changed, and why: its inputs are among them, or
// it has none, or it depends on such a task. With touched, a task without inputs is not affected by itself. Paths are
// relative to the root. defining are PIPELINE.hcl, what it includes and what gives it values; they affect every task. A path with
// a slash at its end is a folder (a submodule) and stands for all that is in it; one that NewFolder made stands for its name.
func Affected(c *pipeline.Config, tasks []*pipeline.Task, paths, defining []string, touched bool) map[string]string {
	return affected(c, tasks, paths, defining, touched, func(*pipeline.Task) string { return "" })
}

// AffectedSince is Affected by what git told, and by inputs that it does not tell of.
func AffectedSince(c *pipeline.Config, tasks []*pipeline.Task, changes *files.Changes, defining []string, unseen *Unseen) (map[string]string, error) {
	if err := unseen.ask(c, c.Tasks); err != nil {
		return nil, err
	}
	paths := slices.Clone(changes.Paths)
	for _, dir := range changes.Folders {
		paths = append(paths, NewFolder(dir))
	}
	return affected(c, tasks, paths, defining, false, unseen.reason), nil
}

func affected(c *pipeline.Config, tasks []*pipeline.Task, paths, defining []string, touched bool, unseen func(*pipeline.Task) string) map[string]string {
	why := map[string]string{}
	for _, p := range paths {
		if slices.ContainsFunc(defining, func(f string) bool { return f == p || strings.HasSuffix(p, "/") && strings.HasPrefix(f, p) }) {
			for _, t := range tasks {
				why[t.Name] = p + " changed"
			}
			return why
		}
	}
	seen := map[string]string{} // also what is not affected, with ""
	var visit func(t *pipeline.Task) string
	visit = func(t *pipeline.Task) string {
		if reason, known := seen[t.Name]; known {
			return reason
		}
		seen[t.Name] = "" // dependencies have no cycles
		reason := ""
		if t.HasInputs() || !touched {
			reason = changedInput(t, paths)
		}
		for _, name := range t.DependsOn {
			if d := c.Task(name); reason == "" && d != nil && visit(d) != "" {
				reason = "after " + name
			}
		}
		if reason == "" && t.HasInputs() { // the cache is asked last
			reason = unseen(t)
		}
		seen[t.Name] = reason
		return reason
	}
	for _, t := range tasks {
		if reason := visit(t); reason != "" {
			why[t.Name] = reason
		}
	}
	return why
}

// NewFolder returns the path by which Affected and Concerns know a folder that is new or gone, without what is in it. Only a task
// with inputs = auto can be affected: one that looked for the name, or listed the folder that it came to or was in.
func NewFolder(path string) string { return path + newFolder }

// newFolder is at the end of no clean path.
const newFolder = "/."

// Concerns reports whether a change of a file that no task makes may affect one of tasks, or what a file function of
// c gives. ignored is the topmost folder, or the file itself, that git ignores; empty if it does not. What is ignored
// is an input only where a pattern names it or a folder in it.
func Concerns(c *pipeline.Config, tasks []*pipeline.Task, path, ignored string) bool {
	concerns := Defines(c, path)
	for _, t := range tasks {
		of := scopeOf(t)
		if name := strings.TrimSuffix(path, newFolder); files.Matches(of.Makes, name) && !files.OnPurpose(of.In, of.Makes, name) {
			return false
		}
		if t.HasInputs() {
			of = sees(t)
		}
		if ignored != "" {
			of.In = slices.DeleteFunc(of.In, func(p files.Pattern) bool { return !files.Within(p.Folder, ignored) || !files.Within(path, p.Folder) })
		}
		concerns = concerns || concerned(t, of, path)
	}
	return concerns
}

// Defines reports whether a file function of c may give something else after a change of a path.
func Defines(c *pipeline.Config, path string) bool {
	if dir, folder := strings.CutSuffix(path, "/"); folder {
		return slices.ContainsFunc(files.AskedFor(c.Filesets, c.Asked), func(p files.Pattern) bool { return p.MayMatchIn(dir) })
	}
	if slices.Contains(c.Asked, path) {
		return true
	}
	if !files.Matches(files.ParseAll(c.Filesets), path) {
		return false
	}
	_, known := slices.BinarySearch(c.Found, path) // of these only the names count
	_, err := os.Lstat(filepath.Join(c.Root, filepath.FromSlash(path)))
	return known != (err == nil)
}

// sees returns what a task with inputs reads: its inputs, its dotenv files, its programs that the project has, and what
// its definition was made of.
func sees(t *pipeline.Task) files.Scope {
	of := scopeOf(t)
	of.In = append(of.In, files.AskedFor(t.Filesets, t.Asked)...)
	for _, p := range files.ParseAll(t.Seen) {
		if p.Plain { // it may be a folder, of which only the name was read
			p = files.Exactly(p.Folder)
		}
		of.In = append(of.In, p)
	}
	if t.Auto && len(t.Seen) == 0 { // it is not known: anything
		of.In = append(of.In, files.Parse("**"))
	}
	for _, p := range slices.Concat(t.Dotenv, t.Programs) {
		of.In = append(of.In, files.Exactly(p))
	}
	return of
}

// Know fills in what Affected and Concerns ask of tasks: the programs that the project has, and of tasks with
// inputs = auto patterns of all that they read the last times they passed, as far as the cache in dir knows it; an empty dir
// is none. describe is Cache.Describe.
func Know(c *pipeline.Config, dir string, describe func(*pipeline.Task) (Task, error)) {
	for _, t := range c.Tasks {
		t.Programs = programsIn(c.Root, t, describe)
		if !t.Auto || dir == "" {
			continue
		}
		t.Seen = nil
		for _, set := range readSetsOf(dir, t.Name) {
			t.Seen = append(t.Seen, set.Patterns()...)
		}
	}
}

// programsIn returns the programs of a task that the project has, and those that it would have where the command names
// them, with what its tools name, relative to the root, sorted.
func programsIn(root string, t *pipeline.Task, describe func(*pipeline.Task) (Task, error)) (all []string) {
	var paths, folders []string
	if d, err := describe(t); err == nil { // else the run tells
		for _, p := range d.Programs {
			paths = append(paths, p.Path)
		}
		for _, dir := range d.Path {
			if _, ok := files.InRoot(root, dir); ok {
				folders = append(folders, dir)
			}
		}
	}
	var names []string
	for _, p := range Named(t) {
		names = append(names, p.Name)
	}
	for _, tool := range t.Tools {
		names = append(names, tool.Argv[0])
		for _, word := range tool.Argv[1:] { // a file that it prints, or a script
			paths = append(paths, filepath.Join(root, filepath.FromSlash(t.Dir), word))
		}
	}
	for _, name := range names {
		switch {
		case filepath.IsAbs(name):
			paths = append(paths, name)
		case strings.Contains(name, "/"):
			paths = append(paths, filepath.Join(root, filepath.FromSlash(t.Dir), filepath.FromSlash(name)))
		default:
			for _, dir := range folders {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	from, err := filepath.EvalSymlinks(root)
	for _, at := range paths {
		if rel, ok := files.InRoot(root, at); ok {
			all = append(all, rel)
		}
		if err != nil {
			continue
		}
		if at, err := filepath.EvalSymlinks(at); err == nil { // links to folders are on the way
			if rel, ok := files.InRoot(from, at); ok {
				all = append(all, rel)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// changedInput returns why a task is affected by itself, or "".
func changedInput(t *pipeline.Task, paths []string) string {
	switch {
	case !t.HasInputs():
		return "it has no inputs"
	case t.Auto && len(t.Seen) == 0:
		return "what it reads is not known yet"
	}
	of := sees(t)
	first, more := "", 0
	for _, p := range paths {
		switch {
		case !concerned(t, of, p):
		case first == "":
			first = strings.TrimSuffix(p, newFolder)
		default:
			more++
		}
	}
	switch {
	case first == "":
		return ""
	case more > 0:
		return fmt.Sprintf("%s and %d more changed", first, more)
	}
	return first + " changed"
}

// concerned reports whether a path is an input of t, or may have some: a folder, or rules that decide what git ignores in
// one.
func concerned(t *pipeline.Task, of files.Scope, p string) bool {
	if name, isNew := strings.CutSuffix(p, newFolder); isNew {
		return t.Auto && concerned(t, of, name)
	}
	dir, folder := strings.CutSuffix(p, "/")
	if !folder && files.IsRules(p) {
		dir, folder = files.Parent(p), true
	}
	if folder {
		return slices.ContainsFunc(of.In, func(in files.Pattern) bool {
			return !in.Not && in.MayMatchIn(dir)
		})
	}
	return files.Matches(of.In, p) // also if it makes that: after an edit it must run
}
