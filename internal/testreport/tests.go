// Package testreport reads what test runners print: the names of failing tests, how many tests ran, JUnit files, and the signature and
// fingerprint by which two failures are the same.
package testreport

// The failing tests that an output names, whichever runner printed it.

import (
	"bytes"
	"iter"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

const (
	maxTests    = 10_000   // names; more say nothing new
	maxName     = 512      // bytes of a name
	maxTextLine = 64 << 10 // a longer line of text names no test
	maxJSONLine = 1 << 20
)

// Tests finds the failing tests' names in output, sorted and without doubles; nil for none. Of each runner they are what its
// own file says: go test, node --test, TAP, mocha, jest, vitest, pytest, unittest, cargo test, cargo nextest, ctest,
// GoogleTest, RSpec, and JUnit XML. Times, line numbers and other text are no part of a name; of a path from the root of
// the machine the end is.
func Tests(output []byte) []string {
	f := &failing{names: map[string]bool{}}
	goes, xml := newGoRunner(f), &junitRunner{failing: f}
	outer, inner := allRunners(f, goes, xml), allRunners(f, newGoRunner(f), &junitRunner{failing: f})
	for raw := range splitAt(output, '\n') {
		if len(f.names) >= maxTests {
			break
		}
		if goes.json(bytes.TrimRight(raw, "\r \t")) {
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
	if len(f.names) == 0 {
		return nil
	}
	names := make([]string, 0, len(f.names))
	for name := range f.names {
		names = append(names, name)
	}
	return set(names)
}

// A runner reads what one test runner prints, line by line, and names what failed.
type runner interface {
	line(text string) (known bool) // without colours and the space at its end
	end()
}

func allRunners(f *failing, goes *goRunner, xml *junitRunner) []runner {
	return []runner{
		goes, &tapRunner{failing: f}, &nodeRunner{failing: f}, &mochaRunner{failing: f}, &jestRunner{failing: f}, &pytestRunner{failing: f},
		&unitRunner{failing: f}, &cargoRunner{failing: f}, &ctestRunner{failing: f}, &rspecRunner{failing: f}, xml,
	}
}

// tell gives every runner the line: one may run inside of another.
func tell(all []runner, text string) (known bool) {
	for _, r := range all {
		known = r.line(text) || known
	}
	return known
}

// runnerPrefix is what programs that run several others put before each line of theirs: pnpm "packages/a test: ", turbo
// "a:test: ", concurrently "[0] ", foreman and docker compose "a  | ", ctest -V "1: ".
var runnerPrefix = late.Regexp(`^(?:[\w@./-]+ [A-Za-z][\w:.-]*:|[\w@./-]+:[A-Za-z][\w.-]*:|\[[\w@./:-]{1,60}\]|[\w.-]+ +\||\d+:)(?: |$)`)

// failing collects the names of failing tests.
type failing struct{ names map[string]bool }

var (
	objectAddress = late.Regexp(`\b0x[0-9a-fA-F]{4,}\b`) // of an object that became part of a name
	fromTop       = late.Regexp(`^(?:file://)?/(?:[^/\s]+/)+([^/\s]+/[^/\s]+)`)
)

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

// withoutRoot is a name that begins with the path of a file from the root of the machine with only the end of that path.
func withoutRoot(name string) string {
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "file:///") {
		return fromTop().ReplaceAllString(name, "…/$1")
	}
	return name
}

// splitAt gives the parts of b between two separators; a separator at the end begins no further part.
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

// shownLine is what a terminal shows of a line: what was written last over what stood there before, a progress bar say. Colours
// are left out, so is space at the end.
func shownLine(raw []byte) string {
	raw = bytes.TrimRight(raw, "\r \t")
	return string(bytes.TrimRight(uncoloured(raw[bytes.LastIndexByte(raw, '\r')+1:]), " \t"))
}

// uncoloured is line without terminal escape sequences.
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
