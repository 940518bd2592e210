// Package detect looks at a project and drafts a PIPELINE.hcl for it. It reads files and runs nothing.
//
// The way through: the folders (tree.go, two levels deep) → what each of them is (golang.go, node.go, python.go, cargo.go,
// cmake.go, runner.go) as projects with tasks (project.go) → which of them count (front.go) → the text (write.go).
// The readers of foreign formats (toml.go, yaml.go, makefile.go, justfile.go) know just the keys that are needed, and are
// never wrong by more than not seeing something.
package detect

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// A Draft is a proposed PIPELINE.hcl.
type Draft struct {
	File  []byte   // the text, formatted, commented
	Tasks []string // names of its tasks, in file order
	Found []string // what it was made from, for the person: "go.mod: Go module example.com/shop"
	Notes []string // what was seen and left out, and why

	// The lines of File where the commented-out hook and its agent begin, from 1; both 0 where no task runs tests.
	HookLine, AgentLine int
}

// Look drafts a PIPELINE.hcl for the project in root. lookup says whether a program is in PATH: a task whose program is not
// stands in the draft as a comment. Nothing found gives a draft with one example task. The error is for a root that cannot
// be read; a file below it that cannot gives a note.
func Look(root string, lookup func(program string) bool) (Draft, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return Draft{}, fmt.Errorf("the folder cannot be looked at: %w", err)
	}
	defer r.Close() //nolint:errcheck // only read
	t := &tree{root: r}
	folders, err := t.folders()
	if err != nil {
		return Draft{}, err
	}
	l := &look{tree: t, has: lookup}
	for _, f := range folders {
		l.folder(f)
	}
	if l.over != nil {
		l.note("left out, because %d projects are enough for one file: %s", most, some(l.over))
	}
	nameAll(l.projects)
	var d Draft
	d.File, d.Tasks = write(l.projects)
	d.HookLine, d.AgentLine = lineOf(d.File, `  # on_fail "agent" {`), lineOf(d.File, `# agent "mine" {`)
	for _, p := range l.projects {
		d.Found = append(d.Found, p.found)
		for _, task := range p.tasks {
			if task.lacks != "" {
				t.note("the task %s is a comment in the file: it needs %s, which is not in PATH here", task.name, task.lacks)
			}
		}
	}
	d.Notes = t.notes
	return d, nil
}

// lineOf returns the number of a line, from 1, or 0 where the text has no such line.
func lineOf(text []byte, want string) int {
	return slices.Index(strings.Split(string(text), "\n"), want) + 1
}

// A look is what is known while the folders are gone through, the upper ones first.
type look struct {
	*tree
	has      func(program string) bool
	projects []*project

	over    []string        // folders whose projects are left out, because there are so many
	members map[string]bool // folders that are projects or parts of one, by "kind path": see belongs
	root    string          // the text of the root's Makefile, justfile or Taskfile, where that is the front door
}

// most is how many projects are drafted: more is no file that a person reads.
const most = 24

func (l *look) folder(f *folder) {
	if l.root != "" && f.path != top && mentions(l.root, f.path) {
		if len(l.kinds(f)) > 0 {
			l.note("%s: left to the root's own tasks, which name that folder", show(f.path))
		}
		return
	}
	found := l.choose(f)
	for _, p := range found {
		p.mixed = len(found) > 1
		if len(l.projects) == most {
			l.over = append(l.over, show(p.dir))
			continue
		}
		l.projects = append(l.projects, p)
	}
}

// belongs says that a folder is known as, or part of, a project of this kind.
func (l *look) belongs(kind, dir string) {
	if l.members == nil {
		l.members = map[string]bool{}
	}
	l.members[kind+" "+dir] = true
}

// below says whether a folder above is known as a project of this kind.
func (l *look) below(kind, dir string) bool {
	for dir != top {
		dir = path.Dir(dir)
		if l.members[kind+" "+dir] {
			return true
		}
	}
	return false
}
