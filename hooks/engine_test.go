package hooks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/budget"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A scripted agent takes its turns from a list; each is told what it is asked.
type scripted struct {
	name   string
	policy failure.Policy
	turns  []func(ctx context.Context, r agent.Request) agent.Turn
	asked  []agent.Request
}

func (s *scripted) Name() string          { return s.name }
func (s *scripted) Ready() error          { return nil }
func (s *scripted) Retry() failure.Policy { return s.policy }

func (s *scripted) Turn(ctx context.Context, r agent.Request) (agent.Turn, error) {
	s.asked = append(s.asked, r)
	if len(s.asked) > len(s.turns) {
		return agent.Turn{Kind: failure.Unknown, Evidence: "asked too often"}, nil
	}
	return s.turns[len(s.asked)-1](ctx, r), nil
}

// writes is a turn that leaves text in the file a, and says something.
func writes(text, says string) func(context.Context, agent.Request) agent.Turn {
	return func(_ context.Context, r agent.Request) agent.Turn {
		if text != "" {
			if err := os.WriteFile(filepath.Join(r.Copy, "a"), []byte(text), 0o600); err != nil {
				panic(err)
			}
		}
		return ended(says)
	}
}

func ended(says string) agent.Turn {
	t := agent.Turn{Text: says}
	var err error
	if t.Control, err = agent.ParseControl(says); err != nil {
		t.Problem = err.Error()
	}
	return t
}

func fails(kind failure.Kind) func(context.Context, agent.Request) agent.Turn {
	return func(context.Context, agent.Request) agent.Turn { return agent.Turn{Kind: kind, Evidence: "as told"} }
}

// answers heals a failed run of one task, which passes where the file a says good.
func answers(t *testing.T, ctx context.Context, hook pipeline.AgentHook, agents ...*scripted) *fix.Fix {
	t.Helper()
	return answersTelling(t, ctx, nil, hook, agents...)
}

// answersTelling is answers, and tells what a person is told.
func answersTelling(t *testing.T, ctx context.Context, told func(Step), hook pipeline.AgentHook, agents ...*scripted) *fix.Fix {
	t.Helper()
	hook.Use = agents[0].name
	for _, a := range agents[1:] {
		hook.Fallback = append(hook.Fallback, a.name)
	}
	if hook.Budget.Attempts == 0 {
		hook.Budget.Attempts = 1
	}
	if hook.Budget.WallClock == 0 {
		hook.Budget.WallClock = 2 * time.Minute
	}
	config, store, run := fixtest.Failing(t, &hook)
	e := &Engine{
		Config: config, Store: store, Redact: &redact.Set{}, Cache: filepath.Join(t.TempDir(), "cache"),
		Tier: sandbox.None, Agents: map[string]agent.Agent{}, Observer: Observer{Step: told}, RunTask: fixtest.RunCheck,
	}
	for _, a := range agents {
		e.Agents[a.name] = a
	}
	outcomes, err := e.Heal(ctx, run, "check")
	if err != nil {
		t.Fatal(err)
	}
	f := outcomes[0].Fix
	if f.State == fix.Skipped || f.Reproduction == nil || f.Reproduction.Result != "same" {
		t.Fatalf("no agent was asked: %s %v %+v", f.State, show(f.Reason), f.Reproduction)
	}
	return f
}

