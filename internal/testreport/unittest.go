package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
)

// unitRunner names a test "module.Class.test", with the parameters of a subTest in brackets. The format: unittest's
// TextTestResult in Python 3.6 to 3.14. Before 3.11 the brackets hold the class without the test.
type unitRunner struct {
	*failing
	ruled bool // the line before is the double line above a failure
}

var unitFail = lazyregexp.New(`^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+) \(([\w.<>]+)\)(.*)$`)

func (t *unitRunner) line(line string) bool {
	ruled := t.ruled
	t.ruled = len(line) >= 40 && strings.Trim(line, "=") == ""
	if !ruled {
		return t.ruled
	}
	m := unitFail().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	name := m[2]
	if !strings.HasSuffix(name, "."+m[1]) {
		name += "." + m[1]
	}
	t.add(name + m[3])
	return true
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
