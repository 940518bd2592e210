package testreport

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a real run of five packages names: failing tests after output without a line end, a build that failed, a
// panic, an exit from TestMain, a timeout. (TestFake only printed the words; as text it cannot be told apart, as
// JSON it can.)
func TestTestsOfARealRun(t *testing.T) {
	t.Parallel()
	const p = "example.com/shop/"
	want := []string{p + "a.TestX", p + "a.TestX/sub_one", p + "b [build failed]", p + "c.TestP", p + "d [failed]", p + "e.TestSlow"}
	for _, name := range []string{"testdata/gotest.txt", "testdata/gotest.json"} {
		output, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		expect := slices.Clone(want)
		if strings.HasSuffix(name, ".txt") {
			expect = set(append(expect, p+"a.TestFake"))
		}
		if got := Tests(output); !slices.Equal(got, expect) {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, expect)
		}
		if got := Tests(bytes.ReplaceAll(output, []byte("\n"), []byte("\r\n"))); !slices.Equal(got, expect) {
			t.Errorf("%s with CRLF:\n%q", name, got)
		}
	}
}

func TestTests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"nothing":                             {"", ""},
		"other text":                          {"error: FAIL\nFAIL: x\n--- FAIL\nFAIL\tx\n", ""},
		"times do not count":                  {"--- FAIL: TestA (12.34s)\nFAIL\np\nFAIL\tm/p\t12.400s\n", "m/p.TestA"},
		"two packages":                        {"--- FAIL: TestA (0.00s)\nFAIL\tm/p\t0.1s\nok  \tm/q\t0.1s\n--- FAIL: TestA (0.00s)\nFAIL\tm/r\t0.1s\n", "m/p.TestA m/r.TestA"},
		"no package is said":                  {"--- FAIL: TestA (0.00s)\nFAIL\n", "TestA"},
		"a package that passed":               {"--- FAIL: TestFake (0.00s)\nok  \tm/p\t0.1s\nFAIL\tm/q [setup failed]\n", "m/q [setup failed]"},
		"colours":                             {"\x1b[31m--- FAIL: TestA (0.00s)\x1b[0m\n\x1b]0;title\x07FAIL\tm/p\t0.1s\n", "m/p.TestA"},
		"indentation":                         {"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        --- FAIL: TestA/b/c#01 (0.00s)\nFAIL\tm/p\t0.1s", "m/p.TestA m/p.TestA/b m/p.TestA/b/c#01"},
		"in a log":                            {"--- FAIL: TestA (0.00s)\n    a_test.go:3: --- FAIL: TestIn (0.00s)\n            --- FAIL: TestIn/x (0.00s)\n        --- FAIL: TestMore (0.00s)\n        --- FAIL: TestA/b (0.00s)\nFAIL\tm/p\t0.1s\n", "m/p.TestA"},
		"a part without its whole":            {"--- FAIL: TestIn/x (0.00s)\n--- FAIL: TestA (0.00s)\n  --- FAIL: TestA/x (0.00s)\nFAIL\tm/p\t0.1s\n", "m/p.TestA"},
		"a passing test":                      {"--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\nPASS\n", ""},
		"doubles":                             {strings.Repeat("--- FAIL: TestA (0.00s)\nFAIL\tm/p\t0.1s\n", 3), "m/p.TestA"},
		"-v, a run in a test":                 {"=== RUN   TestA\n--- FAIL: TestIn (0.00s)\nFAIL\nFAIL\tin\t0.1s\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\tm/p\t0.1s\n", "m/p.TestA m/p.TestA/b"},
		"-v, in one that passes":              {"=== RUN   TestZ\n--- FAIL: TestZ (0.00s)\n=== RUN   TestA\n=== RUN   TestIn\n--- FAIL: TestIn (0.00s)\nFAIL\tin\t0.1s\nok  \tin2\t0.1s\n--- PASS: TestA (0.00s)\nFAIL\tm/p\t0.1s\n", "m/p.TestZ"},
		"-v, a process that ends":             {"=== RUN   TestA\nFAIL\tm/p\t0.1s\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\nFAIL\tm/q\t0.1s\n=== RUN   TestA\n--- PASS: TestA (0.00s)\nok  \tm/r\t0.1s\n", "m/p [failed] m/q.TestB"},
		"-v, a test that began only in print": {"=== RUN   TestA\n=== RUN   TestZ\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\n--- PASS: TestZ (0.00s)\nFAIL\tm/p\t0.1s\n", "m/p.TestB"},
		"-v, at the same time":                {"=== RUN   TestA\n=== PAUSE TestA\n=== RUN   TestB\n=== PAUSE TestB\n=== CONT  TestA\n=== CONT  TestB\n--- FAIL: TestB (0.00s)\n--- FAIL: TestA (0.00s)\nFAIL\tm/p\t0.1s\n", "m/p.TestA m/p.TestB"},
		"another tool's FAIL":                 {"FAIL src/a.test\nFAIL  src/b (5.1 s)\nFAIL: x\n", ""},
		"a quotation":                         {"    want \"--- FAIL: x (0.00s)\"\n", ""},
		"JSON that is no event":               {"{\"level\":\"error\"}\n{\n{}\n{\"Action\":5}\n", ""},
		"JSON":                                {`{"Action":"fail","Package":"m/p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"m/p"}`, "m/p.TestA"},
		"JSON, outside of any test":           {`{"Action":"fail","Package":"m/p"}`, "m/p [failed]"},
		"JSON, older go build":                {`{"Action":"output","Package":"m/p","Output":"FAIL\tm/p [build failed]\n"}` + "\n" + `{"Action":"fail","Package":"m/p"}`, "m/p [build failed]"},
		"JSON, a print is no result":          {`{"Action":"output","Package":"m/p","Test":"TestA","Output":"--- FAIL: TestB (0.00s)\n"}`, ""},
		"JSON, an inner package":              {`{"Action":"output","Package":"m/p","Test":"TestA","Output":"FAIL\tm/p [build failed]\n"}` + "\n" + `{"Action":"output","Package":"m/p","Output":"FAIL\tin [build failed]\n"}`, ""},
		"JSON between text":                   {"go: downloading\n" + `{"Action":"fail","Package":"m/p","Test":"TestA"}` + "\nexit status 1\n", "m/p.TestA"},
	} {
		if got := strings.Join(Tests([]byte(c.in)), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTestsOfHugeOutput(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	var b bytes.Buffer
	for range 20_000 {
		b.WriteString("--- FAIL: TestA (0.00s)\nFAIL\tm/p\t0.1s\nordinary text of a log that says nothing\n")
	}
	b.Write(bytes.Repeat([]byte("{"), 4<<20))
	b.WriteString("\n--- FAIL: TestB (0.00s)\n")
	began := time.Now()
	got := Tests(b.Bytes())
	if !slices.Equal(got, []string{"TestB", "m/p.TestA"}) {
		t.Errorf("%q", got)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	var many bytes.Buffer
	for i := range maxTests + 500 {
		many.WriteString("--- FAIL: Test" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i) + " (0.00s)\n")
		if many.Len() > 8<<20 {
			break
		}
	}
	for _, name := range Tests(many.Bytes()) {
		if len(name) > maxName {
			t.Fatalf("a name of %d bytes", len(name))
		}
	}
}

func FuzzTests(f *testing.F) {
	for _, seed := range []string{
		"--- FAIL: TestX (0.00s)\nFAIL\tp\t0.1s\n", "\x1b[", "\x1b]\x1b", `{"Action":"fail","Package":"p","Test":"T"}`, "panic: test timed out after 1s\n\trunning tests:\n\t\tTestSlow (1s)\n", "FAIL\tp [build failed]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		got := Tests(output)
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("%q", got)
		}
		if again := Tests(output); !slices.Equal(got, again) {
			t.Fatalf("%q, then %q", got, again)
		}
		if s := (Signature{ExitCode: 1, Tests: got}); !s.Same(s) {
			t.Fatal("not the same as itself")
		}
	})
}
