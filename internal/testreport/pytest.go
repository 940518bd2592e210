package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
)

// pytestRunner gives a test its node id as a name, "test_a.py::TestC::test_y[1]", and a file that could not be
// collected its path. It reads the short summary, -v, -rA, and pytest-xdist. The format: pytest's terminal reporter,
// versions 6 to 8.
type pytestRunner struct{ *failing }

var (
	pytestVerbose = lazyregexp.New(`^(\S+\.\w+::.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$`)
	pytestWorker  = lazyregexp.New(`^\[gw\d+\](?: \[ *\d+%\])? (?:FAILED|ERROR) (\S+\.\w+::.+)$`)
)

func (t *pytestRunner) line(line string) bool {
	for _, word := range []string{"FAILED ", "ERROR "} {
		if rest, ok := strings.CutPrefix(line, word); ok {
			name := nodeID(rest)
			t.add(name)
			return name != ""
		}
	}
	return strings.Contains(line, "::") && (t.addMatch(pytestVerbose(), line) || t.addMatch(pytestWorker(), line))
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

var pytestEnd = lazyregexp.New(`^(?:=+ )?(\d+ [a-z]+(?:, \d+ [a-z]+)*) in \d+\.\d+s`)
