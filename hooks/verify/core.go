package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A check that fails can still show that a patch is right: the tests of the core pass, and what fails had failed
// before without being part of it. A test that had not failed before has to fail in two copies to count as broken.

// Notes of the verdict verified.
const (
	othersUnchanged = "other_failures_unchanged"
	flakyTests      = "flaky_tests"
)

// mostNamed is how many tests a sentence names.
const mostNamed = 3

// compare sets the names of tests that the check told, and reports whether it counts as passed although it failed.
func (o *outcome) compare(q *verification, got *record.Task, p part) bool {
	o.tests = q.Core.Judge(got, o.results)
	if o.tests == nil {
		return false
	}
	if p.again != nil {
		now := o.tests.Broken
		o.tests.Broken = testreport.Without(now, testreport.Without(now, p.again))
		o.tests.Flaky = testreport.Without(union(now, p.again), o.tests.Broken)
	}
	return len(o.tests.Failing)+len(o.tests.Broken) == 0
}

// twice completes a part whose first try ended as o: where all tests of the core pass and others broke, it runs once
// more, and only what broke in both tries counts. A part that another task failed in is not repeated.
func (q *verification) twice(ctx context.Context, p part, o *outcome) *outcome {
	if o.reason.Code != checkFailed || o.failed.Name != q.Failure.Task.Name || o.tests == nil || len(o.tests.Failing) > 0 {
		return o
	}
	q.Progress.Step("had not failed before: %s; once more", english.List(o.tests.Broken, mostNamed))
	p.name, p.again = p.name+"-again", o.tests.Broken
	second := q.copy(ctx, p)
	if second.reason.Code == noTime {
		return o
	}
	if second.reason.None() {
		o.checks[len(o.checks)-1].CorePassed = true
		if second.tests == nil {
			second.tests = &fix.TestResults{Fixed: q.Core.Tests, Flaky: p.again}
		}
	}
	second.checks = append(o.checks, second.checks...)
	return second
}

// unseen tells which tests of the core a check that failed does not name as passed, if there are any. The check ran as p, and
// ended as original; asked is what go test said when it was asked by name.
func (q *verification) unseen(ctx context.Context, r *Result, p part, original, asked *outcome) fix.Reason {
	seen := original.results.And(testreport.Results{Passed: asked.results.Passed})
	left := seen.Unseen(q.Core.Tests)
	if named := q.byName(ctx, r, p, left); named != nil && named.reason.None() {
		left = seen.And(named.results).Unseen(q.Core.Tests)
	}
	if len(left) == 0 {
		return fix.Reason{}
	}
	return fix.Reason{Code: testsNotNamed, Words: "the check still fails, by tests that failed before, and does not say that " +
		english.List(left, mostNamed) + " passed; a runner that names each test could (-v)"}
}

// lost tells which tests of the core a check that passed did not run, if there are any, and the verdict then. Where they are
// made from a list in production code, other tests may have taken their place, and as many run as before. A runner that
// names no test that passed is asked to; one that cannot be asked is believed. p, original and asked are as for unseen.
func (q *verification) lost(ctx context.Context, r *Result, p part, original, asked *outcome) (verdict string, why fix.Reason) {
	f := q.Failure
	core := q.Core.Tests
	if len(asked.checks) > 0 {
		_, tests := q.goTest()
		core = testreport.Without(core, tests)
	}
	before := testreport.Read(f.Log)
	lost, unnamed := f.Printed(original.printed).Lost(core, before)
	reported := false // JUnit files name all that passed
	if f.Reports != nil {
		lost = append(lost, f.Reports.Lost(core, original.reports)...)
		reported = len(testreport.Without(core, f.Reports.Failing)) < len(core)
	}
	if len(lost) > 0 {
		return Suspect, fix.Reason{Code: testsNotRun, Words: "the runner names tests that passed, and not " + english.List(lost, mostNamed)}
	}
	if reported {
		return Verified, fix.Reason{}
	}
	named := q.byName(ctx, r, p, unnamed)
	switch {
	case named == nil:
		return Verified, fix.Reason{}
	case !named.reason.None() && named.reason.Code != checkFailed:
		return Unverified, named.reason
	}
	results := f.Printed(named.printed)
	lost, _ = results.Lost(unnamed, before)
	switch {
	case !named.reason.None() && len(results.Passed)+len(results.Failed) == 0:
		// The runner did not understand the question, and says nothing of the patch. A record of a verified fix has no
		// check that failed.
		r.Checks.OriginalChecks = r.Checks.OriginalChecks[:len(r.Checks.OriginalChecks)-len(named.checks)]
		return Verified, fix.Reason{}
	case len(lost) > 0:
		return Suspect, fix.Reason{Code: testsNotRun, Words: "asked for all names, the runner does not say that " +
			english.List(lost, mostNamed) + " passed"}
	case !named.reason.None():
		return Suspect, fix.Reason{Code: testsFailed, Words: "asked for all names, the check fails"}
	}
	return Verified, fix.Reason{}
}

