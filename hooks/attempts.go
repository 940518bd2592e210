package hooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/internal/tree"
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

// A feedback is what an attempt is told of the one before it.
type feedback struct {
	tail    string // of what failed
	failure string // its fingerprint; empty: unknown
	again   bool   // the one before it failed alike
}

// attempts lets the agent work until a difference is verified, or suspect, or the budget ends. Every attempt starts from
// the base.
func (h *healing) attempts(ctx context.Context) *candidate {
	check, _, err := h.homes.CheckCaches(ctx)
	if err == nil {
		h.agentCaches, err = h.homes.AgentCaches(ctx, check, h.gate.started) // before the clock starts: it is not the agent's doing
	}
	if err != nil {
		h.giveUp(ctx, "scratch_failed", err)
		return nil
	}
	started := time.Now()
	h.until = started.Add(h.hook.Budget.WallClock)
	wall, cancel := context.WithDeadlineCause(ctx, h.until, errWallClock)
	defer cancel()
	used := 0
	defer func() {
		h.fix.Budget.Used = h.spent.used()
		h.fix.Budget.Used.Attempts, h.fix.Budget.Used.WallClockMS = new(used), new(time.Since(started).Milliseconds())
	}()

	var best *candidate
	var told feedback
	h.reserved = h.reserve()
	for n := 1; n <= h.hook.Budget.Attempts; n++ {
		h.now = turnOf{attempt: n, of: h.hook.Budget.Attempts}
		if left := h.remaining(); n > 1 && left < minUseful {
			h.step("no %s: %s of the wall clock left is too little", h.now.long(), max(0, left).Round(time.Second))
			h.note(fmt.Sprintf("there was no %s: too little of the wall clock was left", h.now.long()))
			break
		}
		if why := h.spent.over(h.hook.Budget); n > 1 && why != "" {
			h.step("no %s: %s", h.now.long(), why)
			h.note(fmt.Sprintf("there was no %s: %s", h.now.long(), why))
			break
		}
		used = n
		c, next, more := h.attempt(wall, told)
		if c != nil && c.better(best) {
			best = c
		}
		if ctx.Err() != nil {
			h.end(fix.Cancelled, "interrupted")
			if len(h.fix.Attempts) == 0 {
				h.fix.Kind, used = nil, 0 // no agent had started
			}
			return nil
		}
		if len(h.fix.Attempts) == 0 {
			used = 0
		}
		if !more || best != nil && best.verdict != unverified {
			break
		}
		if next.tail != "" {
			next.again = next.failure != "" && next.failure == told.failure
			told = next
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
		h.hook.Budget.WallClock, (2*need + time.Second).Truncate(time.Second)))
	return half
}

// remaining is what an agent may still use of the wall clock.
func (h *healing) remaining() time.Duration { return time.Until(h.until.Add(-h.reserved)) }

// attempt is one attempt of the budget: a try, and where that fails and leaves nothing that holds, what decide says. It gives the best
// difference if there is one to propose, and whether another attempt makes sense, with what that is told of this one.
func (h *healing) attempt(wall context.Context, told feedback) (best *candidate, next feedback, more bool) {
	var of *int
	for {
		began := len(h.fix.Attempts)
		h.now.try++
		t := h.try(wall, of, told)
		if len(h.fix.Attempts) == began { // no agent had started
			return best, feedback{}, false
		}
		h.cameOf(t)
		if t.candidate != nil && t.candidate.better(best) {
			best = t.candidate
		}
		if !t.failed || wall.Err() != nil {
			return best, t.next, t.more
		}
		row := &h.fix.Attempts[began]
		d := decide(h.failedTry(t))
		row.Decision = &fix.Decision{Next: d.next, DelayMS: d.delay.Milliseconds(), Why: d.why, Outcome: "not_tried"}
		h.decided(row, d)
		if d.resume {
			row.Decision.ResumeAt = new(timestamp.Of(time.Now().Add(*t.after)))
			h.step("agent %s says it can go on at %s", h.agent.Name(), *row.Decision.ResumeAt)
		}
		if d.next == stopTries {
			h.fix.ResumeAt = row.Decision.ResumeAt
			return best, t.next, t.more && !t.kind.Barred()
		}
		if t.next.tail != "" {
			told = t.next
		}
		of = new(row.Number)
		switch d.next {
		case retryNow:
			h.retried[h.agent.Name()] = true
		case waitFor:
			h.waits++
		case fallBack:
			of = nil
			h.agent, h.fallbacks = h.fallbacks[0], h.fallbacks[1:]
		}
		if !pause(wall, d.delay) {
			return best, feedback{}, false
		}
	}
}

// failedTry is what decide needs to know.
func (h *healing) failedTry(t tried) failedTry {
	return failedTry{
		kind: t.kind, policy: h.agent.Retry(), took: t.took, wall: h.hook.Budget.WallClock, left: h.remaining(), after: t.after,
		retried: h.retried[h.agent.Name()], waits: h.waits, fallback: len(h.fallbacks) > 0,
		spent: h.spent.over(h.hook.Budget),
	}
}

// decided tells the person, the journal and the transcript what comes next.
func (h *healing) decided(row *fix.Attempt, d decision) {
	data := map[string]any{"kind": row.Kind, "class": row.Class, "evidence": row.Evidence, "decision": d.next, "delay_ms": d.delay.Milliseconds(), "why": d.why}
	if err := h.draft.Transcript(row.Number, "retry", data); err != nil {
		h.note("transcript: " + err.Error())
	}
	with := map[string]any{"attempt": row.Number, "agent": row.Agent}
	maps.Copy(with, data)
	h.event("retry", with)
	ended := fmt.Sprintf("agent %s ended with %s (%s)", row.Agent, *row.Kind, noList(*row.Evidence))
	switch d.next {
	case retryNow, waitFor:
		h.step("%s; once more in %s", ended, seconds(d.delay))
	case fallBack:
		h.step("%s; now agent %s", ended, h.fallbacks[0].Name())
	}
}

// cameOf completes the decision after the failure before: what the next try came to.
func (h *healing) cameOf(t tried) {
	i := len(h.fix.Attempts) - 2
	if i < 0 || h.fix.Attempts[i].Decision == nil || h.fix.Attempts[i].Decision.Next == stopTries {
		return
	}
	d := h.fix.Attempts[i].Decision
	switch {
	case t.kind == "", t.candidate != nil && t.candidate.verdict != unverified:
		d.Outcome = "recovered"
	case h.fix.Attempts[i].Kind != nil && *h.fix.Attempts[i].Kind == string(t.kind):
		d.Outcome = "same_kind"
	default:
		d.Outcome = "other_kind"
	}
}

// pause waits, and says whether there is still time to go on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
