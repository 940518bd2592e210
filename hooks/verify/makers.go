package verify

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// aFile matches what may be a file in a script.
var aFile = lazily.Regexp(`[\w.-]+(?:/[\w.-]+)*\.\w+`)

// makers returns the scripts of dependencies that make what the check reads: such a script names a file of data, and so
// does a test, a script of the check or its command, and no source of the program. With a changed script, the second
// check would make the changed expectation once more, so the script belongs to the check.
func (q *Request) makers() (scripts []string) {
	before := q.before(q.Failure.Task.Name)
	if len(before) == 0 {
		return nil
	}
	paths := q.Base.Paths()
	var readers readers
	for _, t := range before {
		c := commandOf(q.Base.Sub, t)
		for _, word := range words(c) {
			p := path.Join(c.Dir, word)
			if !slices.Contains(paths, p) || !lang.IsCode(lang.Of(p, q.text(p))) {
				continue
			}
			if q.makesExpectation(q.text(p), &readers) {
				scripts = append(scripts, p)
			}
		}
	}
	return scripts
}

// readers are the texts of a check, and those of the program.
type readers struct {
	read           bool
	check, program []string
}

// load reads the texts once.
func (r *readers) load(q *Request) {
	if r.read {
		return
	}
	r.read = true
	checks := q.checkFiles(q.scopeWithout())
	for _, p := range q.Base.Paths() {
		if lang.IsCode(lang.Of(p, "")) && (checks.Class(p) == 2 || checks.Class(p) == 4) {
			r.check = append(r.check, q.text(p))
		}
	}
	for _, run := range q.commands() {
		r.check = append(r.check, run.Shell, strings.Join(run.Argv, " "))
	}
	for _, p := range checks.Production() {
		r.program = append(r.program, q.text(p))
	}
}

func (q *Request) makesExpectation(script string, readers *readers) bool {
	for _, p := range aFile().FindAllString(script, -1) {
		if lang.ByPath(p) != "" {
			continue
		}
		readers.load(q)
		named := func(texts []string) bool {
			return slices.ContainsFunc(texts, func(text string) bool { return text != script && strings.Contains(text, path.Base(p)) })
		}
		if named(readers.check) && (lang.TestFolder(p) || lang.DataFolder(p) || !named(readers.program)) {
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

// words returns the words of a command, some of which may name files.
func words(c checkfile.Command) []string {
	if c.Argv != nil {
		return c.Argv
	}
	return strings.FieldsFunc(c.Shell, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()\"'", r) })
}
