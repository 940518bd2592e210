package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// minUseful is the least wall clock, from the second attempt on, that is worth an attempt.
const minUseful = 20 * time.Second

// A candidate is the difference that an attempt left, and what verification said of it.
type candidate struct {
	changes      []patch.Change
	omitted      []tree.Omitted
	flags        []fix.Flag
	verdict      string
	verification *fix.Verification
	control      string
	said         *fix.Said
	feedback     string // tail of the check that failed
}

// cap withholds "verified" for a reason that lies outside of the patch.
func (c *candidate) cap(reason string) {
	if c == nil || c.verdict != verified {
		return
	}
	c.verdict = unverified
	c.verification.Reason = &reason
}

// better says whether c is to be preferred to an earlier candidate.
func (c *candidate) better(o *candidate) bool {
	rank := map[string]int{verified: 3, suspect: 2, unverified: 1}
	return o == nil || rank[c.verdict] >= rank[o.verdict]
}

// attempts lets the agent work until a difference is verified, or suspect, or the budget ends. Every attempt starts from
// the base.
func (h *healing) attempts(ctx context.Context) *candidate {
	check, _, err := h.homes.checkCaches(ctx, h.task)
	if err == nil {
		h.agentCaches, err = h.homes.agentCaches(ctx, check, h.gate.started) // before the clock starts: it is not the agent's doing
	}
	if err != nil {
		h.giveUp(ctx, "scratch_failed", err)
		return nil
	}
	started := time.Now()
	h.until = started.Add(h.hook.Budget.WallClock)
	wall, cancel := context.WithDeadlineCause(ctx, h.until, errWallClock)
	defer cancel()
	defer func() {
		h.fix.Budget.Used = fix.Amounts{
			Attempts: new(len(h.fix.Attempts)), WallClockMS: new(time.Since(started).Milliseconds()),
		}
	}()

	var best *candidate
	feedback := ""
	reserve := h.reserve()
	for n := 1; n <= h.hook.Budget.Attempts; n++ {
		if left := time.Until(h.until.Add(-reserve)); n > 1 && left < minUseful {
			h.step("no attempt %d: %s of the wall clock left is too little", n, max(0, left).Round(time.Second))
			h.note(fmt.Sprintf("there was no attempt %d: too little of the wall clock was left", n))
			break
		}
		c, next, more := h.attempt(wall, n, reserve, feedback)
		if c != nil && c.better(best) {
			best = c
		}
		if ctx.Err() != nil {
			h.end(fix.Cancelled, "interrupted")
			if len(h.fix.Attempts) == 0 {
				h.fix.Kind = nil // no agent had started
			}
			return nil
		}
		if !more || best != nil && best.verdict != unverified {
			break
		}
		if next != "" {
			feedback = next
		}
	}
	return best
}

var errWallClock = errors.New("the wall clock of the budget ended")

// reserve is the part of the wall clock kept back for verification: what comes before the check, and the check twice;
// at most half.
func (h *healing) reserve() time.Duration {
	need := h.verificationNeeds()
	half := h.hook.Budget.WallClock / 2
	if need <= half {
		return need
	}
	h.note(fmt.Sprintf("wall_clock %s leaves too little time for verification; %s would have been enough",
		h.hook.Budget.WallClock, (2 * need).Round(time.Second)))
	return half
}

