package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// unitRunner names a test "module.Class.test", with the parameters of a subTest in brackets. The format: unittest's
// TextTestResult in Python 3.6 to 3.14. Before 3.11 the brackets hold the class without the test.
type unitRunner struct {
	*failing
	ruled bool   // the line before is the double line above a failure
	named string // by a line of -v: a test whose result follows, after its docstring or after what it prints; empty: none
	began bool   // its result or what it prints comes next, its docstring does not
}

var unitFail = lazily.Regexp(`^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+) \(([\w.<>]+)\)(.*)$`)

// unitRan is a line of -v: a test, and what follows where its docstring does not.
var unitRan = lazily.Regexp(`^(\S+) \(([\w.<>]+)\)(?: \.\.\.( .*)?)?$`)

// unitEnded matches how a test ended that did not pass.
var unitEnded = lazily.Regexp(`^(?:FAIL|ERROR|skipped .*|expected failure|unexpected success)$`)

// unitPart is the name of a subTest: "[message] (parameters)", one of them or both.
var unitPart = lazily.Regexp(`^([\w.<>]+\.\w+) ((?:\[.*\] )?\(.*\)|\[.*\])$`)

func (t *unitRunner) line(line string) bool {
	if strings.Contains(line, " (") {
		if m := unitRan().FindStringSubmatch(line); m != nil {
			t.named, t.began = unitName(m[1], m[2]), strings.Contains(line, ") ...")
			t.result(strings.TrimPrefix(m[3], " "))
			return true
		}
	}
	if t.named != "" {
		text := line
		if !t.began { // its docstring
			if _, text, t.began = strings.Cut(line+" ", " ... "); !t.began {
				t.named = ""
			}
		}
		t.result(strings.TrimRight(text, " "))
	}
	ruled := t.ruled
	t.ruled = len(line) >= 40 && strings.Trim(line, "=") == ""
	if !ruled {
		return t.ruled
	}
	m := unitFail().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	t.add(unitName(m[1], m[2]) + m[3])
	return true
}

// result reads what follows the dots after a test's name: how it ended, or what it prints before it ends.
func (t *unitRunner) result(text string) {
	switch {
	case t.named == "" || !t.began:
	case strings.HasSuffix(text, "ok"):
		t.pass(t.named)
		t.named = ""
	case unitEnded().MatchString(text):
		t.named = ""
	}
}

func unitName(test, in string) string {
	if !strings.HasSuffix(in, "."+test) {
		in += "." + test
	}
	return in
}

var (
	unittestRan = lazily.Regexp(`^Ran (\d+) tests? in \d`)
	unittestEnd = lazily.Regexp(`^(?:OK|FAILED) \((?:.*, )?skipped=(\d+)(?:,.*)?\)$`)
)

// countUnittest leaves out what was skipped, and files that could not be loaded, which unittest counts as tests.
func countUnittest(line string) int {
	if strings.HasPrefix(line, "ERROR: ") && strings.Contains(line, "unittest.loader._FailedTest") {
		return -1
	}
	return number(unittestRan)(line) - number(unittestEnd)(line)
}
