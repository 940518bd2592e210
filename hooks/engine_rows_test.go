package hooks

// Rows of the resilience table that need more of a turn than engine_test.go's table holds.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/budget"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

type scriptedTurn = func(context.Context, agent.Request) agent.Turn

// metered is a turn that used so many tokens.
func metered(turn scriptedTurn, input, output int64) scriptedTurn {
	return func(ctx context.Context, r agent.Request) agent.Turn {
		t := turn(ctx, r)
		t.Tokens = agent.Tokens{Input: &input, Output: &output}
		return t
	}
}

// C33: a stream that failed is no verdict, whatever was said before it did.
func TestC33StaysAStreamFailure(t *testing.T) {
	t.Parallel()
	broken := func(ctx context.Context, r agent.Request) agent.Turn {
		turn := writes("", "I think that it is fixed.")(ctx, r)
		turn.Kind, turn.Evidence = failure.StreamFailure, "it ended in the middle"
		return turn
	}
	a := &scripted{name: "a", turns: []scriptedTurn{broken, broken}}
	f := answers(t, t.Context(), pipeline.AgentHook{}, a)
	if show(f.Kind) != "stream_failure" || len(f.Attempts) != 2 {
		t.Fatalf("kind %s after %d tries", show(f.Kind), len(f.Attempts))
	}
	for i, row := range f.Attempts {
		if show(row.Kind) != "stream_failure" || row.Finalizer != nil || a.asked[i].ReadOnly {
			t.Errorf("try %d: %s, finalizer %+v", i+1, show(row.Kind), row.Finalizer)
		}
	}
}

// G42: a conversation that cannot be taken up again hides nothing of what was wrong before.
func TestG42ResumeIsRefused(t *testing.T) {
	t.Parallel()
	resumed := 0
	a := &scripted{name: "a", turns: []scriptedTurn{func(ctx context.Context, r agent.Request) agent.Turn {
		turn := writes("", `{"outcome":"fixed"}`)(ctx, r)
		turn.Resume = func(context.Context, agent.Request) (agent.Turn, error) {
			resumed++
			return agent.Turn{}, errors.New("session 7 is gone")
		}
		return turn
	}}}
	f := answers(t, t.Context(), pipeline.AgentHook{}, a)
	row := f.Attempts[0]
	if resumed != 1 || len(a.asked) != 1 || len(f.Attempts) != 1 {
		t.Errorf("resumed %d times, asked %d, %d rows", resumed, len(a.asked), len(f.Attempts))
	}
	if show(f.Kind) != "output_invalid" || !strings.Contains(show(row.Evidence), `"summary" is missing`) || strings.Contains(show(row.Evidence), "session 7") {
		t.Errorf("%s: %s", show(f.Kind), show(row.Evidence))
	}
	if z := row.Finalizer; z == nil || z.Result != "failed" || !strings.Contains(show(z.Reason), "session 7 is gone") {
		t.Errorf("finalizer %+v", z)
	}
}

// G48: too little time for a question: what there is counts as if the answer had been none.
func TestG48NoTimeToAsk(t *testing.T) {
	t.Parallel()
	hurry := pipeline.AgentHook{Budget: pipeline.Budget{WallClock: 11 * time.Second}}
	for text, want := range map[string]string{"good": "proposed null", "": "failed verdict_ambiguous"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			a := &scripted{name: "a", turns: []scriptedTurn{writes(text, "I made it good.")}}
			f := answers(t, t.Context(), hurry, a)
			if got := f.State + " " + show(f.Kind); got != want || show(f.Control) != "missing" || len(a.asked) != 1 {
				t.Errorf("%s, control %s, asked %d times", got, show(f.Control), len(a.asked))
			}
			if z := f.Attempts[0].Finalizer; z == nil || z.Result != "skipped" || !strings.HasPrefix(show(z.Reason), "budget: ") {
				t.Errorf("finalizer %+v", z)
			}
		})
	}
}

