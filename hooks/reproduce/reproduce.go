// Package reproduce finds out whether a recorded failure comes back in a copy of the tree, and if not, why not. It
// spends nothing of the agent's budget, and no agent starts where the failure does not come back.
package reproduce

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// mostRuns is how often a check is run before it is called flaky or gone.
const mostRuns = 3

// A Request asks for one reproduction.
type Request struct {
	Failure *failedtask.Failure
	Homes   *homes.Homes
	Base    *scratch.Base
	// makes the base again, with everything that git ignores
	More func(context.Context) (*scratch.Base, error)
	// returns the ignored paths that were the cause when the same failure was searched before; nil: none is known
	Before   func() []string
	Log      func(name string) (w io.WriteCloser, rel string, err error) // opens the log of a check
	Progress *progress.Log
}

// A reproduction carries out a Request.
type reproduction struct {
	Request
	caches homes.Caches     // that all checks use
	ahead  []*pipeline.Task // run in each copy before the check
	checks int              // how often the check ran so far
}

// A Result tells how a reproduction ended.
type Result struct {
	State        string       // what the fix ends as without an agent; empty: the failure came back
	Reason       string       // why
	Kind         failure.Kind // of a fault of the machine
	Reproduction *fix.Reproduction
	Base         *scratch.Base    // which Reproduction speaks of, and which agents work on
	Since        time.Time        // when the first check began
	Took         time.Duration    // by the check that failed in the same way
	Core         *failedtask.Core // what a patch is judged by
	Ahead        []string         // dependencies that had to run before the check

	output []byte // the end of what the last check printed
	copies int    // of its series
}

// Run runs the failed task's own command in fresh copies. If it does not fail there as it did in the run, Run tries
// again with everything that git ignores. A failure that comes back then is for an agent only if the copy without
// those files failed too, in another way: the person is told which folders to include. If that copy passed, what git
// ignores is the cause, and the reason names it.
func Run(ctx context.Context, request Request) Result {
	q := &reproduction{Request: request}
	started, copying := time.Now(), q.Homes.CopyTime()
	r := q.run(ctx)
	if r.Reproduction != nil {
		r.Reproduction.Runs = q.checks
		r.Reproduction.DurationMS = new((time.Since(started) - (q.Homes.CopyTime() - copying)).Milliseconds())
	}
	if !r.Since.IsZero() && (r.State == fix.NotReproduced || r.State == fix.Flaky) {
		q.Progress.Step("reproduction took %s", english.Duration(time.Since(r.Since)))
	}
	return r
}

func (q *reproduction) run(ctx context.Context) Result {
	f := q.Failure
	r := Result{State: fix.NotReproduced, Reproduction: &fix.Reproduction{Result: "different"}, Base: q.Base}
	r.Reproduction.Signature.Run = f.Signature.With(testreport.Message(f.Log))
	if r.Reason = PointsBack(f, q.Base, q.Homes.Box.Tier); r.Reason != "" {
		return r
	}
	caches, note, err := q.Homes.CheckCaches(ctx)
	q.caches = caches
	switch {
	case ctx.Err() != nil:
		return r.interrupted()
	case err != nil:
		return r.noCopy(err)
	case note != "":
		q.Progress.Step("%s", note)
	}
	most := ""
	if limit := f.Limit(f.Task, f.Patience(f.Task)); limit > 0 {
		most = "at most " + english.Duration(limit) + " a run; "
	}
	q.Progress.Step("reproducing in a copy (%snot charged to the budget)", most)
	r.Since = time.Now()
	first, ended := q.withoutIgnored(ctx, r)
	if ended {
		return first
	}
	return q.withIgnored(ctx, r, first)
}

