package hooks

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A tried is how one turn of an agent in a fresh copy ended.
type tried struct {
	candidate *candidate // nil: nothing to propose
	next      feedback
	more      bool           // another attempt makes sense
	failed    bool           // an error kind, and nothing that holds is left of the turn: decide says what follows
	kind      failure.Kind   // empty: it ended by itself
	after     *time.Duration // how long the agent says to wait
	took      time.Duration
}

// try lets the agent work once. Whatever happens is a row of the record; without one no agent had started.
func (h *healing) try(wall context.Context, of *int, told feedback) tried {
	a := fix.Attempt{Number: len(h.fix.Attempts) + 1, Agent: h.agent.Name(), RetryOf: of, StartedAt: timestamp.Now(), Sandbox: string(h.tier)}
	started := time.Now()
	l, err := h.turn(wall, told, &a)
	took := time.Since(started)
	a.DurationMS = took.Milliseconds()
	if errors.Is(err, context.Canceled) || errors.Is(err, errWallClock) || errors.Is(err, context.DeadlineExceeded) {
		// Before the agent was started. A person's cancel is said by the caller.
		h.failedBy(failure.WallTimeout, "the wall clock of "+h.hook.Budget.WallClock.String()+" ended before the agent could start")
		return tried{}
	}
	if err != nil {
		a.Class = new(string(failure.ScratchFailed.Class()))
		a.Kind, a.Evidence = new(string(failure.ScratchFailed)), new(h.e.Redact.String(err.Error()))
		h.fix.Attempts = append(h.fix.Attempts, a)
		h.kind(failure.ScratchFailed)
		h.end(fix.Failed, err.Error())
		return tried{kind: failure.ScratchFailed}
	}
	if l.turn.Kind != failure.SpawnFailed { // it used nothing
		h.spent.add(l.turn)
		h.unmetered(l.turn)
	}
	a.Finalizer = h.finalize(wall, a.Number, &l)
	turn, changes := l.turn, l.changes
	kind, evidence := turn.Kind, turn.Evidence
	if kind == "" && len(changes) == 0 {
		kind, evidence = emptyKind(turn)
		if large := oversize(l.omitted); kind == failure.PatchEmpty && len(large) > 0 {
			evidence = "all that the agent changed is too large for a patch: " + english.List(large, 3)
		}
	}
	evidence = h.e.Redact.String(evidence)
	a.ExitCode, a.Model, a.Turns, a.Requests = new(turn.Exit.Code), orNull(turn.Model), turn.Turns, turn.Requests
	a.Tokens, a.CostUSD, a.CostAtLeast, a.Commands = fix.Tokens(turn.Tokens), turn.CostUSD, turn.CostAtLeast, fix.Commands(turn.Commands)
	if kind != "" {
		a.Kind, a.Class, a.Evidence = new(string(kind)), new(string(kind.Class())), &evidence
		h.kind(kind)
	} else {
		h.fix.Kind, h.fix.Advice = nil, nil
	}
	h.fix.Attempts = append(h.fix.Attempts, a)

	control, said := h.said(turn, a.Finalizer)
	h.fix.Control, h.fix.AgentSaid = &control, said
	// What the question after the turn was answered with decides nothing about a difference.
	toldNoFix := said != nil && said.Outcome == agent.NoFix && (control == "ok" || len(changes) == 0)
	switch {
	case turn.Exit.Cancelled:
		return tried{kind: kind}
	case toldNoFix:
		h.end(fix.NoFix, "the agent says that there is nothing to fix")
		return tried{}
	case len(changes) == 0 && said != nil && said.Outcome == agent.NeedsHuman:
		h.end(fix.NoFix, "needs_human: the agent says that a person has to decide")
		return tried{}
	case len(changes) == 0:
		h.end(fix.Failed, string(kind)+": "+evidence)
		h.fix.Omitted = append(h.fix.Omitted, l.omitted...)
		return tried{
			next: feedback{tail: l.refused}, more: l.refused != "" || kind.Class() == failure.Transient && !h.idledBefore(kind),
			failed: l.refused == "", kind: kind, after: turn.RetryAfter, took: took,
		}
	}
	c := &candidate{changes: changes, omitted: l.omitted, control: control, said: said}
	h.verify(wall, a.Number, c)
	h.fix.Attempts[len(h.fix.Attempts)-1].Verdict = orNull(c.verdict)
	h.step("%s: %s", h.now, describe(c))
	next := feedback{tail: l.refused + c.feedback, failure: failureOf(c)}
	class := kind.Class()
	again := c.verdict == unverified
	return tried{
		candidate: c, next: next, more: again && class != failure.Fatal && class != failure.Lifecycle,
		// A difference that does not hold is no reason to ask an agent again that cannot go on.
		failed: again && (class == failure.Wait || class == failure.Terminal), kind: kind, after: turn.RetryAfter, took: took,
	}
}

