package hooks

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/attempt"
	"github.com/async-pipeline/async-pipeline/hooks/budget"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/reproduce"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

// attempts are the attempts of one hook, under one budget.
type attempts struct {
	*job
	*result
	budget *budget.Budget
	agents []agent.Agent   // the first is asked; the others are its fallbacks, in order
	ask    attempt.Request // what all tries have in common
	check  verify.Request  // what all verifications have in common

	ended   map[failure.Kind]bool // kinds of the tries so far
	decided *fix.Decision         // about the try before, until it is known what came of it; nil: there is none
	before  failure.Kind          // of that try
}

// attempts lets agents work until a difference is verified or suspect, or the budget ends. Every try starts from the
// base.
func (j *job) attempts(ctx context.Context, h *homes.Homes, repro reproduce.Result, agents []agent.Agent, r *result) {
	caches, _, err := h.CheckCaches(ctx)
	if err == nil {
		caches, err = h.ThrowAwayCaches(ctx, caches, repro.Since) // before the clock starts: no agent is charged for it
	}
	if err != nil {
		r.ending = gaveUp(ctx, failure.ScratchFailed, err)
		return
	}
	check := verify.Request{
		Failure: j.failure, Homes: h, Base: repro.Base, Protect: j.hook.Protect, Also: j.hook.Verify,
		Since: repro.Since, Log: j.draft.Log, Progress: j.log, Parallel: cmp.Or(j.Parallel, j.Config.Concurrency),
		Core: repro.Core, Ahead: repro.Ahead, Took: repro.Took, Processors: repro.Reproduction.Processors,
	}
	need := check.Needs()
	b := budget.Start(j.hook.Budget, need, h.CopyTime)
	if j.hook.Reviewer != "" {
		b.KeepForReview()
	}
	j.log.Left = b.Left
	check.Budget = b
	a := &attempts{job: j, result: r, budget: b, agents: agents, check: check, ended: map[failure.Kind]bool{}, ask: attempt.Request{
		Failure: j.failure, Hook: j.hook, Homes: h, Base: repro.Base, Caches: caches, Budget: b, Draft: j.draft,
		Progress: j.log, Redact: j.Redact, Idle: cmp.Or(j.Idle, attempt.IdleLimit),
		Others: repro.Core.Named(),
		Pack: func(ctx context.Context) ([]byte, error) {
			return j.Packs().Pack(ctx, j.failure.Run, j.failure.Task.Name)
		},
	}}
	a.all(ctx)
	// A verdict that was reached stands without the second opinion, which could only be missing.
	reached := ctx.Err() == nil && r.best != nil && r.best.Verdict != verify.Unverified
	a.secondOpinion(ctx)

	used := b.Attempt().Number
	if len(r.rows) == 0 {
		used = 0 // no agent had started
	}
	switch {
	case ctx.Err() != nil && reached:
		if a.Agents[a.hook.Reviewer] != nil && (a.opinion == nil || a.opinion.Reason != nil) {
			j.log.Note("interrupted after the verification: the second opinion is missing")
		}
	case ctx.Err() != nil:
		r.state, r.reason, r.best = fix.Cancelled, "interrupted", nil
		if used == 0 {
			r.kind = ""
		}
	}
	r.agent = a.agents[0].Name()
	r.used.Attempts, r.used.WallClockMS = &used, new(b.Used().Milliseconds())
	r.used.Tokens, r.used.TokensAtLeast = b.Tokens()
	r.used.CostUSD, r.used.CostAtLeast = b.Cost()
	ranOut := r.kind == failure.WallTimeout || r.best != nil && r.best.NoTime()
	if enough := budget.Enough(b.Limit, need); enough > 0 && ranOut {
		j.log.Note(fmt.Sprintf("wall_clock %s leaves too little time for verification; %s would have been enough",
			b.Limit.WallClock, enough))
	}
}

// A told is what an attempt learns about the one before it.
type told struct {
	attempt.Told
	failure string // fingerprint of what failed; empty: unknown
}

// all carries out the attempts of the budget.
func (a *attempts) all(ctx context.Context) {
	var last told
	for {
		ok, why := a.budget.Next()
		if !ok {
			if why != "" {
				a.log.Step("%s", why)
				a.log.Note(why)
			}
			return
		}
		next, more := a.one(ctx, last)
		if !more || ctx.Err() != nil || a.best != nil && a.best.Verdict != verify.Unverified {
			return
		}
		if next.Tail != "" {
			next.Again = next.failure != "" && next.failure == last.failure
			last = next
		}
	}
}

