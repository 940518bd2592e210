package judge

// The failing tests that an output of go test names, as text or as JSON.

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

const (
	maxTests    = 10_000   // names; more say nothing new
	maxName     = 512      // bytes of a name
	maxTextLine = 64 << 10 // a longer line of text names no test
	maxJSONLine = 1 << 20
)

// Tests finds the failing tests' names in output: "pkg.TestX/sub" for a test, "pkg [build failed]" (or what else go test
// writes in brackets) for a package whose tests could not start, "pkg [failed]" for one that failed outside of any test.
// A test whose package is not said stands by its own name. They are sorted, without doubles; nil for none.
// Times, paths and other text are no part of a name. Source of the forms: `go help test`, `go doc test2json`.
func Tests(output []byte) []string {
	p := reader{failed: map[string]bool{}, packages: map[string]*pkg{}}
	for len(output) > 0 && len(p.failed) < maxTests {
		line := output
		if end := bytes.IndexByte(output, '\n'); end >= 0 {
			line, output = output[:end], output[end+1:]
		} else {
			output = nil
		}
		p.line(line)
	}
	p.end()
	if len(p.failed) == 0 {
		return nil
	}
	names := make([]string, 0, len(p.failed))
	for name := range p.failed {
		names = append(names, name)
	}
	return set(names)
}

// A reader reads an output line by line.
type reader struct {
	failed   map[string]bool
	pending  []string        // tests of the package whose result comes later
	running  bool            // in the list of what ran when a test binary timed out
	packages map[string]*pkg // of JSON events
}

// A pkg is what JSON events said about one.
type pkg struct{ test, failed, running bool }

var (
	failLine    = late.Regexp(`^\s*--- FAIL: (\S+) \(\d+(?:\.\d+)?s\)$`)
	failInside  = late.Regexp(`--- FAIL: ((?:Test|Fuzz|Example|Benchmark)\S*) \(\d+\.\d\ds\)$`) // after output without a line end
	failPackage = late.Regexp(`^FAIL\t(\S+)(?: (\[[a-z ]+\])|\t\S+)`)
	passPackage = late.Regexp(`^(?:ok  |\?   )\t\S+`)
	runningTest = late.Regexp(`^\t\t(\S+) \(.*\)$`)
)

func (p *reader) line(raw []byte) {
	line := bytes.TrimRight(raw, "\r \t")
	if open := bytes.TrimLeft(line, " \t"); len(open) > 0 && open[0] == '{' && len(open) <= maxJSONLine && p.event(open) {
		return
	}
	if len(line) > maxTextLine {
		return
	}
	p.text(string(plain(line)))
}

// text reads a line of plain output. The package comes after its tests.
func (p *reader) text(line string) {
	if p.running {
		if m := runningTest().FindStringSubmatch(line); m != nil {
			p.pend(m[1])
			return
		}
		p.running = false
	}
	if strings.Contains(line, "--- FAIL: ") {
		for _, form := range []*regexp.Regexp{failLine(), failInside()} {
			if m := form.FindStringSubmatch(line); m != nil {
				p.pend(m[1])
				return
			}
		}
	}
	if strings.TrimSpace(line) == "running tests:" {
		p.running = true
		return
	}
	if strings.HasPrefix(line, "FAIL\t") {
		if m := failPackage().FindStringSubmatch(line); m != nil {
			p.close(m[1], m[2])
		}
		return
	}
	if len(p.pending) > 0 && passPackage().MatchString(line) {
		p.pending = nil // a package that passed only printed such lines
	}
}

func (p *reader) pend(test string) {
	if len(p.pending) < maxTests {
		p.pending = append(p.pending, test)
	}
}

// close gives the pending tests to their package.
func (p *reader) close(name, why string) {
	for _, test := range p.pending {
		p.add(name + "." + test)
	}
	switch {
	case why != "":
		p.add(name + " " + why)
	case len(p.pending) == 0:
		p.add(name + " [failed]")
	}
	p.pending = nil
}

func (p *reader) add(name string) {
	if len(name) > maxName {
		name = name[:maxName]
	}
	if len(p.failed) < maxTests {
		p.failed[strings.ToValidUTF8(name, "\uFFFD")] = true
	}
}

// event reads a line of go test -json; false when it is none.
func (p *reader) event(line []byte) bool {
	var e struct{ Action, Package, ImportPath, Test, Output, FailedBuild string }
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		return false
	}
	if e.Package == "" {
		return e.ImportPath != ""
	}
	of := p.packages[e.Package]
	if of == nil {
		of = &pkg{}
		p.packages[e.Package] = of
	}
	switch {
	case e.Action == "output" && of.running:
		if m := runningTest().FindStringSubmatch(strings.TrimRight(e.Output, "\r\n")); m != nil {
			of.test = true
			p.add(e.Package + "." + m[1])
		} else {
			of.running = false
		}
	case e.Action == "output" && strings.TrimSpace(e.Output) == "running tests:":
		of.running = true
	case e.Action == "output":
		// A package whose tests could not start says why in its output only.
		if m := failPackage().FindStringSubmatch(strings.TrimRight(e.Output, "\r\n")); m != nil && m[2] != "" {
			of.test = true
			p.add(m[1] + " " + m[2])
		}
	case e.Action != "fail":
	case e.Test != "":
		of.test = true
		p.add(e.Package + "." + e.Test)
	case e.FailedBuild != "":
		of.test = true
		p.add(e.Package + " [build failed]")
	default:
		of.failed = true
	}
	return true
}

// end settles what the output left open.
func (p *reader) end() {
	for _, test := range p.pending {
		p.add(test)
	}
	for name, of := range p.packages {
		if of.failed && !of.test {
			p.add(name + " [failed]")
		}
	}
}

// plain is line without terminal escape sequences.
func plain(line []byte) []byte {
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
