// Which of the things in a folder become tasks. A Makefile, justfile or Taskfile that has a target for two of
// build, lint and test is the front door of its folder: it knows flags that nobody else knows. Else the language's
// own commands are used. A package.json with scripts is always its folder's own front door.
package detect

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// kinds returns the projects of every language in a folder.
func (d *detector) kinds(f *folder) []*project {
	var all []*project
	for _, of := range []func(*folder) *project{d.golang, d.node, d.python, d.cargo, d.cmake} {
		if p := of(f); p != nil {
			all = append(all, p)
		}
	}
	return all
}

func (d *detector) choose(f *folder) []*project {
	languages := d.kinds(f)
	runner, text := d.runner(f)
	if runner == nil {
		return languages
	}
	scripts := false
	var names []string
	for _, p := range languages {
		scripts = scripts || p.kind == "node"
		names = append(names, p.kind)
		runner.env = append(runner.env, p.env...) // its targets call the same tools
	}
	file, _, _ := strings.Cut(runner.found, ":")
	usable := slices.ContainsFunc(runner.tasks, func(t *task) bool { return t.lacks == "" })
	switch {
	case len(languages) == 0:
	case scripts:
		d.note("%s: not used, because package.json has scripts for the same folder", file)
		return languages
	case !usable:
		d.note("%s: not used, because %s is not in PATH here", file, runner.tasks[0].lacks)
		return languages
	case !frontDoor(runner):
		d.note("%s: not used, because it has no targets for two of build, lint and test; the tasks are the commands of the language (%s)", file, some(names))
		return languages
	default:
		d.note("%s: its targets are the tasks; the commands of the language (%s) were left out, because it knows the flags", file, some(names))
		runner.about = append([]string{"The tasks call " + runner.kind + ", because the " + path.Base(file) + " looks like the front door of this project."}, runner.about...)
	}
	if f.path == top {
		d.root = text
	}
	return []*project{runner}
}

// frontDoor reports whether there are targets for two of build, lint and test.
func frontDoor(p *project) bool {
	sorts := map[string]bool{}
	for _, t := range p.tasks {
		sorts[sortOf(t.name)] = true
	}
	return len(sorts) > 1
}

// sortOf returns what a target is for: build, lint or test.
func sortOf(name string) string {
	switch name {
	case "build", "all", "compile":
		return "build"
	case "test", "tests", "check", "verify", "ci":
		return "test"
	}
	return "lint"
}

// mentions reports whether a text contains the name of a folder as a whole word.
func mentions(text, dir string) bool {
	return strings.Contains(text, dir) && regexp.MustCompile(`(^|[\s=/"'(:])`+regexp.QuoteMeta(dir)+
		`($|[\s/"'):;,&])`).MatchString(text)
}
