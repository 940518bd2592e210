package testreport

// JUnit XML, in an output and in files.

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// junitRunner names a testcase with a failure or an error "classname.name". Broken XML is read as far as it goes. The
// format: the schema of Jenkins' xunit plugin, which all writers follow.
type junitRunner struct {
	*failing
	inCase, inData bool   // between testcase and its end; in a CDATA section, where nothing counts
	name           string // of the testcase
	failed, passed bool   // it has a failure; it is skipped, or a failure of it is expected
	ran            int    // testcases that were not skipped
}

// Reports are the JUnit files of one check, read together. The zero value is that of a check that wrote none.
type Reports struct {
	Files   int
	Failing []string // names, as Tests gives them
	Passed  []string
	Ran     int // tests that were not skipped
}

// ReadReports reads JUnit files. Other files do not count.
func ReadReports(files [][]byte) Reports {
	f := newFailing()
	var r Reports
	for _, text := range files {
		t := &junitRunner{failing: f}
		if !t.line(string(text)) {
			continue
		}
		t.end()
		r.Files++
		r.Ran += t.ran
	}
	all := f.results()
	r.Failing, r.Passed = all.Failed, all.Passed
	return r
}

// Unproven returns why the reports of a check that passed do not prove a fix of the failure that r are of, "" where
// they do.
func (r Reports) Unproven(passed Reports) string {
	for _, name := range r.Failing {
		if slices.Contains(passed.Failing, name) {
			return "tests_failed: the check passes, and its JUnit report names " + name + " as failing"
		}
	}
	if r.Ran > passed.Ran {
		return fmt.Sprintf("tests_not_run: JUnit reports of the failed check name %s that ran, and %d with the patch",
			english.Count(r.Ran, "test"), passed.Ran)
	}
	return ""
}

// Lost returns those of tests which r names as failing and the reports of a check that passed do not name as passed. What
// is no test is not among them: a class, or what comes before its tests.
func (r Reports) Lost(tests []string, passed Reports) []string {
	return slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
		in := func(name string) bool { return strings.HasPrefix(name, test+".") }
		return !slices.Contains(r.Failing, test) || slices.Contains(passed.Passed, test) ||
			junitNoTest().MatchString(test) || slices.ContainsFunc(passed.Passed, in)
	})
}

// junitNoTest matches names under which writers of JUnit report what failed outside of any test.
var junitNoTest = lazily.Regexp(`(?i)\.[cm]?[jt]sx?$|initializationError$|(?:setup|teardown)_?(?:class|module)?$` +
	`|failed to run$|(?:before|after)[ _]?(?:all|each)|\bhook\b`)

var (
	junitToken = lazily.Regexp(`<!\[CDATA\[|\]\]>|<(?:testcase|failure|error|skipped)(?:\s+[\w.:-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>|</testcase>`)
	junitName  = lazily.Regexp(`\sname\s*=\s*(?:"([^"]*)"|'([^']*)')`)
	junitClass = lazily.Regexp(`\sclassname\s*=\s*(?:"([^"]*)"|'([^']*)')`)
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
			t.ran++
			if !t.inCase {
				t.pass(t.name)
			}
		case token == "</testcase>":
			t.end()
		case strings.HasPrefix(token, "<skipped"):
			if t.inCase && !t.passed {
				t.ran--
			}
			t.passed = true
		default:
			t.failed = t.inCase
		}
	}
	return true
}

// xmlAttribute returns the value of the attribute that form matches in tag, "" for none.
func xmlAttribute(tag string, form *regexp.Regexp) string {
	m := form.FindStringSubmatch(tag)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1] + m[2])
}

// end ends a testcase.
func (t *junitRunner) end() {
	switch {
	case !t.inCase || t.passed:
	case t.failed:
		t.add(t.name)
	default:
		t.pass(t.name)
	}
	t.inCase, t.failed, t.passed = false, false, false
}