// withoutIgnored tries in copies without what git ignores, once more after the tasks whose outputs are missing there. r is
// the result so far. ended is whether the reproduction has ended with the result; else it is that of the first try.
func (q *reproduction) withoutIgnored(ctx context.Context, r Result) (first Result, ended bool) {
	q.ahead = q.stale()
	first = q.series(ctx, "gate", r)
	switch first.State {
	case "":
		q.reproduced(first)
		return q.committed(ctx, first), true
	case fix.NotReproduced:
	default:
		return first, true
	}
	if unmade := q.unmade(q.Base); first.Reproduction.Result != "passed" && len(unmade) > len(q.ahead) {
		stale := q.ahead
		q.ahead = unmade
		q.Progress.Step("not reproduced; trying again after %s", english.List(names(unmade), mostLacks))
		second := q.series(ctx, "gate-after", r)
		switch {
		case ctx.Err() != nil:
			return first.interrupted(), true
		case second.State == "":
			q.reproduced(second)
			return q.committed(ctx, second), true
		case second.State == fix.Failed:
			return second, true
		}
		q.ahead = stale
	}
	return first, false
}

// withIgnored tries in copies with all that git ignores, after first, the result without that. r is the result so far.
func (q *reproduction) withIgnored(ctx context.Context, r, first Result) Result {
	passed := first.Reproduction.Result == "passed"
	how := "not reproduced"
	if passed {
		how = "passes in a clean copy"
	}
	q.Progress.Step("%s; trying again with the files that git ignores", how)
	few := q.Base.Manifest
	all, err := q.More(ctx)
	switch {
	case ctx.Err() != nil:
		return first.interrupted()
	case err != nil:
		q.Progress.Note("a copy with the files that git ignores could not be made: " + err.Error())
		return first
	}
	if why := PointsBack(q.Failure, all, q.Homes.Box.Tier); why != "" {
		first.Base, first.Reason = all, why
		return first
	}
	if passed {
		first.Reason += uncopied(all)
	}
	more := slices.DeleteFunc(newFolders(few, all.Manifest), func(p string) bool { return !all.Ignored(p) })
	if len(more) == 0 {
		return first
	}
	r.Base = all
	started := time.Now()
	second := q.series(ctx, "gate-all", r)
	switch {
	case second.State == fix.NotReproduced:
		if c := second.Reproduction; passed && c.Result == "different" && c.Signature.Copy != nil {
			first.Reason += "; with the files that git ignores it fails in another way: " + *c.Signature.Copy
		}
		return first
	case second.State == "" && passed:
		s := &search{reproduction: q, base: all, core: second.Core, paths: more}
		if editedSince(few, all) && !s.run(ctx, nil).passed {
			switch {
			case ctx.Err() != nil:
				return first.interrupted()
			case s.fault != nil:
				return s.unexplained(first)
			}
			first.Reason += "; it fails with the files that git ignores, but the tree was edited meanwhile: run it again"
			return first
		}
		return s.explain(ctx, first, time.Since(started))
	case second.State == "":
		q.reproduced(second)
		text := failedtask.CleanTail(string(first.output), all.Top, 64<<10)
		if named := named(text, more, all.Sub); len(named) > 0 {
			more = named // not everything that is ignored was needed
		}
		q.Progress.Note("the failure needs files that git ignores; name them: " + include(more, all.Sub))
	}
	return second
}

// reproduced tells the person that the failure came back, before an agent starts.
func (q *reproduction) reproduced(r Result) {
	q.Progress.Step("reproduced in %s: %s", english.Duration(time.Since(r.Since)), q.Failure.Signature)
	if c := r.Core; len(c.Others) > 0 {
		q.Progress.Step("the fix is judged by %s; in some runs and copies failed, and in others not: %s",
			english.List(c.Tests, mostLacks), english.List(c.Named(), mostLacks))
		onlyThere := func(o fix.OtherTest) bool { return !o.Run && o.Copies == r.copies }
		if lacks := q.lacks(r.output, r.Base); lacks != "" && slices.ContainsFunc(c.Others, onlyThere) {
			q.Progress.Note("tests fail only in copies" + lacks)
		}
	}
	if hint := q.Failure.Ended.Hint; hint != nil && *hint != "" { // no agent can set a variable
		q.Progress.Note("perhaps not the code: " + *hint)
	}
}

// noCopy is the result where no copy can be made, or nothing written beside it: for the same reason another way to make
// one would fail, too.
func (r Result) noCopy(err error) Result {
	r.State, r.Kind, r.Reason = fix.Failed, failure.ScratchFailed, string(failure.ScratchFailed)+": "+err.Error()
	r.Reproduction = nil // nothing came of it
	return r
}