// one carries out one attempt: a try, and where that fails and leaves nothing that can be verified, what the budget
// decides. more reports whether another attempt makes sense; next is what that one learns.
func (a *attempts) one(ctx context.Context, last told) (next told, more bool) {
	var of *int
	for {
		a.budget.Try()
		t, err := a.try(ctx, of, last)
		if err != nil {
			a.state, a.kind = fix.Failed, failure.WallTimeout
			a.reason = fmt.Sprintf("%s: the wall clock of %s ended before the agent could start", a.kind,
				a.budget.Limit.WallClock)
			return told{}, false
		}
		if !t.failed || ctx.Err() != nil || a.budget.Left() == 0 {
			return t.next, t.more
		}
		row := &a.rows[len(a.rows)-1]
		row.Decision = a.decide(t)
		if row.Decision.Next == budget.Stop {
			a.resumeAt = row.Decision.ResumeAt
			// An agent that names a time which is too late for this budget is not asked before it, either.
			return t.next, t.more && !t.Kind.Barred() && row.Decision.ResumeAt == nil
		}
		a.decided, a.before = row.Decision, t.Kind
		if t.next.Tail != "" {
			last = t.next
		}
		of = &t.Row.Number
		if row.Decision.Next == budget.Fallback {
			of, a.agents = nil, a.agents[1:]
		}
		if !a.budget.Pause(ctx, time.Duration(row.Decision.DelayMS)*time.Millisecond) {
			return told{}, false
		}
	}
}

// A tried is a try, with what may follow it.
type tried struct {
	attempt.Result
	next   told
	more   bool // another attempt makes sense
	failed bool // the budget decides what follows
}

// try lets the first agent work once and verifies what it leaves. The error is attempt.ErrNotStarted.
func (a *attempts) try(ctx context.Context, of *int, last told) (tried, error) {
	q := a.ask
	q.Number, q.RetryOf, q.Agent, q.Told = len(a.rows)+1, of, a.agents[0], last.Told
	res, err := attempt.Run(ctx, q)
	if err != nil {
		return tried{}, err
	}
	t := tried{Result: res, next: told{Told: attempt.Told{Tail: res.Refused}}}
	a.rows = append(a.rows, res.Row)
	a.omitted = append(a.omitted, res.Left...)
	a.kind, a.unasked = res.Kind, false
	if res.Control != "" {
		a.control, a.said = res.Control, res.Said
	}
	if res.State != "" {
		a.state, a.reason = res.State, res.Reason
	}
	class := res.Kind.Class()
	if len(res.Changes) == 0 {
		a.omitted = append(a.omitted, res.Omitted...)
		if res.State == fix.Failed && res.Kind != failure.ScratchFailed {
			// To fall silent once more is enough, and so is to fail once more in a way that nobody knows.
			again := res.Kind != failure.IdleTimeout && res.Kind != failure.Unknown || !a.ended[res.Kind]
			t.failed, t.more = res.Refused == "", res.Refused != "" || class == failure.Transient && again
		}
		a.cameOf(t.Kind, res.State == fix.NoFix)
	} else {
		c := &candidate{changes: res.Changes, omitted: res.Omitted, control: res.Control, said: res.Said}
		v := a.check
		v.Number, v.Changes = q.Number, res.Changes
		c.Result = verify.Run(ctx, v)
		row := &a.rows[len(a.rows)-1]
		// The verdict may still be lowered: by a second opinion, or because the tree changed. The record has the last one.
		row.Verdict, row.VerificationMS = &c.Verdict, c.Checks.DurationMS
		c.attempt = a.budget.Attempt().String()
		if a.tier == sandbox.View || c.Verdict != verify.Verified {
			a.log.Step("%s: %s", c.attempt, &c.Result)
		} else {
			c.untold = true
		}
		if a.best == nil || verify.Better(c.Verdict, a.best.Verdict) {
			a.best = c
		}
		t.next.Tail += c.Feedback
		t.next.failure = c.Fingerprint()
		again := c.Verdict == verify.Unverified && !c.NoSpace
		if again {
			t.Bar()
			row.Kind, row.Class, row.Evidence = t.Row.Kind, t.Row.Class, t.Row.Evidence
			a.kind, class = t.Kind, t.Kind.Class()
		}
		t.more = again && class != failure.Fatal && class != failure.Lifecycle
		// A difference that fails is no reason to ask an agent again that cannot go on, and none against the retry that its
		// failure deserves without one.
		t.failed = again && (class == failure.Wait || class == failure.Terminal ||
			class == failure.Transient && t.RetryAfter != nil || t.Kind != "" && failure.Retryable(t.Kind, q.Agent.Retry()))
		a.cameOf(t.Kind, c.Verdict != verify.Unverified)
	}
	a.ended[res.Kind] = true
	return t, nil
}

