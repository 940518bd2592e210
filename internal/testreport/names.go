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

	"github.com/async-pipeline/async-pipeline/internal/lazily"
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

// Runners that one reader reads two of.
const (
	mocha      = "mocha"
	jest       = "jest"
	googleTest = "GoogleTest"
	nextest    = "nextest"
)

// runners lists the runners. The first whose count fell is the one that a message speaks of.
var runners = []runner{
	{name: "unittest", names: func(f *failing) reader { return &unitRunner{failing: f} }, count: each(countUnittest)},
	{name: "pytest", names: func(f *failing) reader { return &pytestRunner{failing: f} }, count: countPytest},
	{name: "node", names: func(f *failing) reader { return &nodeRunner{failing: f} }, count: each(countNode)},
	{name: jest, names: func(f *failing) reader { return &jestRunner{failing: f, files: map[string]bool{}} }, count: each(sum(jestCount, "passed", "failed"))},
	{name: "vitest", count: each(sum(vitestCount, "passed", "failed"))}, // jestRunner reads its names
	{name: mocha, names: func(f *failing) reader { return &mochaRunner{failing: f} }, count: each(number(mochaCount))},
	{name: "cargo", names: func(f *failing) reader { return &cargoRunner{failing: f} }, count: each(sum(cargoCount, "passed", "failed"))},
	{name: "ctest", names: func(f *failing) reader { return &ctestRunner{failing: f} }, count: each(number(ctestCount))},
	{name: "mocha and jest", names: func(f *failing) reader { return &treeRunner{failing: f} }},
	{name: googleTest, count: each(number(googleCount))}, // ctestRunner reads its names
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
type Results struct {
	Failed, Passed []string

	of    map[string]string // by test, the runner that named it
	tells map[string]bool   // runners that named a test which passed
	times map[string]int    // by test, how many of that name failed, where its runner names each once; else it is not there
}

// Times returns how many tests of a name failed: two files may have tests of one name. It is 1 where a runner does not
// tell.
func (r Results) Times(test string) int { return max(1, r.times[test]) }

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
		f.by = outer[0].by
		if goes.event(bytes.TrimRight(raw, "\r \t")) {
			continue
		}
		if len(raw) > maxTextLine {
			f.by = outer[1].by
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
		if f.tell(told, text) {
			continue
		}
		if prefix := runnerPrefix().FindString(text); prefix != "" {
			f.tell(inner, text[len(prefix):])
		}
	}
	for _, r := range append(outer, inner...) {
		f.by = r.by
		r.end()
	}
	return f.results()
}

// And returns the results of two parts of one check.
func (r Results) And(o Results) Results {
	failed := set(slices.Concat(r.Failed, o.Failed))
	all := Results{
		Failed: failed, Passed: Without(set(slices.Concat(r.Passed, o.Passed)), failed),
		of: maps.Clone(r.of), tells: maps.Clone(r.tells), times: maps.Clone(r.times),
	}
	if all.of == nil {
		all.of, all.tells = map[string]string{}, map[string]bool{}
	}
	if all.times == nil {
		all.times = map[string]int{}
	}
	for test, n := range o.times {
		all.times[test] = max(n, all.times[test])
	}
	maps.Copy(all.of, o.of)
	maps.Copy(all.tells, o.tells)
	return all
}

// Unseen returns those of tests that r does not say passed. A name that is no test, as that of a package that could
// not be built, has passed where a test in it has and none failed; a part of a test, as "test (i=1)" or "test [one]",
// where the test has.
func (r Results) Unseen(tests []string) []string {
	return slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
		in := func(name string) bool { return Holds(test, name) }
		whole, _ := PartOf(test)
		return slices.Contains(r.Passed, test) || whole != "" && slices.Contains(r.Passed, whole) ||
			slices.ContainsFunc(r.Passed, in) && !slices.ContainsFunc(r.Failed, in)
	})
}

// PartOf returns the test that a subTest of unittest is part of, and what tells the part from others: its message in
// square brackets, its parameters in round ones. It returns "" for a name without a part.
func PartOf(test string) (whole, part string) {
	m := unitPart().FindStringSubmatch(test)
	if m == nil {
		return "", ""
	}
	return m[1], m[2]
}

// Lost returns those of tests that r should say passed, and does not: their runner names others in r that passed. In
// unnamed are those whose runner names none that passed. before is what the runners printed when the tests failed; a
// test that it does not name is in neither, and what is no test is not either, as a file or a hook.
func (r Results) Lost(tests []string, before Results) (lost, unnamed []string) {
	for _, test := range r.Unseen(tests) {
		runner := before.of[test]
		below := func(name string) bool { return strings.HasPrefix(name, test+" > ") }
		switch {
		case runner == "" || noTest(test):
		case !r.tells[runner]:
			unnamed = append(unnamed, test)
		case runner == mocha && slices.ContainsFunc(r.Passed, func(name string) bool { return sameTitles(test, name) }):
		case !slices.ContainsFunc(r.Passed, below) || slices.ContainsFunc(r.Failed, below):
			lost = append(lost, test)
		}
	}
	return lost, unnamed
}