func show(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

const said = `{"outcome": "fixed", "summary": "now it is good"}`

func TestFinalizer(t *testing.T) {
	t.Parallel()
	cancelled := func(ctx context.Context, stop context.CancelFunc, turn agent.Turn) agent.Turn {
		stop()
		<-ctx.Done()
		return turn
	}
	for _, c := range []struct {
		id      string
		first   func(stop context.CancelFunc) func(context.Context, agent.Request) agent.Turn
		second  func(stop context.CancelFunc) func(context.Context, agent.Request) agent.Turn
		asked   int
		state   string
		control string
		kind    string
		result  string
	}{
		{"G40 one extra turn", always(writes("good", "I made it good.")), always(writes("", said)), 2, fix.Proposed, "recovered", "null", "recovered"},
		{"G40 its edits are thrown away", always(writes("good", "I made it good.")), always(writes("worse", said)), 2, fix.Proposed, "recovered", "null", "recovered"},
		{"G40 what it says decides nothing about a difference", always(writes("good", "I made it good.")), always(writes("", `{"outcome":"no_fix","summary":"x"}`)), 2, fix.Proposed, "recovered", "null", "recovered"},
		{"without a difference it does", always(writes("", "There is nothing to do.")), always(writes("", `{"outcome":"no_fix","summary":"x"}`)), 2, fix.NoFix, "recovered", "null", "recovered"},
		{"G41 exactly two turns, with a difference", always(writes("good", "prose")), always(writes("", "more prose")), 2, fix.Proposed, "missing", "null", "invalid"},
		{"G41 exactly two turns, without one", always(writes("", `{"outcome":"fixed"}`)), always(writes("", "prose")), 2, fix.Failed, "missing", "output_invalid", "invalid"},
		{"C32 prose and nothing else", always(writes("", "prose")), always(writes("", "prose")), 2, fix.Failed, "missing", "verdict_ambiguous", "invalid"},
		{"G42 the question cannot be asked", always(writes("", `{"outcome":"fixed"}`)), always(fails(failure.CLIError)), 2, fix.Failed, "missing", "output_invalid", "failed"},
		{"G44 it says no_fix itself", always(writes("", `{"outcome":"no_fix","summary":"x"}`)), nil, 1, fix.NoFix, "ok", "null", ""},
		{"G44 it names its own failure", always(fails("quota_exhausted")), nil, 1, fix.Failed, "missing", "quota_exhausted", ""},
		{"C33 a failure stays what it was", always(func(context.Context, agent.Request) agent.Turn {
			turn := ended("prose")
			turn.Kind, turn.Evidence = failure.Decompression, "as told"
			return turn
		}), nil, 1, fix.Failed, "missing", "decompression", ""},
		{"G45 ended before the question", func(stop context.CancelFunc) func(context.Context, agent.Request) agent.Turn {
			return func(ctx context.Context, r agent.Request) agent.Turn {
				return cancelled(ctx, stop, writes("good", "prose")(ctx, r))
			}
		}, nil, 1, fix.Cancelled, "missing", "null", ""},
		{"G46 a question that shows the agent to be barred", always(writes("", "prose")), always(fails(failure.Billing)), 2, fix.Failed, "missing", "billing", "failed"},
		{"G50 an answer that comes while we end", always(writes("good", "prose")), func(stop context.CancelFunc) func(context.Context, agent.Request) agent.Turn {
			return func(ctx context.Context, _ agent.Request) agent.Turn { return cancelled(ctx, stop, ended(said)) }
		}, 2, fix.Cancelled, "missing", "null", "failed"},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{c.first(stop)}}
			if c.second != nil {
				a.turns = append(a.turns, c.second(stop))
			}
			f := answers(t, ctx, pipeline.AgentHook{}, a)
			if len(a.asked) != c.asked || f.State != c.state || show(f.Control) != c.control || show(f.Kind) != c.kind {
				t.Errorf("asked %d times, %s (%s), control %s, kind %s", len(a.asked), f.State, show(f.Reason), show(f.Control), show(f.Kind))
			}
			got := ""
			if z := f.Attempts[0].Finalizer; z != nil {
				got = z.Result
				if z.Edited != (c.id == "G40 its edits are thrown away") {
					t.Errorf("edited: %v", z.Edited)
				}
			}
			if got != c.result {
				t.Errorf("finalizer %q", got)
			}
			if f.State == fix.Proposed && (show(f.Verdict) != verify.Verified || len(f.Patch.Files) != 1) {
				t.Errorf("%s %+v", show(f.Verdict), f.Patch)
			}
			if c.asked == 2 && !a.asked[1].ReadOnly {
				t.Error("the question may change something")
			}
		})
	}
}

func always(turn func(context.Context, agent.Request) agent.Turn) func(context.CancelFunc) func(context.Context, agent.Request) agent.Turn {
	return func(context.CancelFunc) func(context.Context, agent.Request) agent.Turn { return turn }
}

// A conversation that is kept is asked in itself, and is not shown what it said.
func TestFinalizerResumes(t *testing.T) {
	t.Parallel()
	resumed := 0
	a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{
		func(ctx context.Context, r agent.Request) agent.Turn {
			turn := writes("good", "I made it good.")(ctx, r)
			turn.Tokens = agent.Tokens{Input: new(int64(90)), Output: new(int64(10))}
			turn.Resume = func(_ context.Context, r agent.Request) (agent.Turn, error) {
				resumed++
				answer := ended(said)
				answer.Tokens = agent.Tokens{Input: new(int64(5)), Output: new(int64(6))}
				return answer, nil
			}
			return turn
		},
	}}
	f := answers(t, t.Context(), pipeline.AgentHook{Budget: pipeline.Budget{Tokens: 1000}}, a)
	if resumed != 1 || len(a.asked) != 1 || show(f.Control) != "recovered" {
		t.Errorf("resumed %d, asked %d, control %s", resumed, len(a.asked), show(f.Control))
	}
	if n := f.Budget.Used.Tokens; n == nil || *n != 111 {
		t.Errorf("G40 usage is summed: %v", n)
	}
}

