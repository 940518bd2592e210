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
	{name: "GoogleTest", count: each(number(googleCount))}, // ctestRunner reads its names
	{name: "RSpec", names: func(f *failing) reader { return &rspecRunner{failing: f} }, count: each(countRSpec)},
	{name: "TAP", names: func(f *failing) reader { return &tapRunner{failing: f} }},
	{name: "go test -v", count: each(countGoVerbose), told: goPassed},
	{name: "go test", count: each(countGo)},
}

// each is the count of a runner whose lines are counted one by one.
func each(count func(line string) int) func() func(string) int {
	return func() func(string) int { return count }
}

// Tests returns the names of the failing tests in output, sorted and each once; nil for none. Times, line numbers and
// other text are no part of a name. Of a path from the root of the machine, only the end is.
func Tests(output []byte) []string {
	f := &failing{names: map[string]bool{}}
	goes, xml := newGoRunner(f), &junitRunner{failing: f}
	outer, inner := readers(f, goes, xml), readers(f, newGoRunner(f), &junitRunner{failing: f})
	for raw := range splitAt(output, '\n') {
		if len(f.names) >= maxTests {
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
		if tell(outer, text) {
			continue
		}
		if prefix := runnerPrefix().FindString(text); prefix != "" {
			tell(inner, text[len(prefix):])
		}
	}
	for _, r := range append(outer, inner...) {
		r.end()
	}
	return f.sorted()
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

// failing collects the names of failing tests.
type failing struct{ names map[string]bool }

// end is what most readers do at the end of an output: nothing.
func (f *failing) end() {}

// sorted returns the names, nil for none.
func (f *failing) sorted() []string { return slices.Sorted(maps.Keys(f.names)) }

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

func (f *failing) add(name string) {
	name = withoutRoot(strings.TrimSpace(name))
	if strings.Contains(name, "0x") {
		name = objectAddress().ReplaceAllString(name, "0x…")
	}
	if len(name) > maxName {
		name = name[:maxName]
	}
	if name != "" && len(f.names) < maxTests {
		f.names[strings.ToValidUTF8(name, "\uFFFD")] = true
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
