package judge

// JUnit XML, where it stands in the output itself.

import (
	"html"
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// junitRunner names a testcase that holds a failure or an error: "classname.name". Broken XML is read as far as it goes.
// Source: the schema of Jenkins' xunit plugin, which all the writers follow.
type junitRunner struct {
	*failing
	inCase, inData bool   // between testcase and its end; in a CDATA section, where nothing counts
	name           string // of the testcase
	failed, passed bool   // it has a failure; it is skipped, or a failure of it is expected
}

var (
	junitToken = late.Regexp(`<!\[CDATA\[|\]\]>|<(?:testcase|failure|error|skipped)(?:\s+[\w.:-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>|</testcase>`)
	junitName  = late.Regexp(`\sname\s*=\s*(?:"([^"]*)"|'([^']*)')`)
	junitClass = late.Regexp(`\sclassname\s*=\s*(?:"([^"]*)"|'([^']*)')`)
)

func (t *junitRunner) line(line string) bool {
	if !t.inCase && !strings.Contains(line, "<testcase") {
		return false
	}
	for _, token := range junitToken().FindAllString(line, -1) {
		switch {
		case token == "]]>":
			t.inData = false
		case t.inData:
		case token == "<![CDATA[":
			t.inData = t.inCase
		case strings.HasPrefix(token, "<testcase"):
			t.end()
			t.name = withoutRoot(xmlAttribute(token, junitName()))
			if class := xmlAttribute(token, junitClass()); class != "" {
				t.name = class + "." + t.name
			}
			t.inCase = !strings.HasSuffix(token, "/>")
		case token == "</testcase>":
			t.end()
		case strings.HasPrefix(token, "<skipped"):
			t.passed = true
		default:
			t.failed = t.inCase
		}
	}
	return true
}

func xmlAttribute(tag string, form *regexp.Regexp) string {
	m := form.FindStringSubmatch(tag)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1] + m[2])
}

func (t *junitRunner) end() {
	if t.inCase && t.failed && !t.passed {
		t.add(t.name)
	}
	t.inCase, t.failed, t.passed = false, false, false
}
