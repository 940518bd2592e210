package testreport

// The test runners of compiled languages besides Go: cargo test, cargo nextest, ctest, GoogleTest.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// cargoRunner names a test by its path in the crate, "tests::adds", and a documentation test as "src/lib.rs - add". nextest
// says the crate too: "shop tests::adds". Source: libtest's pretty formatter, nextest's default profile.
type cargoRunner struct {
	*failing
	listed bool // "failures:" was seen, and a list of names follows
}

var (
	cargoFail   = late.Regexp(`^test (\S.*?)(?: - should panic)? \.\.\. FAILED$`)
	cargoOutput = late.Regexp(`^---- (\S.*?) stdout ----$`)
	cargoName   = late.Regexp(`^    (\S+|\S+\.rs - .+)$`)
	cargoLine   = late.Regexp(` \(line \d+\)$`)
	nextestFail = late.Regexp(`^ +(?:FAIL|TIMEOUT|ABORT|SIG[A-Z]+) \[ *[\d.]+s\](?: \([ \d/]+\))? +(\S+ \S+)$`)
)

func (t *cargoRunner) line(line string) bool {
	if t.listed && line != "" {
		m := cargoName().FindStringSubmatch(line)
		if t.listed = m != nil; m != nil {
			t.fail(m[1])
			return true
		}
	}
	for _, form := range []struct {
		has  bool
		find func() []string
	}{
		{strings.HasPrefix(line, "test "), func() []string { return cargoFail().FindStringSubmatch(line) }},
		{strings.HasPrefix(line, "---- "), func() []string { return cargoOutput().FindStringSubmatch(line) }},
		{strings.HasPrefix(line, " ") && strings.Contains(line, "s] "), func() []string { return nextestFail().FindStringSubmatch(line) }},
	} {
		if form.has {
			if m := form.find(); m != nil {
				t.fail(m[1])
				return true
			}
		}
	}
	if line == "failures:" {
		t.listed = true
		return true
	}
	return false
}

func (t *cargoRunner) fail(name string) { t.add(cargoLine().ReplaceAllString(name, "")) }

func (t *cargoRunner) end() {}

// ctestRunner names a test of ctest by its name, and one of GoogleTest inside of it as "Suite.Test". Source: ctest 3.10 to
// 4.0, GoogleTest's PrettyUnitTestResultPrinter.
type ctestRunner struct {
	*failing
	listed bool // "The following tests FAILED:" was seen
}

var (
	ctestFail  = late.Regexp(`^\s+\d+ - (.+?) \((?:Failed|Timeout|Not Run|SEGFAULT|ILLEGAL|NUMERICAL|INTERRUPT|BAD_COMMAND|Subprocess \w+|OTHER_FAULT|Child \w+|Exit code [^)]*|Disabled)\)(?:\s.*)?$`)
	googleFail = late.Regexp(`^\[  FAILED  \] (\S+\.\S+?)(?:, where .*)?(?: \(\d+ ms\))?$`)
)

func (t *ctestRunner) line(line string) bool {
	switch {
	case strings.HasPrefix(line, "[  FAILED  ] "):
		m := googleFail().FindStringSubmatch(line)
		if m != nil {
			t.add(strings.TrimSuffix(m[1], ","))
		}
		return m != nil
	case strings.HasPrefix(line, "The following tests FAILED:"):
		t.listed = true
		return true
	case !t.listed:
		return false
	}
	m := ctestFail().FindStringSubmatch(line)
	if t.listed = m != nil; m != nil {
		t.add(m[1])
	}
	return m != nil
}

func (t *ctestRunner) end() {}
