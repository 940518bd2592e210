package hooks

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/budget"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// sealedRun records a run of one failed task with this log.
func sealedRun(t testing.TB, root, log string) (*record.Store, *record.Sealed) {
	t.Helper()
	s := record.At(root)
	d, err := s.Begin(time.Now(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := d.Log("check")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, log); err != nil {
		t.Fatal(err)
	}
	l, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := d.Seal(record.Run{Root: root, Status: record.Failed, ExitCode: 1, Tasks: []record.Task{
		{Name: "fine", Status: record.Passed, ExitCode: new(0)},
		{Name: "check", Status: record.Failed, ExitCode: new(1), Attempts: 1, Log: &l},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s, sealed
}

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
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a"), []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	store, run := sealedRun(t, root, "it is bad\n")
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
	task := &pipeline.Task{
		Name: "check", Dir: ".", Run: pipeline.Command{Argv: []pipeline.Text{{Value: "check-it"}}}, OnFail: []pipeline.Hook{{Agent: &hook}},
	}
	e := &Engine{
		Config: &pipeline.Config{Root: root, File: filepath.Join(root, "PIPELINE.hcl"), Tasks: []*pipeline.Task{task}},
		Store:  store, Redact: &redact.Set{}, Cache: filepath.Join(t.TempDir(), "cache"), Tier: sandbox.None, Agents: map[string]agent.Agent{},
		Observer: Observer{Step: told},
		RunTask: func(_ context.Context, dir string, task *pipeline.Task, _ sandbox.Box, out io.Writer) (record.Task, error) {
			text, err := os.ReadFile(filepath.Join(dir, "a"))
			if string(text) == "good" {
				return record.Task{Name: task.Name, Status: record.Passed, ExitCode: new(0), DurationMS: new(int64(1))}, err
			}
			_, err = io.WriteString(out, "it is "+string(text)+"\n")
			return record.Task{Name: task.Name, Status: record.Failed, ExitCode: new(1), DurationMS: new(int64(1))}, err
		},
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
