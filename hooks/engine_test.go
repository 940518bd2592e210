package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// A scripted agent takes its turns from a list; each is told what it is asked.
type scripted struct {
	name  string
	turns []scriptedTurn
	asked []agent.Request
}

type scriptedTurn = func(context.Context, agent.Request) agent.Turn

func script(name string, turns ...scriptedTurn) *scripted { return &scripted{name: name, turns: turns} }

func (s *scripted) Name() string { return s.name }
func (*scripted) Ready() error   { return nil }
func (*scripted) Here() bool     { return true }
func (*scripted) Keyed() bool    { return false }

func (*scripted) Retry() failure.Policy { return failure.Policy{} }

func (s *scripted) Turn(ctx context.Context, r agent.Request) (agent.Turn, error) {
	s.asked = append(s.asked, r)
	if len(s.asked) > len(s.turns) {
		return agent.Turn{Kind: failure.Unknown, Evidence: "asked too often"}, nil
	}
	return s.turns[len(s.asked)-1](ctx, r), nil
}

// writes is a turn that leaves text in the file a, and says something.
func writes(text, says string) scriptedTurn {
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

// fails is a turn that does nothing and ends with a kind.
func fails(kind failure.Kind) scriptedTurn {
	return func(context.Context, agent.Request) agent.Turn { return agent.Turn{Kind: kind, Evidence: "as told"} }
}

// broken is a turn that ends with a kind after all, and says when the agent can go on; nil: it does not.
func broken(turn scriptedTurn, kind failure.Kind, after *time.Duration) scriptedTurn {
	return func(ctx context.Context, r agent.Request) agent.Turn {
		t := turn(ctx, r)
		t.Kind, t.Evidence, t.RetryAfter = kind, "as told", after
		return t
	}
}

// metered is a turn that used so many tokens.
func metered(turn scriptedTurn, input, output int64) scriptedTurn {
	return func(ctx context.Context, r agent.Request) agent.Turn {
		t := turn(ctx, r)
		t.Tokens = agent.Tokens{Input: &input, Output: &output}
		return t
	}
}

// cancelled is a turn after which a person interrupts. Its context is one of stoppable.
func cancelled(turn scriptedTurn) scriptedTurn {
	return func(ctx context.Context, r agent.Request) agent.Turn {
		t := turn(ctx, r)
		stop(ctx)
		<-ctx.Done()
		return t
	}
}

type stopKey struct{}

// stoppable returns a context that stop ends, which may be called with one that is derived from it.
func stoppable(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return context.WithValue(ctx, stopKey{}, cancel)
}

func stop(ctx context.Context) { ctx.Value(stopKey{}).(context.CancelFunc)() }

// answers heals a failed run of one task, which passes where the file a says good.
func answers(t *testing.T, ctx context.Context, hook pipeline.AgentHook, agents ...*scripted) *fix.Fix {
	t.Helper()
	return answersTelling(t, ctx, nil, hook, agents...)
}

// answersTelling is answers, and tells what a person is told.
func answersTelling(
	t *testing.T, ctx context.Context, told func(Step), hook pipeline.AgentHook, agents ...*scripted,
) *fix.Fix {
	t.Helper()
	hook.Use = agents[0].name
	for _, a := range agents[1:] {
		if a.name != hook.Reviewer {
			hook.Fallback = append(hook.Fallback, a.name)
		}
	}
	hook.Budget.Attempts = cmp.Or(hook.Budget.Attempts, 1)
	hook.Budget.WallClock = cmp.Or(hook.Budget.WallClock, 2*time.Minute)
	config, store, run := fixtest.Failing(t, &hook)
	e := &Engine{
		Config: config, Store: store, Redact: &redact.Set{}, Cache: filepath.Join(t.TempDir(), "cache"),
		Tier: sandbox.None, Agents: map[string]agent.Agent{}, Observer: Observer{Step: told}, RunTask: fixtest.RunCheck,
	}
	for _, a := range agents {
		e.Agents[a.name] = a
	}
	outcomes, err := e.Heal(ctx, run, "check")
	fixtest.Check(t, err)
	f := outcomes[0].Fix
	if f.State == fix.Skipped || f.Reproduction == nil || f.Reproduction.Result != "same" {
		t.Fatalf("no agent was asked: %s %v %+v", f.State, show(f.Reason), f.Reproduction)
	}
	return f
}

// All that a hook throws away goes to its bin. With a bin that removes nothing any more it is found by the next
// command.
func TestBin(t *testing.T) {
	t.Parallel()
	hook := pipeline.AgentHook{Use: "a", Budget: pipeline.Budget{Attempts: 1, WallClock: 2 * time.Minute}}
	config, store, run := fixtest.Failing(t, &hook)
	var bin scratch.Bin
	fixtest.Check(t, bin.Empty())
	cache := filepath.Join(t.TempDir(), "cache")
	e := &Engine{
		Config: config, Store: store, Redact: &redact.Set{}, Cache: cache, Tier: sandbox.None, Bin: &bin, RunTask: fixtest.RunCheck,
		Agents: map[string]agent.Agent{"a": script("a", writes("good", said))},
	}
	fixtest.OK(t)(e.Heal(t.Context(), run, "check"))
	left, err := filepath.Glob(filepath.Join(cache, "scratch", "*", "*"))
	all, err2 := filepath.Glob(filepath.Join(cache, "scratch", "*", ".gone-*"))
	fixtest.Check(t, errors.Join(err, err2))
	if len(left) < 10 || !slices.Equal(left, all) { // base, four copies, their temporary folders, a home, each with its stamp
		t.Errorf("%q", left)
	}
}

// An agent that works from this program has an overlay: its copy holds what it changes, and nothing of the base.
func TestAgentHereWorksInAnOverlay(t *testing.T) {
	t.Parallel()
	if err := sandbox.TryOverlay(t.TempDir()); err != nil {
		t.Skip("no overlay here: " + err.Error())
	}
	finds := func(dir string) (names []string) {
		entries, err := os.ReadDir(dir)
		fixtest.Check(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	in := func(r agent.Request, do func(*os.Root) error) {
		root, err := r.Open()
		fixtest.Check(t, err)
		fixtest.Check(t, errors.Join(do(root), root.Close()))
	}
	repairs := func(_ context.Context, r agent.Request) agent.Turn {
		if got := finds(r.Top); len(got) > 0 {
			t.Errorf("before it changes anything its copy holds %q", got)
		}
		in(r, func(root *os.Root) error {
			text, err := root.ReadFile("a")
			if string(text) != "bad" {
				t.Errorf("a says %q", text)
			}
			return errors.Join(err, root.WriteFile("a", []byte("good"), 0o600))
		})
		if passed, err := r.Check(t.Context(), io.Discard); err != nil || !passed {
			t.Errorf("the check does not see it: %v, %v", passed, err)
		}
		return ended("no report")
	}
	reports := func(_ context.Context, r agent.Request) agent.Turn { // the finalizer
		in(r, func(root *os.Root) error {
			text, err := root.ReadFile("a")
			if string(text) != "good" || !r.ReadOnly {
				t.Errorf("the finalizer sees %q; may only read: %v", text, r.ReadOnly)
			}
			return err
		})
		if got := finds(r.Top); !slices.Equal(got, []string{"a"}) {
			t.Errorf("the finalizer's copy holds %q", got)
		}
		return ended(said)
	}
	hook := pipeline.AgentHook{Use: "a", Budget: pipeline.Budget{Attempts: 1, WallClock: 2 * time.Minute}}
	config, store, run := fixtest.Failing(t, &hook)
	a := script("a", repairs, reports)
	// as fixtest.RunCheck, but by a process in the box
	checks := func(ctx context.Context, dir string, t *pipeline.Task, b sandbox.Box, out io.Writer) (record.Task, error) {
		res, err := b.Run(ctx, sandbox.Command{
			Argv: []string{"sh", "-c", `[ "$(cat a)" = good ] || { echo "it is $(cat a)"; exit 1; }`}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: out, Stderr: out,
		})
		done := record.Task{Name: t.Name, Status: record.Passed, ExitCode: &res.ExitCode, DurationMS: new(int64(1))}
		if res.ExitCode != 0 {
			done.Status = record.Failed
		}
		return done, err
	}
	e := &Engine{
		Config: config, Store: store, Redact: &redact.Set{}, Cache: filepath.Join(t.TempDir(), "cache"), Tier: sandbox.View,
		RunTask: checks, Agents: map[string]agent.Agent{"a": a},
	}
	outcomes, err := e.Heal(t.Context(), run, "check")
	fixtest.Check(t, err)
	f := outcomes[0].Fix
	if f.Copies == nil || f.Copies.Made != "overlay" || f.Copies.Why != nil || len(a.asked) != 2 {
		t.Errorf("copies %+v, %d turns", f.Copies, len(a.asked))
	}
	if f.State != fix.Proposed || len(f.Patch.Files) != 1 {
		t.Errorf("%s %s %+v", f.State, show(f.Reason), f.Patch)
	}
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
	const noFix = `{"outcome":"no_fix","summary":"x"}`
	made, prose, incomplete := writes("good", "I made it good."), writes("", "prose"), writes("", `{"outcome":"fixed"}`)
	for _, c := range []struct {
		id      string
		a       *scripted
		state   string
		control string
		kind    string
		result  string
	}{
		{"G40 one extra turn", script("a", made, writes("", said)), fix.Proposed, "recovered", "null", "recovered"},
		{
			"G40 its edits are thrown away", script("a", made, writes("worse", said)),
			fix.Proposed, "recovered", "null", "recovered",
		},
		{
			"G40 what it says decides nothing about a difference", script("a", made, writes("", noFix)),
			fix.Proposed, "recovered", "null", "recovered",
		},
		{"without a difference it does", script("a", prose, writes("", noFix)), fix.NoFix, "recovered", "null", "recovered"},
		{"G41 exactly two turns, with a difference", script("a", made, prose), fix.Proposed, "missing", "null", "invalid"},
		{
			"G41 exactly two turns, without one", script("a", incomplete, prose),
			fix.Failed, "missing", "output_invalid", "invalid",
		},
		{"C32 prose and nothing else", script("a", prose, prose), fix.Failed, "missing", "verdict_ambiguous", "invalid"},
		{
			"G42 the question cannot be asked", script("a", incomplete, fails(failure.CLIError)),
			fix.Failed, "missing", "output_invalid", "failed",
		},
		{"G44 it says no_fix itself", script("a", writes("", noFix)), fix.NoFix, "ok", "null", ""},
		{
			"G44 it names its own failure", script("a", fails("quota_exhausted")),
			fix.Failed, "missing", "quota_exhausted", "",
		},
		{
			"C33 a failure stays what it was", script("a", broken(prose, failure.Decompression, nil)),
			fix.Failed, "missing", "decompression", "",
		},
		{"G45 ended before the question", script("a", cancelled(made)), fix.Cancelled, "missing", "null", ""},
		{
			"G46 a question that shows the agent to be barred", script("a", prose, fails(failure.Billing)),
			fix.Failed, "missing", "billing", "failed",
		},
		{
			"G50 an answer that comes while we end", script("a", made, cancelled(writes("", said))),
			fix.Cancelled, "missing", "null", "failed",
		},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			f := answers(t, stoppable(t), pipeline.AgentHook{}, c.a)
			if len(c.a.asked) != len(c.a.turns) || f.State != c.state || show(f.Control) != c.control ||
				show(f.Kind) != c.kind {
				t.Errorf("asked %d times, %s (%s), control %s, kind %s", len(c.a.asked), f.State, show(f.Reason),
					show(f.Control), show(f.Kind))
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
			if len(c.a.turns) == 2 && !c.a.asked[1].ReadOnly {
				t.Error("the question may change something")
			}
		})
	}
}

// A conversation that is kept is asked in itself, and is not shown what it said.
func TestFinalizerResumes(t *testing.T) {
	t.Parallel()
	resumed := 0
	a := script("a", func(ctx context.Context, r agent.Request) agent.Turn {
		turn := metered(writes("good", "I made it good."), 90, 10)(ctx, r)
		turn.Resume = func(ctx context.Context, r agent.Request) (agent.Turn, error) {
			resumed++
			return metered(writes("", said), 5, 6)(ctx, r), nil
		}
		return turn
	})
	f := answers(t, t.Context(), pipeline.AgentHook{Budget: pipeline.Budget{Tokens: 1000}}, a)
	if resumed != 1 || len(a.asked) != 1 || show(f.Control) != "recovered" {
		t.Errorf("resumed %d, asked %d, control %s", resumed, len(a.asked), show(f.Control))
	}
	if n := f.Budget.Used.Tokens; n == nil || *n != 111 {
		t.Errorf("G40 usage is summed: %v", n)
	}
}

// course tells how a fix ended, and of each try its agent and what was decided after it.
func course(f *fix.Fix) string {
	text := fmt.Sprintf("%s %s %s, used %d", f.State, show(f.Verdict), show(f.Kind), *f.Budget.Used.Attempts)
	if f.ResumeAt != nil {
		text += ", resumes"
	}
	for _, a := range f.Attempts {
		text += "; " + a.Agent
		if a.RetryOf != nil {
			text += fmt.Sprintf(" retries %d", *a.RetryOf)
		}
		if a.Rescue != nil {
			text += " edits"
		}
		if z := a.Finalizer; z != nil && z.Kind != nil {
			text += ", asked: " + *z.Kind
		}
		if d := a.Decision; d != nil {
			text += ", " + d.Next + " " + d.Outcome
			if d.ResumeAt != nil {
				text += ", resumes"
			}
		}
	}
	return text
}

func TestAttemptsOfTheBudget(t *testing.T) {
	t.Parallel()
	var once pipeline.Budget
	twice, thrice := pipeline.Budget{Attempts: 2}, pipeline.Budget{Attempts: 3}
	onceCapped, twiceCapped := pipeline.Budget{Tokens: 100}, pipeline.Budget{Attempts: 2, Tokens: 100}
	lost, good, worse := fails(failure.StreamFailure), writes("good", said), writes("worse", said)
	quota, idle, strange := fails(failure.QuotaExhausted), fails(failure.IdleTimeout), fails(failure.Unknown)
	edits := broken(writes("worse", "cut off"), failure.QuotaExhausted, new(time.Hour))
	limited := broken(writes("worse", "cut off"), failure.RateLimited, new(time.Millisecond))
	loops := broken(writes("good", "prose"), failure.LoopDetected, nil)
	interrupted := func(ctx context.Context, r agent.Request) agent.Turn {
		time.AfterFunc(50*time.Millisecond, func() { stop(ctx) })
		return lost(ctx, r)
	}
	for _, c := range []struct {
		name   string
		budget pipeline.Budget
		a, b   *scripted // b nil: there is no fallback agent
		want   string
	}{
		{
			"C34 transient then success", once, script("a", lost, good), nil,
			"proposed verified null, used 1; a, retry recovered; a retries 1 edits",
		},
		{
			"C34 once for each agent, whatever the attempts", twice, script("a", lost, lost, lost), nil,
			"failed null stream_failure, used 2; a, retry same_kind; a retries 1, stop not_tried; a, stop not_tried",
		},
		{
			"C36 cancelled while it waits for the second try", once, script("a", interrupted), nil,
			"cancelled null stream_failure, used 1; a, retry not_tried",
		},
		{
			"the caps of the budget", twiceCapped, script("a", metered(worse, 90, 20)), nil,
			"proposed unverified null, used 1; a edits",
		},
		{
			"a spent cap ends tries too", onceCapped, script("a", metered(lost, 90, 30)), script("b"),
			"failed null stream_failure, used 1; a, stop not_tried",
		},
		{
			"H24 the next agent", once, script("a", quota), script("b", good),
			"proposed verified null, used 1; a, fallback recovered; b edits",
		},
		{
			"H24 an edit that does not hold keeps nobody from the next agent", twice, script("a", edits), script("b", good),
			"proposed verified null, used 1; a edits, fallback recovered, resumes; b edits",
		},
		{
			"an agent that cannot go on is not asked again, and its edit is proposed", twice, script("a", edits), nil,
			"proposed unverified quota_exhausted, used 1, resumes; a edits, stop not_tried, resumes",
		},
		{
			"nor is one before a time that it names and that comes too late", twice,
			script("a", broken(writes("worse", "cut off"), failure.ServerOverload, new(time.Hour))), nil,
			"proposed unverified server_overload, used 1, resumes; a edits, stop not_tried, resumes",
		},
		{
			"what an earlier try left is proposed when a later one fails", once, script("a", limited, lost, lost), nil,
			"proposed unverified stream_failure, used 1; a edits, wait other_kind; a retries 1, retry same_kind; " +
				"a retries 2, stop not_tried",
		},
		{
			"a question that shows the agent to be barred says nothing of a difference that holds", once,
			script("a", writes("good", "prose"), fails(failure.Billing)), nil,
			"proposed verified null, used 1; a edits, asked: billing",
		},
		{
			"G46 of one that does not hold it decides what follows", twice,
			script("a", writes("worse", "prose"), fails(failure.Billing)), script("b", good),
			"proposed verified null, used 1; a edits, asked: billing, fallback recovered; b edits",
		},
		{
			"C34 an edit that does not hold is no reason against the retry", once, script("a", broken(worse, failure.StreamFailure, nil), good), nil,
			"proposed verified null, used 1; a edits, retry recovered; a retries 1 edits",
		},
		{
			"an announced wait is waited for also where the edit does not hold", twice,
			script("a", broken(worse, failure.ServerOverload, new(time.Millisecond)), good), nil,
			"proposed verified null, used 1; a edits, wait recovered; a retries 1 edits",
		},
		{
			"C34 nor is one of the retry a reason for a third try", once,
			script("a", broken(worse, failure.StreamFailure, nil), broken(worse, failure.StreamFailure, nil)), nil,
			"proposed unverified stream_failure, used 1; a edits, retry same_kind; a retries 1 edits, stop not_tried",
		},
		{
			"a retry that holds has helped, whatever it ended with", once, script("a", lost, loops), nil,
			"proposed verified loop_detected, used 1; a, retry recovered; a retries 1 edits",
		},
		{
			"the first silence deserves one more try, the second does not", thrice, script("a", idle, idle), nil,
			"failed null idle_timeout, used 2; a, stop not_tried; a, stop not_tried",
		},
		{
			"so does a failure that nobody knows, at most once", thrice, script("a", strange, strange), nil,
			"failed null unknown, used 1; a, retry same_kind; a retries 1, stop not_tried",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			agents := slices.DeleteFunc([]*scripted{c.a, c.b}, func(s *scripted) bool { return s == nil })
			f := answers(t, stoppable(t), pipeline.AgentHook{Budget: c.budget}, agents...)
			if got := course(f); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			for _, s := range agents {
				if len(s.asked) != len(s.turns) {
					t.Errorf("agent %s was asked %d times, want %d", s.name, len(s.asked), len(s.turns))
				}
			}
		})
	}
}

// The third attempt is told that the two before it failed in the same way.
func TestFailedAlikeTwice(t *testing.T) {
	t.Parallel()
	a := script("a", writes("worse", said), writes("worse", said), writes("good", said))
	hook := pipeline.AgentHook{Budget: pipeline.Budget{Attempts: 3, WallClock: 3 * time.Minute}}
	f := answers(t, t.Context(), hook, a)
	if show(f.Verdict) != verify.Verified || len(a.asked) != 3 {
		t.Fatalf("%s after %d", show(f.Verdict), len(a.asked))
	}
	for i, want := range []bool{false, false, true} {
		const words = "The proposal before that one failed in the same way"
		if got := strings.Contains(a.asked[i].Prompt, words); got != want {
			t.Errorf("attempt %d is told that the approach failed: %v", i+1, got)
		}
	}
}

// C33: a stream that failed is no verdict, whatever was said before it did.
func TestC33StaysAStreamFailure(t *testing.T) {
	t.Parallel()
	lost := broken(writes("", "I think that it is fixed."), failure.StreamFailure, nil)
	a := script("a", lost, lost)
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
	a := script("a", func(ctx context.Context, r agent.Request) agent.Turn {
		turn := writes("", `{"outcome":"fixed"}`)(ctx, r)
		turn.Resume = func(context.Context, agent.Request) (agent.Turn, error) {
			resumed++
			return agent.Turn{}, errors.New("session 7 is gone")
		}
		return turn
	})
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
			a := script("a", writes(text, "I made it good."))
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
			a := script("a", metered(writes("", `{"outcome":"fixed"}`), 90, 10), metered(second, 5, 6))
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
	a := script("a", func(ctx context.Context, r agent.Request) agent.Turn {
		if r.Tokens != 1000 {
			t.Errorf("the agent is given %d tokens", r.Tokens)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Minute):
			t.Error("nothing ends the agent")
		}
		return agent.Turn{Kind: failure.WallTimeout, Evidence: "ended", Exit: agent.Exit{TimedOut: true}}
	})
	f := answers(t, t.Context(), pipeline.AgentHook{Budget: pipeline.Budget{WallClock: 6 * time.Second, Tokens: 1000}}, a)
	if show(f.Kind) != "wall_timeout" || f.Budget.Used.Tokens != nil || !strings.Contains(show(f.Note), "tokens are not enforced, its wall_clock is") {
		t.Errorf("%s, used %v; %s", show(f.Kind), f.Budget.Used.Tokens, show(f.Note))
	}
}

