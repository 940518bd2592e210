package testreport

// The test runners of Python: pytest and unittest.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// pytestRunner names a test by its node id, "test_a.py::TestC::test_y[1]", and a file that could not be collected by its
// path. It reads the short summary, -v, -rA, and pytest-xdist. Source: pytest's terminal reporter, versions 6 to 8.
type pytestRunner struct{ *failing }

var (
	pytestVerbose = late.Regexp(`^(\S+\.\w+::.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$`)
	pytestWorker  = late.Regexp(`^\[gw\d+\](?: \[ *\d+%\])? (?:FAILED|ERROR) (\S+\.\w+::.+)$`)
)

func (t *pytestRunner) line(line string) bool {
	for _, word := range []string{"FAILED ", "ERROR "} {
		if rest, ok := strings.CutPrefix(line, word); ok {
			name := nodeID(rest)
			t.add(name)
			return name != ""
		}
	}
	if !strings.Contains(line, "::") {
		return false
	}
	m := pytestVerbose().FindStringSubmatch(line)
	if m == nil {
		m = pytestWorker().FindStringSubmatch(line)
	}
	if m != nil {
		t.add(m[1])
	}
	return m != nil
}

func (t *pytestRunner) end() {}

// nodeID is the node id that text begins with; what follows " - " is a message. A parameter, in brackets, may hold that too.
func nodeID(text string) string {
	file, test, inside := strings.Cut(text, "::")
	if !inside {
		file, _, _ = strings.Cut(text, " - ")
		if !strings.HasSuffix(file, ".py") || strings.Contains(file, " ") {
			return ""
		}
		return file
	}
	if strings.ContainsAny(file, " \t") {
		return ""
	}
	message := strings.Index(test, " - ")
	if open := strings.IndexByte(test, '['); open >= 0 && open < message {
		message = -1
		if end := strings.Index(test, "] - "); end >= 0 {
			message = end + 1
		}
	}
	if message >= 0 {
		test = test[:message]
	}
	return file + "::" + test
}

// unitRunner names a test as "module.Class.test", with what subTest says of it in brackets. Source: unittest's
// TextTestResult, Python 3.6 to 3.14: older ones leave the test out of the brackets' end.
type unitRunner struct {
	*failing
	ruled bool // the line before is the double line above a failure
}

var unitFail = late.Regexp(`^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+) \(([\w.<>]+)\)(.*)$`)

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

func (t *unitRunner) end() {}
