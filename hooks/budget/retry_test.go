package budget

import (
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	const s = time.Second
	usual := func(kind failure.Kind, change func(*state)) state {
		f := state{Failed: Failed{Kind: kind, Took: 2 * s}, wall: 300 * s, left: 200 * s}
		if change != nil {
			change(&f)
		}
		return f
	}
	for _, c := range []struct {
		id     string
		try    state
		next   string
		delay  time.Duration
		resume bool
	}{
		{"C34 transient", usual(failure.StreamFailure, nil), Retry, s, false},
		{"once for each agent", usual(failure.StreamFailure, func(f *state) { f.retried = true }), Stop, 0, false},
		{"then the chain", usual(failure.StreamFailure, func(f *state) { f.retried, f.Fallback = true, true }), Fallback, 0, false},
		{"a dear failure", usual(failure.StreamFailure, func(f *state) { f.Took = 61 * s }), Stop, 0, false},
		{"two minutes are dear whatever the wall clock", usual(failure.StreamFailure, func(f *state) { f.Took, f.wall, f.left = 121*s, 3600*s, 3000*s }), Stop, 0, false},
		{"a start that failed costs only time", usual(failure.ColdStartTimeout, func(f *state) { f.Took = 90 * s }), Retry, s, false},
		{"no time left", usual(failure.StreamFailure, func(f *state) { f.left = 20 * s }), Stop, 0, false},
		{"no time left for a fallback", usual(failure.StreamFailure, func(f *state) { f.left, f.Fallback = 19*s, true }), Stop, 0, false},
		{"C05 no output", usual(failure.NoOutput, nil), Stop, 0, false},
		{"C06 no output, opted in", usual(failure.NoOutput, func(f *state) { f.Policy.OnNoOutput = true }), Retry, s, false},
		{"C08 a kind of its own", usual("gateway_blip", func(f *state) { f.Policy.ExtraKinds = []string{"gateway_blip"} }), Retry, s, false},
		{"C09 of nobody", usual("gateway_blip", nil), Stop, 0, false},
		{"C32 prose", usual(failure.VerdictAmbiguous, nil), Stop, 0, false},
		{"C32 prose advances the chain", usual(failure.VerdictAmbiguous, func(f *state) { f.Fallback = true }), Fallback, 0, false},
		{"H12 a limit that ends in time", usual(failure.RateLimited, func(f *state) { f.After = new(20 * s) }), Wait, 20 * s, false},
		{"a wait is no retry", usual(failure.RateLimited, func(f *state) { f.After, f.retried = new(20*s), true }), Wait, 20 * s, false},
		{"a wait is exact", usual(failure.RateLimited, func(f *state) { f.After = new(1500 * time.Millisecond) }), Wait, 1500 * time.Millisecond, false},
		{"one that does not fit", usual(failure.QuotaExhausted, func(f *state) { f.After = new(190 * s) }), Stop, 0, true},
		{"H24 one that does not fit, with a fallback", usual(failure.QuotaExhausted, func(f *state) { f.After, f.Fallback = new(3600*s), true }), Fallback, 0, true},
		{"no end of waiting", usual(failure.RateLimited, func(f *state) { f.After, f.waits = new(s), mostWaits }), Stop, 0, true},
		{"an unknown reset is not guessed", usual(failure.RateLimited, nil), Stop, 0, false},
		{"H24 unknown reset, with a fallback", usual(failure.QuotaExhausted, func(f *state) { f.Fallback = true }), Fallback, 0, false},
		{"a terminal kind with a time is terminal", usual(failure.Billing, func(f *state) { f.After = new(s) }), Stop, 0, false},
		{"the wall clock", usual(failure.WallTimeout, func(f *state) { f.Fallback = true }), Stop, 0, false},
		{"a person", usual(failure.Cancelled, func(f *state) { f.Fallback = true }), Stop, 0, false},
		{"unknown, from a fresh copy, once", usual(failure.Unknown, nil), Retry, s, false},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			d := decide(c.try)
			if d.Next != c.next || d.Delay != c.delay || d.Resume != c.resume || d.Why == "" {
				t.Errorf("%+v", d)
			}
		})
	}
}
