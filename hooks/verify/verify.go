// Package verify runs the checks with a patch and gives its verdict. It works in fresh copies, never in an agent's,
// with the same confinement as the agent, with build caches that are thrown away, and with nothing of the agent's
// environment.
package verify

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/budget"
	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/hooks/review"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Verdicts.
const (
	Verified   = "verified"
	Suspect    = "suspect"
	Unverified = "unverified"
)

// Reasons of a verdict.
const (
	CheckChanged = "check_changed" // of suspect: the check passes only with the patch's own change to it

	flagged        = "flagged"
	checkFailed    = "check_failed"
	checkRewritten = "check_rewritten"
	testsFailed    = "tests_failed"
	testsNotNamed  = "tests_not_named"
	testsNotRun    = "tests_not_run"
	noTime         = "no_time"
	notRun         = "not_run"
)

// A Request asks for one verification.
type Request struct {
	Failure  *failedtask.Failure
	Homes    *homes.Homes
	Base     *scratch.Base
	Protect  []string                                          // globs of the hook
	Also     []string                                          // tasks that the hook's verify names
	Ahead    []string                                          // dependencies that have to run before the failed task
	Since    time.Time                                         // when the reproduction began: which caches it used
	Log      func(name string) (io.WriteCloser, string, error) // opens the log of a check; nil: none is kept
	Progress *progress.Log
	Budget   *budget.Budget // its wall clock ends the checks; nil: only the context does

	Parallel   int              // tasks that may run at a time; 0: as many as there are processors
	Core       *failedtask.Core // what the patch is judged by; nil: that of Failure
	Took       time.Duration    // by the check, when it failed
	Processors *float64         // that it kept busy then; nil: not known

	Number  int // of the attempt: names the logs
	Changes []patch.Change
}

// A verification carries out a Request, in which Core is set.
type verification struct {
	Request
	noSpace atomic.Bool // a disk was full; set by parts that run at the same time
}

// A Result is the verdict on a patch, with the checks that led to it.
type Result struct {
	Verdict  string
	Checks   fix.Verification
	Flags    []fix.Flag
	Feedback string       // which check failed with the patch, and the end of what it printed; empty: none did
	NoSpace  bool         // a disk was full: another attempt would end the same way
	failed   *record.Task // that check
}

// Better reports whether verdict a is to be preferred to an earlier verdict b; empty: there is none.
func Better(a, b string) bool {
	rank := map[string]int{Verified: 3, Suspect: 2, Unverified: 1}
	return rank[a] >= rank[b]
}

// Cap withholds the verdict verified for a reason that has nothing to do with the patch.
func (r *Result) Cap(reason string) {
	if r.Verdict == Verified {
		r.Verdict, r.Checks.Reason = Unverified, &reason
	}
}

// Hear makes a flag of each concern of a second opinion. They can withhold the verdict verified, and nothing else.
func (r *Result) Hear(o *fix.Opinion) {
	for i := range o.Concerns {
		c := &o.Concerns[i]
		c.Flag = fmt.Sprintf("f%d", len(r.Flags)+1)
		r.Flags = append(r.Flags, fix.Flag{
			ID: c.Flag, Rule: "second_opinion", Caps: c.Caps, Path: c.Path, Line: c.Line,
			Detail: fmt.Sprintf("agent %s says %s: %s", o.Agent, c.Kind, c.Words),
		})
		if c.Caps && r.Verdict == Verified {
			r.Verdict, r.Checks.Reason = Suspect, new(flagged)
		}
	}
}

// String returns the verdict with its reason, for a person.
func (r *Result) String() string {
	if r.Checks.Reason == nil {
		if r.Checks.Note != nil {
			code, _, _ := strings.Cut(*r.Checks.Note, ":")
			return r.Verdict + " (" + code + ")"
		}
		return r.Verdict
	}
	return r.Verdict + " (" + *r.Checks.Reason + ")"
}

