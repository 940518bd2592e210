package budget

import (
	"context"
	"fmt"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// Four layers can multiply: the agent's own retries, ours, the question for a control object, the attempts of the
// budget. So one clock bounds them all, and ours is one retry for each agent of a hook.

const (
	retryDelay = time.Second     // before a retry
	cheapShare = 5               // a failed try was cheap when it took less than this part of the wall clock
	cheapMost  = 2 * time.Minute // and less than this
	mostWaits  = 3               // for a reset that was announced, in one hook
)

// Decisions.
const (
	Retry    = "retry"    // the same agent, in a fresh copy
	Wait     = "wait"     // the same, at the time that the agent named
	Fallback = "fallback" // the next agent
	Stop     = "stop"
)

// A Failed is a try that failed and left nothing that can be verified.
type Failed struct {
	Agent    string
	Kind     failure.Kind
	Policy   failure.Policy
	Took     time.Duration
	After    *time.Duration // how long the agent says to wait; nil: it does not say
	Fallback bool           // there is another agent
}

// A Decision tells what to do next, and why, for the record.
type Decision struct {
	Next   string
	Delay  time.Duration
	Resume bool // the time that the agent named comes after the budget's end: it is worth recording
	Why    string

	Unasked bool // there is another agent, and no time for it
}

// Decide returns what follows a failed try, and counts it.
func (b *Budget) Decide(f Failed) Decision {
	d := decide(state{
		Failed: f, wall: b.Limit.WallClock, left: b.LeftForAgent(),
		retried: b.retried[f.Agent], waits: b.waits, spent: b.Spent(),
	})
	switch d.Next {
	case Retry:
		b.retried[f.Agent] = true
	case Wait:
		b.waits++
	}
	return d
}

// A state is a failed try, with the budget at that time.
type state struct {
	Failed
	wall    time.Duration // of the budget
	left    time.Duration // of it, for an agent
	retried bool          // this agent has had its retry
	waits   int           // so far
	spent   string        // which cap is spent; empty: none
}

// decide is a pure function. The first rule that applies decides.
func decide(s state) Decision {
	class := s.Kind.Class()
	switch {
	case class == failure.Lifecycle, class == failure.Fatal:
		return Decision{Next: Stop, Why: string(s.Kind) + " ends the hook"}
	case s.spent != "":
		return Decision{Next: Stop, Why: s.spent}
	case s.After != nil && (class == failure.Wait || class == failure.Transient):
		// Retry-After is exact: no more is added to it, and no less will do.
		if *s.After+leastUseful <= s.left && s.waits < mostWaits {
			return Decision{Next: Wait, Delay: *s.After, Why: "the agent can go on in " + Seconds(*s.After)}
		}
		why := fmt.Sprintf("the agent can continue in %s, and a try needs %s: the wall clock has less left",
			Seconds(*s.After), Seconds(leastUseful))
		if s.waits >= mostWaits {
			why = fmt.Sprintf("it has been waited for %d times already", s.waits)
		}
		return s.orFallback(Decision{Next: Stop, Resume: true, Why: why})
	case !failure.Retryable(s.Kind, s.Policy):
		return s.orFallback(Decision{Next: Stop, Why: s.whyNot()})
	case s.retried:
		return s.orFallback(Decision{Next: Stop, Why: "it was retried already"})
	case !s.cheap():
		return s.orFallback(Decision{Next: Stop, Why: "too much of the wall clock was spent on it"})
	case retryDelay+leastUseful > s.left:
		return s.orFallback(Decision{Next: Stop, Why: "too little of the wall clock is left"})
	}
	return Decision{Next: Retry, Delay: retryDelay, Why: "a retry may succeed"}
}

// orFallback takes the next agent, if there is one and time for it.
func (s state) orFallback(d Decision) Decision {
	switch {
	case s.Fallback && s.left >= leastUseful:
		d.Next = Fallback
		d.Why += "; the next agent is asked"
	case s.Fallback:
		d.Unasked = true
		d.Why += "; too little of the wall clock is left for the next agent"
	}
	return d
}

// whyNot tells why a kind is not retried at once.
func (s state) whyNot() string {
	switch s.Kind.Class() {
	case failure.Wait:
		return "the agent does not say when it can go on, and asking at once only deepens a limit"
	case failure.Transient:
		return string(s.Kind) + " comes after the agent's own retries"
	}
	return string(s.Kind) + " does not go away by a retry"
}

// cheap reports whether a try cost little enough to be repeated. Failures of a start cost nothing but time.
func (s state) cheap() bool {
	switch s.Kind {
	case failure.NoOutput, failure.MCPHandshakeFailed, failure.ColdStartTimeout:
		return true
	}
	return s.Took < s.wall/cheapShare && s.Took < cheapMost
}

// Seconds returns a delay for a person to read, in whole seconds where it has any.
func Seconds(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Pause waits, and reports whether neither ctx nor the wall clock has ended meanwhile.
func (b *Budget) Pause(ctx context.Context, d time.Duration) bool {
	ctx, cancel := b.Wall(ctx)
	defer cancel()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