// H24: the next agent works under the clock of the one before it, which stops only while its copy is made.
func TestH24OneClockForAll(t *testing.T) {
	t.Parallel()
	var from, until []time.Time
	clock := func(turn scriptedTurn) scriptedTurn {
		return func(ctx context.Context, r agent.Request) agent.Turn {
			end, ok := ctx.Deadline()
			if !ok {
				t.Error("there is no clock")
			}
			from, until = append(from, time.Now()), append(until, end)
			time.Sleep(20 * time.Millisecond)
			return turn(ctx, r)
		}
	}
	a := script("a", clock(fails(failure.QuotaExhausted)))
	b := script("b", clock(writes("good", said)))
	f := answers(t, t.Context(), pipeline.AgentHook{}, a, b)
	if len(until) != 2 {
		t.Fatalf("clocks %v", until)
	}
	later, all := until[1].Sub(until[0]), from[1].Sub(from[0])
	if later <= 0 || later > all-20*time.Millisecond {
		t.Errorf("the clock ends %s later for an agent that began %s later", later, all)
	}
	b64 := func(p *int64) int64 {
		if p == nil {
			return -1
		}
		return *p
	}
	if a := f.Attempts; f.Copies == nil || f.Copies.Made != "plain" || f.Copies.DurationMS < later.Milliseconds() ||
		b64(f.Base.DurationMS) < 0 || b64(f.Reproduction.DurationMS) < 0 || a[0].VerificationMS != nil ||
		b64(a[1].VerificationMS) < 0 || b64(f.Verification.DurationMS) != b64(a[1].VerificationMS) {
		t.Errorf("copies %+v, base %+v, reproduction %+v, attempts %+v, verification %+v", f.Copies, f.Base, f.Reproduction, a, f.Verification)
	}
	if d := f.Attempts[0].Decision; d == nil || d.Next != budget.Fallback || d.Outcome != "recovered" || f.State != fix.Proposed || *f.Budget.Used.Attempts != 1 {
		t.Errorf("%s, used %d attempts, decision %+v", f.State, *f.Budget.Used.Attempts, d)
	}
}

