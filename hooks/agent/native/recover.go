package native

// What to do when an answer breaks off, which is a pure table, and how long to wait before the model is asked again.

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// A cause is what ended an answer.
type cause string

const (
	userCancel     cause = "user_cancel"
	lifecycleClose cause = "local_lifecycle_close"
	transport      cause = "transport"    // the network, or bytes that are not the protocol
	watchdog       cause = "watchdog"     // nothing arrived for too long
	provider       cause = "provider_api" // the provider said no
)

// Facts are what is known of a broken answer. That a tool was started is none of them: tools are started once all
// content of the answer has come, and what happens to the stream after that is no break. incomplete and elsewhere are
// never true with our own tools; they are rows of the table all the same.
type facts struct {
	retryable   bool // the same request may succeed
	reasoning   bool // the model thought aloud
	text        bool // it said something
	partialCall bool // the arguments of a call had begun to arrive
	wholeCall   bool // a call was complete, and did not run
	unknownCall bool // ... of a tool that we do not know
	incomplete  bool // there may be more that we do not know
	elsewhere   bool // the request offered tools that somebody else carries out, or nobody knows which it offered
}

func (f facts) nothing() bool {
	return !f.reasoning && !f.text && !f.acted()
}

func (f facts) acted() bool { return f.partialCall || f.wholeCall }

// An action follows a broken answer.
type action int

const (
	stop   action = iota
	replay        // the same request once more
	goOn          // a new request, from the history with the broken answer made legal
)

// decide returns what follows, and why in one word. Where nobody can be asked the conversation goes on: the model is
// told to be careful with calls that may have run, and no doubt of ours ends a turn.
func decide(c cause, f facts) (action, string) {
	onlyReasoning := f.reasoning && !f.text && !f.acted()
	switch {
	case c == userCancel:
		return stop, "user_cancel"
	case c == lifecycleClose:
		return stop, "local_lifecycle_close"
	case !f.retryable && c == provider && f.incomplete:
		return stop, "facts_incomplete"
	case !f.retryable && c == provider:
		return stop, "provider_api_error"
	case !f.retryable:
		return stop, "not_retryable"
	case f.nothing() && !f.elsewhere:
		return replay, "nothing_visible"
	case f.nothing():
		return goOn, "facts_incomplete"
	case onlyReasoning && !f.elsewhere:
		return replay, "reasoning_only"
	case f.incomplete, onlyReasoning:
		return goOn, "facts_incomplete"
	case f.wholeCall && f.unknownCall:
		return goOn, "facts_incomplete"
	case f.wholeCall:
		return goOn, "materialised_without_execution"
	case f.partialCall:
		return goOn, "partial_tool_input"
	}
	return goOn, "visible_output"
}

// A fault is an error of the model, in the form by which the loop decides.
type fault struct {
	cause     cause
	kind      failure.Kind
	message   string
	after     time.Duration // what the provider asks to wait; negative: nothing
	retryable bool
}

// disbelief is added to the evidence of a wait that is too long to be meant.
const disbelief = "it asks to wait for more than 30 days"

// faultOf returns err, which is not nil, as a fault. ctx is the turn's.
func faultOf(ctx context.Context, err error) fault {
	if ctx.Err() != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fault{cause: lifecycleClose, kind: failure.WallTimeout, message: "still at work when its part of the wall clock ended", after: -1}
		}
		return fault{cause: userCancel, kind: failure.Cancelled, message: "cancelled", after: -1}
	}
	if errors.Is(err, errSilent) {
		return fault{cause: watchdog, kind: failure.IdleTimeout, message: err.Error(), after: -1, retryable: true}
	}
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return fault{cause: provider, kind: failure.Unknown, message: oneLine(err.Error()), after: -1}
	}
	f := fault{kind: cmp.Or(e.Kind, failure.Unknown), message: oneLine(e.Message), after: e.RetryAfter}
	if f.message == "" && e.Err != nil {
		f.message = oneLine(e.Err.Error())
	}
	switch {
	case f.after > agent.LongestWait:
		f.message = f.says() + "; " + disbelief
	case f.after == 0: // "at once" is no announcement: all would come back at once, and again
		f.after = -1
	}
	switch f.kind {
	case failure.ColdStartTimeout, failure.IdleTimeout:
		f.cause = watchdog
	case failure.StreamFailure, failure.TransportDisconnect, failure.Decompression, failure.DNSNotFound,
		failure.TLSError:
		f.cause = transport
	default:
		f.cause = provider
	}
	// the kind is better evidence than the flag
	f.retryable = f.kind.Resend() || f.kind == failure.Unknown && e.Retryable
	return f
}

// says returns the fault on one line, in the provider's words.
func (f fault) says() string { return cmp.Or(f.message, string(f.kind)) }

const (
	// maxRecoveries is the one budget of a turn, for requests sent again and for answers continued.
	maxRecoveries = 5

	firstDelay = 2 * time.Second
	mostDelay  = 30 * time.Second
)

// delay returns how long to wait before recovery n, from 1. What the provider asks for (after; negative if nothing)
// is taken exactly. Else the delay doubles, and random, which returns [0, 1) (nil: rand.Float64), takes away up to a
// half of it, so that many turns do not come back at once.
func delay(n int, after time.Duration, random func() float64) time.Duration {
	if after >= 0 {
		return after
	}
	if random == nil {
		random = rand.Float64
	}
	d := mostDelay
	if n < 5 { // 2 s << 4 is more than the most
		d = min(firstDelay<<(max(n, 1)-1), mostDelay)
	}
	return d/2 + time.Duration(random()*float64(d/2))
}

// fits reports whether d from now is before the end of ctx.
func fits(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	until, ok := ctx.Deadline()
	return !ok || time.Until(until) > d
}

// pause waits for d or until ctx ends, and returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}
