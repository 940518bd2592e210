package testreport

// go test, as text or as JSON.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// goRunner gives a test the name "pkg.TestX/sub", or "TestX/sub" where its package is unknown; a package whose tests
// could not start "pkg [build failed]", or what else go test writes in brackets; a package that failed outside of any
// test "pkg [failed]". The formats: `go help test`, `go doc test2json`.
type goRunner struct {
	*failing
	pending  []string        // failed tests of the package whose result comes later
	done     []string        // tests of it that passed
	top      string          // the last test at the start of a line
	good     bool            // which passed
	running  bool            // in the list of what ran when a test binary timed out
	packages map[string]*pkg // of JSON events
	ended    map[string]bool // tests in JSON events that printed that they passed
}

func newGoRunner(f *failing) *goRunner {
	return &goRunner{failing: f, packages: map[string]*pkg{}, ended: map[string]bool{}}
}

// A pkg is a package in the JSON events: it has a failing test, it failed, a list of running tests follows.
type pkg struct{ test, failed, running bool }

var (
	resultLine  = lazily.Regexp(`^( *)--- (FAIL|PASS): (\S+) \(\d+(?:\.\d+)?s\)$`)
	failInside  = lazily.Regexp(`^\S.*--- FAIL: ((?:Test|Fuzz|Example|Benchmark)[^\s/]*) \(\d+\.\d\ds\)$`) // after output without a line end
	failPackage = lazily.Regexp(`^FAIL\t(\S+)(?: (\[[a-z ]+\])|\t\S+)`)
	passPackage = lazily.Regexp(`^(?:ok  |\?   )\t(\S+)`)
	runningTest = lazily.Regexp(`^\t\t(\S+) \(.*\)$`)
)

// A goEvent is a line of go test -json.
type goEvent struct{ Action, Package, ImportPath, Test, Output, FailedBuild string }

// goEventOf reads a line. ok is false for one that is no event.
func goEventOf(line []byte) (e goEvent, ok bool) {
	line = bytes.TrimLeft(line, " \t")
	ok = bytes.HasPrefix(line, []byte("{")) && len(line) <= maxJSONLine && json.Unmarshal(line, &e) == nil
	return e, ok && e.Action != ""
}

// line reads a line of plain output. The line of a package comes after those of its tests.
func (p *goRunner) line(line string) bool {
	if p.running {
		if m := runningTest().FindStringSubmatch(line); m != nil {
			p.pending = pend(p.pending, m[1])
			return true
		}
		p.running = false
	}
	if strings.Contains(line, "--- ") {
		if m := resultLine().FindStringSubmatch(line); m != nil {
			switch good := m[2] == "PASS"; {
			case !p.inPlace(len(m[1]), m[3], good):
			case good:
				p.done = pend(p.done, m[3])
			default:
				p.pending = pend(p.pending, m[3])
			}
			return true
		}
		if m := failInside().FindStringSubmatch(line); m != nil {
			p.top, p.good = m[1], false
			p.pending = pend(p.pending, m[1])
			return true
		}
	}
	if strings.TrimSpace(line) == "running tests:" {
		p.running = true
		return true
	}
	if strings.HasPrefix(line, "FAIL\t") {
		m := failPackage().FindStringSubmatch(line)
		if m != nil {
			p.close(m[1], m[2])
		}
		return m != nil
	}
	if len(p.pending)+len(p.done) > 0 {
		if m := passPackage().FindStringSubmatch(line); m != nil {
			p.passed(m[1])
			p.pending = nil // a package that passed only printed such lines
		}
	}
	return false
}

// A span is the lines between two, by their numbers from 0.
type span struct{ from, to int }

// insideGo returns what tests of go test -v printed, as far as they ran alone: the lines between the one that says that
// a test began and its result. Results in there are of another run, which the test started.
func insideGo(output []byte) (spans []span) {
	type run struct {
		test string
		from int
	}
	var open []run // each inside of the one before
	find := func(test string) int { return slices.IndexFunc(open, func(r run) bool { return r.test == test }) }
	number := -1
	for raw := range splitAt(output, '\n') {
		number++
		if !bytes.HasPrefix(raw, []byte("=== ")) && !bytes.HasPrefix(raw, []byte("--- ")) {
			continue
		}
		line := strings.TrimRight(string(raw[:min(len(raw), maxName)]), "\r \t")
		if test, ok := strings.CutPrefix(line, "=== RUN   "); ok && !strings.Contains(test, "/") {
			if i := find(test); i >= 0 {
				open = open[:i] // it began anew: its process had ended
			}
			if len(open) < maxNesting {
				open = append(open, run{test, number})
			}
		} else if test, ok := strings.CutPrefix(line, "=== PAUSE "); ok {
			open = slices.DeleteFunc(open, func(r run) bool { return r.test == test })
		} else if m := goEnd().FindStringSubmatch(line); m != nil {
			i := find(m[1])
			if i < 0 {
				continue
			}
			for len(spans) > 0 && spans[len(spans)-1].from > open[i].from {
				spans = spans[:len(spans)-1] // inside of this one
			}
			spans = append(spans, span{open[i].from, number})
			open = open[:i]
		}
	}
	return spans
}