// byName has the check name also the tests that pass, in a copy of its own, if some of left are not seen and its runner
// names only those that fail. It returns nil where that is not so.
func (q *verification) byName(ctx context.Context, r *Result, p part, left []string) *outcome {
	t := naming(q.Failure.Task, left)
	if t == nil {
		return nil
	}
	p.name, p.what = "by-name", "all tests by name"
	p.tasks = append(slices.Clone(p.tasks[:len(p.tasks)-1]), t)
	o := q.twice(ctx, p, q.copy(ctx, p))
	for i := range o.checks {
		o.checks[i].ByName = true
	}
	r.Checks.OriginalChecks = append(r.Checks.OriginalChecks, o.checks...)
	return o
}

// asksNames reports whether a verification has the check name all tests, in a copy of its own.
func (q *Request) asksNames() bool {
	if q.Core == nil || naming(q.Failure.Task, q.Core.Tests) == nil {
		return false
	}
	before := testreport.Read(q.Failure.Log)
	_, unnamed := before.Lost(q.Core.Tests, before)
	return len(unnamed) > 0
}

// naming returns a task like t whose runner names also the tests that pass; nil: not known how, or tests is empty.
func naming(t *pipeline.Task, tests []string) *pipeline.Task {
	if len(tests) == 0 || len(t.Run.Shell.Secrets) > 0 {
		return nil
	}
	asks := *t
	if slices.ContainsFunc(tests, func(test string) bool { return strings.Contains(test, ".py") }) {
		options := pipeline.EnvVar{Name: "PYTEST_ADDOPTS", Text: pipeline.Text{Value: "-rA"}}
		asks.Env = nil
		for _, v := range t.Env {
			if v.Name == options.Name {
				options.Text = v.Text
				options.Value += " -rA"
			} else {
				asks.Env = append(asks.Env, v)
			}
		}
		asks.Env = append(asks.Env, options)
		return &asks
	}
	argv := slices.Clone(t.Run.Argv)
	if argv == nil {
		for _, word := range testreport.PlainWords(t.Run.Shell.Value) {
			argv = append(argv, pipeline.Text{Value: word})
		}
	}
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = word.Value
	}
	at, option := testreport.AskNames(words)
	if option == "" {
		return nil
	}
	asks.Run = pipeline.Command{Argv: slices.Insert(argv, at, pipeline.Text{Value: option})}
	return &asks
}

// union returns the elements of two lists, sorted and each once.
func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// together returns what two parts that count as passed told of tests; nil: nothing that the verdict does not say.
func (q *verification) together(a, b *outcome) *fix.TestResults {
	var all fix.TestResults
	for _, o := range []*outcome{a, b} {
		if o.tests != nil {
			all.Unchanged, all.Flaky = union(all.Unchanged, o.tests.Unchanged), union(all.Flaky, o.tests.Flaky)
		}
	}
	if len(all.Unchanged)+len(all.Flaky)+len(q.Core.Others) == 0 {
		return nil
	}
	all.Fixed = q.Core.Tests
	return &all
}

// told names tests for the next attempt.
func told(t *fix.TestResults) string {
	if t == nil {
		return ""
	}
	text := ""
	for _, of := range []struct {
		what  string
		tests []string
	}{{"still failing", t.Failing}, {"had not failed before", t.Broken}, {"need no repair", t.Unchanged}} {
		if len(of.tests) > 0 {
			text += "; " + of.what + ": " + english.List(of.tests, 10)
		}
	}
	return text
}

// note qualifies the verdict verified by what the checks told of tests; nil: nothing does.
func note(t *fix.TestResults) *string {
	if t == nil {
		return nil
	}
	var parts []string
	if n, left := len(t.Fixed), len(t.Unchanged); left > 0 {
		other := "the other"
		if left > 1 {
			other = fmt.Sprintf("the other %d", left)
		}
		parts = append(parts, fmt.Sprintf("%s: %d of %d fixed, %s failed before: %s", othersUnchanged, n, n+left, other,
			english.List(t.Unchanged, mostNamed)))
	}
	if len(t.Flaky) > 0 {
		parts = append(parts, fmt.Sprintf("%s: failed in one try of two: %s", flakyTests, english.List(t.Flaky, mostNamed)))
	}
	if parts == nil {
		return nil
	}
	return new(strings.Join(parts, "; "))
}
