package review

import (
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	maxCases     = 5000 // of a file
	maxCaseLines = 1500 // of a test's body
)

// A testCase is one test, as far as a runner finds it: lines from to (not included), from 0.
type testCase struct {
	name     string
	from, to int
}

var (
	attribute = lazily.Regexp(`^\s*(?:#!?\[|@)`)
	pyClass   = lazily.Regexp(`^(\s*)class\s+(\w+)\s*(\([^)]*\))?`)
	otherOS   = lazily.Regexp(`_(?:windows|plan9|js|wasm|wasip1|aix|solaris|illumos|android|ios|zos` +
		`|dragonfly)_test\.go$`)
)

// cases returns the tests of e before (0) or after (1) the change that a runner finds.
func (e *edit) cases(which int) []testCase {
	if e.listed[which] == nil {
		var list []testCase
		if e.holdsTests() {
			list = listCases([]*side{e.before, e.after}[which])
		}
		e.listed[which] = &list
	}
	return *e.listed[which]
}

// holdsTests reports whether a runner searches the file for tests.
func (e *edit) holdsTests() bool {
	if e.opaque || rules.For(e.language).Test == "" {
		return false
	}
	base := path.Base(e.path)
	switch e.language {
	case "go":
		for seg := range strings.SplitSeq(e.path, "/") {
			if strings.HasPrefix(seg, "_") || strings.HasPrefix(seg, ".") || seg == "testdata" {
				return false
			}
		}
		return strings.HasSuffix(base, "_test.go") && !otherOS().MatchString(base)
	case "py":
		return e.class != none && (strings.HasPrefix(base, "test") || strings.HasSuffix(base, "_test.py"))
	}
	return e.class == protected || e.class == testFile || e.class == namedFile
}

// isTest reports whether the lines of the file are tests, or their helpers.
func (e *edit) isTest() bool { return e.class == testFile || e.class == protected && e.holdsTests() }

func listCases(s *side) (list []testCase) {
	language := rules.For(s.language)
	form, notTest := compile(language.Test), compile(language.NotTest)
	classIndent, collected := -1, true // Python: the class around, and whether its tests are found
	for i := 0; i < len(s.lines) && len(list) < maxCases; i++ {
		line, code := s.plain(i), s.code(i)
		if strings.TrimSpace(line) == "" {
			continue
		}
		if s.language == "py" {
			if m := pyClass().FindStringSubmatch(code); m != nil {
				classIndent = len(m[1])
				collected = strings.HasPrefix(m[2], "Test") || strings.Trim(m[3], "() ") != ""
				continue
			}
			if strings.TrimSpace(code) != "" && indent(code) <= classIndent {
				classIndent, collected = -1, true
			}
		}
		m := form.FindStringSubmatchIndex(line)
		if m == nil || !s.codeAt(i, wordAt(line, m[0])) {
			continue
		}
		name := ""
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 {
				name = strings.TrimSpace(line[m[g]:m[g+1]])
			}
		}
		if name != "" && collected && (notTest == nil || !notTest.MatchString(name)) {
			list = append(list, testCase{name: name, from: i, to: bodyEnd(language, s, i)})
		}
	}
	return list
}

// wordAt returns where the first word of a line begins, from a byte on. A match may begin with blanks, or with
// what precedes a word.
func wordAt(line string, at int) int {
	for at < len(line)-1 && !lang.IsWord(line[at]) && line[at] != '@' {
		at++
	}
	return at
}

// indent returns the width of the blanks that a line begins with.
func indent(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}

// bodyEnd returns the line after the test that begins at from.
func bodyEnd(language *rules.Language, s *side, from int) int {
	last := min(len(s.lines), from+maxCaseLines)
	if language.Body == rules.Indent {
		in := indent(s.code(from))
		for i := from + 1; i < last; i++ {
			word := strings.TrimSpace(s.code(i))
			if word != "" && indent(s.code(i)) <= in && !strings.HasPrefix(word, ")") {
				return i
			}
		}
		return last
	}
	opened, closed := byte('{'), byte('}')
	if language.Body == rules.Parentheses {
		opened, closed = '(', ')'
	}
	depth, seen := 0, false
	for i := from; i < last; i++ {
		code := s.code(i)
		for _, c := range []byte(code) {
			switch c {
			case opened:
				depth, seen = depth+1, true
			case closed:
				depth--
			}
		}
		if seen && (depth <= 0 || strings.HasPrefix(code, "}") && closed == '}') {
			return i + 1
		}
	}
	return last
}

