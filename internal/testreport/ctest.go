package testreport

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// ctestRunner reads ctest, and GoogleTest inside of it, whose tests are "Suite.Test". The formats: ctest 3.10 to 4.0,
// GoogleTest's PrettyUnitTestResultPrinter.
type ctestRunner struct {
	*failing
	listed bool // "The following tests FAILED:" was seen
}

var (
	ctestFail  = lazily.Regexp(`^\s+\d+ - (.+?) \((?:Failed|Timeout|Not Run|SEGFAULT|ILLEGAL|NUMERICAL|INTERRUPT|BAD_COMMAND|Subprocess \w+|OTHER_FAULT|Child \w+|Exit code [^)]*|Disabled)\)(?:\s.*)?$`)
	ctestPass  = lazily.Regexp(`^ *\d+/\d+ Test +#\d+: (.+?) \.*[ *]+Passed +[\d.]+ sec$`)
	googlePass = lazily.Regexp(`^\[       OK \] (\S+\.\S+?)(?:, where .*)?(?: \(\d+ ms\))?$`)
	googleFail = lazily.Regexp(`^\[  FAILED  \] (\S+\.\S+?)(?:,(?: where .*)?)?(?: \(\d+ ms\))?$`)
)

func (t *ctestRunner) line(line string) bool {
	switch {
	case strings.HasPrefix(line, "[  FAILED  ] "):
		t.by = googleTest
		return t.addMatch(googleFail(), line)
	case strings.HasPrefix(line, "[       OK ] "):
		t.by = googleTest
		return t.passMatch(googlePass(), line)
	case strings.Contains(line, " Test ") && t.passMatch(ctestPass(), line):
		return true
	case strings.HasPrefix(line, "The following tests FAILED:"):
		t.listed = true
		return true
	case !t.listed:
		return false
	}
	t.listed = t.addMatch(ctestFail(), line)
	return t.listed
}

var (
	ctestCount  = lazily.Regexp(`^\d+% tests passed, \d+ tests? failed out of (\d+)$`)
	googleCount = lazily.Regexp(`^\[==========\] (\d+) tests? from \d+ test (?:suites?|cases?) ran\.`)
)
