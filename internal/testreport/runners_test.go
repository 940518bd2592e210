package testreport

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What each runner really printed of a project with failing tests, and the names in it. A failure of another sort
// stands in each: outside of a test, in a subtest, one that is only to be done.
func TestTestsOfRunners(t *testing.T) {
	t.Parallel()
	node := []string{"adds", "calc", "calc > deep", "calc > deep > x", "calc > subs"}
	for name, want := range map[string][]string{
		"node-spec":    append([]string{"…/shop/b.test.js"}, node...),
		"node-tap":     append([]string{"…/shop/b.test.js"}, node...),
		"node-junit":   {"test.adds", "test.subs", "test.x", "test.…/shop/b.test.js"},
		"tape":         {"one is two"},
		"mocha":        {`hooks > "before all" hook: setup for "never"`, "calc > adds", "calc > deep: inner > x", "top"},
		"jest":         {"a.test.js > calc > adds", "a.test.js > calc > deep > x > y", "a.test.js > top", "c.test.js [failed]"},
		"vitest":       {"a.test.ts > calc > adds", "a.test.ts > top", "c.test.ts [failed]"},
		"unittest":     {"test_a.TestC.test_sub (i=1)", "test_a.TestC.test_x", "test_a.TestD.setUpClass", "unittest.loader._FailedTest.test_b"},
		"pytest-inner": {"test_p.py::test_plugin"},
		"cargo":        {"src/lib.rs - add", "tests::adds", "tests::panics"},
		"ctest":        {"crashes", "slow", "subs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := os.ReadFile(filepath.Join("testdata", "runners", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			for how, in := range map[string][]byte{
				"as it is":             output,
				"with CRLF":            bytes.ReplaceAll(output, []byte("\n"), []byte("\r\n")),
				"over a progress line": bytes.ReplaceAll(output, []byte("\n"), []byte("\n[1/9] working\r\x1b[K")),
				"in colour":            bytes.ReplaceAll(output, []byte("\n"), []byte("\x1b[0m\n\x1b[31m")),
				"twice":                slices.Concat(output, output),
			} {
				if got := Tests(in); !slices.Equal(got, set(want)) {
					t.Errorf("%s:\n%s\nwant\n%s", how, strings.Join(got, "\n"), strings.Join(set(want), "\n"))
				}
			}
		})
	}
}

