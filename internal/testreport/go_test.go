package testreport

import (
	"slices"
	"strings"
	"testing"
)

func TestAskGo(t *testing.T) {
	t.Parallel()
	failed := []string{"example.com/shop.TestPrice/net_1.5", "example.com/shop.TestPrice", "example.com/shop/tax.ExampleRate", "example.com/shop/b [build failed]", "TestAlone"}
	asked := set(slices.Delete(slices.Clone(failed), 3, 4))
	const run = "go test -json -count=1 -run=^(ExampleRate|TestAlone|TestPrice)$"
	for c, want := range map[string]string{
		"[go test ./...":                   run + " ./...",
		"[go test -race -run Price ./shop": run + " -race -run Price ./shop",
		"go test -tags=a,b ./... ":         run + " -tags=a,b ./...",
		"[go test ./... -args -v":          run + " ./... -args -v",
		"[go test -v ./...":                run + " -v ./...",
		"[go test --json ./...":            run + " --json ./...",
		"[go test -c":                      "",
		"[go vet ./...":                    "",
		"[make test":                       "",
		"[go":                              "",
		"go test ./... && true":            "",
		"X=1 go test ./...":                "",
		"go test ./... | tee log":          "",
	} {
		var ran []string
		shell, isArgv := strings.CutPrefix(c, "[")
		if isArgv {
			ran = strings.Fields(shell)
		}
		argv, tests := AskGo(ran, shell, failed)
		if got := strings.Join(argv, " "); got != want {
			t.Errorf("%q: %q, want %q", c, got, want)
		}
		if want != "" && !slices.Equal(tests, asked) {
			t.Errorf("%q asks for %q", c, tests)
		}
	}
	if argv, _ := AskGo(nil, "go test ./...", []string{"example.com/shop [build failed]", "price works"}); argv != nil {
		t.Errorf("nothing to ask for, and %q", argv)
	}
}

func TestUnprovenGo(t *testing.T) {
	t.Parallel()
	const (
		event  = `{"Action":"pass","Package":"example.com/shop","Test":"TestPrice"}` + "\n"
		ended  = `{"Action":"output","Package":"example.com/shop","Test":"TestPrice","Output":"--- PASS: TestPrice (0.00s)\n"}` + "\n"
		passed = ended + event
		no     = "example.com/shop.TestPrice"
	)
	for output, want := range map[string]string{
		passed: "",
		"# built\n  " + passed + `{"Action":"pass","Package":"example.com/shop"}`: "",
		"":    no,
		event: no,
		ended: no,
		`{"Action":"output","Package":"example.com/shop","Test":"TestPrice","Output":"=== RUN   TestPrice\n"}` + "\n" + event: no,
		`{"Action":"pass","Package":"example.com/shop"}`:                                                                      no,
		ended + `{"Action":"skip","Package":"example.com/shop","Test":"TestPrice"}`:                                           no,
		strings.ReplaceAll(passed, "shop", "other"):                                                                           no,
		strings.ReplaceAll(passed, "TestPrice", "TestPrice/net"):                                                              no,
		`{"Action":"output","Package":"example.com/shop","Output":"--- PASS: TestPrice (0.00s)"}` + "\n" + event:              no,
	} {
		got := UnprovenGo([]string{"example.com/shop.TestPrice"}, []byte(output))
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
	below := strings.ReplaceAll(strings.ReplaceAll(passed, "TestPrice", "TestPrice/net"), `"--- `, `"    --- `)
	for _, text := range []string{below, strings.ReplaceAll(below, `"    --- `, `"--- `)} { // before and since Go 1.20
		if got := UnprovenGo([]string{no + "/net"}, []byte(text)); got != "" {
			t.Errorf("a test in another: %q", got)
		}
	}
	if got := UnprovenGo([]string{no + "/net"}, []byte(passed)); !strings.Contains(got, "TestPrice/net") {
		t.Errorf("a test that is no longer in one that passed: %q", got)
	}
	if got := UnprovenGo([]string{no, "inner.TestFake"}, []byte(passed+`{"Action":"pass","Package":"example.com/shop"}`)); got != "" {
		t.Errorf("a test that another printed: %q", got)
	}
	if got := UnprovenGo([]string{no, "inner.TestFake"}, []byte(passed+`{"Action":"pass","Package":"inner"}`)); !strings.Contains(got, "inner.TestFake") {
		t.Errorf("a test of another package: %q", got)
	}
	if got := UnprovenGo([]string{"inner.TestFake"}, []byte(passed)); !strings.Contains(got, "inner.TestFake") {
		t.Errorf("nothing is proven: %q", got)
	}
	if got := UnprovenGo([]string{"TestPrice"}, []byte(passed)); got != "" {
		t.Errorf("a test without its package: %q", got)
	}
}

// A test that go test was not asked for cannot fail.
func TestUnaskedGo(t *testing.T) {
	t.Parallel()
	asked := []string{"example.com/shop.TestPrice/net"}
	for _, c := range []struct{ command, failed, want string }{
		{"./...", "TestWhere", "example.com/shop.TestWhere"},
		{"./...", "TestPrice/where", ""},
		{"./...", "TestPrice", ""},
		{"-run Price ./...", "TestPriceList", ""},
		{"-v ./... -test.run=Price", "TestPriceList", ""},
		{"-v ./...", "TestPriceList", "example.com/shop.TestPriceList"},
	} {
		argv, _ := AskGo(strings.Fields("go test "+c.command), "", asked)
		output := `{"Action":"fail","Package":"example.com/shop","Test":"` + c.failed + `"}`
		got := UnaskedGo(argv, asked, []byte(output))
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("go test %s, %s fails: %q", c.command, c.failed, got)
		}
	}
}

