package testreport

// TAP, the Test Anything Protocol: node --test-reporter=tap, tape, bats, prove.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// tapRunner gives a test its description as a name, after those of the subtests around it: "outer > inner". Without a
// description it is "test" and its number. A test that is TODO or skipped has not failed. The format:
// https://testanything.org, and the subtests that node and Perl's Test::More print.
type tapRunner struct {
	*failing
	above    []outer
	subtests bool // it says where each begins: then a result is of a test, and not of one of its assertions
}

// An outer is a suite or subtest with tests in it, and its indentation.
type outer struct {
	indent int
	name   string
}

var (
	tapFail    = lazily.Regexp(`^not ok(?: (\d+))?(?: -(?: |$)| |$)(.*)$`)
	tapPass    = lazily.Regexp(`^ok (\d+)(?: -(?: |$)| |$)(.*)$`)
	tapTook    = lazily.Regexp(` (?:# )?in \d+(?:\.\d+)? ?m?s(?:ec)?$`)
	perlFailed = lazily.Regexp(`^# +Failed test (?:\(|')(.+)(?:\)|')$`) // prove says only this where it is not verbose
)

func (t *tapRunner) line(line string) bool {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	switch {
	case strings.HasPrefix(text, "# Subtest: "):
		t.subtests = true
		t.above = append(outside(t.above, indent), outer{indent, strings.TrimPrefix(text, "# Subtest: ")})
		if len(t.above) > maxNesting {
			t.above = t.above[:maxNesting]
		}
		return true
	case strings.HasPrefix(text, "not ok"), strings.HasPrefix(text, "ok "):
		m, result := tapFail().FindStringSubmatch(text), t.add
		if t.subtests {
			result = t.addOne
		}
		if m == nil {
			m, result = tapPass().FindStringSubmatch(text), t.pass
		}
		if m == nil {
			return false
		}
		name, directive := cutDirective(m[2])
		if name = tapTook().ReplaceAllString(name, ""); name == "" {
			name = "test " + m[1]
		}
		if !undone(directive) {
			result(nestedName(outside(t.above, indent), name))
		}
		return true
	case strings.HasPrefix(text, "#") && strings.Contains(text, "Failed test"):
		return t.addMatch(perlFailed(), text)
	}
	return false
}

// undone reports whether a directive says that the result of a test does not count.
func undone(directive string) bool {
	d := strings.ToUpper(directive)
	return strings.HasPrefix(d, "TODO") || strings.HasPrefix(d, "SKIP")
}

// countTAP counts the results of outermost tests.
func countTAP(line string) int {
	m := tapFail().FindStringSubmatch(line)
	if m == nil {
		m = tapPass().FindStringSubmatch(line)
	}
	if m == nil || m[1] == "" {
		return 0
	}
	if _, directive := cutDirective(m[2]); undone(directive) {
		return 0
	}
	return 1
}

// maxNesting is how deep subtests may be nested.
const maxNesting = 64

// outside returns those of outers that a line at indent is part of.
func outside(outers []outer, indent int) []outer {
	for len(outers) > 0 && outers[len(outers)-1].indent >= indent {
		outers = outers[:len(outers)-1]
	}
	return outers
}

// nestedName returns a name after those of outers.
func nestedName(outers []outer, name string) string {
	var b strings.Builder
	for _, o := range outers {
		b.WriteString(o.name + " > ")
	}
	return b.String() + name
}

// cutDirective splits a description from what follows its first # that is not escaped.
func cutDirective(text string) (description, directive string) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '#':
			if i == 0 || text[i-1] == ' ' {
				return tapText(text[:i]), strings.TrimSpace(text[i+1:])
			}
		}
	}
	return tapText(text), ""
}

// tapText returns text without escapes and outer blanks.
func tapText(text string) string {
	return strings.TrimSpace(strings.NewReplacer(`\#`, "#", `\\`, `\`).Replace(text))
}