// inPlace reports whether a result stands where go test writes it: a test at the line's start, a subtest four blanks
// deeper than its parent and after it. Otherwise a test wrote it into its log: it ran tests that are meant to fail.
// Nothing fails below a test that passed.
func (p *goRunner) inPlace(indent int, test string, good bool) bool {
	if indent == 0 {
		p.top, p.good = test, good
		return !strings.Contains(test, "/")
	}
	depth := indent / 4
	if indent%4 != 0 || strings.Count(test, "/") < depth {
		return false
	}
	return p.top != "" && strings.HasPrefix(test, p.top+"/") && (good || !p.good)
}

// pend adds a test whose package comes later.
func pend(tests []string, test string) []string {
	if len(tests) < maxTests {
		tests = append(tests, test)
	}
	return tests
}

// passed gives the tests that passed to their package; empty: it never came.
func (p *goRunner) passed(name string) {
	if name != "" {
		name += "."
	}
	for _, test := range p.done {
		p.pass(name + test)
	}
	p.done = nil
}

// close gives the pending tests to their package.
func (p *goRunner) close(name, why string) {
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
	p.passed(name)
}

// event reads a line of go test -json, and reports whether it is one.
func (p *goRunner) event(line []byte) bool {
	e, ok := goEventOf(line)
	if !ok || e.Package == "" {
		return ok && e.ImportPath != ""
	}
	of := p.packages[e.Package]
	if of == nil {
		of = &pkg{}
		p.packages[e.Package] = of
	}
	switch {
	case e.Action == "pass" && e.Test != "":
		// The event alone is no proof: the test that ran when a process ended with success has it too.
		if p.ended[e.Package+"."+e.Test] {
			p.pass(e.Package + "." + e.Test)
		}
	case e.Action == "output" && strings.HasPrefix(
		strings.TrimPrefix(e.Output, strings.Repeat("    ", strings.Count(e.Test, "/"))), goPassed+": "+e.Test+" ("):
		p.ended[e.Package+"."+e.Test] = true
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
		// Why the tests of a package could not start is in its output only.
		m := failPackage().FindStringSubmatch(strings.TrimRight(e.Output, "\r\n"))
		if m != nil && m[1] == e.Package && m[2] != "" && e.Test == "" {
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

// end adds the tests whose package never came, and packages that failed without a failing test.
func (p *goRunner) end() {
	for _, test := range p.pending {
		p.add(test)
	}
	p.passed("")
	for name, of := range p.packages {
		if of.failed && !of.test {
			p.add(name + " [failed]")
		}
	}
}

var (
	goCase       = lazily.Regexp(`^ *--- (?:PASS|FAIL): \S+ \(\d`)
	goEnd        = lazily.Regexp(`^--- (?:PASS|FAIL|SKIP): (\S+) \(\d`)
	goPackageRan = lazily.Regexp(`^(?:ok  |FAIL)\t\S+\t(?:\d+\.\d+s|\(cached\))(.*)$`)
)

// Beginnings of the line of a test that ended.
const (
	goPassed  = "--- PASS"
	goFailed  = "--- FAIL"
	goSkipped = "--- SKIP"
)

// countGo counts the packages that ran tests. Without -v, go test prints no more of those that pass.
func countGo(line string) int {
	if m := goPackageRan().FindStringSubmatch(line); m != nil && !strings.Contains(m[1], "[no tests to run]") {
		return 1
	}
	return 0
}

// countGoEvents counts the tests that passed or failed.
func countGoEvents(line string) int {
	e, ok := goEventOf([]byte(line))
	if ok && e.Test != "" && (e.Action == "pass" || e.Action == "fail") {
		return 1
	}
	return 0
}

// countGoVerbose counts the tests that passed or failed. Only -v prints those that pass.
func countGoVerbose(line string) int {
	if strings.Contains(line, "--- ") && goCase().MatchString(line) {
		return 1
	}
	return 0
}
