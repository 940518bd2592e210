package verify

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A runner that names only tests that fail is asked for the others too.
func TestNaming(t *testing.T) {
	t.Parallel()
	argv := func(words string) pipeline.Command {
		var c pipeline.Command
		for word := range strings.FieldsSeq(words) {
			c.Argv = append(c.Argv, pipeline.Text{Value: word, Hidden: "hidden"})
		}
		return c
	}
	shell := func(text string) pipeline.Command { return pipeline.Command{Shell: pipeline.Text{Value: text}} }
	for _, c := range []struct {
		run   pipeline.Command
		tests string
		want  string
	}{
		{argv("python3 -m unittest discover"), "t.T.test_a", "python3 -m unittest discover -v"},
		{shell("python3 -m unittest discover -s tests"), "t.T.test_a", "python3 -m unittest discover -v -s tests"},
		{shell("python3 -m unittest"), "t.T.test_a", "python3 -m unittest -v"},
		{argv("npx jest a"), "a.test.js > x", "npx jest --verbose a"},
		{argv("node_modules/.bin/vitest run"), "a.test.js > x", "node_modules/.bin/vitest run --reporter=verbose"},
		{argv("prove -l t"), "adds", "prove -v -l t"},
		{shell("python3 -m unittest | tee log"), "t.T.test_a", ""},
		{argv("make test"), "x", ""},
		{argv("npx jest"), "", ""},
		{pipeline.Command{Shell: pipeline.Text{Value: "npx jest", Secrets: []string{"x"}}}, "x", ""},
	} {
		task := &pipeline.Task{Name: "test", Run: c.run}
		got := ""
		if asks := naming(task, strings.Fields(c.tests)); asks != nil {
			for _, word := range asks.Run.Argv {
				got += " " + word.Value
			}
		}
		if got = strings.TrimSpace(got); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for before, want := range map[string]string{"": "-rA", "-q": "-q -rA"} {
		task := &pipeline.Task{Run: argv("make test"), Env: []pipeline.EnvVar{{Name: "A", Text: pipeline.Text{Value: "b"}}}}
		if before != "" {
			task.Env = append(task.Env, pipeline.EnvVar{Name: "PYTEST_ADDOPTS", Text: pipeline.Text{Value: before}})
		}
		asks := naming(task, []string{"t.py::test_a"})
		if n := len(asks.Env); n != 2 || asks.Env[1].Value != want || asks.Env[0].Value != "b" || len(asks.Run.Argv) != 2 {
			t.Errorf("%+v", asks)
		}
	}
}

func TestNote(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]*fix.TestResults{
		"": {Fixed: []string{"a"}},
		"other_failures_unchanged: 2 of 3 fixed, the other failed before: c":      {Fixed: []string{"a", "b"}, Unchanged: []string{"c"}},
		"other_failures_unchanged: 1 of 3 fixed, the other 2 failed before: b, c": {Fixed: []string{"a"}, Unchanged: []string{"b", "c"}},
		"flaky_tests: failed in one try of two: f":                                {Fixed: []string{"a"}, Flaky: []string{"f"}},
	} {
		got := ""
		if n := note(r); n != nil {
			got = *n
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if note(nil) != nil {
		t.Error("a note without names")
	}
	r := Result{Verdict: Verified, Checks: fix.Verification{Note: new("flaky_tests: f")}}
	if r.String() != "verified (flaky_tests)" {
		t.Errorf("%s", &r)
	}
}
