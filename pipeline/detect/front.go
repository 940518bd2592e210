// Which of the things in a folder become tasks. A Makefile, justfile or Taskfile that has a target for two of build, lint and
// test is the front door of its folder: it knows flags that nobody else knows. Else the language's own commands are used.
// A package.json with scripts is always its folder's own front door.
package detect

import (
	"path"
	"regexp"
	"strings"
)

// kinds makes everything that can be made of a folder, languages first.
func (l *look) kinds(f *folder) []*project {
	var all []*project
	for _, of := range []func(*folder) *project{l.golang, l.node, l.python, l.cargo, l.cmake} {
		if p := of(f); p != nil {
			all = append(all, p)
		}
	}
	return all
}

func (l *look) choose(f *folder) []*project {
	languages := l.kinds(f)
	runner, text := l.runner(f)
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
	usable := false
	for _, t := range runner.tasks {
		usable = usable || t.lacks == ""
	}
	switch {
	case len(languages) == 0:
	case scripts:
		l.note("%s: not used, because package.json has scripts for the same folder", file)
		return languages
	case !usable:
		l.note("%s: not used, because %s is not in PATH here", file, runner.tasks[0].lacks)
		return languages
	case !frontDoor(runner):
		l.note("%s: not used, because it has no targets for two of build, lint and test; the tasks are the commands of the language (%s)", file, some(names))
		return languages
	default:
		l.note("%s: its targets are the tasks; the commands of the language (%s) were left out, because it knows the flags", file, some(names))
		runner.about = append([]string{"The tasks call " + runner.kind + ", because the " + path.Base(file) + " looks like the front door of this project."}, runner.about...)
	}
	if f.path == top {
		l.root = text
	}
	return []*project{runner}
}

// frontDoor says whether two of build, lint and test are there.
func frontDoor(p *project) bool {
	sorts := map[string]bool{}
	for _, t := range p.tasks {
		sorts[sortOf(t.name)] = true
	}
	return len(sorts) > 1
}

// sortOf is what a target is about: build, lint or test.
func sortOf(name string) string {
	switch name {
	case "build", "all", "compile":
		return "build"
	case "test", "tests", "check", "verify", "ci":
		return "test"
	}
	return "lint"
}

// mentions says whether a text names a folder as a whole word.
func mentions(text, dir string) bool {
	return strings.Contains(text, dir) && regexp.MustCompile(`(^|[\s=/"'(:])`+regexp.QuoteMeta(dir)+`($|[\s/"'):;,&])`).MatchString(text)
}