// B45: a line that the transcript does not take is said once, however many follow it, and ends nothing.
func TestB45TranscriptCannotBeWritten(t *testing.T) {
	t.Parallel()
	a := script("a", func(ctx context.Context, r agent.Request) agent.Turn {
		for range 3 {
			r.Note(agent.Line{Type: "reminder", Data: map[string]any{"text": make(chan int)}})
		}
		return writes("good", said)(ctx, r)
	})
	f := answers(t, t.Context(), pipeline.AgentHook{}, a)
	if show(f.Verdict) != verify.Verified || strings.Count(show(f.Note), "transcript: ") != 1 {
		t.Errorf("%s; %s", show(f.Verdict), show(f.Note))
	}
}

// What takes back a verdict afterwards takes back that of the attempt too.
func TestVerdictOfAttempt(t *testing.T) {
	t.Parallel()
	hook := pipeline.AgentHook{Use: "a", Budget: pipeline.Budget{Attempts: 1, WallClock: 2 * time.Minute}}
	config, store, run := fixtest.Failing(t, &hook)
	a := script("a", func(ctx context.Context, r agent.Request) agent.Turn {
		fixtest.Put(t, config.Root, "more", "f:of somebody else")
		return writes("good", said)(ctx, r)
	})
	e := &Engine{
		Config: config, Store: store, Redact: &redact.Set{}, Cache: filepath.Join(t.TempDir(), "cache"),
		Tier: sandbox.None, Agents: map[string]agent.Agent{"a": a}, RunTask: fixtest.RunCheck,
	}
	outcomes, err := e.Heal(t.Context(), run, "check")
	fixtest.Check(t, err)
	f := outcomes[0].Fix
	if show(f.Verdict) != verify.Unverified || show(f.Verification.Reason) != "tree_changed" || show(f.Attempts[0].Verdict) != verify.Unverified {
		t.Errorf("%s (%s), attempt %s", show(f.Verdict), show(f.Verification.Reason), show(f.Attempts[0].Verdict))
	}
}

// What an agent used counts also where what it left cannot be kept.
func TestUsedWithoutDifference(t *testing.T) {
	t.Parallel()
	a := script("a", metered(func(_ context.Context, r agent.Request) agent.Turn {
		fixtest.Check(t, os.RemoveAll(r.Top))
		return agent.Turn{Model: "m", Turns: new(3), Exit: agent.Exit{Code: 4}}
	}, 30, 12))
	f := answers(t, t.Context(), pipeline.AgentHook{}, a)
	row := f.Attempts[0]
	if f.State != fix.Failed || show(row.Kind) != string(failure.ScratchFailed) || show(row.Model) != "m" || *row.Turns != 3 || *row.ExitCode != 4 {
		t.Errorf("%s, attempt %+v", f.State, row)
	}
	if used := f.Budget.Used; used.Tokens == nil || *used.Tokens != 42 || row.Tokens.Input == nil || *row.Tokens.Input != 30 {
		t.Errorf("used %v, attempt %+v", used.Tokens, row.Tokens)
	}
}
