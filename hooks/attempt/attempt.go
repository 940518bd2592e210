// Package attempt lets one agent work once in a fresh copy, and stores what it left before anything of the copy is
// thrown away.
package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/budget"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// A Request asks an agent for one try.
type Request struct {
	Failure  *failedtask.Failure
	Hook     *pipeline.AgentHook
	Homes    *homes.Homes
	Base     *scratch.Base
	Caches   homes.Caches // of agents
	Budget   *budget.Budget
	Draft    *draft.Draft
	Progress *progress.Log
	Redact   *redact.Set
	Pack     func(context.Context) ([]byte, error) // the context pack; of an agent task nil
	Idle     time.Duration                         // ends an agent that says nothing for so long

	Number  int // of the try among all of the hook: names files
	RetryOf *int
	Agent   agent.Agent
	Told    Told
	Others  []string // failing tests that need no repair
}

// Told is what an agent learns about the attempt before.
type Told struct {
	Tail  string // of what failed; empty: there was none
	Again bool   // the one before that failed in the same way
}

// A Result tells how a try ended.
type Result struct {
	Row     fix.Attempt    // for the record
	Changes []patch.Change // to propose; empty: nothing
	Omitted []tree.Omitted // what of the agent's changes the patch cannot hold
	Left    []tree.Omitted // what the rescue patch leaves out
	Control string         // ok, recovered or missing; empty: no agent worked
	Said    *fix.Said
	State   string // what the fix ends as if nothing is proposed; empty: that is not decided by this try
	Reason  string
	Kind    failure.Kind // empty: it ended by itself
	Refused string       // what was wrong with the diff in the answer, for the next attempt

	RetryAfter *time.Duration // how long the agent says to wait
	Took       time.Duration  // by the agent alone

	barred agent.Turn // as in left
}

// Bar gives a try whose difference does not hold the kind with which the question for its report ended, if that means that
// the agent cannot be used at all: then it is not asked again.
func (r *Result) Bar() {
	if r.barred.Kind != "" {
		r.fails(r.barred.Kind, r.barred.Evidence)
		r.RetryAfter = r.barred.RetryAfter
	}
}

// ErrNotStarted means that the wall clock ended, or a person interrupted, before the agent could start.
var ErrNotStarted = errors.New("the agent was not started")

// left is what a turn left: how it ended, and the difference that counts.
type left struct {
	turn    agent.Turn
	changes []patch.Change
	omitted []tree.Omitted
	outside string // what the agent changed that no patch has, and why, as text
	refused string // what was wrong with the diff in its answer; empty: nothing, or it needed none
	undone  bool   // nothing is left of what the agent had changed when it ended: see atExit

	barred agent.Turn // kind, evidence and wait of the finalizer where they mean that the agent cannot be used at all
}

// Run lets the agent work once. The only error is ErrNotStarted: all others are in the result. The wall clock,
// which ctx does not have, does not run while a copy is made, read or removed.
func Run(ctx context.Context, q Request) (Result, error) {
	r := Result{Row: fix.Attempt{
		Number: q.Number, Agent: q.Agent.Name(), RetryOf: q.RetryOf, StartedAt: timestamp.Now(),
		Sandbox: string(q.Homes.Box.Tier),
	}}
	l, err := q.turn(ctx, &r)
	r.Row.DurationMS = max(1, r.Took.Milliseconds()) // 0 means that it is not known
	if errors.Is(err, ErrNotStarted) || errors.Is(err, context.Canceled) {
		return Result{}, ErrNotStarted
	}
	if err != nil {
		r.State, r.Reason = fix.Failed, string(failure.ScratchFailed)+": "+err.Error()
		r.fails(failure.ScratchFailed, q.Redact.String(err.Error()))
		return r, nil
	}
	r.Row.Finalizer = q.finalize(ctx, &l)
	q.conclude(&r, l)
	return r, nil
}

// charge adds to the budget what a turn used.
func (q *Request) charge(t agent.Turn) {
	if t.Kind == failure.SpawnFailed { // it used nothing
		return
	}
	q.Budget.Add(t)
	for _, text := range q.Budget.Unenforced(q.Agent.Name(), t) {
		q.Progress.Note(text)
		q.Progress.Step("%s", text)
	}
}