// attempt is one turn of the agent in a fresh copy. It gives the difference if there is one to propose, and whether another
// attempt makes sense, with what that is told of this one.
func (h *healing) attempt(wall context.Context, n int, reserve time.Duration, feedback string) (c *candidate, next string, more bool) {
	a := fix.Attempt{Number: n, Agent: h.hook.Use, StartedAt: stamp(time.Now()), Sandbox: string(h.tier)}
	started := time.Now()
	l, err := h.turn(wall, n, reserve, feedback, &a)
	a.DurationMS = time.Since(started).Milliseconds()
	if errors.Is(err, context.Canceled) || errors.Is(err, errWallClock) || errors.Is(err, context.DeadlineExceeded) {
		// Before the agent was started. A person's cancel is said by the caller.
		h.kind(agent.WallTimeout)
		h.end(fix.Failed, "wall_timeout: the wall clock of "+h.hook.Budget.WallClock.String()+" ended before the agent could start")
		return nil, "", false
	}
	if err != nil {
		a.Class = new(string(agent.ScratchFailed.Class()))
		a.Kind, a.Evidence = new(string(agent.ScratchFailed)), new(h.e.Redact.String(err.Error()))
		h.fix.Attempts = append(h.fix.Attempts, a)
		h.kind(agent.ScratchFailed)
		h.end(fix.Failed, err.Error())
		return nil, "", false
	}
	turn, changes := l.turn, l.changes
	kind, evidence := turn.Kind, turn.Evidence
	if kind == "" && len(changes) == 0 {
		kind, evidence = emptyKind(turn)
	}
	a.ExitCode, a.Turns, a.CostUSD, a.Requests = new(turn.Exit.Code), turn.Turns, turn.CostUSD, turn.Requests
	a.Tokens = fix.Tokens{Input: turn.Tokens.Input, Output: turn.Tokens.Output, Cached: turn.Tokens.Cached}
	class := kind.Class()
	if kind != "" {
		a.Kind, a.Class, a.Evidence = new(string(kind)), new(string(class)), orNull(h.e.Redact.String(evidence))
		h.kind(kind)
	} else {
		h.fix.Kind = nil
	}
	h.fix.Attempts = append(h.fix.Attempts, a)

	control, said := h.said(turn)
	h.fix.Control, h.fix.AgentSaid = &control, said
	switch {
	case turn.Exit.Cancelled:
		return nil, "", false
	case said != nil && said.Outcome == "no_fix":
		h.end(fix.NoFix, "the agent says that there is nothing to fix")
		return nil, "", false
	case len(changes) == 0 && said != nil && said.Outcome == "needs_human":
		h.end(fix.NoFix, "needs_human: the agent says that a person has to decide")
		return nil, "", false
	case len(changes) == 0:
		h.end(fix.Failed, string(kind)+": "+evidence)
		h.fix.Omitted = append(h.fix.Omitted, l.omitted...)
		return nil, l.refused, l.refused != "" || class == agent.Transient && !h.idledBefore(kind)
	}
	c = &candidate{changes: changes, omitted: l.omitted, control: control, said: said}
	h.verify(wall, n, c)
	h.fix.Attempts[len(h.fix.Attempts)-1].Verdict = orNull(c.verdict)
	h.step("attempt %d: %s", n, describe(c))
	return c, l.refused + c.feedback, c.verdict == unverified
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
func (h *healing) turn(wall context.Context, n int, reserve time.Duration, feedback string, a *fix.Attempt) (left, error) {
	var none left
	c, err := h.base.Copy(wall, filepath.Join(h.homes.work, "agent"))
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
	box, err := h.homes.agentBox(h.base, c.Dir, h.agentCaches, h.task, h.box(), filters)
	if err != nil {
		return none, err
	}
	raw, err := h.draft.Raw(n)
	if err != nil {
		return none, err
	}
	defer raw.Close()

	if err := h.draft.Works(n, fix.Workplace{
		Copy: c.Dir, Base: h.base.Holder(), Agent: h.hook.Use, Sandbox: string(h.tier), StartedAt: a.StartedAt,
	}); err != nil {
		return none, err
	}
	work, cancel := context.WithDeadlineCause(wall, h.until.Add(-reserve), errWallClock)
	defer cancel()
	h.step("attempt %d of %d: agent %s works (sandbox %s)", n, h.hook.Budget.Attempts, h.hook.Use, h.tier)
	turn, err := h.agent.Turn(work, h.request(work, n, box, raw, feedback, time.Until(h.until.Add(-reserve))))
	if err != nil {
		turn = agent.Turn{Kind: agent.SpawnFailed, Evidence: err.Error()}
	}
	if turn.Exit.ProcessesLeft > 0 {
		h.event("processes_ended", map[string]any{"attempt": n, "count": turn.Exit.ProcessesLeft})
		h.step("ended %s that the agent left", plural(turn.Exit.ProcessesLeft, "process"))
	}
	// The wall clock, or a person, may have ended the turn: what was done is kept all the same.
	l := left{turn: turn}
	l.changes, l.omitted, err = c.Changes(context.WithoutCancel(wall))
	large := l.omitted
	if err == nil && h.hook.Output == "diff" && !turn.Exit.Cancelled {
		err = h.takeAnswer(context.WithoutCancel(wall), n, &l)
	}
	if err == nil {
		err = h.rescue(n, l.changes, a)
	}
	if err == nil {
		var named []string
		if named, err = keepLarge(h.draft, c, n, large); len(named) > 0 {
			h.step("not in the patch: %s", listed(named, 5))
		}
	}
	if err == nil {
		err = h.draft.Rested(n)
	}
	if err != nil {
		keep = true
		return none, errors.Join(err, h.keep(c, n))
	}
	return l, nil
}

// request is what the agent is asked.
func (h *healing) request(ctx context.Context, n int, box sandbox.Box, raw io.Writer, feedback string, left time.Duration) agent.Request {
	pack, err := h.e.Pack(ctx, h.run, h.task.Name)
	if err != nil {
		h.note("context pack: " + err.Error())
	}
	dir := box.At(h.e.Config.Root)
	idle := h.e.Idle
	if idle == 0 {
		idle = DefaultIdle
	}
	return agent.Request{
		Attempt: n,
		// A command may hold a secret: checks may be given it, an agent never is.
		Prompt: h.e.Redact.String(agent.Prompt(agent.PromptParts{
			Person: h.hook.Prompt, Task: h.task.Name, Command: commandText(h.task), Dir: dir,
			Attempt: n, Attempts: h.hook.Budget.Attempts, Left: left, Protect: h.hook.Protect, Tail: feedback,
			Diff: h.hook.Output == "diff", Sub: h.base.Sub,
		})),
		Pack: pack, Dir: dir, Env: h.agentEnv(box), Idle: idle,
		Exec: func(ctx context.Context, c agent.Command) (agent.Exit, error) { return exec(ctx, box, c) },
		Note: func(l agent.Line) {
			if err := h.draft.Transcript(n, l.Type, l.Data); err != nil {
				h.note("transcript: " + err.Error())
			}
		},
		Secrets: h.e.Redact,
		Raw:     raw,
		Check: func(ctx context.Context, out io.Writer) (bool, error) {
			got, err := h.runCheck(ctx, h.task, box, out, 0)
			return err == nil && got.Status == record.Passed, err
		},
	}
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
func (h *healing) idledBefore(kind agent.Kind) bool {
	if kind != agent.IdleTimeout {
		return false
	}
	before := h.fix.Attempts[:len(h.fix.Attempts)-1]
	return slices.ContainsFunc(before, func(a fix.Attempt) bool { return a.Kind != nil && *a.Kind == string(kind) })
}

// said is what the control object says, without secrets.
func (h *healing) said(turn agent.Turn) (control string, said *fix.Said) {
	if turn.Control == nil {
		return "missing", nil
	}
	clean := h.e.Redact.String
	return "ok", &fix.Said{
		Outcome: turn.Control.Outcome, Summary: clean(turn.Control.Summary), RootCause: orNull(clean(turn.Control.RootCause)),
	}
}

// emptyKind says what a turn is that ended by itself and changed nothing.
func emptyKind(turn agent.Turn) (agent.Kind, string) {
	switch {
	case turn.Control != nil && turn.Control.Outcome == "fixed":
		return agent.PatchEmpty, "the agent says fixed, and changed nothing"
	case turn.Control != nil:
		return "", ""
	case strings.TrimSpace(turn.Text) == "":
		return agent.NoOutput, "the agent said nothing and changed nothing"
	}
	return agent.VerdictAmbiguous, "the agent changed nothing and ended without a control object: " + turn.Problem
}

func (h *healing) kind(k agent.Kind) { h.fix.Kind = new(string(k)) }

func describe(c *candidate) string {
	s := c.verdict
	if c.verification != nil && c.verification.Reason != nil {
		s += " (" + *c.verification.Reason + ")"
	}
	return s
}

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