// interrupted is the result of a reproduction that the person ended.
func (r Result) interrupted() Result {
	r.State, r.Reason = fix.Cancelled, "interrupted"
	return r
}

// PointsBack tells why a check in a copy of base would run the tree's own code; empty: it would not.
func PointsBack(f *failedtask.Failure, base *scratch.Base, tier sandbox.Tier) string {
	switch {
	case tier == sandbox.View:
		return ""
	case failedtask.RootPath(base.Top).MatchString(failedtask.CommandLine(f.Task) + "\n"):
		return "points_back: the task's command names the tree by its absolute path, and in sandbox " + string(tier) +
			" it would run the tree's own code; write the path relative to the root"
	case len(base.PointsBack) > 0:
		return "points_back: " + english.List(base.PointsBack,
			3) + " name the tree by its absolute path, and in sandbox " +
			string(tier) +
			" a check in the copy would run the tree's own code"
	}
	return ""
}

// series runs the check until the failure is the same, or until it is clear that it is not. A check that passes is
// run again, and so is one in which other tests fail: either may be chance. Reproduced is a first run that is the
// same, or tests that fail in the run and in two copies, the core; else, what differs from copy to copy is flaky.
func (q *reproduction) series(ctx context.Context, name string, r Result) Result {
	want := q.Failure.Signature
	repro := *r.Reproduction
	r.Reproduction = &repro
	r.Core = failedtask.NewCore(q.Failure)
	passes := 0
	var last, before one
runs:
	for n := 1; n <= mostRuns; n++ {
		started, copying := time.Now(), q.Homes.CopyTime()
		before, last = last, q.once(ctx, fmt.Sprintf("%s-%d", name, n), r.Base, nil)
		if ctx.Err() != nil {
			if n == 1 {
				r.Reproduction = nil // nothing came of it
			}
			return r.interrupted()
		}
		r.output, r.copies = last.output, n
		if last.fault != nil {
			return r.noCopy(last.fault)
		}
		if last.err != "" {
			break
		}
		if last.passed {
			passes++
		}
		repro.Signature.Copy = new(last.signature.With(testreport.Message(last.output)))
		same := !last.passed && want.Same(last.signature)
		if !last.passed {
			r.Core.Narrow(last.signature, last.ran, last.results)
		}
		core := passes == 0 && len(r.Core.Tests) > 0
		switch {
		case same && n == 1, core && n > 1:
			repro.Result = "same"
			repro.Processors = last.processors
			r.Ahead, repro.Ahead = last.ahead, last.ahead
			if len(r.Core.Others) > 0 {
				repro.Core, repro.Others, repro.Ran = r.Core.Tests, r.Core.Others, r.Core.Ran
			}
			r.State, r.Reason, r.Took = "", "", time.Since(started)-(q.Homes.CopyTime()-copying)
			return r
		case same, passes > 0 && passes < n:
			return r.flaky(passes)
		case last.passed:
		case core: // the others may fail by chance
		case len(want.Tests) == 0 || len(last.signature.Tests) == 0:
			break runs // another failure, and no reason to think that it would change
		case n > 1 && !last.signature.Same(before.signature):
			return r.flaky(passes)
		case n > 1:
			break runs // the same tests twice: no chance
		}
	}
	r.State = fix.NotReproduced
	repro.Result = "different"
	switch {
	case last.err != "":
		r.Reason = "not_run: " + last.err
	case passes > 0:
		repro.Result = "passed"
		r.Reason = "passed: the task passes in a copy of the tree; it may depend on something outside the tree" +
			historyMissing(r.Base)
		if len(last.ahead) > 0 {
			r.Reason = "passed: the task passes in a copy of the tree after " + english.List(last.ahead, mostLacks) +
				", which the run did not run; run it without --only"
		}
	default:
		r.Reason = "different: " + want.Difference(last.signature) + lastLine(last.output, r.Base.Top) +
			q.lacks(last.output, r.Base) + historyMissing(r.Base)
	}
	return r
}

