package verify

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
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

// A test that had not failed before has to fail twice to count as broken. A task that verify names has to fail once,
// also after a check that counts as passed although it failed.
func TestTwice(t *testing.T) {
	t.Parallel()
	const old, fresh = "ok 1 - adds\nnot ok 2 - asks where\n", "ok 1 - adds\nnot ok 2 - is quiet\n"
	for name, c := range map[string]struct {
		prints []string // by the check, each time it runs
		lint   []bool   // whether it passes, each time it runs
		ran    string   // with + for what counts as passed
		reason string
	}{
		"lint fails once":                  {[]string{old}, []bool{false, true}, "check+ lint-", "check_failed"},
		"a test breaks once":               {[]string{fresh, old, old}, []bool{true}, "check+ check+ lint+", ""},
		"a test breaks once, lint fails":   {[]string{fresh, old}, []bool{false, true}, "check- check+ lint-", "check_failed"},
		"a test breaks twice":              {[]string{fresh, fresh}, nil, "check- check-", "check_failed"},
		"what failed before and lint pass": {[]string{old, old}, []bool{true}, "check+ lint+", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := (&checks{}).request(t, sandbox.None)
			f := *q.Failure
			config := *f.Config
			config.Tasks = append(slices.Clone(config.Tasks), &pipeline.Task{Name: "lint"})
			f.Config, f.Signature = &config, testreport.Signature{ExitCode: 1, Tests: []string{"adds"}}
			prints, lint := c.prints, c.lint
			f.RunTask = func(_ context.Context, _ string, task *pipeline.Task, _ sandbox.Box, out io.Writer) (record.Task, error) {
				failed := record.Task{Name: task.Name, Status: record.Failed, ExitCode: new(1), DurationMS: new(int64(1))}
				if task.Name == "check" {
					_, err := io.WriteString(out, prints[0])
					prints = prints[1:]
					return failed, err
				}
				if passes := lint[0]; passes {
					failed.Status, failed.ExitCode = record.Passed, new(0)
				}
				lint = lint[1:]
				return failed, nil
			}
			q.Failure, q.Also, q.Core = &f, []string{"lint"}, failedtask.NewCore(&f)
			q.Core.Narrow(testreport.Signature{ExitCode: 1, Tests: []string{"adds", "asks where"}}, nil, testreport.Results{})
			r := Run(t.Context(), q)
			var ran []string
			for _, check := range r.Checks.Proposed {
				sign := "-"
				if check.Passed || check.CorePassed {
					sign = "+"
				}
				ran = append(ran, check.Task+sign)
			}
			reason := ""
			if r.Checks.Reason != nil {
				reason = *r.Checks.Reason
			}
			if got := strings.Join(ran, " "); got != c.ran || reason != c.reason {
				t.Errorf("%s: %q, want %s: %q", got, reason, c.ran, c.reason)
			}
		})
	}
}