// oversize names what is too large for a patch.
func oversize(omitted []tree.Omitted) (paths []string) {
	for _, o := range omitted {
		if o.Why == "oversize" {
			paths = append(paths, o.Path)
		}
	}
	return paths
}

// failureOf is the fingerprint of the check that a candidate did not pass; empty when none ran.
func failureOf(c *candidate) string {
	if c.feedback == "" || len(c.verification.Proposed) == 0 {
		return ""
	}
	last := c.verification.Proposed[len(c.verification.Proposed)-1]
	s := testreport.Signature{Tests: testreport.Tests([]byte(c.feedback))}
	if last.ExitCode != nil {
		s.ExitCode = *last.ExitCode
	}
	return testreport.Fingerprint(last.Task, s, []byte(c.feedback))
}

// A left is what a turn left: how it ended, and the difference that counts.
type left struct {
	turn    agent.Turn
	changes []patch.Change
	omitted []tree.Omitted
	refused string // what was wrong with the diff in its answer; empty: nothing, or it needed none
}

// turn lets the agent work once and gives what it left: the difference is stored as a rescue patch before anything of the copy
// is thrown away.
func (h *healing) turn(wall context.Context, told feedback, a *fix.Attempt) (left, error) {
	var none left
	c, err := h.base.Copy(wall, filepath.Join(h.homes.Work, "agent"))
	if err != nil {
		return none, err
	}
	keep := false
	defer func() {
		if !keep {
			h.tidy(c.Close)
		}
	}()
	var filters [][2]string
	if repo, err := git.Of(wall, h.e.Config.Root); err == nil {
		filters, _ = repo.Filters(wall) // without them an agent sees filtered files as dirty, no more
	}
	box, err := h.homes.AgentBox(h.base, c.Dir, h.agentCaches, filters)
	if err != nil {
		return none, err
	}
	raw, err := h.draft.Raw(a.Number)
	if err != nil {
		return none, err
	}
	defer raw.Close()

	if err := h.draft.Works(a.Number, draft.Workplace{
		Copy: c.Dir, Base: h.base.Holder(), Agent: h.agent.Name(), Sandbox: string(h.tier), StartedAt: a.StartedAt,
	}); err != nil {
		return none, err
	}
	work, cancel := context.WithDeadlineCause(wall, h.until.Add(-h.reserved), errWallClock)
	defer cancel()
	h.step("%s: agent %s works (sandbox %s)", h.now.long(), h.agent.Name(), h.tier)
	turn, err := h.agent.Turn(work, h.request(work, a.Number, box, c.Dir, raw, told))
	if err != nil {
		turn = agent.Turn{Kind: failure.SpawnFailed, Evidence: err.Error()}
	}
	if turn.Exit.ProcessesLeft > 0 {
		h.event("processes_ended", map[string]any{"attempt": a.Number, "count": turn.Exit.ProcessesLeft})
		h.step("ended %s that the agent left", english.Count(turn.Exit.ProcessesLeft, "process"))
	}
	// The wall clock, or a person, may have ended the turn: what was done is kept all the same.
	l := left{turn: turn}
	l.changes, l.omitted, err = c.Changes(context.WithoutCancel(wall))
	large := l.omitted
	if err == nil && h.hook.Output == "diff" && !turn.Exit.Cancelled {
		err = h.takeAnswer(context.WithoutCancel(wall), a.Number, &l)
	}
	if err == nil {
		err = h.rescue(a.Number, l.changes, a)
	}
	if err == nil {
		var named []string
		if named, err = keepLarge(h.draft, c, a.Number, large); len(named) > 0 {
			h.step("not in the patch: %s", english.List(named, 5))
		}
	}
	if err == nil {
		err = h.draft.Rested(a.Number)
	}
	if err != nil {
		keep = true
		return none, errors.Join(err, h.keep(c, a.Number))
	}
	return l, nil
}

// request is what the agent is asked, in the copy at dir.
func (h *healing) request(ctx context.Context, number int, box sandbox.Box, dir string, raw io.Writer, told feedback) agent.Request {
	pack, err := h.e.Packs().Pack(ctx, h.run, h.task.Name)
	if err != nil {
		h.note("context pack: " + err.Error())
	}
	r := h.basic(number, box, dir, raw)
	// A command may hold a secret: checks may be given it, an agent never is.
	r.Prompt = h.e.Redact.String(agent.Prompt(agent.PromptParts{
		Person: h.hook.Prompt, Task: h.task.Name, Command: failedtask.CommandLine(h.task), Dir: r.Dir,
		Attempt: h.now.attempt, Attempts: h.now.of, Left: h.remaining(), Protect: h.hook.Protect, Tail: told.tail, Again: told.again,
		Diff: h.hook.Output == "diff", Sub: h.base.Sub,
	}))
	r.Pack = pack
	r.Check = func(ctx context.Context, out io.Writer) (bool, error) {
		got, err := h.f.Check(ctx, h.task, box, out, 0)
		return err == nil && got.Status == record.Passed, err
	}
	return r
}

