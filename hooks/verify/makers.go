package verify

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// aPath matches what may be a path in a script.
var aPath = lazyregexp.New(`[\w.-]+(?:/[\w.-]+)+`)

// makers returns the scripts of dependencies that make what tests read: such a script names a file of data in a
// folder of tests, and a test names it too. With a changed script, the second check would make the changed expectation
// once more, so the script belongs to the check.
func (q *Request) makers() (scripts []string) {
	before := q.before(q.Failure.Task.Name)
	if len(before) == 0 {
		return nil
	}
	paths := q.Base.Paths()
	for _, t := range before {
		c := commandOf(q.Base.Sub, t)
		words := c.Argv
		if words == nil {
			words = strings.FieldsFunc(c.Shell, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()\"'", r) })
		}
		for _, word := range words {
			p := path.Join(c.Dir, word)
			if !slices.Contains(paths, p) || !lang.IsCode(lang.ByPath(p)) {
				continue
			}
			if q.makesExpectation(q.text(p), paths) {
				scripts = append(scripts, p)
			}
		}
	}
	return scripts
}

func (q *Request) makesExpectation(script string, paths []string) bool {
	for _, p := range aPath().FindAllString(script, -1) {
		base := path.Base(p)
		if lang.ByPath(p) != "" || !strings.Contains(base, ".") || !lang.TestFolder(p) && !lang.DataFolder(p) {
			continue
		}
		if slices.ContainsFunc(paths, func(test string) bool {
			return lang.ByPath(test) != "" && (lang.TestName(test) || lang.TestFolder(test)) && strings.Contains(q.text(test), base)
		}) {
			return true
		}
	}
	return false
}

// text returns the text of a file of the base, "" where there is none.
func (q *Request) text(p string) string {
	f, err := q.Base.Read(p)
	if err != nil || f == nil {
		return ""
	}
	return string(f.Data)
}

// commandOf returns the command of a task.
func commandOf(sub string, t *pipeline.Task) checkfile.Command {
	c := checkfile.Command{Shell: t.Run.Shell.Value, Dir: path.Join(sub, t.Dir)}
	for _, a := range t.Run.Argv {
		c.Argv = append(c.Argv, a.Value)
	}
	return c
}
