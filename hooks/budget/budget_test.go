package budget

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// What is kept back is at most half of the wall clock for verification, and before it the time in which an agent that
// ignores SIGTERM is ended. Of a short wall clock the agent has a quarter.
func TestReserve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ wall, need, reserved, enough time.Duration }{
		{time.Minute, 13 * time.Second, 13 * time.Second, 0},
		{time.Minute, 30*time.Second + sandbox.Grace, 30*time.Second + sandbox.Grace, 0},
		{time.Minute, 123 * time.Second, 30*time.Second + sandbox.Grace, 247 * time.Second},
		{14 * time.Second, 12 * time.Second, 7*time.Second + sandbox.Grace, 25 * time.Second},
		{8 * time.Second, 7 * time.Second, 6 * time.Second, 15 * time.Second},
	} {
		limit := pipeline.Budget{Attempts: 1, WallClock: c.wall}
		if b := Start(limit, c.need, unstopped); b.reserved != c.reserved || Enough(limit, c.need) != c.enough {
			t.Errorf("%s of %s: %s is kept back, %s would be enough", c.need, c.wall, b.reserved, Enough(limit, c.need))
		}
	}
}

func TestAttempt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		turn        Attempt
		short, long string
	}{
		{Attempt{Number: 1, Of: 2}, "attempt 1", "attempt 1 of 2"},
		{Attempt{Number: 1, Of: 2, Try: 1}, "attempt 1", "attempt 1 of 2"},
		{Attempt{Number: 1, Of: 1, Try: 3}, "attempt 1, try 3", "attempt 1 of 1, try 3"},
		{Attempt{Number: 2, Of: 2, Try: 2}, "attempt 2, try 2", "attempt 2 of 2, try 2"},
	} {
		if c.turn.String() != c.short || c.turn.Long() != c.long {
			t.Errorf("%q and %q, want %q and %q", c.turn, c.turn.Long(), c.short, c.long)
		}
	}
}

// Where an attempt does not start for lack of time, the reason tells whose time it is: verification has more.
func TestNextWithoutTime(t *testing.T) {
	t.Parallel()
	b := Start(pipeline.Budget{Attempts: 2, WallClock: time.Minute}, 30*time.Second, unstopped)
	if ok, why := b.Next(); !ok || why != "" {
		t.Errorf("the first attempt: %v, %s", ok, why)
	}
	b.started = b.started.Add(-27 * time.Second)
	const want = "attempt 2 of 2 not started: an agent would have only 3s of the wall clock, verification needs the rest"
	if ok, why := b.Next(); ok || why != want {
		t.Errorf("the second attempt: %v, %s", ok, why)
	}
}

// An agent that was asked nothing used nothing: nobody is told that it does not say what it uses.
func TestUnmeteredAskedNothing(t *testing.T) {
	t.Parallel()
	b := Start(pipeline.Budget{Tokens: 1000, CostUSD: 1}, 0, unstopped)
	if told := b.Unenforced("a", agent.Turn{Requests: new(int)}); len(told) > 0 {
		t.Errorf("%q", told)
	}
}

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

// unstopped is the time of a wall clock that is never stopped.
func unstopped() time.Duration { return 0 }

// While copies are made the wall clock does not run.
func TestStoppedClock(t *testing.T) {
	t.Parallel()
	copying := time.Hour // before the budget
	b := Start(pipeline.Budget{Attempts: 2, WallClock: time.Minute}, 10*time.Second, func() time.Duration { return copying })
	b.started = b.started.Add(-50 * time.Second)
	copying += 30 * time.Second
	near := func(got, want time.Duration) bool { return got <= want+time.Second && got >= want-time.Second }
	if !near(b.Used(), 20*time.Second) || !near(b.Left(), 40*time.Second) || !near(b.LeftForAgent(), 30*time.Second) {
		t.Errorf("used %s, left %s, for an agent %s", b.Used(), b.Left(), b.LeftForAgent())
	}
	wall, cancel := b.Wall(t.Context())
	defer cancel()
	agent, cancel := b.ForAgent(t.Context())
	defer cancel()
	until, _ := wall.Deadline()
	sooner, _ := agent.Deadline()
	if !near(time.Until(until), 40*time.Second) || !near(time.Until(sooner), 30*time.Second) {
		t.Errorf("the wall clock ends in %s, the agent's part in %s", time.Until(until), time.Until(sooner))
	}
}

// A question for a report leaves to the verification of a difference all that it needs, also where an agent may use more.
func TestTimeForReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := pipeline.Budget{WallClock: 10 * time.Minute}
		until := func(b *Budget, changed bool) time.Duration {
			ctx, cancel := b.ForReport(t.Context(), changed)
			defer cancel()
			at, _ := ctx.Deadline()
			return time.Until(at)
		}
		b := Start(limit, 9*time.Minute, unstopped)
		if got := until(b, true); b.ShortForReport(true) != "" || got != time.Minute {
			t.Errorf("with a difference: %s", got)
		}
		if got := until(b, false); got != mostReport {
			t.Errorf("without one: %s", got)
		}
		if b = Start(limit, 595*time.Second, unstopped); b.ShortForReport(true) == "" || b.ShortForReport(false) != "" {
			t.Error("with 5s beside the verification")
		}
	})
}

// A reviewer that does not stop by itself is ended within its part of the wall clock.
func TestReviewIsEndedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for wall, want := range map[time.Duration]time.Duration{
			30 * time.Second: 30*time.Second - sandbox.Grace, time.Hour: mostReview - sandbox.Grace, 7 * time.Second: 0,
		} {
			b := Start(pipeline.Budget{WallClock: wall}, 0, unstopped)
			b.KeepForReview()
			ctx, cancel, _, _, why := b.Review(t.Context())
			if (why != "") != (want == 0) {
				t.Errorf("%s: %s", wall, why)
				continue
			}
			if ctx != nil {
				defer cancel()
				at, _ := ctx.Deadline()
				if got := time.Until(at); got != want {
					t.Errorf("of %s a reviewer may use %s, want %s", wall, got, want)
				}
			}
		}
	})
}