// secondOpinion asks another agent about the proposal, if the hook names one and the checks passed.
func (a *attempts) secondOpinion(ctx context.Context) {
	reviewer := a.Agents[a.hook.Reviewer]
	if reviewer == nil || ctx.Err() != nil || a.best == nil || a.best.Verdict == verify.Unverified {
		return
	}
	author := &a.rows[len(a.rows)-1] // no attempt follows a patch that passed
	q := a.ask
	q.Number, q.Agent = author.Number, reviewer
	o := attempt.Review(ctx, q, a.best.changes, attempt.ReportOf(a.best.Flags, a.best.Checks))
	o.Same = o.Agent == author.Agent || o.Model != nil && author.Model != nil && *o.Model == *author.Model
	a.best.Hear(o)
	a.opinion = o
	said := "no concern"
	switch {
	case o.Reason != nil:
		said = fmt.Sprintf("none (%s: %s)", o.Result, *o.Reason)
	case len(o.Concerns) > 0:
		said = english.Count(len(o.Concerns), "concern")
	}
	a.log.Step("second opinion of agent %s: %s", o.Agent, said)
}

// decide returns what follows a failed try, and tells the person, the journal and the transcript.
func (a *attempts) decide(t tried) *fix.Decision {
	now := a.agents[0]
	d := a.budget.Decide(budget.Failed{
		Agent: now.Name(), Kind: t.Kind, Policy: now.Retry(), Took: t.Took, After: t.RetryAfter,
		Fallback: len(a.agents) > 1,
	})
	a.unasked = d.Unasked
	data := map[string]any{
		"kind": t.Row.Kind, "class": t.Row.Class, "evidence": t.Row.Evidence,
		"decision": d.Next, "delay_ms": d.Delay.Milliseconds(), "why": d.Why,
	}
	if err := a.draft.Transcript(t.Row.Number, "retry", data); err != nil {
		a.log.Note("transcript: " + err.Error())
	}
	data["attempt"], data["agent"] = t.Row.Number, t.Row.Agent
	a.log.Event("retry", data)
	ended := fmt.Sprintf("agent %s ended with %s (%s)", t.Row.Agent, t.Kind, noList(*t.Row.Evidence))
	switch d.Next {
	case budget.Retry, budget.Wait:
		a.log.Step("%s; retrying in %s", ended, budget.Seconds(d.Delay))
	case budget.Fallback:
		a.log.Step("%s; asking agent %s next", ended, a.agents[1].Name())
	}
	decision := &fix.Decision{Next: d.Next, DelayMS: d.Delay.Milliseconds(), Why: d.Why, Outcome: "not_tried"}
	if d.Resume {
		decision.ResumeAt = new(timestamp.Of(time.Now().Add(*t.RetryAfter)))
		a.log.Step("agent %s can continue at %s", t.Row.Agent, *decision.ResumeAt)
	}
	return decision
}

// cameOf completes the decision about the try before with how this one ended.
func (a *attempts) cameOf(kind failure.Kind, well bool) {
	if a.decided == nil {
		return
	}
	switch {
	case kind == "", well:
		a.decided.Outcome = "recovered"
	case kind == a.before:
		a.decided.Outcome = "same_kind"
	default:
		a.decided.Outcome = "other_kind"
	}
	a.decided = nil
}

// noList leaves out the list of all kinds, which is for the record.
func noList(text string) string {
	return strings.NewReplacer("; "+agent.KnownKinds(), "", ": "+agent.KnownKinds(), "").Replace(text)
}
