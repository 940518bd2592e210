package testreport

// The test runners of JavaScript: node --test, mocha, jest, vitest.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// nodeRunner reads the reporter "spec" of node --test and names a test below its suites: "outer > inner". A suite with a
// failing test fails too. Source: what node 20 and 22 print.
type nodeRunner struct {
	*failing
	above []outer
	again bool // the line before said where the next test is: it stands in the list of failing tests, without its suites
}

var (
	nodeFail  = late.Regexp(`^✖ (.+) \(\d+(?:\.\d+)?ms\)$`)
	nodeSuite = late.Regexp(`^▶ (.+?)( \(\d+(?:\.\d+)?ms\))?$`)
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
			t.add(nestedName(outside(t.above, indent), m[1]))
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

func (t *nodeRunner) end() {}

// mochaRunner reads the list of failures that mocha's reporters spec, dot, min and list end with: "outer > inner". Source:
// mocha's lib/reporters/base.js.
type mochaRunner struct {
	*failing
	listed bool     // "1 failing" was seen
	title  []string // the lines so far of a name; nil: none is begun
}

var (
	mochaFailing = late.Regexp(`^\s*\d+ failing$`)
	mochaNumber  = late.Regexp(`^ {1,6}\d+\) (.+)$`)
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

func (t *mochaRunner) end() {}

// jestRunner reads jest and vitest: "file > outer > inner", and "file [failed]" for one that failed outside of any test.
// Source: jest's "●" lines below "FAIL file", and vitest's "FAIL  file > outer > inner".
type jestRunner struct {
	*failing
	file  string          // whose failures follow; empty: none
	files map[string]bool // that failed → a failure of it was named
}

var (
	jestFile   = late.Regexp(`^\s*FAIL +(?:\S+ +)?(\S+\.[cm]?[jt]sx?)(?: \([\d.]+ m?s\))?$`)
	jestFail   = late.Regexp(`^\s{2,4}● (\S.*)$`)
	vitestFail = late.Regexp(`^\s*FAIL +(?:\|[^|]+\| +)?(?:\S+ +)?(\S+\.[cm]?[jt]sx?)(?:( > .+)| \[ .+ \])$`)
)

func (t *jestRunner) line(line string) bool {
	text := strings.TrimLeft(line, " ")
	switch {
	case strings.HasPrefix(text, "FAIL "):
		if m := vitestFail().FindStringSubmatch(line); m != nil {
			t.file = ""
			t.fail(m[1], m[2])
			return true
		}
		m := jestFile().FindStringSubmatch(line)
		if m == nil {
			return false
		}
		t.file = strings.TrimPrefix(m[1], "./")
		t.see(t.file, false)
		return true
	case strings.HasPrefix(text, "PASS "), strings.HasPrefix(text, "Test Suites: "):
		t.file = ""
	case t.file != "" && strings.HasPrefix(text, "● "):
		m := jestFail().FindStringSubmatch(line)
		switch {
		case m == nil || strings.HasPrefix(m[1], "Console"):
			return false
		case m[1] == "Test suite failed to run":
			t.fail(t.file, "")
		default:
			t.fail(t.file, " > "+strings.ReplaceAll(m[1], " › ", " > "))
		}
		return true
	}
	return false
}

// fail names a failure of a file; without a test in it, the file itself.
func (t *jestRunner) fail(file, test string) {
	file = strings.TrimPrefix(file, "./")
	t.see(file, true)
	if test == "" {
		test = " [failed]"
	}
	t.add(file + test)
}

func (t *jestRunner) see(file string, named bool) {
	if t.files == nil {
		t.files = map[string]bool{}
	}
	if len(t.files) < maxTests || t.files[file] {
		t.files[file] = t.files[file] || named
	}
}

func (t *jestRunner) end() {
	for file, named := range t.files {
		if !named {
			t.add(file + " [failed]")
		}
	}
}
