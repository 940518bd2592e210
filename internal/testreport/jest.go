package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// jestRunner reads jest and vitest. A test is "file > outer > inner", a file that failed outside of any test "file
// [failed]". The formats: jest's "●" lines below "FAIL file", and vitest's "FAIL  file > outer > inner".
type jestRunner struct {
	*failing
	file  string          // whose failures follow; empty: none
	files map[string]bool // that failed → a failure of it was named
}

var (
	jestFile   = lazily.Regexp(`^\s*FAIL +(?:\S+ +)?(\S+\.[cm]?[jt]sx?)(?: \([\d.]+ m?s\))?$`)
	jestFail   = lazily.Regexp(`^\s{2,4}● (\S.*)$`)
	vitestPass = lazily.Regexp(`^ *✓ (?:\|[^|]+\| +)?(?:\./)?(\S+\.[cm]?[jt]sx?)( > .+?)(?: \d+(?:\.\d+)? ?m?s)?$`)
	vitestFail = lazily.Regexp(`^\s*FAIL +(?:\|[^|]+\| +)?(?:\S+ +)?(\S+\.[cm]?[jt]sx?)(?:( > .+)| \[ .+ \])$`)
)

func (t *jestRunner) line(line string) bool {
	text := strings.TrimLeft(line, " ")
	switch {
	case strings.HasPrefix(text, "✓ "):
		m := vitestPass().FindStringSubmatch(line)
		if m != nil {
			t.pass(m[1] + m[2])
		}
		return m != nil
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

// fail adds a failing test of a file; without a test, the file itself.
func (t *jestRunner) fail(file, test string) {
	file = strings.TrimPrefix(file, "./")
	t.see(file, true)
	if test == "" {
		test = " [failed]"
	}
	t.add(file + test)
}

// see notes a file that failed, and whether a failure of it has a name.
func (t *jestRunner) see(file string, named bool) {
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

var (
	jestCount   = lazily.Regexp(`^Tests: +(.*\btotal)$`)
	vitestCount = lazily.Regexp(`^ *Tests {2,}(.*) \(\d+\)$`)
)
