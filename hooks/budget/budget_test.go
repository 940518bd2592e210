package budget

import (
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// What is kept back for verification is at most half of the wall clock.
func TestReserve(t *testing.T) {
	t.Parallel()
	limit := pipeline.Budget{Attempts: 1, WallClock: time.Minute}
	for need, want := range map[time.Duration]struct{ reserved, enough time.Duration }{
		13 * time.Second:  {13 * time.Second, 0},
		30 * time.Second:  {30 * time.Second, 0},
		123 * time.Second: {30 * time.Second, 247 * time.Second},
	} {
		if b := Start(limit, need); b.reserved != want.reserved || Enough(limit, need) != want.enough {
			t.Errorf("%s: %s is kept back, %s would be enough", need, b.reserved, Enough(limit, need))
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

// An agent that was asked nothing used nothing: nobody is told that it does not say what it uses.
func TestUnmeteredAskedNothing(t *testing.T) {
	t.Parallel()
	b := Start(pipeline.Budget{Tokens: 1000, CostUSD: 1}, 0)
	if told := b.Unenforced("a", agent.Turn{Requests: new(int)}); len(told) > 0 {
		t.Errorf("%q", told)
	}
}