// fails records a kind of failure.
func (r *Result) fails(kind failure.Kind, evidence string) {
	r.Kind = kind
	r.Row.Kind, r.Row.Class, r.Row.Evidence = new(string(kind)), new(string(kind.Class())), &evidence
}

// took adds to the row what is known of a turn, but for its kind.
func (r *Result) took(turn agent.Turn) {
	r.Row.ExitCode, r.Row.Model, r.Row.Turns, r.Row.Requests = &turn.Exit.Code, fix.OrNull(turn.Model), turn.Turns,
		turn.Requests
	r.Row.Tokens, r.Row.Commands = fix.Tokens(turn.Tokens), fix.Commands(turn.Commands)
	r.Row.CostUSD, r.Row.CostAtLeast = turn.CostUSD, turn.CostAtLeast
	r.Row.Given, r.Row.OutOfMemory = (*fix.Given)(turn.Given), turn.Exit.OutOfMemory
	r.Row.CLI, r.Row.CLIVersion, r.Row.Metered = fix.OrNull(turn.CLI), fix.OrNull(turn.CLIVersion), turn.Metered
}

// conclude adds to the result how a turn ended, and what of it is proposed.
func (q *Request) conclude(r *Result, l left) {
	turn := l.turn
	kind, evidence := turn.Kind, turn.Evidence
	if kind == "" && len(l.changes) == 0 {
		kind, evidence = emptyKind(turn)
	}
	large := pathsOf(l.omitted, "oversize")
	switch {
	case len(l.changes) > 0:
	case kind == failure.PatchEmpty && len(large) > 0:
		evidence = "everything the agent changed is too large for a patch: " + english.List(large, 3)
		if l.outside != "" {
			evidence += "; or " + l.outside
		}
	case (kind == failure.PatchEmpty || kind == failure.NoOutput) && l.undone:
		kind, evidence = failure.PatchEmpty, "a process that the agent left running undid its work; the rescue patch has it as it was before"
	case (kind == failure.PatchEmpty || kind == failure.NoOutput) && l.outside != "":
		kind, evidence = failure.PatchEmpty, "everything the agent changed is "+l.outside
	}
	if kept := q.Budget.Kept(); kind == failure.WallTimeout && kept != "" {
		evidence += "; " + kept
	}
	evidence = q.Redact.String(evidence)
	if kind != "" {
		r.fails(kind, evidence)
	}
	r.Control, r.Said = q.said(turn, r.Row.Finalizer)
	r.Omitted, r.Refused, r.RetryAfter, r.barred = l.omitted, l.refused, turn.RetryAfter, l.barred
	// What the finalizer was answered with decides nothing about a difference.
	toldNoFix := r.Said != nil && r.Said.Outcome == agent.NoFix && (r.Control == "ok" || len(l.changes) == 0)
	switch {
	case turn.Exit.Cancelled:
		r.Omitted = nil
	case toldNoFix:
		r.State, r.Reason, r.Omitted = fix.NoFix, "the agent says there is nothing to fix", nil
	case len(l.changes) > 0:
		r.Changes = l.changes
	case r.Said != nil && r.Said.Outcome == agent.NeedsHuman:
		r.State, r.Reason, r.Omitted = fix.NoFix, "needs_human: the agent says a person has to decide", nil
	default:
		r.State, r.Reason = fix.Failed, string(kind)+": "+evidence
	}
}

// outside names what a copy has that git ignores, or scratch { exclude } leaves out; "" where there is nothing.
func outside(omitted []tree.Omitted) string {
	var all []string
	if paths := pathsOf(omitted, "ignored"); len(paths) > 0 {
		all = append(all, "ignored by git: "+english.List(paths, 3))
	}
	if paths := pathsOf(omitted, "excluded"); len(paths) > 0 {
		all = append(all, "left out by scratch { exclude }: "+english.List(paths, 3))
	}
	return strings.Join(all, "; or ")
}

// pathsOf names what was omitted for a reason.
func pathsOf(omitted []tree.Omitted, why string) (paths []string) {
	for _, o := range omitted {
		if o.Why == why {
			paths = append(paths, o.Path)
		}
	}
	return paths
}

