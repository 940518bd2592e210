package hooks

import (
	"fmt"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// What follows a try that failed and left nothing. Four layers can multiply (the agent's own retries, ours, the finalizer, the
// attempts of the budget), so one clock bounds them all, and ours is one retry for each agent of a hook.

const (
	retryDelay = time.Second     // before a retry
	cheapShare = 5               // a failed try was cheap when it took less than this part of the wall clock
	cheapMost  = 2 * time.Minute // and less than this
	mostWaits  = 3               // for a reset that was announced, in one hook
)

// Decisions.
const (
	retryNow  = "retry"    // the same agent, in a fresh copy
	waitFor   = "wait"     // the same, when the time has come that the agent named
	fallBack  = "fallback" // the next agent
	stopTries = "stop"
)

// A failedTry is what is known of one.
type failedTry struct {
	kind     failure.Kind
	policy   failure.Policy
	took     time.Duration
	wall     time.Duration  // of the budget
	left     time.Duration  // of it, without what verification needs
	after    *time.Duration // how long the agent says to wait; nil: it does not say
	retried  bool           // this agent has had its retry
	waits    int            // so far
	fallback bool           // there is another agent
	spent    string         // which cap of the budget is spent, in words; empty: none
}

// A decision is what to do next, and why, for the record.
type decision struct {
	next   string
	delay  time.Duration
	resume bool // the time that the agent named comes after the budget's end: it is worth recording
	why    string
}

// decide is a pure function; the first rule that fits counts.
func decide(t failedTry) decision {
	class := t.kind.Class()
	switch {
	case class == failure.Lifecycle, class == failure.Fatal:
		return decision{next: stopTries, why: string(t.kind) + " ends the hook"}
	case t.spent != "":
		return decision{next: stopTries, why: t.spent}
	case t.after != nil && (class == failure.Wait || class == failure.Transient):
		// Retry-After is exact: no more is added to it, and no less will do.
		if *t.after+minUseful <= t.left && t.waits < mostWaits {
			return decision{next: waitFor, delay: *t.after, why: fmt.Sprintf("the agent can go on in %s", seconds(*t.after))}
		}
		why := fmt.Sprintf("the agent could go on in %s, which the budget has not", seconds(*t.after))
		if t.waits >= mostWaits {
			why = fmt.Sprintf("it was waited for %d times already", t.waits)
		}
		return t.other(decision{next: stopTries, resume: true, why: why})
	case !failure.Retryable(t.kind, t.policy):
		return t.other(decision{next: stopTries, why: t.hopeless()})
	case t.retried:
		return t.other(decision{next: stopTries, why: "it was tried again already"})
	case !t.cheap():
		return t.other(decision{next: stopTries, why: "too much of the wall clock was spent on it"})
	case retryDelay+minUseful > t.left:
		return t.other(decision{next: stopTries, why: "too little of the wall clock is left"})
	}
	return decision{next: retryNow, delay: retryDelay, why: "another try may go well"}
}

// other takes the next agent, if there is one and time for it.
func (t failedTry) other(d decision) decision {
	if t.fallback && t.left >= minUseful {
		d.next = fallBack
		d.why += "; the next agent is asked"
	}
	return d
}

// hopeless says why a kind is not tried again at once.
func (t failedTry) hopeless() string {
	switch t.kind.Class() {
	case failure.Wait:
		return "the agent does not say when it can go on, and asking at once only deepens a limit"
	case failure.Transient:
		return string(t.kind) + " comes after the agent's own tries"
	}
	return string(t.kind) + " is not mended by another try"
}

// cheap says whether a try may be repeated after what it cost. Failures of a start cost nothing but time.
func (t failedTry) cheap() bool {
	switch t.kind {
	case failure.NoOutput, failure.MCPHandshakeFailed, failure.ColdStartTimeout:
		return true
	}
	return t.took < t.wall/cheapShare && t.took < cheapMost
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