var noTestName = lazily.Regexp(`^\S+\.[cm]?[jt]sx?$|" hook\b|\.(?:setUp|tearDown)(?:Class|Module)$`)

// noTest reports whether a name is of what fails and is never said to have passed: a file, a hook, what comes before all
// tests, a package without tests that unittest could not load.
func noTest(name string) bool {
	module, unloaded := strings.CutPrefix(name, "unittest.loader._FailedTest.")
	module = module[strings.LastIndex(module, ".")+1:]
	return noTestName().MatchString(name) || unloaded && !strings.HasPrefix(module, "test")
}

// sameTitles reports whether mocha's line of a test that passed can be of test: what tests print between the lines
// hides titles, or looks like one.
func sameTitles(test, passed string) bool {
	if strings.HasSuffix(test, " > "+passed) {
		return true
	}
	titles := strings.Split(test, " > ")
	for title := range strings.SplitSeq(passed, " > ") {
		if len(titles) > 0 && titles[0] == title {
			titles = titles[1:]
		}
	}
	return len(titles) == 0 && strings.HasSuffix(passed, test[strings.LastIndex(test, " > ")+1:])
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

// A namedReader is the reader of a runner.
type namedReader struct {
	reader
	by string
}

// readers returns those of all runners. The first two are goes and xml.
func readers(f *failing, goes, xml reader) []namedReader {
	all := []namedReader{{goes, "go test"}, {xml, "JUnit"}}
	for _, r := range runners {
		if r.names != nil {
			all = append(all, namedReader{r.names(f), r.name})
		}
	}
	return all
}

// tell gives a line to all readers: one runner may run inside of another.
func (f *failing) tell(all []namedReader, text string) (known bool) {
	for _, r := range all {
		f.by = r.by
		known = r.line(text) || known
	}
	return known
}

// runnerPrefix matches what programs that run several others write before each of their lines: pnpm "packages/a test:
// ", turbo "a:test: ", concurrently "[0] ", foreman and docker compose "a  | ", ctest -V "1: ".
var runnerPrefix = lazily.Regexp(`^(?:[\w@./-]+ [A-Za-z][\w:.-]*:|[\w@./-]+:[A-Za-z][\w.-]*:|\[[\w@./:-]{1,60}\]|[\w.-]+ +\||\d+:)(?: |$)`)

// failing collects the names of failing tests, and of those that passed.
type failing struct {
	names, passed map[string]bool
	by            string            // the runner whose line is read
	of            map[string]string // by name, the runner that said it
	tells         map[string]bool   // runners that said that a test passed
	times         map[string]int    // see Results
}

func newFailing() *failing {
	return &failing{
		names: map[string]bool{}, passed: map[string]bool{}, of: map[string]string{}, tells: map[string]bool{},
		times: map[string]int{},
	}
}

// end is what most readers do at the end of an output: nothing.
func (f *failing) end() {}

func (f *failing) results() Results {
	maps.DeleteFunc(f.passed, func(name string, _ bool) bool { return f.names[name] })
	return Results{
		Failed: slices.Sorted(maps.Keys(f.names)), Passed: slices.Sorted(maps.Keys(f.passed)), of: f.of, tells: f.tells, times: f.times,
	}
}

var (
	objectAddress = lazily.Regexp(`\b0x[0-9a-fA-F]{4,}\b`) // of an object that became part of a name
	fromTop       = lazily.Regexp(`^(?:file://)?/(?:[^/\s]+/)+([^/\s]+/[^/\s]+)`)
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

func (f *failing) add(name string) { f.note(f.names, name) }

// addOne is add for a runner that names each failing test once.
func (f *failing) addOne(name string) {
	if name = f.note(f.names, name); name != "" {
		f.times[name]++
	}
}

// pass notes that a test passed.
func (f *failing) pass(name string) {
	f.note(f.passed, name)
	f.tells[f.by] = true
}

// note notes a name and returns it as it is known; "" where it is not.
func (f *failing) note(names map[string]bool, name string) string {
	name = withoutRoot(strings.TrimSpace(name))
	if strings.Contains(name, "0x") {
		name = objectAddress().ReplaceAllString(name, "0x…")
	}
	if len(name) > maxName {
		name = name[:maxName]
	}
	if name == "" || len(names) >= maxTests {
		return ""
	}
	name = strings.ToValidUTF8(name, "\uFFFD")
	names[name] = true
	if f.of[name] == "" {
		f.of[name] = f.by
	}
	return name
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
