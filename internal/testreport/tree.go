package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// treeRunner reads which tests pass in the lists of mocha, "outer > inner", and of jest with --verbose, "file > outer >
// inner": suites are titles, and what is in them stands deeper.
type treeRunner struct {
	*failing
	file  string // of jest; empty: none
	above []outer
}

var (
	treePass = lazily.Regexp(`^(?:✓|✔|√) (.+?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$`)
	treeFile = lazily.Regexp(`^\s?(?:PASS|FAIL) +(?:\S+ +)?(\S+\.[cm]?[jt]sx?)(?: \([\d.]+ m?s\))?$`)
)

func (t *treeRunner) line(line string) bool {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if m := treeFile().FindStringSubmatch(line); m != nil {
		t.file, t.above = strings.TrimPrefix(m[1], "./")+" > ", nil
		return false // jestRunner knows it
	}
	switch m := treePass().FindStringSubmatch(text); {
	case text == "":
	case indent == 0:
		t.file, t.above = "", nil
	case m != nil:
		if t.by = mocha; t.file != "" {
			t.by = jest
		}
		t.pass(t.file + nestedName(outside(t.above, indent), m[1]))
		return true
	default:
		if t.above = outside(t.above, indent); len(t.above) < maxNesting {
			t.above = append(t.above, outer{indent, text})
		}
	}
	return false
}
