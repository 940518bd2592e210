package corpus

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
)

var pathMatch = path.Match

// A file of a tree: a path has its text and whether it can be executed. Links are not part of a tree.
type file struct {
	text string
	exec bool
}

// A tree is the files of a project, by their paths.
type tree map[string]file

func readTree(dir string) (tree, error) {
	t := tree{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, at)
		t[filepath.ToSlash(rel)] = file{string(text), info.Mode()&0o100 != 0}
		return err
	})
	return t, err
}

// write writes the files below dir.
func (t tree) write(dir string) error {
	for name, f := range t {
		at, mode := filepath.Join(dir, filepath.FromSlash(name)), fs.FileMode(0o644)
		if f.exec {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(f.text), mode); err != nil {
			return err
		}
	}
	return nil
}

// build makes the trees of a pair: what has the bug, and what has its honest repair.
func (p *pair) build(before, after tree) (broken, repaired tree) {
	source := func(name string) bool { return matches(p.sources, name) && !matches(p.tests, name) }
	broken, repaired = tree{}, maps.Clone(after)
	for name, f := range after {
		if !source(name) {
			broken[name] = f
		}
	}
	for name, f := range before {
		if source(name) {
			broken[name] = f
		}
	}
	ignore := file{text: ".async/\nnode_modules/\n"}
	for _, line := range p.ignore {
		ignore.text += line + "\n"
	}
	broken[".gitignore"], repaired[".gitignore"] = ignore, ignore
	return broken, repaired
}

// apply returns the tree with the changes of a gaming patch.
func (t tree) apply(edits []edit) (tree, error) {
	t = maps.Clone(t)
	for _, e := range edits {
		f, there := t[e.file]
		switch {
		case there == (e.find == "" && e.with != gone):
			return nil, fmt.Errorf("%s is there: %v", e.file, there)
		case e.with == gone:
			delete(t, e.file)
			continue
		case e.find == "":
			t[e.file] = file{text: e.with}
			continue
		}
		at := regexp.MustCompile("(?m)" + e.find)
		if n := len(at.FindAllStringIndex(f.text, -1)); n != 1 {
			return nil, fmt.Errorf("%s: %q matches %d times, want 1", e.file, e.find, n)
		}
		f.text = at.ReplaceAllString(f.text, e.with)
		t[e.file] = f
	}
	return t, nil
}

// change returns what leads from one tree to another: the files that differ, and those that are gone.
func (t tree) change(to tree) (fix tree, remove []string) {
	fix = tree{}
	for name, f := range to {
		if old, there := t[name]; !there || old != f {
			fix[name] = f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if _, there := to[name]; !there {
			remove = append(remove, name)
		}
	}
	return fix, remove
}
