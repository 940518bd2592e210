package judge

import (
	"slices"
	"strings"
	"testing"
)

func TestAskGo(t *testing.T) {
	t.Parallel()
	failed := []string{"example.com/shop.TestPrice/net_1.5", "example.com/shop.TestPrice", "example.com/shop/tax.ExampleRate", "example.com/shop/b [build failed]", "TestAlone"}
	const run = "go test -json -count=1 -run=^(ExampleRate|TestAlone|TestPrice)$"
	for c, want := range map[string]string{
		"[go test ./...":                   run + " ./...",
		"[go test -race -run Price ./shop": run + " -race -run Price ./shop",
		"go test -tags=a,b ./... ":         run + " -tags=a,b ./...",
		"[go test ./... -args -v":          run + " ./... -args -v",
		"[go test -v ./...":                "",
		"[go test -test.v=true ./...":      "",
		"[go test --json ./...":            "",
		"[go test -c":                      "",
		"[go vet ./...":                    "",
		"[make test":                       "",
		"[go":                              "",
		"go test ./... && true":            "",
		"X=1 go test ./...":                "",
		"go test ./... | tee log":          "",
	} {
		command := Command{Shell: c}
		if argv, ok := strings.CutPrefix(c, "["); ok {
			command = Command{Argv: strings.Fields(argv)}
		}
		argv, tests := AskGo(command, failed)
		if got := strings.Join(argv, " "); got != want {
			t.Errorf("%q: %q, want %q", c, got, want)
		}
		if want != "" && !slices.Equal(tests, []string{".TestAlone", "example.com/shop.TestPrice", "example.com/shop/tax.ExampleRate"}) {
			t.Errorf("%q asks for %q", c, tests)
		}
	}
	if argv, _ := AskGo(Command{Shell: "go test ./..."}, []string{"example.com/shop [build failed]", "price works"}); argv != nil {
		t.Errorf("nothing to ask for, and %q", argv)
	}
}

func TestUnprovenGo(t *testing.T) {
	t.Parallel()
	const passed = `{"Action":"pass","Package":"example.com/shop","Test":"TestPrice"}` + "\n"
	for output, want := range map[string]string{
		passed: "",
		"# built\n  " + passed + `{"Action":"pass","Package":"example.com/shop"}`: "",
		"": "example.com/shop.TestPrice",
		`{"Action":"pass","Package":"example.com/shop"}`:                                  "example.com/shop.TestPrice",
		`{"Action":"skip","Package":"example.com/shop","Test":"TestPrice"}`:               "example.com/shop.TestPrice",
		`{"Action":"pass","Package":"example.com/other","Test":"TestPrice"}`:              "example.com/shop.TestPrice",
		`{"Action":"pass","Package":"example.com/shop","Test":"TestPrice/net"}`:           "example.com/shop.TestPrice",
		`{"Action":"output","Package":"example.com/shop","Output":"--- PASS: TestPrice"}`: "example.com/shop.TestPrice",
	} {
		got := UnprovenGo([]string{"example.com/shop.TestPrice"}, []byte(output))
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
	if got := UnprovenGo([]string{".TestPrice"}, []byte(passed)); got != "" {
		t.Errorf("a test without its package: %q", got)
	}
}