func TestAttemptsOfTheBudget(t *testing.T) {
	t.Parallel()
	two := pipeline.AgentHook{Budget: pipeline.Budget{Attempts: 2, WallClock: 2 * time.Minute}}
	t.Run("C34 transient then success", func(t *testing.T) {
		t.Parallel()
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{fails(failure.StreamFailure), writes("good", said)}}
		f := answers(t, t.Context(), pipeline.AgentHook{}, a)
		if show(f.Verdict) != verify.Verified || len(f.Attempts) != 2 || f.Attempts[0].Decision.Outcome != "recovered" || *f.Attempts[1].RetryOf != 1 {
			t.Errorf("%s %+v", show(f.Verdict), f.Attempts)
		}
	})
	t.Run("C34 once for each agent, whatever the attempts", func(t *testing.T) {
		t.Parallel()
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{fails(failure.StreamFailure), fails(failure.StreamFailure), fails(failure.StreamFailure), fails(failure.StreamFailure)}}
		f := answers(t, t.Context(), two, a)
		if len(f.Attempts) != 3 || f.Attempts[0].Decision.Outcome != "same_kind" || *f.Budget.Used.Attempts != 2 || show(f.Kind) != "stream_failure" {
			t.Errorf("%d rows, used %d, kind %s", len(f.Attempts), *f.Budget.Used.Attempts, show(f.Kind))
		}
	})
	t.Run("C36 cancelled while it waits for the second try", func(t *testing.T) {
		t.Parallel()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{fails(failure.StreamFailure)}}
		a.turns[0] = func(context.Context, agent.Request) agent.Turn {
			time.AfterFunc(50*time.Millisecond, stop)
			return agent.Turn{Kind: failure.StreamFailure, Evidence: "as told"}
		}
		f := answers(t, ctx, pipeline.AgentHook{}, a)
		if len(a.asked) != 1 || f.State != fix.Cancelled {
			t.Errorf("asked %d times, %s", len(a.asked), f.State)
		}
	})
	t.Run("failed alike twice", func(t *testing.T) {
		t.Parallel()
		hook := pipeline.AgentHook{Budget: pipeline.Budget{Attempts: 3, WallClock: 3 * time.Minute}}
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{writes("worse", said), writes("worse", said), writes("good", said)}}
		f := answers(t, t.Context(), hook, a)
		if show(f.Verdict) != verify.Verified || len(a.asked) != 3 {
			t.Fatalf("%s after %d", show(f.Verdict), len(a.asked))
		}
		const words = "The proposal before that one failed in the same way"
		for i, want := range []bool{false, false, true} {
			if got := strings.Contains(a.asked[i].Prompt, words); got != want {
				t.Errorf("attempt %d is told that the approach failed: %v", i+1, got)
			}
		}
	})
	t.Run("the caps of the budget", func(t *testing.T) {
		t.Parallel()
		hook := two
		hook.Budget.Tokens = 100
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{func(ctx context.Context, r agent.Request) agent.Turn {
			turn := writes("worse", said)(ctx, r)
			turn.Tokens = agent.Tokens{Input: new(int64(90)), Output: new(int64(20))}
			return turn
		}}}
		f := answers(t, t.Context(), hook, a)
		if len(a.asked) != 1 || a.asked[0].Tokens != 100 || !strings.Contains(show(f.Note), "110 of 100 tokens are used") || show(f.Verdict) != verify.Unverified {
			t.Errorf("asked %d times with %d tokens; %s; %s", len(a.asked), a.asked[0].Tokens, show(f.Note), show(f.Verdict))
		}
	})
	t.Run("H24 an edit that does not hold keeps nobody from the next agent", func(t *testing.T) {
		t.Parallel()
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{func(ctx context.Context, r agent.Request) agent.Turn {
			turn := writes("worse", "cut off")(ctx, r)
			turn.Kind, turn.Evidence, turn.RetryAfter = failure.QuotaExhausted, "as told", new(time.Hour)
			return turn
		}}}
		b := &scripted{name: "b", turns: []func(context.Context, agent.Request) agent.Turn{writes("good", said)}}
		f := answers(t, t.Context(), two, a, b)
		if show(f.Verdict) != verify.Verified || len(a.asked) != 1 || len(b.asked) != 1 || f.Attempts[0].Decision.Next != budget.Fallback {
			t.Errorf("%s, asked %d and %d, %+v", show(f.Verdict), len(a.asked), len(b.asked), f.Attempts[0].Decision)
		}
		if f.ResumeAt != nil || f.Attempts[0].Decision.ResumeAt == nil || f.Attempts[0].Rescue == nil {
			t.Errorf("the fix resumes at %s, the attempt at %s", show(f.ResumeAt), show(f.Attempts[0].Decision.ResumeAt))
		}
	})
	t.Run("an agent that cannot go on is not asked again, and its edit is proposed", func(t *testing.T) {
		t.Parallel()
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{func(ctx context.Context, r agent.Request) agent.Turn {
			turn := writes("worse", "cut off")(ctx, r)
			turn.Kind, turn.Evidence, turn.RetryAfter = failure.QuotaExhausted, "as told", new(time.Hour)
			return turn
		}}}
		f := answers(t, t.Context(), two, a)
		if f.State != fix.Proposed || show(f.Verdict) != verify.Unverified || len(a.asked) != 1 || f.ResumeAt == nil {
			t.Errorf("%s %s, asked %d, resumes at %s", f.State, show(f.Verdict), len(a.asked), show(f.ResumeAt))
		}
	})
	t.Run("what an earlier try left is proposed when a later one fails", func(t *testing.T) {
		t.Parallel()
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{func(ctx context.Context, r agent.Request) agent.Turn {
			turn := writes("worse", "cut off")(ctx, r)
			turn.Kind, turn.Evidence, turn.RetryAfter = failure.RateLimited, "as told", new(time.Millisecond)
			return turn
		}}}
		hook := pipeline.AgentHook{Budget: pipeline.Budget{WallClock: 45 * time.Second}}
		f := answers(t, t.Context(), hook, a)
		if f.State != fix.Proposed || show(f.Verdict) != verify.Unverified || len(f.Attempts) < 2 || f.Attempts[0].Decision.Next != budget.Wait {
			t.Errorf("%s %s %+v", f.State, show(f.Verdict), f.Attempts)
		}
	})
	t.Run("a spent cap ends tries too", func(t *testing.T) {
		t.Parallel()
		hook := pipeline.AgentHook{Budget: pipeline.Budget{Tokens: 100}}
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{func(context.Context, agent.Request) agent.Turn {
			return agent.Turn{Kind: failure.StreamFailure, Evidence: "as told", Tokens: agent.Tokens{Input: new(int64(90)), Output: new(int64(30))}}
		}}}
		b := &scripted{name: "b"}
		f := answers(t, t.Context(), hook, a, b)
		if len(a.asked) != 1 || len(b.asked) != 0 || f.Attempts[0].Decision.Next != budget.Stop || *f.Budget.Used.Tokens != 120 {
			t.Errorf("asked %d and %d, %+v", len(a.asked), len(b.asked), f.Attempts[0].Decision)
		}
	})
	t.Run("a question that shows the agent to be barred says nothing of a difference that holds", func(t *testing.T) {
		t.Parallel()
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{writes("good", "prose"), fails(failure.Billing)}}
		f := answers(t, t.Context(), pipeline.AgentHook{}, a)
		if show(f.Verdict) != verify.Verified || f.Kind != nil || f.Advice != nil || show(f.Attempts[0].Finalizer.Kind) != "billing" {
			t.Errorf("%s, kind %s, advice %s, %+v", show(f.Verdict), show(f.Kind), show(f.Advice), f.Attempts[0].Finalizer)
		}
	})
	t.Run("a retry that holds has helped, whatever it ended with", func(t *testing.T) {
		t.Parallel()
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{fails(failure.StreamFailure), func(ctx context.Context, r agent.Request) agent.Turn {
			turn := writes("good", "prose")(ctx, r)
			turn.Kind, turn.Evidence = failure.LoopDetected, "as told"
			return turn
		}}}
		f := answers(t, t.Context(), pipeline.AgentHook{}, a)
		if show(f.Verdict) != verify.Verified || f.Attempts[0].Decision.Outcome != "recovered" {
			t.Errorf("%s, %+v", show(f.Verdict), f.Attempts[0].Decision)
		}
	})
	t.Run("H24 the next agent", func(t *testing.T) {
		t.Parallel()
		a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{fails(failure.QuotaExhausted)}}
		b := &scripted{name: "b", turns: []func(context.Context, agent.Request) agent.Turn{writes("good", said)}}
		f := answers(t, t.Context(), pipeline.AgentHook{}, a, b)
		if show(f.Verdict) != verify.Verified || f.Attempts[0].Decision.Next != budget.Fallback || f.Attempts[1].Agent != "b" || f.Attempts[1].RetryOf != nil || f.Kind != nil {
			t.Errorf("%s %+v", show(f.Verdict), f.Attempts)
		}
	})
}

// The first silence deserves one more try, the second does not.
func TestIdleTwice(t *testing.T) {
	t.Parallel()
	idle := fails(failure.IdleTimeout)
	a := &scripted{name: "a", turns: []func(context.Context, agent.Request) agent.Turn{idle, idle, idle}}
	f := answers(t, t.Context(), pipeline.AgentHook{Budget: pipeline.Budget{Attempts: 3, WallClock: 3 * time.Minute}}, a)
	if len(a.asked) != 2 || show(f.Kind) != "idle_timeout" {
		t.Errorf("asked %d times, %s", len(a.asked), show(f.Kind))
	}
}

// Rows of the resilience table that need more of a turn than engine_test.go's table holds.

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
