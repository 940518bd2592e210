// Package testreport reads what test runners print: the names of failing tests, how many tests ran, JUnit files, and
// the signature and fingerprint by which two failures are the same.
package testreport

import (
	"bytes"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
)

const (
	maxTests    = 10_000   // names; more say nothing new
	maxName     = 512      // bytes of a name
	maxTextLine = 64 << 10 // a longer line of text names no test
	maxJSONLine = 1 << 20
)

// A runner is a test runner whose output is read. Its file has a comment on the names that it gives to tests.
type runner struct {
	name  string                  // as messages call it
	names func(f *failing) reader // collects failing tests; nil for go test, which Tests reads itself
	// its counts of the lines of one output add up to the tests that ran: below 0 for those that did not; nil where unknown
	count func() func(line string) int
	told  string // count is right only where some line begins with it, after blanks
}

// A reader collects the failing tests of one runner, line by line.
type reader interface {
	line(text string) (known bool) // text is without colours and the blanks at its end
	end()
}

// runners lists the runners. The first whose count fell is the one that a message speaks of.
var runners = []runner{
	{name: "unittest", names: func(f *failing) reader { return &unitRunner{failing: f} }, count: each(countUnittest)},
	{name: "pytest", names: func(f *failing) reader { return &pytestRunner{failing: f} }, count: countPytest},
	{name: "node", names: func(f *failing) reader { return &nodeRunner{failing: f} }, count: each(countNode)},
	{name: "jest", names: func(f *failing) reader { return &jestRunner{failing: f, files: map[string]bool{}} }, count: each(sum(jestCount, "passed", "failed"))},
	{name: "vitest", count: each(sum(vitestCount, "passed", "failed"))}, // jestRunner reads its names
	{name: "mocha", names: func(f *failing) reader { return &mochaRunner{failing: f} }, count: each(number(mochaCount))},
	{name: "cargo", names: func(f *failing) reader { return &cargoRunner{failing: f} }, count: each(sum(cargoCount, "passed", "failed"))},
	{name: "ctest", names: func(f *failing) reader { return &ctestRunner{failing: f} }, count: each(number(ctestCount))},
	{name: "mocha and jest", names: func(f *failing) reader { return &treeRunner{failing: f} }},
	{name: "GoogleTest", count: each(number(googleCount))}, // ctestRunner reads its names
	{name: "RSpec", names: func(f *failing) reader { return &rspecRunner{failing: f} }, count: each(countRSpec)},
	{name: "TAP", names: func(f *failing) reader { return &tapRunner{failing: f} }, count: each(countTAP)},
	{name: "go test -json", count: each(countGoEvents)},
	{name: "go test -v", count: each(countGoVerbose), told: goPassed},
	{name: "go test", count: each(countGo)},
}

// each is the count of a runner whose lines are counted one by one.
func each(count func(line string) int) func() func(string) int {
	return func() func(string) int { return count }
}

// Tests returns the failing tests of Read.
func Tests(output []byte) []string { return Read(output).Failed }

// Results are the tests that an output names, sorted and each once. A test that failed and passed has failed. Most
// runners name those that pass only where they are asked to.
type Results struct{ Failed, Passed []string }

// Read returns the names of the tests in output; nil for none. Times, line numbers and other text are no part of a
// name. Of a path from the root of the machine, only the end is.
func Read(output []byte) Results {
	f := newFailing()
	goes, xml := newGoRunner(f), &junitRunner{failing: f}
	outer, inner := readers(f, goes, xml), readers(f, newGoRunner(f), &junitRunner{failing: f})
	within, number := insideGo(output), -1
	for raw := range splitAt(output, '\n') {
		if number++; len(f.names) >= maxTests {
			break
		}
		if goes.event(bytes.TrimRight(raw, "\r \t")) {
			continue
		}
		if len(raw) > maxTextLine {
			xml.line(string(raw)) // some write all of it in one line
			continue
		}
		text := shownLine(raw)
		told := outer
		for len(within) > 0 && within[0].to <= number {
			within = within[1:]
		}
		if len(within) > 0 && number > within[0].from {
			told = outer[1:] // all but goes: a test wrote it
		}
		if tell(told, text) {
			continue
		}
		if prefix := runnerPrefix().FindString(text); prefix != "" {
			tell(inner, text[len(prefix):])
		}
	}
	for _, r := range append(outer, inner...) {
		r.end()
	}
	return f.results()
}

// And returns the results of two parts of one check.
func (r Results) And(o Results) Results {
	failed := set(slices.Concat(r.Failed, o.Failed))
	return Results{Failed: failed, Passed: Without(set(slices.Concat(r.Passed, o.Passed)), failed)}
}

// Unseen returns those of tests that r does not say passed. A name that is no test, as that of a package that could
// not be built, has passed where a test in it has and none failed; a part of a test, as "test (i=1)", where the test has.
func (r Results) Unseen(tests []string) []string {
	return slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
		in := func(name string) bool { return Holds(test, name) }
		part := strings.LastIndex(test, " (")
		return slices.Contains(r.Passed, test) || part > 0 && slices.Contains(r.Passed, test[:part]) ||
			slices.ContainsFunc(r.Passed, in) && !slices.ContainsFunc(r.Failed, in)
	})
}

// FromList reports whether a test has the name of one that a list makes: pytest's "t.py::test_add[1-2]".
func FromList(test string) bool {
	return strings.Contains(test, "::") && strings.Contains(test, "[") && strings.HasSuffix(test, "]")
}

