package failedtask

import (
	"maps"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A Core is what a failure is judged by where its tests have names: the tests that fail in the run and in every copy
// without a patch. A test that is flaky or that depends on the machine is not part of it.
type Core struct {
	Tests  []string        // sorted, without those that fail only because a test in them does; nil: there are none
	Others []fix.OtherTest // failed in some of the runs and copies, not in all
	Ran    map[string]int  // by runner, how many tests ran where the fewest did

	run    testreport.Signature
	inRun  []string
	copies map[string]int // how many copies a test failed in
	times  map[string]int // how many tests of a name failed in a copy at once
	n      int            // copies
}

// JUnit is the runner of JUnit files in a Core's Ran.
const JUnit = "JUnit"

// NewCore returns the core of a failure of which no copy is known: all its tests.
func NewCore(f *Failure) *Core {
	tests := testreport.Innermost(f.Signature.Tests)
	slices.Sort(tests)
	tests = slices.Compact(tests)
	c := &Core{Tests: tests, run: f.Signature, inRun: tests, copies: map[string]int{}, times: map[string]int{}}
	var reports testreport.Reports
	if f.Reports != nil {
		reports = *f.Reports
	}
	c.Ran = Ran(f.Log, reports)
	return c
}

// Ran returns how many tests a check ran, by runner, by its output and the reports that it wrote.
func Ran(output []byte, reports testreport.Reports) map[string]int {
	n := testreport.Ran(output)
	if reports.Ran > 0 {
		n[JUnit] = reports.Ran
	}
	return n
}

// CoreOf returns the core that a record has, or, where the failure came back exactly, that of f.
func CoreOf(f *Failure, r *fix.Reproduction) *Core {
	c := NewCore(f)
	if r != nil && len(r.Core) > 0 {
		c.Tests, c.Others, c.Ran = r.Core, r.Others, r.Ran
	}
	return c
}

// Fails reports whether a check failed as in the run as far as the core tells: in the same way, and with all of its
// tests.
func (c *Core) Fails(s testreport.Signature) bool {
	return len(c.Tests) > 0 && s.TimedOut == c.run.TimedOut && s.Signal == c.run.Signal &&
		len(testreport.Without(c.Tests, testreport.Innermost(s.Tests))) == 0
}

// Narrow takes out of the core what did not fail in a copy, where the check failed and printed results.
func (c *Core) Narrow(s testreport.Signature, ran map[string]int, results testreport.Results) {
	failed := slices.Sorted(slices.Values(testreport.Innermost(s.Tests)))
	failed = slices.Compact(failed)
	if s.TimedOut != c.run.TimedOut || s.Signal != c.run.Signal {
		failed = nil
	}
	c.n++
	for _, test := range failed {
		c.copies[test]++
		c.times[test] = max(c.times[test], results.Times(test))
	}
	c.Tests = slices.DeleteFunc(slices.Clone(c.inRun), func(test string) bool { return c.copies[test] < c.n })
	maps.DeleteFunc(c.Ran, func(runner string, _ int) bool { return ran[runner] == 0 })
	for runner, n := range c.Ran {
		c.Ran[runner] = min(n, ran[runner])
	}
	c.Others = nil
	all := slices.Sorted(maps.Keys(c.copies))
	all = append(all, testreport.Without(c.inRun, all)...)
	slices.Sort(all)
	for _, test := range testreport.Without(all, c.Tests) {
		o := fix.OtherTest{Test: test, Run: slices.Contains(c.inRun, test), Copies: c.copies[test], Why: fix.OfEnvironment}
		if c.times[test] > 1 {
			o.Times = c.times[test]
		}
		if o.Copies > 0 && o.Copies < c.n {
			o.Why = fix.OfChance
		}
		c.Others = append(c.Others, o)
	}
}

// inCopies returns the names of those Others that failed in a copy too, as often as in a result.
func (c *Core) inCopies(r testreport.Results) (names []string) {
	for _, o := range c.Others {
		if o.Copies > 0 && r.Times(o.Test) <= max(1, o.Times) {
			names = append(names, o.Test)
		}
	}
	return names
}

// Named returns the names of Others.
func (c *Core) Named() (names []string) {
	for _, o := range c.Others {
		names = append(names, o.Test)
	}
	return names
}

// Judge compares how a check failed with a patch with how it failed without one, in copies; Broken are all tests that
// had not failed in any. It returns nil where names cannot tell: a failure outside of any test, by a signal or by a time
// limit, or with an exit code that is neither that of the run nor the number of failing tests.
func (c *Core) Judge(t *record.Task, r testreport.Results) *fix.TestResults {
	failed := testreport.Innermost(r.Failed)
	s := SignatureOf(t)
	if len(c.Tests) == 0 || len(failed) == 0 || t.Status != record.Failed || s.Signal != "" ||
		s.ExitCode != c.run.ExitCode && s.ExitCode != len(failed) {
		return nil
	}
	fixed := slices.DeleteFunc(testreport.Without(c.Tests, failed), func(test string) bool {
		return slices.ContainsFunc(failed, func(name string) bool { return testreport.Holds(name, test) })
	})
	fresh := testreport.Without(failed, c.Tests)
	broken := testreport.Without(fresh, c.inCopies(r))
	return &fix.TestResults{
		Fixed: fixed, Failing: testreport.Without(c.Tests, fixed),
		Unchanged: testreport.Without(fresh, broken), Broken: broken,
	}
}