var (
	goAll   = lazily.Regexp(`\bgo (?:test|vet)\b.*\s\.\.?/\.\.\.`)
	goTests = lazily.Regexp(`\bgo (?:test|vet)\b`)
)

// narrowedPackages reports commands that tested every package of Go and test fewer now: test_skipped.
func narrowedPackages(e *edit) (found findings) {
	if e.places&rules.Commands == 0 {
		return nil
	}
	for _, b := range e.blocks {
		for i := b.i; i < b.iEnd && b.j < b.jEnd; i++ {
			j := min(b.j+i-b.i, b.jEnd-1)
			now := e.after.plain(j)
			if goAll().MatchString(e.before.plain(i)) && goTests().MatchString(now) && !goAll().MatchString(now) {
				found.add(e, rules.TestSkipped, j, false, "runs fewer packages: %s", e.after.trimmed(j))
			}
		}
	}
	return found
}

// newCases returns a function that reports whether a line belongs to a test that is new. A mark of the whole file
// does not.
func (e *edit) newCases() func(line int) bool {
	had := map[string]bool{}
	for _, c := range e.cases(0) {
		had[c.name] = true
	}
	fresh := make([]bool, len(e.after.lines))
	for _, c := range e.cases(1) {
		if had[c.name] {
			continue
		}
		from := c.from
		for from > 0 && !fresh[from-1] && attribute().MatchString(e.after.lines[from-1]) {
			from--
		}
		for i := from; i < c.to; i++ {
			fresh[i] = true
		}
	}
	whole := e.isNew() && (len(e.cases(1)) > 0 || e.language != "py") // a new conftest.py is about tests elsewhere
	return func(line int) bool { return whole || fresh[line] }
}

const (
	maxCompared = 1 << 21 // lines that are compared to find out which tests were renamed
	alike       = 0.6     // of the lines of a test, in one that has another name
)

// A placedCase is a test in a file.
type placedCase struct {
	e *edit
	testCase
}

// testsGone reports tests that are gone, test_removed. It compares the tests of all files: one that moved to
// another file of the patch, or has another name that a runner finds, is not gone.
func testsGone(p *proposal) (found findings) {
	var gone, fresh []placedCase
	for _, e := range p.edits {
		before, after := e.cases(0), e.cases(1)
		gone = append(gone, unmatched(e, before, after)...)
		fresh = append(fresh, unmatched(e, after, before)...)
	}
	taken := make([]bool, len(fresh))
	take := func(ok func(f placedCase) bool) bool {
		for k, f := range fresh {
			if !taken[k] && ok(f) {
				taken[k] = true
				return true
			}
		}
		return false
	}
	var missing []placedCase
	for _, g := range gone {
		if !take(func(f placedCase) bool { return f.e.language == g.e.language && f.name == g.name }) {
			missing = append(missing, g)
		}
	}
	compared := 0
	for _, g := range missing {
		body := g.e.before.body(g.testCase)
		renamed := len(body) > 0 && take(func(f placedCase) bool {
			if f.e.language != g.e.language || compared > maxCompared {
				return false
			}
			other := f.e.after.body(f.testCase)
			compared += len(body) + len(other)
			return share(body, other) >= alike
		})
		if !renamed {
			found.add(g.e, rules.TestRemoved, g.e.at(g.from), false, "%s is gone, or no runner finds it", g.name)
		}
	}
	return found
}

// unmatched returns the tests of list for which others has none of the same name.
func unmatched(e *edit, list, others []testCase) (left []placedCase) {
	names := map[string]int{}
	for _, c := range others {
		names[c.name]++
	}
	for _, c := range list {
		if names[c.name]--; names[c.name] < 0 {
			left = append(left, placedCase{e, c})
		}
	}
	return left
}

// body returns the lines of a test, trimmed, without the empty ones and its first.
func (s *side) body(c testCase) (list []string) {
	for _, line := range s.lines[min(c.from+1, c.to):c.to] {
		if line = strings.TrimSpace(line); len(line) > 1 {
			list = append(list, line)
		}
	}
	return list
}

// share returns how much of a's lines b has, from 0 to 1.
func share(a, b []string) float64 {
	left := map[string]int{}
	for _, line := range b {
		left[line]++
	}
	same := 0
	for _, line := range a {
		if left[line] > 0 {
			left[line]--
			same++
		}
	}
	return float64(same) / float64(len(a))
}
