// Package detect reads a project and drafts a PIPELINE.hcl for it. It reads files and runs nothing.
//
// The steps: the folders (tree.go, two levels deep) → what each of them is (golang.go, node.go, python.go,
// cargo.go, cmake.go, runner.go) as projects with tasks (project.go) → which of them count (front.go) → the text
// (write.go). The readers of foreign formats (formats.go, makefile.go, recipe.go) read only what is needed.
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

	// The lines of File where the hook and its agent begin, from 1, comments or not; both 0 where no task runs tests and
	// the agent was not to be active.
	HookLine, AgentLine int
	Active              bool // they are no comments
}

// Propose drafts a PIPELINE.hcl for the project in root. lookup reports whether a program is in PATH: a task whose
// program is not is written as a comment. agent is whom the hook of the first task that runs tests asks; where none does
// and the agent is to be active, the first task has the hook as a comment. Where nothing is found the draft has one example
// task. The error is for a root that cannot be read; a file below it that cannot adds a note.
func Propose(root string, lookup func(program string) bool, agent Agent) (Draft, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return Draft{}, fmt.Errorf("the folder cannot be read: %w", err)
	}
	defer r.Close() //nolint:errcheck // only read
	t := &tree{root: r}
	folders, err := t.folders()
	if err != nil {
		return Draft{}, err
	}
	l := &detector{tree: t, has: lookup, members: map[string]bool{}}
	for _, f := range folders {
		l.folder(f)
	}
	if l.over != nil {
		l.note("left out, because %d projects are enough for one file: %s", most, some(l.over))
	}
	nameAll(l.projects)
	if agent.Active && !checked(l.projects) {
		agent.Active, agent.anyTask = false, true
	}
	d := Draft{Active: agent.Active}
	d.File, d.Tasks = write(l.projects, agent)
	off := "# "
	if agent.Active {
		off = ""
	}
	name, _ := agent.text()
	d.HookLine, d.AgentLine = lineOf(d.File, "  "+off+`on_fail "agent" {`), lineOf(d.File, off+"agent "+quote(name)+" {")
	for _, p := range l.projects {
		d.Found = append(d.Found, p.found)
		for _, task := range p.tasks {
			if task.lacks != "" {
				t.note("the task %s is a comment in the file: it needs %s, which is not in PATH here",
					task.name, task.lacks)
			}
		}
	}
	d.Notes = t.notes
	return d, nil
}

// checked reports whether a task that is no comment runs tests.
func checked(projects []*project) bool {
	return slices.ContainsFunc(projects, func(p *project) bool {
		return slices.ContainsFunc(p.tasks, func(t *task) bool { return t.checks && t.lacks == "" })
	})
}

// lineOf returns the number of a line, from 1, or 0 where the text has no such line.
func lineOf(text []byte, want string) int {
	return slices.Index(strings.Split(string(text), "\n"), want) + 1
}

// A detector is the state while the folders are visited, the upper ones first.
type detector struct {
	*tree
	has      func(program string) bool
	projects []*project

	over    []string        // folders whose projects are left out, because there are so many
	members map[string]bool // folders that are projects or parts of one, by "kind path": see belongs
	root    string          // the text of the root's Makefile, justfile or Taskfile, where that is the front door
}

// most is how many projects are drafted: nobody reads a file with more.
const most = 24

func (d *detector) folder(f *folder) {
	if d.root != "" && f.path != top && mentions(d.root, f.path) {
		if len(d.kinds(f)) > 0 {
			d.note("%s: left to the root's own tasks, which name that folder", f.path+"/")
		}
		return
	}
	found := d.choose(f)
	for _, p := range found {
		p.mixed = len(found) > 1
		if len(d.projects) == most {
			d.over = append(d.over, p.dir+"/")
			continue
		}
		d.projects = append(d.projects, p)
	}
}

// belongs records that a folder is a project of this kind, or part of one.
func (d *detector) belongs(kind, dir string) {
	d.members[kind+" "+dir] = true
}

// below reports whether a folder above is a project of this kind.
func (d *detector) below(kind, dir string) bool {
	for dir != top {
		dir = path.Dir(dir)
		if d.members[kind+" "+dir] {
			return true
		}
	}
	return false
}