// turn lets the agent work once, charges what that used, and stores the difference as a rescue patch before anything of
// the copy is thrown away. Where that cannot be stored, what is left is the agent's turn alone.
func (q *Request) turn(ctx context.Context, r *Result) (l left, err error) {
	c, err := q.Homes.Copy(ctx, q.Base, "agent", q.Agent.Here())
	if err != nil {
		return l, err
	}
	keep := false
	defer func() {
		if !keep {
			q.tidy(c)
		}
	}()
	box, err := q.Homes.AgentBox(q.Base, c, q.Caches, q.filters(ctx))
	if err != nil {
		return l, err
	}
	raw, err := q.Draft.Raw(q.Number)
	if err != nil {
		return l, err
	}
	defer raw.Close()
	r.Row.StartedAt = timestamp.Now()
	if err := q.Draft.BeginWork(q.Number, draft.Workplace{
		Copy: c.Dir, Base: q.Base.Holder(), Agent: q.Agent.Name(), Sandbox: r.Row.Sandbox, StartedAt: r.Row.StartedAt,
		Keyed: q.Agent.Keyed(),
	}); err != nil {
		return l, err
	}
	if q.over(ctx) {
		return l, ErrNotStarted
	}
	work, cancel := q.Budget.ForAgent(ctx)
	defer cancel()
	if q.isTask() {
		q.Progress.Step("agent %s is at work in a copy", q.Agent.Name())
	} else {
		q.Progress.Step("%s: agent %s is at work", q.Budget.Attempt().Long(), q.Agent.Name())
	}
	request := q.request(work, box, c.Dir, raw)
	early := q.atExit(&request, c)
	started := time.Now()
	if l.turn, err = q.Agent.Turn(work, request); err != nil {
		l.turn = agent.Turn{Kind: failure.SpawnFailed, Evidence: err.Error()}
	}
	r.Took = time.Since(started)
	if n := l.turn.Exit.ProcessesLeft; n > 0 {
		q.Progress.Event("processes_ended", map[string]any{"attempt": q.Number, "count": n})
		q.Progress.Step("ended %s that the agent left running", english.Count(n, "process"))
	}
	// The wall clock, or a person, may have ended the turn: what was done is kept all the same.
	err = q.Homes.Copying(func() error { return q.keep(context.WithoutCancel(ctx), c, *early, &l, r) })
	q.charge(l.turn)
	r.took(l.turn)
	if err != nil {
		keep = true
		return left{turn: l.turn}, errors.Join(err, q.setAside(c))
	}
	return l, nil
}

// filters returns git's filters of the tree. Without them an agent sees filtered files as dirty, no more.
func (q *Request) filters(ctx context.Context) (filters [][2]string) {
	_ = q.Homes.Copying(func() error {
		repo, err := git.Of(ctx, q.Failure.Config.Root)
		if err == nil {
			filters, err = repo.Filters(ctx)
		}
		return err
	})
	return filters
}

// over reports whether the wall clock has ended, or a person has interrupted.
func (q *Request) over(ctx context.Context) bool { return ctx.Err() != nil || q.Budget.Left() == 0 }

func (q *Request) tidy(c *scratch.Copy) {
	q.Progress.Tidy(func() error { return q.Homes.Copying(c.Close) })
}

// atExit makes the turn of r read what changed in the copy as soon as the agent itself has ended and has left processes,
// which may undo its work before they are ended. That is kept and never proposed, because it is read while they work. What
// atExit returns is set when the turn is over; empty: nothing was left.
func (q *Request) atExit(r *agent.Request, c *scratch.Copy) *[]patch.Change {
	early := new([]patch.Change)
	if q.isTask() || q.Agent.Here() {
		return early
	}
	exec := r.Exec
	r.Exec = func(ctx context.Context, cmd agent.Command) (agent.Exit, error) {
		var reading sync.WaitGroup
		defer reading.Wait()
		*early = nil
		exited := cmd.Exited
		cmd.Exited = func() {
			if exited != nil {
				exited()
			}
			reading.Go(func() { // no longer than the processes may go on; the copy is read again when all have ended
				limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), sandbox.Grace)
				defer cancel()
				*early, _ = c.ChangesNow(limited)
			})
		}
		return exec(ctx, cmd)
	}
	return early
}

