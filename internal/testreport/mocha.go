package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// mochaRunner reads the list of failures at the end of mocha's reporters spec, dot, min and list: "outer > inner".
// The format: mocha's lib/reporters/base.js.
type mochaRunner struct {
	*failing
	listed bool     // "1 failing" was seen
	title  []string // the lines so far of a name; nil: none is begun
}

var (
	mochaFailing = lazily.Regexp(`^\s*\d+ failing$`)
	mochaNumber  = lazily.Regexp(`^ {1,6}\d+\) (.+)$`)
)

func (t *mochaRunner) line(line string) bool {
	if !t.listed {
		t.listed = strings.HasSuffix(line, " failing") && mochaFailing().MatchString(line)
		return t.listed
	}
	if m := mochaNumber().FindStringSubmatch(line); m != nil {
		t.title = []string{m[1]}
	} else if t.title != nil && strings.HasPrefix(line, "   ") && len(t.title) < maxNesting {
		t.title = append(t.title, strings.TrimSpace(line))
	} else {
		t.title = nil
		return false
	}
	if name, ended := strings.CutSuffix(strings.Join(t.title, " > "), ":"); ended {
		t.add(name)
		t.title = nil
	}
	return true
}

var mochaCount = lazily.Regexp(`^ +(\d+) (?:passing|failing)\b`)
