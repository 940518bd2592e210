package testreport

import (
	"strings"
	"testing"
)

const failedUnittest = "======================================================================\nFAIL: test_a (t.T.test_a)\n" +
	"----------------------------------------------------------------------\nAssertionError: 1 != 2\n\n" +
	"----------------------------------------------------------------------\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n"

// Where fewer tests ran before than the log of the failure says, that is what counts.
func TestUnprovenWithFewer(t *testing.T) {
	t.Parallel()
	failed, passed := []byte("Ran 3 tests in 0.1s\n\nFAILED (failures=1)\n"), []byte("Ran 3 tests in 0.1s\n\nOK (skipped=1)\n")
	for n, want := range map[int]bool{3: false, 2: true} {
		why := Unproven(Signature{ExitCode: 1}, failed, passed, map[string]int{"unittest": n})
		if (why == "") != want {
			t.Errorf("2 tests after %d: %q", n, why)
		}
	}
}

func TestUnproven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failed, passed string
		want           string // begins with it
	}{
		"unittest":                  {"FAIL: test_a (t.T.test_a)\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n", "..\nRan 2 tests in 0.001s\n\nOK\n", ""},
		"unittest, skipped":         {"Ran 2 tests in 0.001s\n\nFAILED (failures=1)\n", "Ran 2 tests in 0.001s\n\nOK (skipped=2)\n", "tests_not_run: unittest ran 2 tests when the check failed, and 0"},
		"unittest, skipped before":  {"Ran 2 tests in 0.1s\n\nFAILED (failures=1, skipped=1)\n", "Ran 2 tests in 0.1s\n\nOK (skipped=1)\n", ""},
		"unittest, nothing printed": {"Ran 1 test in 0.001s\n\nFAILED (failures=1)\n", "", "tests_not_run: unittest ran 1 test when"},
		"unittest, none found":      {"Ran 1 test in 0.001s\n\nFAILED (failures=1)\n", "Ran 0 tests in 0.000s\n\nOK\n", "tests_not_run"},
		"unittest, not loaded":      {"ERROR: test_a (unittest.loader._FailedTest.test_a)\nERROR: test_b (unittest.loader._FailedTest.test_b)\nRan 2 tests in 0.001s\n\nFAILED (errors=2)\n", "Ran 1 test in 0.000s\n\nOK\n", ""},
		"unittest, more tests":      {"Ran 1 test in 0.001s\n\nFAILED (errors=1)\n", "Ran 4 tests in 0.000s\n\nOK\n", ""},
		"unittest, exit code alone": {failedUnittest, failedUnittest, "tests_failed: the check passes, and its output names t"},
		"pytest":                    {"==== 1 failed, 2 passed in 0.12s ====\n", "==== 3 passed in 0.10s ====\n", ""},
		"pytest, skipped":           {"1 failed, 2 passed in 0.12s\n", "2 passed, 1 skipped in 0.10s\n", "tests_not_run: pytest ran 3 tests when the check failed, and 2"},
		"pytest, deselected":        {"1 failed in 0.12s\n", "1 deselected in 0.10s\n", "tests_not_run"},
		"node":                      {"ℹ tests 2\nℹ pass 1\nℹ fail 1\nℹ skipped 0\nℹ todo 0\n", "ℹ tests 2\nℹ pass 2\nℹ fail 0\nℹ skipped 0\nℹ todo 0\n", ""},
		"node, as TAP":              {"# tests 2\n# fail 1\n", "# tests 1\n# pass 1\n", "tests_not_run: node ran 2 tests"},
		"node, todo":                {"# tests 2\n# fail 1\n# todo 0\n", "# tests 2\n# pass 1\n# todo 1\n", "tests_not_run"},
		"node, gone":                {"# tests 2\n# fail 1\n", "bye\n", "tests_not_run"},
		"jest":                      {"Tests:       1 failed, 1 passed, 2 total\n", "Tests:       2 passed, 2 total\n", ""},
		"jest, skipped":             {"Tests:       1 failed, 1 passed, 2 total\n", "Tests:       1 skipped, 1 passed, 2 total\n", "tests_not_run: jest"},
		"vitest":                    {"      Tests  1 failed | 2 passed (3)\n", "      Tests  3 passed (3)\n", ""},
		"vitest, skipped":           {"      Tests  1 failed | 2 passed (3)\n", "      Tests  2 passed | 1 skipped (3)\n", "tests_not_run: vitest"},
		"mocha":                     {"  1 passing (3ms)\n  1 failing\n", "  2 passing (3ms)\n", ""},
		"mocha, pending":            {"  1 passing (3ms)\n  1 failing\n", "  1 passing (3ms)\n  1 pending\n", "tests_not_run: mocha"},
		"cargo":                     {"test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\n", "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n", ""},
		"cargo, ignored":            {"test result: FAILED. 1 passed; 1 failed; 0 ignored\n", "test result: ok. 1 passed; 0 failed; 1 ignored\n", "tests_not_run: cargo"},
		"ctest":                     {"50% tests passed, 1 tests failed out of 2\n", "100% tests passed, 0 tests failed out of 1\n", "tests_not_run: ctest"},
		"GoogleTest":                {"[==========] 3 tests from 1 test suite ran. (0 ms total)\n", "[==========] 0 tests from 0 test suites ran. (0 ms total)\n", "tests_not_run: GoogleTest"},
		"RSpec":                     {"2 examples, 1 failure\n", "2 examples, 0 failures, 1 pending\n", "tests_not_run: RSpec"},
		"go":                        {"--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx\t0.003s\n", "ok  \tx\t0.003s\n", ""},
		"go, cached":                {"FAIL\tx\t0.003s\nok  \ty\t0.1s\n", "ok  \tx\t0.003s\nok  \ty\t(cached)\n", ""},
		"go, no tests to run":       {"FAIL\tx\t0.003s\n", "ok  \tx\t0.003s [no tests to run]\n", "tests_not_run: go test ran 1 test"},
		"go, could not be built":    {"FAIL\tx [build failed]\n", "?   \tx\t[no test files]\n", ""},
		"go, with coverage":         {"FAIL\tx\t0.003s\n", "ok  \tx\t0.003s\tcoverage: 80.0% of statements\n", ""},
		"go, with -v":               {"--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\tx\t0.1s\n", "--- SKIP: TestA (0.00s)\n--- SKIP: TestB (0.00s)\nok  \tx\t0.1s\n", "tests_not_run: go test -v"},
		"go, as events":             {`{"Action":"fail","Package":"x","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"x","Test":"TestB"}`, `{"Action":"pass","Package":"x","Test":"TestA"}`, "tests_not_run: go test -json ran 2 tests"},
		"TAP":                       {"ok 1 - a\nnot ok 2 - b\n    ok 1 - in b\n", "ok 1 - b\n", "tests_not_run: TAP ran 2 tests"},
		"TAP, skipped":              {"not ok 1 - a\nok 2 - b # SKIP no net\n", "ok 1 - a # skip\nok 2 - b # SKIP no net\n", "tests_not_run: TAP ran 1 test"},
		"nothing that counts":       {"want hello\n", "", ""},
		"in colours":                {"\x1b[34mℹ tests 2\x1b[39m\n", "\x1b[34mℹ tests 0\x1b[39m\n", "tests_not_run: node"},
	} {
		got := Unproven(Signature{ExitCode: 1, Tests: Tests([]byte(c.failed))}, []byte(c.failed), []byte(c.passed), Ran([]byte(c.failed)))
		if got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