// NoTime reports whether the wall clock ended before the verification did.
func (r *Result) NoTime() bool { return r.Checks.Reason != nil && *r.Checks.Reason == noTime }

// Fingerprint identifies the failure that Feedback tells of; empty: there is none.
func (r *Result) Fingerprint() string {
	if r.failed == nil {
		return ""
	}
	s := testreport.Signature{Tests: testreport.Tests([]byte(r.Feedback))}
	if r.failed.ExitCode != nil {
		s.ExitCode = *r.failed.ExitCode
	}
	return testreport.Fingerprint(r.failed.Name, s, []byte(r.Feedback))
}

// Run verifies a patch: (a) as proposed; (b) if (a) passes, with every check file restored. Where sideBySide permits
// it, (b) is begun with (a).
func Run(ctx context.Context, request Request) Result {
	q := &verification{Request: request}
	if q.Core == nil {
		q.Core = failedtask.NewCore(q.Failure)
	}
	started, copying := time.Now(), q.Homes.CopyTime()
	r := q.verify(ctx)
	r.NoSpace = q.noSpace.Load()
	r.Checks.DurationMS = new((time.Since(started) - (q.Homes.CopyTime() - copying)).Milliseconds())
	return r
}

func (q *verification) verify(ctx context.Context) Result {
	checks := q.askedChecks(ctx)
	r := Result{
		Verdict: Unverified, Flags: q.flags(ctx, checks),
		Checks: fix.Verification{Proposed: []fix.Check{}, OriginalChecks: []fix.Check{}},
	}
	back := checks.Restore(q.Changes)
	all := q.tasks(true)
	defined, err := q.defined(all)
	if err != nil {
		return q.undefined(r, err)
	}
	r.Flags = q.flagTexts(r.Flags, all, defined)
	p := part{name: asProposed, what: "the patch", changes: q.Changes, tasks: defined}
	o := part{
		name: "original", what: "with the original checks", changes: back, checks: checkFiles{checks},
		tasks: append(q.tasks(false), q.redefined(all, defined)...),
	}
	proposed, original := q.both(ctx, p, o)
	r.Checks.SideBySide = proposed != nil && original != nil && len(original.checks) > 0
	if proposed == nil {
		proposed = q.twice(ctx, p, q.copy(ctx, p))
	}
	r.Checks.Proposed = append(r.Checks.Proposed, proposed.checks...)
	r.Checks.Tests = proposed.tests
	if !proposed.reason.None() {
		r.Checks.Reason, r.Feedback, r.failed = new(proposed.reason.String()), proposed.feedback, proposed.failed
		return r
	}
	if original == nil {
		original = q.twice(ctx, o, q.copy(ctx, o))
	}
	r.Checks.OriginalChecks = append(r.Checks.OriginalChecks, original.checks...)
	var reason fix.Reason
	switch {
	case original.reason.Code == checkFailed:
		r.Verdict, reason.Code = Suspect, CheckChanged
	case !original.reason.None():
		reason = original.reason
	case slices.ContainsFunc(r.Flags, func(f fix.Flag) bool { return f.Caps }):
		r.Verdict, reason.Code = Suspect, flagged
	default:
		r.Verdict, reason = Suspect, q.changedItself(ctx, o, original)
		o.checks = checkFiles{}
		if reason.None() {
			r.Verdict, reason = q.proof(ctx, &r, o, original)
		}
	}
	if original.reason.None() {
		r.Checks.Tests = q.together(proposed, original)
	}
	if !reason.None() {
		r.Checks.Reason = new(reason.String())
	} else {
		r.Checks.Note = note(r.Checks.Tests)
	}
	return r
}