// keepEarly stores what was changed when the agent ended, where processes that it left have changed that.
func (q *Request) keepEarly(early []patch.Change, l *left, r *Result) error {
	if len(l.changes) == 0 {
		l.undone = true
		q.tell("a process that the agent left running undid its work; the rescue patch has it as it was before")
		return q.rescue(early, r)
	}
	rel, err := q.Draft.KeepPatch(q.Number, "before-the-end", early)
	if err == nil {
		q.tell("a process that the agent left running changed the copy after it had ended; its state before that is kept in " + rel)
	}
	return err
}

// keep stores what an agent left in its copy. early is what atExit read of it.
func (q *Request) keep(ctx context.Context, c *scratch.Copy, early []patch.Change, l *left, r *Result) (err error) {
	if l.changes, l.omitted, err = c.Changes(ctx); err != nil {
		return err
	}
	meddled := len(early) > 0 && !patch.Same(early, l.changes)
	rest := c.WorthKeeping(l.changes, l.omitted)
	if q.Hook.Output == "diff" && !l.turn.Exit.Cancelled {
		if err := q.takeAnswer(ctx, l); err != nil {
			return err
		}
	}
	if err := q.rescue(l.changes, r); err != nil {
		return err
	}
	if meddled {
		if err := q.keepEarly(early, l, r); err != nil {
			return err
		}
	}
	l.outside = outside(rest)
	named, err := q.Draft.KeepOmitted(q.Number, c.Dir, rest, len(l.changes) > 0)
	if len(named) > 0 {
		q.Progress.Step("not in the patch: %s", english.List(named, 5))
	}
	if err != nil {
		return err
	}
	return q.Draft.EndWork(q.Number)
}

// rescue stores the difference as a patch.
func (q *Request) rescue(changes []patch.Change, r *Result) error {
	if len(changes) == 0 {
		return nil
	}
	saved, err := q.Draft.Rescue(q.Number, changes)
	if err != nil {
		return err
	}
	r.Row.Rescue, r.Left = fix.OrNull(cmp.Or(saved.Path, saved.Redacted)), saved.Left
	changed := make([]string, len(changes))
	for i, c := range changes {
		changed[i] = c.Path
	}
	if q.isTask() {
		q.Progress.Step("agent %s changed %s in its copy", q.Agent.Name(), english.List(changed, 3))
	} else {
		q.Progress.Step("%s changed %s", q.Budget.Attempt(), english.List(changed, 3))
	}
	if saved.Redacted != "" {
		q.Progress.Step("kept with secret values removed: %s", saved.Redacted)
	}
	return nil
}

// setAside moves a copy whose difference could not be stored to where nobody removes it. The error tells where it is.
func (q *Request) setAside(c *scratch.Copy) error {
	f := q.Failure
	to, err := q.Homes.Rescue(q.Base, c, f.Run.ID, f.Task.Name, q.Number)
	if err != nil {
		q.Homes.Stay = true
		return fmt.Errorf("the changes of attempt %d could not be kept as a patch, and its copy could not be moved. Take them from %s before async-pipeline is started again: %w", q.Number, c.Dir, err)
	}
	return fmt.Errorf("the copy that attempt %d worked in is kept at %s", q.Number, to)
}

// said returns where the control object came from, and what it says, without secrets.
func (q *Request) said(turn agent.Turn, asked *fix.Finalizer) (control string, said *fix.Said) {
	if turn.Control == nil {
		return "missing", nil
	}
	control = "ok"
	if asked != nil {
		control = "recovered"
	}
	clean := q.Redact.String
	return control, &fix.Said{
		Outcome: turn.Control.Outcome, Summary: clean(turn.Control.Summary),
		RootCause: fix.OrNull(clean(turn.Control.RootCause)),
	}
}

// emptyKind returns the kind of a turn that ended by itself and changed nothing.
func emptyKind(turn agent.Turn) (failure.Kind, string) {
	switch {
	case turn.Control != nil && turn.Control.Outcome == agent.Fixed:
		return failure.PatchEmpty, "the agent says fixed, but changed nothing"
	case turn.Control != nil:
		return "", ""
	case strings.TrimSpace(turn.Text) == "":
		return failure.NoOutput, "the agent said nothing and changed nothing"
	case turn.Problem != "" && turn.Problem != agent.ErrNoObject.Error():
		return failure.OutputInvalid, "the agent changed nothing, and its report cannot be read: " + turn.Problem
	}
	return failure.VerdictAmbiguous, "the agent changed nothing and ended without a report: " + turn.Problem
}

