package hooks

import (
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	const s = time.Second
	usual := func(kind failure.Kind, change func(*failedTry)) failedTry {
		f := failedTry{kind: kind, took: 2 * s, wall: 300 * s, left: 200 * s}
		if change != nil {
			change(&f)
		}
		return f
	}
	for _, c := range []struct {
		id     string
		try    failedTry
		next   string
		delay  time.Duration
		resume bool
	}{
		{"C34 transient", usual(failure.StreamFailure, nil), retryNow, s, false},
		{"once for each agent", usual(failure.StreamFailure, func(f *failedTry) { f.retried = true }), stopTries, 0, false},
		{"then the chain", usual(failure.StreamFailure, func(f *failedTry) { f.retried, f.fallback = true, true }), fallBack, 0, false},
		{"a dear failure", usual(failure.StreamFailure, func(f *failedTry) { f.took = 61 * s }), stopTries, 0, false},
		{"two minutes are dear whatever the wall clock", usual(failure.StreamFailure, func(f *failedTry) { f.took, f.wall, f.left = 121*s, 3600*s, 3000*s }), stopTries, 0, false},
		{"a start that failed costs only time", usual(failure.ColdStartTimeout, func(f *failedTry) { f.took = 90 * s }), retryNow, s, false},
		{"no time left", usual(failure.StreamFailure, func(f *failedTry) { f.left = 20 * s }), stopTries, 0, false},
		{"no time left for a fallback", usual(failure.StreamFailure, func(f *failedTry) { f.left, f.fallback = 19*s, true }), stopTries, 0, false},
		{"C05 no output", usual(failure.NoOutput, nil), stopTries, 0, false},
		{"C06 no output, opted in", usual(failure.NoOutput, func(f *failedTry) { f.policy.OnNoOutput = true }), retryNow, s, false},
		{"C08 a kind of its own", usual("gateway_blip", func(f *failedTry) { f.policy.ExtraKinds = []string{"gateway_blip"} }), retryNow, s, false},
		{"C09 of nobody", usual("gateway_blip", nil), stopTries, 0, false},
		{"C32 prose", usual(failure.VerdictAmbiguous, nil), stopTries, 0, false},
		{"C32 prose advances the chain", usual(failure.VerdictAmbiguous, func(f *failedTry) { f.fallback = true }), fallBack, 0, false},
		{"H12 a limit that ends in time", usual(failure.RateLimited, func(f *failedTry) { f.after = new(20 * s) }), waitFor, 20 * s, false},
		{"a wait is no retry", usual(failure.RateLimited, func(f *failedTry) { f.after, f.retried = new(20*s), true }), waitFor, 20 * s, false},
		{"a wait is exact", usual(failure.RateLimited, func(f *failedTry) { f.after = new(1500 * time.Millisecond) }), waitFor, 1500 * time.Millisecond, false},
		{"one that does not fit", usual(failure.QuotaExhausted, func(f *failedTry) { f.after = new(190 * s) }), stopTries, 0, true},
		{"H24 one that does not fit, with a fallback", usual(failure.QuotaExhausted, func(f *failedTry) { f.after, f.fallback = new(3600*s), true }), fallBack, 0, true},
		{"no end of waiting", usual(failure.RateLimited, func(f *failedTry) { f.after, f.waits = new(s), mostWaits }), stopTries, 0, true},
		{"an unknown reset is not guessed", usual(failure.RateLimited, nil), stopTries, 0, false},
		{"H24 unknown reset, with a fallback", usual(failure.QuotaExhausted, func(f *failedTry) { f.fallback = true }), fallBack, 0, false},
		{"a terminal kind with a time is terminal", usual(failure.Billing, func(f *failedTry) { f.after = new(s) }), stopTries, 0, false},
		{"the wall clock", usual(failure.WallTimeout, func(f *failedTry) { f.fallback = true }), stopTries, 0, false},
		{"a person", usual(failure.Cancelled, func(f *failedTry) { f.fallback = true }), stopTries, 0, false},
		{"unknown, from a fresh copy, once", usual(failure.Unknown, nil), retryNow, s, false},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			d := decide(c.try)
			if d.next != c.next || d.delay != c.delay || d.resume != c.resume || d.why == "" {
				t.Errorf("%+v", d)
			}
		})
	}
}
