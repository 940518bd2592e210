package testreport

// TAP, the Test Anything Protocol: node --test-reporter=tap, tape, bats, prove.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// tapRunner names a test by its description, below those of the subtests it stands in: "outer > inner". One without a
// description is "test" and its number. What is TODO or skipped has not failed. Source: https://testanything.org and the
// subtests that node and Perl's Test::More write.
type tapRunner struct {
	*failing
	above []outer
}

// An outer is something that holds tests, and how far it is indented.
type outer struct {
	indent int
	name   string
}

var (
	tapFail    = late.Regexp(`^not ok(?: (\d+))?(?: -(?: |$)| |$)(.*)$`)
	tapTook    = late.Regexp(` (?:# )?in \d+(?:\.\d+)? ?m?s(?:ec)?$`)
	perlFailed = late.Regexp(`^# +Failed test (?:\(|')(.+)(?:\)|')$`) // prove says only this where it is not verbose
)

func (t *tapRunner) line(line string) bool {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	switch {
	case strings.HasPrefix(text, "# Subtest: "):
		t.above = append(outside(t.above, indent), outer{indent, strings.TrimPrefix(text, "# Subtest: ")})
		if len(t.above) > maxNesting {
			t.above = t.above[:maxNesting]
		}
		return true
	case strings.HasPrefix(text, "not ok"):
		m := tapFail().FindStringSubmatch(text)
		if m == nil {
			return false
		}
		name, directive := cutDirective(m[2])
		if name = tapTook().ReplaceAllString(name, ""); name == "" {
			name = "test " + m[1]
		}
		if d := strings.ToUpper(directive); !strings.HasPrefix(d, "TODO") && !strings.HasPrefix(d, "SKIP") {
			t.add(nestedName(outside(t.above, indent), name))
		}
		return true
	case strings.HasPrefix(text, "#") && strings.Contains(text, "Failed test"):
		m := perlFailed().FindStringSubmatch(text)
		if m != nil {
			t.add(m[1])
		}
		return m != nil
	}
	return false
}

func (t *tapRunner) end() {}

// maxNesting is how deep tests may stand in one another.
const maxNesting = 64

// outside are those of outers that something at indent stands in.
func outside(outers []outer, indent int) []outer {
	for len(outers) > 0 && outers[len(outers)-1].indent >= indent {
		outers = outers[:len(outers)-1]
	}
	return outers
}

// nestedName is a name below those of what it stands in.
func nestedName(outers []outer, name string) string {
	var b strings.Builder
	for _, o := range outers {
		b.WriteString(o.name + " > ")
	}
	return b.String() + name
}

// cutDirective divides a description from what follows its first # that is not escaped.
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

func tapText(text string) string {
	return strings.TrimSpace(strings.NewReplacer(`\#`, "#", `\\`, `\`).Replace(text))
}