// proof looks for the tests that had failed among those that passed: a check may pass because it no longer runs them.
// The check ran as p, and ended as original.
func (q *verification) proof(ctx context.Context, r *Result, p part, original *outcome) (verdict string, why fix.Reason) {
	f := q.Failure
	how, failed := f.Signature, original.failedByOthers
	if failed {
		how.Tests = q.Core.Tests
	}
	why = fix.ParseReason(testreport.Unproven(how, f.Log, original.printed, q.Core.Ran))
	if why.None() && f.Reports != nil {
		before := *f.Reports
		if before.Ran = q.Core.Ran[failedtask.JUnit]; failed {
			before.Failing = nil // those of the core did not fail, or original would not count as passed
		}
		why = fix.ParseReason(before.Unproven(original.reports))
	}
	if why.None() {
		var asked *outcome
		asked, why = q.askGo(ctx, p)
		r.Checks.OriginalChecks = append(r.Checks.OriginalChecks, asked.checks...)
		if !asked.reason.None() && asked.reason.Code != checkFailed {
			return Unverified, asked.reason
		}
		switch {
		case !why.None():
		case failed:
			why = q.unseen(ctx, r, p, original, asked)
		default:
			verdict, why = q.lost(ctx, r, p, original, asked)
			why.Words = f.Clean(why.Words)
			return verdict, why
		}
	}
	if !why.None() {
		why.Words = f.Clean(why.Words)
		return Suspect, why
	}
	return Verified, fix.Reason{}
}

// askGo asks go test by name for the tests that had failed, with the original checks, in a copy of its own: a plain
// `go test` prints ok for a package whose tests ended early. why tells what is not proven.
func (q *verification) askGo(ctx context.Context, p part) (o *outcome, why fix.Reason) {
	argv, tests := q.goTest()
	if argv == nil || len(q.Failure.Task.Run.Shell.Secrets) > 0 {
		return &outcome{}, fix.Reason{}
	}
	asks := *q.Failure.Task
	asks.Run = pipeline.Command{}
	for _, arg := range argv {
		asks.Run.Argv = append(asks.Run.Argv, pipeline.Text{Value: arg})
	}
	if own := q.Failure.Task.Run.Argv; own != nil { // they know their secrets
		asks.Run.Argv = append(asks.Run.Argv[:len(argv)-len(own)+2], own[2:]...)
	}
	p.name, p.what, p.tasks = "by-name", "the failed tests by name", q.tasks(false)
	p.tasks[len(p.tasks)-1] = &asks
	o = q.twice(ctx, p, q.copy(ctx, p))
	for i := range o.checks {
		o.checks[i].ByName = true
	}
	why = fix.ParseReason(testreport.UnprovenGo(tests, o.printed))
	if why.None() {
		why = fix.ParseReason(testreport.UnaskedGo(argv, tests, o.printed))
	}
	if why.None() && o.reason.Code == checkFailed {
		why = fix.Reason{Code: testsFailed, Words: "asked for by name, go test fails"}
	}
	return o, why
}

// goTest returns the command that asks go test by name for the tests that failed, and their names; nil where the
// check is no plain go test.
func (q *Request) goTest() (argv, tests []string) {
	check := q.commands()[0]
	tests = q.Failure.Signature.Tests
	if q.Core != nil {
		tests = q.Core.Tests
	}
	return testreport.AskGo(check.Argv, check.Shell, tests)
}

// An outcome tells how the tasks in one copy ended.
type outcome struct {
	checks   []fix.Check
	reason   fix.Reason   // why not all passed; none: they did
	feedback string       // of the task that failed
	failed   *record.Task // the task that failed
	noTime   bool         // the context, or the wall clock, ended

	// Of the failed task of the run.
	printed        []byte
	reports        testreport.Reports // that it wrote
	results        testreport.Results // of both
	tests          *fix.TestResults   // how it failed by names; nil: it passed, or they do not tell
	failedByOthers bool               // it failed, and counts as passed
	rewritten      []string           // check files that changed while it ran, if the part has checks
}

// asProposed is the name of the part with the patch as it is proposed.
const asProposed = "proposed"

