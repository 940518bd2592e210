package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// cargoRunner gives a test its path in the crate as a name, "tests::adds"; a documentation test is "src/lib.rs -
// add". nextest prints the crate too: "shop tests::adds". The formats: libtest's pretty formatter, nextest's default
// profile.
type cargoRunner struct {
	*failing
	listed bool // "failures:" was seen, and a list of names follows
}

var (
	cargoFail   = lazily.Regexp(`^test (\S.*?)(?: - should panic)? \.\.\. FAILED$`)
	cargoPass   = lazily.Regexp(`^test (\S.*?)(?: - should panic)? \.\.\. ok$`)
	cargoOutput = lazily.Regexp(`^---- (\S.*?) stdout ----$`)
	cargoName   = lazily.Regexp(`^    (\S+|\S+\.rs - .+)$`)
	cargoLine   = lazily.Regexp(` \(line \d+\)$`)
	nextestPass = lazily.Regexp(`^ +PASS \[ *[\d.]+s\](?: \([ \d/]+\))? +(\S+ \S+)$`)
	nextestFail = lazily.Regexp(`^ +(?:FAIL|TIMEOUT|ABORT|SIG[A-Z]+) \[ *[\d.]+s\](?: \([ \d/]+\))? +(\S+ \S+)$`)
)

func (t *cargoRunner) line(line string) bool {
	if t.listed && line != "" {
		m := cargoName().FindStringSubmatch(line)
		if t.listed = m != nil; m != nil {
			t.fail(m[1])
			return true
		}
	}
	var m []string
	switch {
	case line == "failures:":
		t.listed = true
		return true
	case strings.HasPrefix(line, "test "):
		if m = cargoPass().FindStringSubmatch(line); m != nil {
			t.pass(cargoLine().ReplaceAllString(m[1], ""))
			return true
		}
		m = cargoFail().FindStringSubmatch(line)
	case strings.HasPrefix(line, "---- "):
		m = cargoOutput().FindStringSubmatch(line)
	case strings.HasPrefix(line, " ") && strings.Contains(line, "s] "):
		t.by = nextest
		if t.passMatch(nextestPass(), line) {
			return true
		}
		m = nextestFail().FindStringSubmatch(line)
	}
	if m != nil {
		t.fail(m[1])
	}
	return m != nil
}

func (t *cargoRunner) fail(name string) { t.add(cargoLine().ReplaceAllString(name, "")) }

var cargoCount = lazily.Regexp(`^test result: (?:ok|FAILED)\. (\d+ passed; \d+ failed)`)
