package testreport

// Whether a check that passes has run what failed before: what test runners say at their end of how many tests they ran.

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

// Unproven says why a check that passed does not show that what failed is mended, or "": tests that are named as failing
// although the check passed, one that began and did not end, or fewer tests run than when it failed, as the runner itself says. Runners that say neither
// prove nothing, and are believed. failed is how the check failed, with its output; passed is its output with a patch.
func Unproven(how Signature, failed, passed []byte) string {
	still := Tests(passed)
	for _, name := range set(how.Tests) {
		if slices.Contains(still, name) {
			return "tests_failed: the check passes, and its output names " + name + " as failing"
		}
	}
	if why := unendedGo(set(how.Tests), failed, passed); why != "" {
		return why
	}
	before, after := tallies(failed), tallies(passed)
	for _, runner := range counting {
		if b, a := before[runner], after[runner]; b > a {
			return fmt.Sprintf("tests_not_run: %s ran %s when the check failed, and %d with the patch", runner, english.Count(b, "test"), a)
		}
	}
	return ""
}

// counting are those whose tallies are read, in the order in which they are asked. "go test" counts packages that ran tests, the
// others tests; what was skipped is not counted.
var counting = []string{"unittest", "pytest", "node", "jest", "vitest", "mocha", "cargo", "ctest", "GoogleTest", "RSpec", "go test -v", "go test"}

// Where the lines of go test -v are counted until it is clear that it was -v.
const (
	goPassed = "--- PASS"
	goFailed = "--- FAIL"
)

var (
	unittestRan  = late.Regexp(`^Ran (\d+) tests? in \d`)
	unittestEnd  = late.Regexp(`^(?:OK|FAILED) \((.*)\)$`)
	pytestEnd    = late.Regexp(`^(?:=+ )?(\d+ [a-z]+(?:, \d+ [a-z]+)*) in \d+\.\d+s`)
	nodeCount    = late.Regexp(`^(?:#|ℹ) (tests|skipped|todo) (\d+)$`)
	jestCount    = late.Regexp(`^Tests: +(.*\btotal)$`)
	vitestCount  = late.Regexp(`^ *Tests {2,}(.*) \(\d+\)$`)
	mochaCount   = late.Regexp(`^ +(\d+) (?:passing|failing)\b`)
	cargoCount   = late.Regexp(`^test result: (?:ok|FAILED)\. (\d+ passed; \d+ failed)`)
	ctestCount   = late.Regexp(`^\d+% tests passed, \d+ tests? failed out of (\d+)$`)
	googleCount  = late.Regexp(`^\[==========\] (\d+) tests? from \d+ test (?:suites?|cases?) ran\.`)
	rspecCount   = late.Regexp(`^(\d+) examples?, \d+ failures?(?:, (\d+) pending)?`)
	goCase       = late.Regexp(`^ *(--- (?:PASS|FAIL)): \S+ \(\d`)
	goPackageRan = late.Regexp(`^(?:ok  |FAIL)\t\S+\t(?:\d+\.\d+s|\(cached\))(.*)$`)
	counted      = late.Regexp(`(\d+) ([a-z]+)`)
)

// tallies are the tests that ran, by runner.
func tallies(output []byte) map[string]int {
	ran := map[string]int{}
	for line := range splitAt(output, '\n') {
		if len(line) > maxTextLine {
			continue
		}
		if line = bytes.TrimRight(uncoloured(line), "\r \t"); len(line) > 0 {
			tally(ran, string(line))
		}
	}
	if ran[goPassed] > 0 { // only -v tells of those that pass
		ran["go test -v"] = ran[goPassed] + ran[goFailed]
	}
	return ran
}

// tally adds what a line says.
func tally(ran map[string]int, line string) {
	number := func(s string) int {
		n, _ := strconv.Atoi(s) // digits; too many of them say nothing
		return n
	}
	of := func(runner, text string, kinds ...string) {
		for _, m := range counted().FindAllStringSubmatch(text, -1) {
			if slices.Contains(kinds, m[2]) {
				ran[runner] += number(m[1])
			}
		}
	}
	first := func(runner, form string, m []string) bool {
		if m != nil && form != "" {
			ran[runner] += number(form)
		}
		return m != nil
	}
	at := func(m []string, n int) string {
		if m == nil {
			return ""
		}
		return m[n]
	}
	switch line[0] {
	case 'R':
		m := unittestRan().FindStringSubmatch(line)
		first("unittest", at(m, 1), m)
		return
	case 'O', 'F':
		if m := unittestEnd().FindStringSubmatch(line); m != nil {
			for part := range strings.SplitSeq(m[1], ", ") {
				if n, ok := strings.CutPrefix(part, "skipped="); ok {
					ran["unittest"] -= number(n)
				}
			}
			return
		}
	case 'E':
		if strings.HasPrefix(line, "ERROR: ") && strings.Contains(line, "unittest.loader._FailedTest") {
			ran["unittest"]-- // a file that could not be loaded, which unittest counts as a test
			return
		}
	case '#':
		node(ran, nodeCount().FindStringSubmatch(line), number)
		return
	case 'T':
		if m := jestCount().FindStringSubmatch(line); m != nil {
			of("jest", m[1], "passed", "failed")
			return
		}
	case '[':
		m := googleCount().FindStringSubmatch(line)
		first("GoogleTest", at(m, 1), m)
		return
	case 't':
		if m := cargoCount().FindStringSubmatch(line); m != nil {
			of("cargo", m[1], "passed", "failed")
		}
		return
	}
	switch {
	case strings.HasPrefix(line, "ℹ "):
		node(ran, nodeCount().FindStringSubmatch(line), number)
	case strings.Contains(line, "--- PASS: ") || strings.Contains(line, "--- FAIL: "):
		if m := goCase().FindStringSubmatch(line); m != nil {
			ran[m[1]]++
		}
	case strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t"):
		if m := goPackageRan().FindStringSubmatch(line); m != nil && !strings.Contains(m[1], "[no tests to run]") {
			ran["go test"]++
		}
	default:
		sentence(ran, line, of, number)
	}
}

// sentence reads the summaries that begin with a number or a word of their own.
func sentence(ran map[string]int, line string, of func(runner, text string, kinds ...string), number func(string) int) {
	if m := pytestEnd().FindStringSubmatch(line); m != nil {
		of("pytest", m[1], "passed", "failed", "xfailed", "xpassed")
		return
	}
	if m := vitestCount().FindStringSubmatch(line); m != nil {
		of("vitest", m[1], "passed", "failed")
		return
	}
	if m := mochaCount().FindStringSubmatch(line); m != nil {
		ran["mocha"] += number(m[1])
		return
	}
	if m := ctestCount().FindStringSubmatch(line); m != nil {
		ran["ctest"] += number(m[1])
		return
	}
	if m := rspecCount().FindStringSubmatch(line); m != nil {
		ran["RSpec"] += number(m[1]) - number(m[2])
	}
}

func node(ran map[string]int, m []string, number func(string) int) {
	switch {
	case m == nil:
	case m[1] == "tests":
		ran["node"] += number(m[2])
	default:
		ran["node"] -= number(m[2])
	}
}
