package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
)

// unitRunner names a test "module.Class.test", with the parameters of a subTest in brackets. The format: unittest's
// TextTestResult in Python 3.6 to 3.14. Before 3.11 the brackets hold the class without the test.
type unitRunner struct {
	*failing
	ruled bool   // the line before is the double line above a failure
	named string // by the line before: a test whose docstring follows
}

var unitFail = lazyregexp.New(`^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+) \(([\w.<>]+)\)(.*)$`)

// unitRan is a line of -v: a test, and how it ended where its docstring does not follow.
var unitRan = lazyregexp.New(`^(\S+) \(([\w.<>]+)\)( \.\.\. ok)?$`)

func (t *unitRunner) line(line string) bool {
	if t.named != "" && strings.HasSuffix(line, " ... ok") {
		t.pass(t.named)
	}
	t.named = ""
	if strings.Contains(line, " (") {
		if m := unitRan().FindStringSubmatch(line); m != nil {
			if t.named = unitName(m[1], m[2]); m[3] != "" {
				t.pass(t.named)
				t.named = ""
			}
			return true
		}
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

func unitName(test, in string) string {
	if !strings.HasSuffix(in, "."+test) {
		in += "." + test
	}
	return in
}

var (
	unittestRan = lazyregexp.New(`^Ran (\d+) tests? in \d`)
	unittestEnd = lazyregexp.New(`^(?:OK|FAILED) \((?:.*, )?skipped=(\d+)(?:,.*)?\)$`)
)

// countUnittest leaves out what was skipped, and files that could not be loaded, which unittest counts as tests.
func countUnittest(line string) int {
	if strings.HasPrefix(line, "ERROR: ") && strings.Contains(line, "unittest.loader._FailedTest") {
		return -1
	}
	return number(unittestRan)(line) - number(unittestEnd)(line)
}