// flaky is the result of a failure that is not the same from run to run.
func (r Result) flaky(passes int) Result {
	r.State, r.Reproduction.Result = fix.Flaky, "flaky"
	runs := r.copies
	r.Reason = fmt.Sprintf("mixed: other tests failed in each of %d runs in a copy; nothing was spent", runs)
	if passes > 0 {
		r.Reason = fmt.Sprintf("mixed: the task passed in %d of %d runs in a copy; nothing was spent", passes, runs)
	}
	return r
}

// one is one run of the check.
type one struct {
	passed    bool
	err       string // could not be carried out
	fault     error  // no copy could be made, or nothing written beside it
	output    []byte // the end of it
	signature testreport.Signature
	ran       map[string]int // tests, by runner
	results   testreport.Results

	ahead      []string // dependencies that ran before it
	alone      bool     // one of ahead did not pass: it can be tried without them
	processors *float64 // see fix.Reproduction
}

// once runs the check in a fresh copy of base without some paths, after the tasks that are to run ahead. Where these
// do not pass, the check runs without them, in another copy.
func (q *reproduction) once(ctx context.Context, name string, base *scratch.Base, without []string) one {
	r := q.after(ctx, name, q.ahead, base, without)
	if r.alone && ctx.Err() == nil {
		q.Progress.Step("%s; trying without it", r.err)
		r = q.after(ctx, name+"-alone", nil, base, without)
	}
	return r
}

func (q *reproduction) after(ctx context.Context, name string, ahead []*pipeline.Task, base *scratch.Base, without []string) one {
	f := q.Failure
	c, err := q.Homes.Copy(ctx, base, "check", false)
	if err != nil {
		return one{err: err.Error(), fault: err}
	}
	defer q.Progress.Tidy(func() error { return q.Homes.Copying(c.Close) })
	if err := q.Homes.Copying(func() error { return c.Remove(without) }); err != nil {
		return one{err: err.Error(), fault: err}
	}
	box, err := q.Homes.CheckBox(base, c, q.caches)
	if err != nil {
		return one{err: err.Error(), fault: err}
	}
	log, _, err := q.Log(name)
	if err != nil {
		return one{err: err.Error(), fault: err}
	}
	defer log.Close()
	for _, t := range ahead {
		if got, err := f.Check(ctx, t, box, log, f.Patience(t)); err != nil || got.Status != record.Passed {
			return one{err: fmt.Sprintf("task %q does not pass in a copy", t.Shown()), alone: true}
		}
	}
	tail := &failedtask.Tail{}
	q.checks++
	started := time.Now()
	patience := f.Patience(f.Task)
	got, err := f.Check(ctx, f.Task, box, io.MultiWriter(log, tail), patience)
	switch {
	case advice.Full(err):
		return one{err: err.Error(), fault: err}
	case err != nil:
		return one{err: err.Error()}
	case got.Error != nil:
		return one{err: *got.Error}
	case got.Status == record.TimedOut && !f.Signature.TimedOut:
		return one{err: fmt.Sprintf("the task did not end within %s in a copy", patience)}
	}
	r := one{
		passed: got.Status == record.Passed, output: tail.Bytes(), signature: failedtask.SignatureOf(&got),
		ahead: names(ahead),
	}
	if got.Processor > 0 && got.DurationMS != nil {
		r.processors = new(math.Round(100*got.Processor.Seconds()*1000/float64(max(1, *got.DurationMS))) / 100)
	}
	reports := f.ReportsIn(filepath.Join(c.Dir, filepath.FromSlash(base.Sub)), started)
	r.results = f.Results(r.output, reports)
	r.signature.Tests, r.ran = r.results.Failed, failedtask.Ran(r.output, reports)
	return r
}

func names(tasks []*pipeline.Task) (all []string) {
	for _, t := range tasks {
		all = append(all, t.Name)
	}
	return all
}

// historyMissing names a likely reason of another failure: the copy's git has one commit only.
func historyMissing(base *scratch.Base) string {
	if !base.HistoryMissing {
		return ""
	}
	return "; history_missing: git has a single commit in the copy (a partial clone, or more than 2 GiB of history)"
}

// lastLine quotes the last line of an output: often it names what a copy lacks.
func lastLine(output []byte, top string) string {
	text := strings.TrimSpace(failedtask.CleanTail(string(output), top, 400))
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; last line in the copy: %q", strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]))
}