// Holds reports whether name is that of a package or file which failed as a whole, and test is in it.
func Holds(name, test string) bool {
	in, ok := strings.CutPrefix(name, "unittest.loader._FailedTest.")
	if i := strings.LastIndex(name, " ["); i > 0 && strings.HasSuffix(name, "]") {
		in, ok = name[:i], true
	}
	rest, below := strings.CutPrefix(test, in)
	return (ok || strings.HasSuffix(name, ".py")) && below &&
		(strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, " > "))
}

// Without returns the elements of list that are not among out.
func Without(list, out []string) []string {
	left := map[string]bool{}
	for _, name := range out {
		left[name] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return left[name] })
}

// Innermost returns names without those that fail only because a test in them does: "cart" beside "cart > adds",
// TestCart beside TestCart/adds.
func Innermost(names []string) []string {
	around := map[string]bool{}
	for _, name := range names {
		for _, between := range []string{" > ", "/"} {
			for at := 0; ; {
				i := strings.Index(name[at:], between)
				if i < 0 {
					break
				}
				around[name[:at+i]] = true
				at += i + len(between)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return around[name] })
}

func readers(f *failing, more ...reader) []reader {
	for _, r := range runners {
		if r.names != nil {
			more = append(more, r.names(f))
		}
	}
	return more
}

// tell gives a line to all readers: one runner may run inside of another.
func tell(all []reader, text string) (known bool) {
	for _, r := range all {
		known = r.line(text) || known
	}
	return known
}

// runnerPrefix matches what programs that run several others write before each of their lines: pnpm "packages/a test:
// ", turbo "a:test: ", concurrently "[0] ", foreman and docker compose "a  | ", ctest -V "1: ".
var runnerPrefix = lazyregexp.New(`^(?:[\w@./-]+ [A-Za-z][\w:.-]*:|[\w@./-]+:[A-Za-z][\w.-]*:|\[[\w@./:-]{1,60}\]|[\w.-]+ +\||\d+:)(?: |$)`)

// failing collects the names of failing tests, and of those that passed.
type failing struct{ names, passed map[string]bool }

func newFailing() *failing { return &failing{names: map[string]bool{}, passed: map[string]bool{}} }

// end is what most readers do at the end of an output: nothing.
func (f *failing) end() {}

func (f *failing) results() Results {
	maps.DeleteFunc(f.passed, func(name string, _ bool) bool { return f.names[name] })
	return Results{Failed: slices.Sorted(maps.Keys(f.names)), Passed: slices.Sorted(maps.Keys(f.passed))}
}

var (
	objectAddress = lazyregexp.New(`\b0x[0-9a-fA-F]{4,}\b`) // of an object that became part of a name
	fromTop       = lazyregexp.New(`^(?:file://)?/(?:[^/\s]+/)+([^/\s]+/[^/\s]+)`)
)

// addMatch adds what the first group of form matches, and reports whether form matches.
func (f *failing) addMatch(form *regexp.Regexp, line string) bool {
	m := form.FindStringSubmatch(line)
	if m != nil {
		f.add(m[1])
	}
	return m != nil
}

// passMatch notes that what the first group of form matches passed, and reports whether form matches.
func (f *failing) passMatch(form *regexp.Regexp, line string) bool {
	m := form.FindStringSubmatch(line)
	if m != nil {
		f.pass(m[1])
	}
	return m != nil
}

func (f *failing) add(name string) { note(f.names, name) }

// pass notes that a test passed.
func (f *failing) pass(name string) { note(f.passed, name) }

func note(names map[string]bool, name string) {
	name = withoutRoot(strings.TrimSpace(name))
	if strings.Contains(name, "0x") {
		name = objectAddress().ReplaceAllString(name, "0x…")
	}
	if len(name) > maxName {
		name = name[:maxName]
	}
	if name != "" && len(names) < maxTests {
		names[strings.ToValidUTF8(name, "\uFFFD")] = true
	}
}

// withoutRoot shortens a name that begins with a path from the root of the machine to the end of that path.
func withoutRoot(name string) string {
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "file:///") {
		return fromTop().ReplaceAllString(name, "…/$1")
	}
	return name
}

// splitAt yields the parts of b between separators. A separator at the end begins no further part.
func splitAt(b []byte, separator byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			part := b
			if end := bytes.IndexByte(b, separator); end >= 0 {
				part, b = b[:end], b[end+1:]
			} else {
				b = nil
			}
			if !yield(part) {
				return
			}
		}
	}
}

// shownLine returns what a terminal shows of a line in the end, after carriage returns as of progress bars, without
// colours and the blanks at its end.
func shownLine(raw []byte) string {
	raw = bytes.TrimRight(raw, "\r \t")
	return string(bytes.TrimRight(uncoloured(raw[bytes.LastIndexByte(raw, '\r')+1:]), " \t"))
}

// uncoloured returns line without the escape sequences of terminals.
func uncoloured(line []byte) []byte {
	if bytes.IndexByte(line, 0x1b) < 0 {
		return line
	}
	out := make([]byte, 0, len(line))
	for i := 0; i < len(line); i++ {
		if line[i] != 0x1b {
			out = append(out, line[i])
			continue
		}
		if i++; i >= len(line) {
			break
		}
		switch line[i] {
		case '[':
			for i++; i < len(line) && (line[i] < 0x40 || line[i] > 0x7e); i++ {
			}
		case ']':
			for i++; i < len(line) && line[i] != 0x07 && line[i] != 0x1b; i++ {
			}
			if i < len(line) && line[i] == 0x1b {
				i++ // its backslash
			}
		}
	}
	return out
}