// A part of a verification: tasks that run in order in one fresh copy of base and changes, until one does not pass.
type part struct {
	name    string // in the names of their logs
	what    string // what is verified, for a person
	changes []patch.Change
	tasks   []*pipeline.Task
	again   []string   // tests that broke in the try before; nil: there was none
	checks  checkFiles // that are compared afterwards; the zero value: none are
}

// copy runs a part while no other runs.
func (q *verification) copy(ctx context.Context, p part) *outcome {
	o := &outcome{noTime: ctx.Err() != nil || q.Budget != nil && q.Budget.Left() == 0}
	if o.noTime {
		return o.end(q, budget.ErrWallClock)
	}
	at, err := q.place(ctx, "check", p.changes)
	if err != nil {
		o.noTime = ctx.Err() != nil
		return o.end(q, err)
	}
	defer at.close()
	ctx, cancel := q.wall(ctx)
	defer cancel()
	return q.checks(ctx, p, at, q.begins)
}

// begins tells the person which check begins.
func (q *verification) begins(p part, t *pipeline.Task) {
	q.Progress.Step("verifying %s: %s", p.what, t.Shown())
}

// end sets the reason.
func (o *outcome) end(q *verification, err error) *outcome {
	switch {
	case o.noTime && (err != nil || o.failed != nil):
		o.reason, o.failed, o.feedback = fix.Reason{Code: noTime}, nil, ""
	case err != nil:
		if advice.Full(err) {
			q.noSpace.Store(true)
		}
		o.reason = fix.Reason{Code: notRun, Words: q.Failure.Clean(err.Error())}
	case o.failed != nil:
		o.reason.Code = checkFailed
	}
	return o
}

// wall returns a context that ends with the wall clock, which did not run until now.
func (q *verification) wall(ctx context.Context) (context.Context, context.CancelFunc) {
	if q.Budget == nil {
		return context.WithCancel(ctx)
	}
	return q.Budget.Wall(ctx)
}

// A place is a fresh copy with changes in it, and the box for checks there.
type place struct {
	dir   string // of the pipeline's root
	copy  *scratch.Copy
	box   sandbox.Box
	close func()
}

// place makes the copy in the folder name. The caller closes it, if there is no error.
func (q *verification) place(ctx context.Context, name string, changes []patch.Change) (_ *place, err error) {
	at := &place{close: func() {}}
	later := func(remove func() error) {
		before := at.close
		at.close = func() { q.tidy(remove); before() }
	}
	defer func() {
		if err != nil {
			at.close()
		}
	}()
	kept, _, err := q.Homes.CheckCaches(ctx)
	if err != nil {
		return nil, err
	}
	caches, err := q.Homes.ThrowAwayCaches(ctx, kept, q.Since)
	if err != nil {
		return nil, err
	}
	later(func() error { return q.Homes.RemoveCaches(caches) })
	c, err := q.Homes.Copy(ctx, q.Base, name, false)
	if err != nil {
		return nil, err
	}
	later(c.Close)
	if err := q.Homes.Copying(func() error { return c.Put(changes) }); err != nil {
		return nil, err
	}
	at.copy, at.dir = c, filepath.Join(c.Dir, filepath.FromSlash(q.Base.Sub))
	at.box, err = q.Homes.CheckBox(q.Base, c, caches)
	return at, err
}

// checks runs the tasks of a part in its copy. begins is told each that begins.
func (q *verification) checks(ctx context.Context, p part, at *place, begins func(part, *pipeline.Task)) *outcome {
	o := &outcome{}
	err := o.run(ctx, q, p, at, begins)
	o.noTime = ctx.Err() != nil
	if p.checks.Checks != nil && err == nil && !o.noTime {
		if o.rewritten, err = rewritten(ctx, p, at); err != nil {
			o.noTime = ctx.Err() != nil
		}
	}
	return o.end(q, err)
}