// request returns what the agent is asked to do in the copy at dir.
func (q *Request) request(ctx context.Context, box sandbox.Box, dir string, raw io.Writer) agent.Request {
	if q.isTask() {
		return q.taskRequest(box, dir, raw)
	}
	pack, err := q.Pack(ctx)
	if err != nil {
		q.Progress.Note("context pack: " + err.Error())
	}
	f, now := q.Failure, q.Budget.Attempt()
	r := q.basic(box, dir, raw)
	// A command may hold a secret: checks may be given it, an agent never is. What checks print may have a key.
	r.Prompt = redact.Keys(q.Redact.String(agent.Prompt(agent.PromptParts{
		Person: q.Hook.Prompt, Task: f.Task.Name, Command: failedtask.CommandLine(f.Task), Dir: r.Dir,
		Attempt: now.Number, Attempts: now.Of, Left: q.Budget.LeftForAgent(), Protect: q.Hook.Protect,
		Others: q.Others, Tail: q.Told.Tail,
		Again: q.Told.Again, Diff: q.Hook.Output == "diff", Sub: q.Base.Sub,
	})))
	r.Pack = pack
	r.Check = func(ctx context.Context, out io.Writer) (bool, error) {
		got, err := f.Check(ctx, f.Task, box, out, 0)
		return err == nil && got.Status == record.Passed, err
	}
	return r
}

// basic returns what a turn and its finalizer have in common.
func (q *Request) basic(box sandbox.Box, dir string, raw io.Writer) agent.Request {
	f := q.Failure
	var unwritten sync.Once // a full disk spoils every line after the first
	r := agent.Request{
		Attempt: q.Number, Dir: box.At(f.Config.Root), Env: q.environment(box), Idle: q.Idle,
		Exec: func(ctx context.Context, c agent.Command) (agent.Exit, error) { return exec(ctx, box, c) },
		Note: func(l agent.Line) {
			if err := q.Draft.Transcript(q.Number, l.Type, l.Data); err != nil {
				unwritten.Do(func() { q.Progress.Note("transcript: " + err.Error()) })
			}
		},
		Secrets: q.Redact,
		Raw:     raw,
		Copy:    filepath.Join(dir, filepath.FromSlash(q.Base.Sub)),
		Top:     dir,
		Run:     f.Task.Run.Words(),
		RunDir:  box.At(filepath.Join(f.Config.Root, filepath.FromSlash(f.Task.Dir))),
		Allow:   q.Hook.Allow,
		Notice:  func(text string) { q.Progress.Step("%s", text) },
	}
	if box.Base != "" {
		r.Open = box.OpenCopy
	}
	r.Tokens, r.CostUSD = q.Budget.Caps()
	return r
}

// exec runs a command of the agent's in its box.
func exec(ctx context.Context, box sandbox.Box, c agent.Command) (agent.Exit, error) {
	r, err := box.Run(ctx, sandbox.Command{
		Argv: c.Argv, Dir: c.Dir, Env: c.Env, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Idle: c.Idle,
		Memory: true, Exited: c.Exited,
	})
	wall := errors.Is(context.Cause(ctx), budget.ErrWallClock)
	return agent.Exit{
		Code: r.ExitCode, Signal: r.Signal, TimedOut: r.TimedOut || wall && (r.Cancelled || err != nil),
		IdledOut: r.IdledOut, Cancelled: r.Cancelled && !wall, ProcessesLeft: r.ProcessesLeft, Duration: r.Duration,
		OutOfMemory: r.OutOfMemory,
	}, err
}

// environment returns what any program needs, the agent's own home and caches, and what box adds. It has nothing else
// of the person's.
func (q *Request) environment(box sandbox.Box) []string {
	var env []string
	for _, kv := range q.Homes.Environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH", name == "USER", name == "LANG", name == "TZ", name == "TERM",
			strings.HasPrefix(name, "LC_"):
			env = append(env, kv)
		}
	}
	env = append(env, "HOME="+box.Home, "TMPDIR="+box.Tmp,
		"ASYNC_PIPELINE_RUN_ID="+q.Failure.Run.ID, "ASYNC_PIPELINE_TASK="+q.Failure.Task.Name)
	return append(env, box.Env...)
}