// basic is what all turns of a healing have in common.
func (h *healing) basic(number int, box sandbox.Box, dir string, raw io.Writer) agent.Request {
	idle := h.e.Idle
	if idle == 0 {
		idle = DefaultIdle
	}
	r := agent.Request{
		Attempt: number, Dir: box.At(h.e.Config.Root), Env: h.agentEnv(box), Idle: idle,
		Exec: func(ctx context.Context, c agent.Command) (agent.Exit, error) { return exec(ctx, box, c) },
		Note: func(l agent.Line) {
			if err := h.draft.Transcript(number, l.Type, l.Data); err != nil {
				h.note("transcript: " + err.Error())
			}
		},
		Secrets: h.e.Redact,
		Raw:     raw,
		Copy:    filepath.Join(dir, filepath.FromSlash(h.base.Sub)),
		Top:     dir,
		Run:     h.task.Run.Words(),
		RunDir:  box.At(filepath.Join(h.e.Config.Root, filepath.FromSlash(h.task.Dir))),
		Allow:   h.hook.Allow,
		Notice:  func(text string) { h.step("%s", text) },
	}
	r.Tokens, r.CostUSD = h.spent.leftOf(h.hook.Budget)
	return r
}

// exec runs a command of the agent's in its box.
func exec(ctx context.Context, box sandbox.Box, c agent.Command) (agent.Exit, error) {
	r, err := box.Run(ctx, sandbox.Command{
		Argv: c.Argv, Dir: c.Dir, Env: c.Env, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Idle: c.Idle,
	})
	wall := errors.Is(context.Cause(ctx), errWallClock)
	return agent.Exit{
		Code: r.ExitCode, Signal: r.Signal, TimedOut: r.TimedOut || wall && (r.Cancelled || err != nil), IdledOut: r.IdledOut,
		Cancelled: r.Cancelled && !wall, ProcessesLeft: r.ProcessesLeft, Duration: r.Duration,
	}, err
}

// agentEnv is built from nothing: what any program needs, the agent's own home and caches, and the mark.
func (h *healing) agentEnv(box sandbox.Box) []string {
	var env []string
	for _, kv := range h.e.Environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH", name == "USER", name == "LANG", name == "TZ", name == "TERM", strings.HasPrefix(name, "LC_"):
			env = append(env, kv)
		}
	}
	env = append(env, "HOME="+box.Home, "TMPDIR="+box.Tmp,
		"ASYNC_PIPELINE_RUN_ID="+h.run.ID, "ASYNC_PIPELINE_TASK="+h.task.Name)
	return append(env, box.Env...)
}

// idledBefore says whether this is not the first attempt that fell silent: once more is enough.
func (h *healing) idledBefore(kind failure.Kind) bool {
	if kind != failure.IdleTimeout {
		return false
	}
	before := h.fix.Attempts[:len(h.fix.Attempts)-1]
	return slices.ContainsFunc(before, func(a fix.Attempt) bool { return a.Kind != nil && *a.Kind == string(kind) })
}

// said is what the control object says, without secrets.
func (h *healing) said(turn agent.Turn, asked *fix.Finalizer) (control string, said *fix.Said) {
	if turn.Control == nil {
		return "missing", nil
	}
	control = "ok"
	if asked != nil {
		control = "recovered"
	}
	clean := h.e.Redact.String
	return control, &fix.Said{
		Outcome: turn.Control.Outcome, Summary: clean(turn.Control.Summary), RootCause: orNull(clean(turn.Control.RootCause)),
	}
}

// emptyKind says what a turn is that ended by itself and changed nothing.
func emptyKind(turn agent.Turn) (failure.Kind, string) {
	switch {
	case turn.Control != nil && turn.Control.Outcome == "fixed":
		return failure.PatchEmpty, "the agent says fixed, and changed nothing"
	case turn.Control != nil:
		return "", ""
	case strings.TrimSpace(turn.Text) == "":
		return failure.NoOutput, "the agent said nothing and changed nothing"
	case turn.Problem != "" && turn.Problem != agent.ErrNoObject.Error():
		return failure.OutputInvalid, "the agent changed nothing, and what it ended with is no control object: " + turn.Problem
	}
	return failure.VerdictAmbiguous, "the agent changed nothing and ended without a control object: " + turn.Problem
}

func (h *healing) kind(k failure.Kind) { h.fix.Kind, h.fix.Advice = new(string(k)), orNull(k.Advice()) }

// failedBy ends the healing with a kind.
func (h *healing) failedBy(k failure.Kind, why string) {
	h.kind(k)
	h.end(fix.Failed, string(k)+": "+why)
}

func describe(c *candidate) string {
	s := c.verdict
	if c.verification != nil && c.verification.Reason != nil {
		s += " (" + *c.verification.Reason + ")"
	}
	return s
}