func TestUnendedGo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	const began = "=== RUN   TestPrice\n=== RUN   TestPrice/net\n"
	for output, unended := range map[string]bool{
		began + "ok  \texample.com/shop\t0.003s\n":                                        true,
		began + "    --- PASS: TestPrice/net (0.00s)\nok  \texample.com/shop\t0.003s\n":   true,
		`{"Test":"TestPrice","Output":"=== RUN   TestPrice\n"}`:                           true,
		began + "ready--- PASS: TestPrice (0.00s)\n    --- PASS: TestPrice/net (0.00s)\n": false,
		began + "--- SKIP: TestPrice (0.00s)\n":                                           false,
		`{"Output":"=== RUN   TestPrice\n"} {"Output":"--- PASS: TestPrice (0.00s)\n"}`:   false,
		"=== RUN   TestPriceList\nok  \texample.com/shop\t0.003s\n":                       false,
		"ok  \texample.com/shop\t0.003s\n":                                                false,
		// the beginning is cut off
		"--- PASS: TestPrice (0.00s)\n": false,
	} {
		why := Unproven(Signature{Tests: []string{"example.com/shop.TestPrice/net"}}, nil, []byte(output), nil)
		if got := strings.HasPrefix(why, "tests_not_run: "); got != unended {
			t.Errorf("%q: %q", output, why)
		}
	}
	for output, unended := range map[string]bool{
		"ok  \texample.com/shop\t0.003s\n":                                           true,
		"=== RUN   TestOther\n":                                                      true,
		began + "--- PASS: TestPrice (0.00s)\n":                                      false,
		strings.Repeat("much is said\n", 1<<17) + "ok  \texample.com/shop\t0.003s\n": false,
	} {
		why := Unproven(Signature{Tests: []string{"example.com/shop.TestPrice/net"}}, []byte(began+"--- FAIL: TestPrice (0.00s)\n"), []byte(output), nil)
		if got := strings.HasPrefix(why, "tests_not_run: "); got != unended {
			t.Errorf("%.99q after it began: %q", output, why)
		}
	}
}