func (o *outcome) run(ctx context.Context, q *verification, p part, at *place, begins func(part, *pipeline.Task)) error {
	for _, t := range p.tasks {
		begins(p, t)
		tail := &failedtask.Tail{}
		started := time.Now()
		got, log, err := q.check(ctx, fmt.Sprintf("verify-%d-%s-%s", q.Number, p.name, t.Name), t, at.box, tail)
		if err != nil {
			return err
		}
		passed := got.Status == record.Passed
		if t.Name == q.Failure.Task.Name {
			o.printed = tail.Bytes()
			o.reports = q.Failure.ReportsIn(at.dir, started)
			o.results = q.Failure.Results(o.printed, o.reports)
			o.failedByOthers = !passed && o.compare(q, &got, p)
		}
		o.checks = append(o.checks, fix.Check{
			Task: t.Name, Passed: passed, ExitCode: got.ExitCode, DurationMS: got.DurationMS, Log: log,
			CorePassed: t.Name == q.Failure.Task.Name && o.failedByOthers, Command: q.otherCommand(p, t),
		})
		if !passed && !o.checks[len(o.checks)-1].CorePassed {
			got.Name = t.Name
			o.failed = &got
			o.feedback = fmt.Sprintf("task %q failed with the patch applied%s:\n%s", t.Shown(), q.Failure.Clean(told(o.tests)),
				failedtask.CleanTail(string(tail.Bytes()), q.Base.Top, agent.TailOfVerification))
			return nil
		}
	}
	return nil
}

func (q *verification) tidy(remove func() error) {
	q.Progress.Tidy(func() error { return q.Homes.Copying(remove) })
}

// check runs one task, within the wall clock, and returns the path of its log; nil: none is kept.
func (q *verification) check(
	ctx context.Context, name string, t *pipeline.Task, box sandbox.Box, tail io.Writer,
) (got record.Task, rel *string, err error) {
	if q.Log == nil {
		got, err = q.Failure.Check(ctx, t, box, tail, 0)
		return got, nil, err
	}
	log, path, err := q.Log(name)
	if err != nil {
		return got, nil, err
	}
	got, err = q.Failure.Check(ctx, t, box, io.MultiWriter(log, tail), 0)
	if e := log.Close(); err == nil {
		err = e
	}
	return got, &path, err
}

// checkFiles knows the check files of the base, as the hook protects them.
func (q *Request) checkFiles(scope checkfile.Scope) *checkfile.Checks {
	return checkfile.NewChecks(checkfile.Tree{Paths: q.Base.Paths(), Read: func(path string) ([]byte, error) {
		f, err := q.Base.Read(path)
		if err != nil || f == nil {
			return nil, err
		}
		return f.Data, nil
	}}, scope)
}

// checked returns the tasks whose files are check files: the failed task, and those that verify names.
func (q *Request) checked() []*pipeline.Task {
	tasks := []*pipeline.Task{q.Failure.Task}
	for _, name := range q.Also {
		if t := q.Failure.Config.Task(name); t != nil {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// commands returns the commands of the checked tasks. The failed task's is the first.
func (q *Request) commands() (all []checkfile.Command) {
	for _, t := range q.checked() {
		all = append(all, commandOf(q.Base.Sub, t))
	}
	return all
}

// flags is the review of the patch. It reports; it accuses nobody.
func (q *verification) flags(ctx context.Context, checks *checkfile.Checks) []fix.Flag {
	ctx, cancel := q.wall(ctx)
	defer cancel()
	var flags []fix.Flag
	for _, f := range review.Report(ctx, checks, q.Changes) {
		flag := fix.Flag{ID: fmt.Sprintf("f%d", len(flags)+1), Rule: f.Rule, Caps: f.Caps, Detail: q.Failure.Clean(f.Detail)}
		if f.Path != "" {
			flag.Path = &f.Path
		}
		if f.Line > 0 {
			flag.Line = &f.Line
		}
		flags = append(flags, flag)
	}
	return flags
}
