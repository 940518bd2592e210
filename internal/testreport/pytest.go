package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// pytestRunner gives a test its node id as a name, "test_a.py::TestC::test_y[1]", and a file that could not be
// collected its path. It reads the short summary, -v, -rA, and pytest-xdist. The format: pytest's terminal reporter,
// versions 6 to 8.
type pytestRunner struct {
	*failing
	pytestSessions
}

var (
	pytestVerbose = lazily.Regexp(`^(\S+\.\w+::.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$`)
	pytestPass    = lazily.Regexp(`^(\S+\.\w+::.+?) PASSED(?: +\[ *\d+%\])?$`)
	pytestDone    = lazily.Regexp(`^\[gw\d+\](?: \[ *\d+%\])? PASSED (\S+\.\w+::.+)$`) // by a worker
	pytestWorker  = lazily.Regexp(`^\[gw\d+\](?: \[ *\d+%\])? (?:FAILED|ERROR) (\S+\.\w+::.+)$`)
)

func (t *pytestRunner) line(line string) bool {
	if t.inner(line) {
		return true
	}
	for _, word := range []string{"FAILED ", "ERROR "} {
		if rest, ok := strings.CutPrefix(line, word); ok {
			name := nodeID(rest)
			t.add(name)
			return name != ""
		}
	}
	if rest, ok := strings.CutPrefix(line, "PASSED "); ok && strings.Contains(rest, "::") {
		name := nodeID(rest)
		t.pass(name)
		return name != ""
	}
	return strings.Contains(line, "::") && (t.passMatch(pytestPass(), line) ||
		t.passMatch(pytestDone(), line) || t.addMatch(pytestVerbose(), line) || t.addMatch(pytestWorker(), line))
}

// nodeID returns the node id that text begins with, "" for none. A message follows " - ", which a parameter in
// brackets may hold too.
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

// pytestSessions tells the lines of a session from those of another inside of it: tests of plugins run pytest, whose
// output pytest prints where such a test fails.
type pytestSessions struct{ open int }

var pytestBar = lazily.Regexp(`^=+ (?:(test session starts|ERRORS|FAILURES)|(.*) in \d+\.\d+s.*) =+$`)

// inner reports whether a line is one of an inner session.
func (p *pytestSessions) inner(line string) bool {
	if !strings.HasPrefix(line, "===") {
		if p.open == 1 && strings.Contains(line, " in ") && pytestEnd().MatchString(line) {
			p.open = 0 // with -q
		}
		return p.open > 1
	}
	m := pytestBar().FindStringSubmatch(line)
	now := p.open
	switch {
	case m == nil:
	case m[1] == "test session starts":
		p.open++
		now++
	case m[1] != "": // of a session with -q, which says nothing when it starts
		p.open = max(p.open, 1)
	default:
		p.open = max(p.open-1, 0)
	}
	return now > 1
}

// countPytest returns a count of the tests that ran in outermost sessions.
func countPytest() func(line string) int {
	var sessions pytestSessions
	count := sum(pytestEnd, "passed", "failed", "xfailed", "xpassed")
	return func(line string) int {
		if sessions.inner(line) {
			return 0
		}
		return count(line)
	}
}

var pytestEnd = lazily.Regexp(`^(?:=+ )?(\d+ [a-z]+(?:, \d+ [a-z]+)*) in \d+\.\d+s`)