// Which tests each runner says passed. What was skipped, is to be done, or failed too, did not.
func TestPassed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"cargo": "tests::ok", "ctest": "adds", "mocha": "calc > ok", "node-spec": "calc > fine|fine|ok", "node-tap": "calc > fine|ok",
		"node-junit": "test.fine|test.ok", "tape": "should be truthy",
	} {
		output, err := os.ReadFile(filepath.Join("testdata", "runners", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Read(output).Passed, "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, c := range map[string]struct{ in, want string }{
		"go":                     {"--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\n--- SKIP: TestC (0.00s)\nok  \tx/y\t0.1s\n", "x/y.TestA|x/y.TestA/b"},
		"go: in one that failed": {"--- FAIL: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\n    --- FAIL: TestA/c (0.00s)\nFAIL\tx\t0.1s\n", "x.TestA/b"},
		"go: of no package":      {"--- PASS: TestA (0.00s)\n", "TestA"},
		"go: both":               {"--- PASS: TestA (0.00s)\n--- FAIL: TestA (0.00s)\nFAIL\tx\t0.1s\n", ""},
		"go: in a log":           {"    a_test.go:3: --- PASS: TestB (0.00s)\n  --- PASS: TestC (0.00s)\nok  \tx\t0.1s\n", ""},
		"go: an event alone":     {`{"Action":"pass","Package":"x","Test":"TestA"}` + "\n", ""},
		"pytest -v":              {"test_a.py::test_x[1] PASSED       [ 50%]\ntest_a.py::test_y FAILED\ntest_a.py::test_z SKIPPED (no)\n", "test_a.py::test_x[1]"},
		"pytest -rA":             {"PASSED test_a.py::T::test_x\nXPASS test_a.py::test_y\nPASSED over\n", "test_a.py::T::test_x"},
		"pytest: a worker":       {"[gw0] [ 50%] PASSED test_a.py::test_x \n[gw1] PASSED test_a.py::test_y\n", "test_a.py::test_x|test_a.py::test_y"},
		"unittest -v":            {"test_a (t.T.test_a) ... ok\ntest_b (t.T)\nWhat it does. ... ok\ntest_c (t.T.test_c) ... FAIL\ntest_d (t.T.test_d) ... skipped 'no'\nprose ... ok\n", "t.T.test_a|t.T.test_b"},
		"unittest -v: printed":   {"test_a (t.T.test_a) ... one\ntwo\nok\ntest_b (t.T.test_b)\nDoc. ... onetwook\ntest_c (t.T.test_c) ...\none\nERROR\nis ok\ntest_d (t.T.test_d)\nno result\nis ok\n", "t.T.test_a|t.T.test_b"},
		"tap":                    {"ok 1 - a\nok 2\nok 3 - c # SKIP\nok 4 - d # TODO\nok\nok then\n# Subtest: e\n    ok 1 - f\nok 5 - e\n", "a|e|e > f|test 2"},
		"nextest":                {"        PASS [   0.004s] (2/2) shop tests::ok\n", "shop tests::ok"},
		"googletest":             {"[       OK ] Calc.Adds (0 ms)\n[  SKIPPED ] Calc.No (0 ms)\n", "Calc.Adds"},
		"jest --verbose":         {"PASS ./a.test.js\n  calc\n    ✓ adds (2 ms)\n    deep\n      ✓ x\n    ○ skipped later\n  ✓ top (1 ms)\n\nTests: 3 passed\n  ✓ no test\n", "a.test.js > calc > adds|a.test.js > calc > deep > x|a.test.js > top|no test"},
		"vitest verbose":         {" ✓ a.test.ts > calc > adds 6ms\n ↓ a.test.ts > later\n", "a.test.ts > calc > adds"},
		"junit":                  {`<testsuite><testcase name="a"/><testcase name="b"><skipped/></testcase><testcase name="c"></testcase><testcase name="d"><error/></testcase></testsuite>`, "a|c"},
		"a name twice":           {"ok 1 - a\nnot ok 2 - a\n", ""},
	} {
		if got := strings.Join(Read([]byte(c.in)).Passed, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestUnseen(t *testing.T) {
	t.Parallel()
	r := Results{Passed: []string{"p.TestA", "t.T.test_sub", "test_a.py::test_x", "b.test.js > y", "q.TestB"}, Failed: []string{"q.TestC"}}
	tests := []string{"p.TestA", "p.TestB", "p [build failed]", "t.T.test_sub (i=1)", "t.T.test_sub [one] (i=1)", "t.T.test_sub [one]", "test_a.py", "b.test.js [failed]", "q [failed]", "gone [build failed]", "t.T", "unittest.loader._FailedTest.t", "unittest.loader._FailedTest.u"}
	if got, want := r.Unseen(tests), []string{"p.TestB", "q [failed]", "gone [build failed]", "t.T", "unittest.loader._FailedTest.u"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := r.And(Results{Passed: []string{"q.TestC"}, Failed: []string{"p.TestA"}}).Unseen([]string{"p.TestA", "q.TestC"}); len(got) != 2 {
		t.Errorf("what failed in one part: unseen is %q", got)
	}
}

// A test of the core has to be among those that pass, where its runner names them.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, lost, unnamed string }{
		"node":                    {"▶ a\n  ✖ x (1ms)\n▶ a (2ms)\n", "▶ a\n  ✔ y (1ms)\n▶ a (2ms)\n", "a > x", ""},
		"node, seen":              {"▶ a\n  ✖ x (1ms)\n▶ a (2ms)\n", "▶ a\n  ✔ x (1ms)\n▶ a (2ms)\n", "", ""},
		"node: a suite":           {"✖ a (1ms)\n", "▶ a\n  ✔ x (1ms)\n▶ a (2ms)\n", "", ""},
		"node: a file":            {"✖ b.test.js (1ms)\n", "✔ x (1ms)\n", "", ""},
		"tap":                     {"not ok 1 - a\nok 2 - b\n", "ok 1 - c\nok 2 - b\n", "a", ""},
		"tap: skipped":            {"not ok 1 - a\nok 2 - b\n", "ok 1 - a # SKIP\nok 2 - b\nok 3 - c\n", "a", ""},
		"tap: nothing is named":   {"not ok 1 - a\n", "fine\n", "", "a"},
		"another runner":          {"not ok 1 - a\n", "✔ x (1ms)\n", "", "a"},
		"prove":                   {"#   Failed test 'a'\n", "t/a.t .. ok\n", "", "a"},
		"unittest":                {"test_a (t.T.test_a) ... FAIL\n" + rule + "FAIL: test_a (t.T.test_a)\n", "test_b (t.T.test_b) ... ok\n", "t.T.test_a", ""},
		"unittest without names":  {rule + "FAIL: test_a (t.T.test_a)\n", "Ran 1 test in 0.1s\n", "", "t.T.test_a"},
		"unittest: a class":       {rule + "ERROR: setUpClass (t.T)\n", "test_b (t.T.test_b) ... ok\n", "", ""},
		"unittest: a package":     {rule + "ERROR: shop (unittest.loader._FailedTest.shop)\n", "test_b (t.T.test_b) ... ok\n", "", ""},
		"unittest: a test module": {rule + "ERROR: test_x (unittest.loader._FailedTest.test_x)\n", "test_b (t.T.test_b) ... ok\n", "unittest.loader._FailedTest.test_x", ""},
		"pytest":                  {"FAILED t.py::test_a[1] - assert\n", "PASSED t.py::test_a[2]\n", "t.py::test_a[1]", ""},
		"ctest":                   {"The following tests FAILED:\n\t  1 - a (Failed)\n", "1/1 Test #1: b ...   Passed    0.00 sec\n", "a", ""},
		"googletest in ctest":     {"[  FAILED  ] A.B (0 ms)\n", "1/1 Test #1: b ...   Passed    0.00 sec\n", "", "A.B"},
		"libtest in nextest":      {"test a::b ... FAILED\n", "        PASS [   0.004s] shop a::b\n", "", "a::b"},
		"jest":                    {"FAIL ./a.test.js\n  ● calc › adds\n", "PASS ./a.test.js\n  calc\n    ✓ subs (2 ms)\n", "a.test.js > calc > adds", ""},
		"jest without names":      {"FAIL ./a.test.js\n  ● calc › adds\n", "PASS ./a.test.js\n", "", "a.test.js > calc > adds"},
		"mocha":                   {mochaFails, "  calc\n    ✔ subs\n\n  1 passing (2ms)\n", "calc > adds", ""},
		"mocha: the same title":   {mochaFails, "  other\n    ✔ adds\n\n  1 passing (2ms)\n", "calc > adds", ""},
		"mocha, and a log":        {mochaFails, "  calc\nlog\n    ✔ adds\n\n  1 passing (2ms)\n", "", ""},
		"mocha, and a list":       {mochaFails, "  calc\n   - one\n    ✔ adds\n\n  1 passing (2ms)\n", "", ""},
		"go":                      {"--- FAIL: TestA (0.00s)\nFAIL\tx/y\t0.1s\n", "--- PASS: TestB (0.00s)\nok  \tx/y\t0.1s\n", "x/y.TestA", ""},
		"go: a package":           {"FAIL\tx/y [build failed]\n", "--- PASS: TestB (0.00s)\nok  \tx/y\t0.1s\n", "", ""},
	} {
		before := Read([]byte(c.before))
		if len(before.Failed) == 0 {
			t.Errorf("%s: nothing failed", name)
		}
		lost, unnamed := Read([]byte(c.after)).Lost(Innermost(before.Failed), before)
		if strings.Join(lost, "|") != c.lost || strings.Join(unnamed, "|") != c.unnamed {
			t.Errorf("%s: %q and %q, want %q and %q", name, lost, unnamed, c.lost, c.unnamed)
		}
	}
	now := Read([]byte("ok 1 - c\n")).And(Read([]byte("ok 1 - a\n")))
	if lost, _ := now.Lost([]string{"a", "b", "unknown"}, Read([]byte("not ok 1 - a\nnot ok 2 - b\n"))); !slices.Equal(lost, []string{"b"}) {
		t.Errorf("of two parts: %q", lost)
	}
}

const (
	mochaFails = "  1 failing\n\n  1) calc\n       adds:\n     Error\n"
	rule       = "======================================================================\n"
)

// Programs that run several runners write something before each of their lines.
func TestTestsOfNestedRunners(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"node-spec", "node-tap", "jest", "vitest", "unittest", "cargo", "ctest"} {
		output, err := os.ReadFile(filepath.Join("testdata", "runners", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		want := Tests(output)
		for _, prefix := range []string{"packages/a test: ", "@x/y:test: ", "[0] ", "web  | ", "12: "} {
			in := prefix + strings.ReplaceAll(strings.TrimSuffix(string(output), "\n"), "\n", "\n"+prefix) + "\n"
			if got := Tests([]byte(in)); !slices.Equal(got, want) {
				t.Errorf("%s behind %q:\n%q\nwant\n%q", name, prefix, got, want)
			}
		}
	}
}

func TestTestsByRunner(t *testing.T) {
	t.Parallel()
	pytest := "FAILED test_a.py::test_x - assert 1 == 2\n"
	for name, c := range map[string]struct{ in, want string }{
		"node: a file":             {"✖ /srv/a/b/x.test.js (45.1ms)\n", "…/b/x.test.js"},
		"node: to do":              {"✖ later (1ms) # TODO\n✔ fine (1ms)\n﹣ skipped (1ms) # SKIP\n", ""},
		"node: another ✖":          {"✖ failing tests:\n✖ 2 problems (2 errors, 0 warnings)\n✖ eslint --fix:\n", ""},
		"node: the list again":     {"▶ s\n  ✖ x (1ms)\n▶ s (2ms)\n\n✖ failing tests:\n\ntest at a.test.js:1:1\n✖ x (1ms)\n", "s > x"},
		"tap: numbers and nothing": {"1..3\nnot ok\nnot ok 2\nnot ok 3 -\n", "test|test 2|test 3"},
		"tap: directives":          {"not ok 1 - a # TODO later\nnot ok 2 - b # skip no net\nnot ok 3 - c \\# d\nok 4 - e\n", "c # d"},
		"tap: bats says a time":    {"not ok 1 adds in 12ms\nnot ok 2 subs # in 3 sec\n", "adds|subs"},
		"tap: subtests":            {"# Subtest: a\n    # Subtest: b\n    not ok 1 - b\n    # Subtest: c\n    not ok 2 - c\nnot ok 1 - a\n", "a|a > b|a > c"},
		"tap: prose":               {"this is not ok\nnot okay\nnot ok: see below\n", ""},
		"perl without -v":          {"#   Failed test 'adds'\n#   at t/a.t line 5.\n#   Failed test (t/b.t at line 3)\n", "adds|t/b.t at line 3"},
		"jest: no test is named":   {"FAIL src/a.test.js\nFAIL  unit src/b.spec.tsx (5.1 s)\nPASS src/c.test.js\n", "src/a.test.js [failed]|src/b.spec.tsx [failed]"},
		"jest: a console":          {"PASS a.test.js\n  ● Console\n  ● not a test\nFAIL b.test.js\n  ● Console\n\n  ● x\n", "b.test.js > x"},
		"vitest: a project":        {" FAIL  |unit| src/a.test.ts > calc > adds\n FAIL   web  src/b.test.ts > x\n", "src/a.test.ts > calc > adds|src/b.test.ts > x"},
		"mocha: before the list":   {"  1) calc\n       adds:\n", ""},
		"mocha: torn":              {"  2 failing\n\n  1) calc\n\n  2) x:\n", "x"},
		"pytest: summary":          {pytest + "FAILED a/test_b.py::TestC::test_y[1 - x] - boom - y\nERROR test_c.py\nERROR test_d.py - NameError\nERROR test_e.py::test_z - fixture\n", "a/test_b.py::TestC::test_y[1 - x]|test_a.py::test_x|test_c.py|test_d.py|test_e.py::test_z"},
		"pytest: without messages": {"FAILED test_a.py::test_x\nFAILED test_a.py::test_y[a-b]\n", "test_a.py::test_x|test_a.py::test_y[a-b]"},
		"pytest: -v":               {"test_a.py::test_x FAILED                 [ 50%]\ntest_a.py::test_ok PASSED   [100%]\ntest_a.py::test_z ERROR\n" + pytest, "test_a.py::test_x|test_a.py::test_z"},
		"pytest: xdist":            {"[gw0] [ 50%] FAILED test_a.py::test_x \n[gw1] [100%] PASSED test_a.py::test_ok \n" + pytest, "test_a.py::test_x"},
		"pytest: -rA":              {"PASSED test_a.py::test_ok\n" + pytest + "XFAIL test_a.py::test_q - later\n", "test_a.py::test_x"},
		"pytest: no node id":       {"ERROR: file or directory not found: x\nFAILED (failures=1)\nERROR in app.py - x\nFAILED to connect to a::b\n", ""},
		"pytest: an address":       {"FAILED t.py::test_x[<O at 0x7f12ab34cd56>]\n", "t.py::test_x[<O at 0x…>]"},
		"unittest: before 3.11":    {strings.Repeat("=", 70) + "\nFAIL: test_x (test_a.TestC)\n", "test_a.TestC.test_x"},
		"unittest: no rule":        {"FAIL: test_x (test_a.TestC)\nERROR: broken (x)\n", ""},
		"cargo: only the list":     {"failures:\n    a::b\n    c::d\n\ntest result: FAILED.\n", "a::b|c::d"},
		"cargo: prose":             {"failures:\n\ntest it ... ok\n    a::b\n", ""},
		"nextest":                  {"        FAIL [   0.006s] (1/2) shop tests::adds\n        PASS [   0.004s] (2/2) shop tests::ok\n     SIGABRT [   0.1s] shop::it crashes\n", "shop tests::adds|shop::it crashes"},
		"ctest: labels":            {"The following tests FAILED:\n\t  2 - subs two (Failed)    slow\nErrors while running CTest\n\t  3 - not (Failed)\n", "subs two"},
		"googletest":               {"[ RUN      ] Calc.Adds\n[  FAILED  ] Calc.Adds (0 ms)\n[  FAILED  ] P/Calc.Subs/1, where GetParam() = 2 (0 ms)\n[  FAILED  ] 2 tests, listed below:\n[  FAILED  ] Calc.Adds\n", "Calc.Adds|P/Calc.Subs/1"},
		"rspec":                    {"Failed examples:\n\nrspec ./spec/a_spec.rb:5 # Calc adds\nrspec './spec/a_spec.rb[1:2]' # Calc subs\nrspec took long\n", "spec/a_spec.rb Calc adds|spec/a_spec.rb Calc subs"},
		"junit: one line":          {`<testsuite><testcase classname="a.B" name="x &amp; y"><failure message="a > b"/></testcase><testcase name="ok"/><testcase name='z'><error>no</error></testcase></testsuite>`, "a.B.x & y|z"},
		"junit: what is quoted":    {"<testcase name=\"a\">\n<system-out><![CDATA[<failure>]]></system-out>\n</testcase>\n<failure/>\n", ""},
		"junit: skipped":           {`<testcase name="a"><skipped/></testcase>`, ""},
		"two runners":              {"not ok 1 - a\n" + pytest, "a|test_a.py::test_x"},
	} {
		if got := strings.Join(Tests([]byte(c.in)), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A name is bounded, and there are only so many, whoever prints them.
func TestTestsAreBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	var b bytes.Buffer
	for range 5_000 {
		b.WriteString("# Subtest: " + strings.Repeat("x", 50) + "\n    # Subtest: y\n        ")
	}
	deep := strings.Repeat(" ", 60_000)
	b.WriteString("\n" + deep + "not ok 1 - " + strings.Repeat("é", 3_000) + "\n  1 failing\n  1) a\n")
	b.WriteString(strings.Repeat("     b\n", 5_000))
	b.WriteString("<testcase name=\"" + strings.Repeat("n", 1<<20) + "\"><failure/>\n")
	for _, name := range Tests(b.Bytes()) {
		if len(name) > maxName+2 { // a letter that was cut through became U+FFFD
			t.Errorf("a name of %d bytes", len(name))
		}
	}
	b.Reset()
	for i := range maxTests + 10 {
		b.WriteString("not ok " + strings.Repeat("1", i%5+1) + " - " + strings.Repeat("a", i%400) + string(rune('a'+i%26)) + string(rune('a'+i/400%26)) + "\n")
	}
	if n := len(Tests(b.Bytes())); n > maxTests {
		t.Errorf("%d names", n)
	}
}

// A session of pytest inside of another counts for neither.
func TestInnerPytest(t *testing.T) {
	t.Parallel()
	output, err := os.ReadFile(filepath.Join("testdata", "runners", "pytest-inner.txt"))
	if err != nil {
		t.Fatal(err)
	}
	how := Signature{ExitCode: 1, Tests: Tests(output)}
	passed := "===== test session starts =====\n===== 2 passed in 0.10s =====\n"
	for after, want := range map[string]string{
		passed:                            "",
		"===== 1 passed in 0.10s =====\n": "tests_not_run: pytest ran 2 tests when",
		"1 passed in 0.10s\n" + "===== test session starts =====\n1 passed in 0.10s\n": "",
	} {
		if got := Unproven(how, output, []byte(after), Ran(output)); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", after, got, want)
		}
	}
	twice := "=== FAILURES ===\nFAILED a.py::test_a\n1 failed in 0.10s\n=== test session starts ===\nFAILED b.py::test_b\n=== 1 failed in 0.10s ===\n"
	if got := Tests([]byte(twice)); !slices.Equal(got, []string{"a.py::test_a", "b.py::test_b"}) {
		t.Errorf("two sessions: %q", got)
	}
}