// G49: a second reply that is empty: what both turns used is counted, and the first problem is told.
func TestG49SecondReplyIsEmpty(t *testing.T) {
	t.Parallel()
	for result, second := range map[string]scriptedTurn{"invalid": writes("", ""), "failed": fails(failure.EmptyOutput)} {
		t.Run(result, func(t *testing.T) {
			t.Parallel()
			a := &scripted{name: "a", turns: []scriptedTurn{metered(writes("", `{"outcome":"fixed"}`), 90, 10), metered(second, 5, 6)}}
			f := answers(t, t.Context(), pipeline.AgentHook{}, a)
			if n := f.Budget.Used.Tokens; n == nil || *n != 111 || len(a.asked) != 2 {
				t.Errorf("used %v after %d turns", n, len(a.asked))
			}
			if show(f.Kind) != "output_invalid" || !strings.Contains(show(f.Reason), `"summary" is missing`) {
				t.Errorf("%s: %s", show(f.Kind), show(f.Reason))
			}
			if z := f.Attempts[0].Finalizer; z == nil || z.Result != result {
				t.Errorf("finalizer %+v", z)
			}
		})
	}
}

// H22: a cap of tokens that nobody can hold an agent to is said; the wall clock ends it all the same.
func TestH22WallClockWithoutUsage(t *testing.T) {
	t.Parallel()
	a := &scripted{name: "a", turns: []scriptedTurn{func(ctx context.Context, r agent.Request) agent.Turn {
		if r.Tokens != 1000 {
			t.Errorf("the agent is given %d tokens", r.Tokens)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Minute):
			t.Error("nothing ends the agent")
		}
		return agent.Turn{Kind: failure.WallTimeout, Evidence: "ended", Exit: agent.Exit{TimedOut: true}}
	}}}
	f := answers(t, t.Context(), pipeline.AgentHook{Budget: pipeline.Budget{WallClock: 6 * time.Second, Tokens: 1000}}, a)
	if show(f.Kind) != "wall_timeout" || f.Budget.Used.Tokens != nil || !strings.Contains(show(f.Note), "tokens are not enforced, its wall_clock is") {
		t.Errorf("%s, used %v; %s", show(f.Kind), f.Budget.Used.Tokens, show(f.Note))
	}
}

// H24: the next agent works under the clock of the one before it.
func TestH24OneClockForAll(t *testing.T) {
	t.Parallel()
	var until []time.Time
	clock := func(turn scriptedTurn) scriptedTurn {
		return func(ctx context.Context, r agent.Request) agent.Turn {
			end, ok := ctx.Deadline()
			if !ok {
				t.Error("there is no clock")
			}
			until = append(until, end)
			time.Sleep(20 * time.Millisecond)
			return turn(ctx, r)
		}
	}
	a := &scripted{name: "a", turns: []scriptedTurn{clock(fails(failure.QuotaExhausted))}}
	b := &scripted{name: "b", turns: []scriptedTurn{clock(writes("good", said))}}
	f := answers(t, t.Context(), pipeline.AgentHook{}, a, b)
	if len(until) != 2 || !until[0].Equal(until[1]) {
		t.Errorf("clocks %v", until)
	}
	if d := f.Attempts[0].Decision; d == nil || d.Next != budget.Fallback || d.Outcome != "recovered" || f.State != fix.Proposed || *f.Budget.Used.Attempts != 1 {
		t.Errorf("%s, used %d attempts, decision %+v", f.State, *f.Budget.Used.Attempts, d)
	}
}

// B45: a line that the transcript does not take is said, and ends nothing.
func TestB45TranscriptCannotBeWritten(t *testing.T) {
	t.Parallel()
	a := &scripted{name: "a", turns: []scriptedTurn{func(ctx context.Context, r agent.Request) agent.Turn {
		r.Note(agent.Line{Type: "reminder", Data: map[string]any{"text": make(chan int)}})
		return writes("good", said)(ctx, r)
	}}}
	f := answers(t, t.Context(), pipeline.AgentHook{}, a)
	if show(f.Verdict) != verify.Verified || !strings.Contains(show(f.Note), "transcript: ") {
		t.Errorf("%s; %s", show(f.Verdict), show(f.Note))
	}
}
