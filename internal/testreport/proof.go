package testreport

import (
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// Unproven returns why a check that passed does not prove a fix, "" where it does: its output names a test that
// failed before as failing, or one that began and did not end, or fewer tests ran than when it failed. A runner that
// prints neither is believed. how and failed are the failure and its output; passed is the output with the patch;
// before is what Ran returns for failed, or less.
func Unproven(how Signature, failed, passed []byte, before map[string]int) string {
	still := Tests(passed)
	for _, name := range set(how.Tests) {
		if slices.Contains(still, name) {
			return "tests_failed: the check passes, and its output names " + name + " as failing"
		}
	}
	if why := unendedGo(set(how.Tests), failed, passed); why != "" {
		return why
	}
	after := Ran(passed)
	for _, r := range runners {
		if before[r.name] > after[r.name] {
			return fmt.Sprintf("tests_not_run: %s ran %s when the check failed, and %d with the patch",
				r.name, english.Count(before[r.name], "test"), after[r.name])
		}
	}
	return ""
}

// Ran returns how many tests ran, by runner.
func Ran(output []byte) map[string]int {
	n, told := make([]int, len(runners)), make([]bool, len(runners))
	counts := make([]func(string) int, len(runners))
	for i, r := range runners {
		if r.count != nil {
			counts[i] = r.count()
		}
	}
	for line := range shownLines(output) {
		for i, r := range runners {
			if counts[i] != nil {
				n[i] += counts[i](line)
				told[i] = told[i] || strings.HasPrefix(strings.TrimLeft(line, " "), r.told)
			}
		}
	}
	all := map[string]int{}
	for i, r := range runners {
		if told[i] && n[i] > 0 {
			all[r.name] = n[i]
		}
	}
	return all
}

// shownLines yields the lines of output that are not blank, without colours.
func shownLines(output []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for raw := range splitAt(output, '\n') {
			if len(raw) > maxTextLine {
				continue
			}
			if line := string(bytes.TrimRight(uncoloured(raw), "\r \t")); line != "" && !yield(line) {
				return
			}
		}
	}
}

// value returns the value of digits; too many of them are 0.
func value(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// number returns a count of the number that the first group of form matches, 0 for none.
func number(form func() *regexp.Regexp) func(line string) int {
	return func(line string) int {
		if m := form().FindStringSubmatch(line); m != nil {
			return value(m[1])
		}
		return 0
	}
}

var counted = lazily.Regexp(`(\d+) ([a-z]+)`)

// sum returns a count that adds up the numbers of some kinds in what the first group of form matches: "3 passed, 1
// failed".
func sum(form func() *regexp.Regexp, kinds ...string) func(line string) int {
	return func(line string) (n int) {
		if m := form().FindStringSubmatch(line); m != nil {
			for _, c := range counted().FindAllStringSubmatch(m[1], -1) {
				if slices.Contains(kinds, c[2]) {
					n += value(c[1])
				}
			}
		}
		return n
	}
}
