package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// nodeRunner reads the reporter "spec" of node --test. It gives a test its name after those of its suites: "outer >
// inner". A suite with a failing test fails too. The format: what node 20 and 22 print.
type nodeRunner struct {
	*failing
	above []outer
	again bool // a line of the list at the end was read, "test at …", which repeats a test
}

var (
	nodeFail  = lazily.Regexp(`^✖ (.+) \(\d+(?:\.\d+)?ms\)$`)
	nodePass  = lazily.Regexp(`^✔ (.+) \(\d+(?:\.\d+)?ms\)$`)
	nodeSuite = lazily.Regexp(`^▶ (.+?)( \(\d+(?:\.\d+)?ms\))?$`)
)

func (t *nodeRunner) line(line string) bool {
	again := t.again
	t.again = strings.HasPrefix(line, "test at ")
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	switch {
	case strings.HasPrefix(text, "✖ "):
		m := nodeFail().FindStringSubmatch(text)
		if m != nil && !again {
			t.addOne(nestedName(outside(t.above, indent), m[1]))
		}
		return m != nil
	case strings.HasPrefix(text, "✔ "):
		m := nodePass().FindStringSubmatch(text)
		if m != nil {
			t.pass(nestedName(outside(t.above, indent), m[1]))
		}
		return m != nil
	case strings.HasPrefix(text, "▶ "):
		m := nodeSuite().FindStringSubmatch(text)
		if m != nil && m[2] == "" && len(t.above) < maxNesting {
			t.above = append(outside(t.above, indent), outer{indent, m[1]})
		}
		return m != nil
	}
	return false
}

var nodeCount = lazily.Regexp(`^(?:#|ℹ) (tests|skipped|todo) (\d+)$`)

// countNode counts what node --test reports at its end, in the reporters spec and tap.
func countNode(line string) int {
	if !strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "ℹ ") {
		return 0
	}
	m := nodeCount().FindStringSubmatch(line)
	switch {
	case m == nil:
		return 0
	case m[1] == "tests":
		return value(m[2])
	}
	return -value(m[2])
}
