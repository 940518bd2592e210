package fix_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

func TestStats(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a": "f:1"}, fixtest.Files{"a": "f:2"}
	s := fixtest.NewStore(t, before)
	with := func(attempts ...fix.Attempt) func(*draft.Draft, *fix.Fix) {
		return func(_ *draft.Draft, f *fix.Fix) {
			f.Fingerprint, f.Attempts = new("fp:1"), attempts
			f.CreatedAt = timestamp.Of(time.Now().Add(-time.Hour))                   // whole fixes count,
			f.Budget = &fix.Budget{Used: fix.Amounts{WallClockMS: new(int64(1000))}} // not what their budgets say
		}
	}
	idle, drop := new("idle_timeout"), new("disconnect")
	first := fixtest.Sealed(t, s, "test", before, after, with(
		fix.Attempt{Number: 1, Agent: "a", Kind: idle, DurationMS: 10},
		fix.Attempt{
			Number: 2, Agent: "a", Kind: drop, DurationMS: 20,
			Tokens: fix.Tokens{Input: new(int64(5)), Output: new(int64(7))}, CostUSD: new(0.5),
		},
		fix.Attempt{Number: 3, Agent: "b", DurationMS: 30, Tokens: fix.Tokens{Input: new(int64(1))}, CostUSD: new(0.25)},
		fix.Attempt{Number: 4, Agent: "b", DurationMS: 40}, // after one that ended by itself: no retry
	))
	fixtest.Check(t, fix.AddState(first.StatePath(), first.Digest, fix.StateChange{To: fix.Applied}))
	fixtest.Sealed(t, s, "lint", before, after, func(_ *draft.Draft, f *fix.Fix) { f.Verdict = new("verified") })
	fixtest.Sealed(t, s, "lint", before, after, nil) // hides the one before
	fixtest.Sealed(t, s, "vet", nil, nil, with(fix.Attempt{Number: 1, Agent: "a", Kind: idle},
		fix.Attempt{Number: 2, Agent: "a", RetryOf: new(1)}))
	fixtest.SealedIn(t, s, fixtest.LaterRun, "test", nil, func(_ *draft.Draft, f *fix.Fix) { f.State = fix.Skipped })

	later := time.Now().Add(time.Hour)
	got, errs := s.Stats([]fix.End{
		{Run: "x", Task: "test", At: later, Passed: true},
		{Run: "y", Task: "test", At: later, Fingerprint: func() string { return "fp:1" }},
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if took := time.Duration(got.Healings.WallClockMS) * time.Millisecond; took < 2*time.Hour ||
		took > 2*time.Hour+time.Minute {
		t.Errorf("fixes took %s", took)
	}
	got.Healings.WallClockMS = 0
	want := `{"runs":{"total":0,"passed":0,"failed":0,"interrupted":0,"running":0,"unreadable":0,"wall_clock_ms":0,"first":null},` +
		`"healings":{"total":5,"proposed":3,"skipped":1,"not_reproduced":0,"flaky":0,"no_fix":1,"failed":0,"cancelled":0,"interrupted":0,"wall_clock_ms":0},` +
		`"proposals":{"total":3,"verified":1,"suspect":0,"unverified":2,"open":1,"applied":1,"rejected":0,"superseded":1,"reverted":0,"passed_since":1,"recurred":1},` +
		`"total":{"agent":null,"attempts":6,"second_opinions":0,"tasks":0,"retries":3,"retries_succeeded":2,"tokens":{"input":6,"output":7,"cached":null},"tokens_unknown":4,"cost_usd":0.75,"cost_unknown":4,"wall_clock_ms":100},` +
		`"agents":[{"agent":"a","attempts":4,"second_opinions":0,"tasks":0,"retries":2,"retries_succeeded":1,"tokens":{"input":5,"output":7,"cached":null},"tokens_unknown":3,"cost_usd":0.5,"cost_unknown":3,"wall_clock_ms":30},` +
		`{"agent":"b","attempts":2,"second_opinions":0,"tasks":0,"retries":1,"retries_succeeded":1,"tokens":{"input":1,"output":null,"cached":null},"tokens_unknown":1,"cost_usd":0.25,"cost_unknown":1,"wall_clock_ms":70}],` +
		`"kinds":[{"kind":"idle_timeout","attempts":2,"retried":2,"succeeded":1},{"kind":"disconnect","attempts":1,"retried":1,"succeeded":1}]}`
	text, err := json.Marshal(got)
	fixtest.Check(t, err)
	if string(text) != want {
		t.Errorf("%s\nwant\n%s", strings.ReplaceAll(string(text), `},`, "},\n"), strings.ReplaceAll(want, `},`, "},\n"))
	}
}

// An attempt whose patch did not verify, and what the next one was good for.
func TestStatsUnverified(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a": "f:1"}, fixtest.Files{"a": "f:2"}
	s := fixtest.NewStore(t, before)
	left := fix.Attempt{Number: 1, Agent: "a", Rescue: new("fixes/x/attempt-1.patch")}
	for task, c := range map[string]struct {
		verdict string
		all     []fix.Attempt
	}{
		"helped":    {"verified", []fix.Attempt{left, {Number: 2, Agent: "a"}}},
		"no better": {"unverified", []fix.Attempt{left, {Number: 2, Agent: "a"}}},
		"the second": {"suspect", []fix.Attempt{
			left, {Number: 2, Agent: "a", Rescue: left.Rescue}, {Number: 3, Agent: "a"},
		}},
		"one": {"unverified", []fix.Attempt{left}},
	} {
		fixtest.Sealed(t, s, task, before, after, func(_ *draft.Draft, f *fix.Fix) {
			f.Verdict, f.Attempts = new(c.verdict), c.all
		})
	}
	got, errs := s.Stats(nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if a := got.Total; a.Attempts != 8 || a.Retries != 4 || a.RetriesSucceeded != 2 {
		t.Errorf("%+v", a)
	}
	if want := (fix.KindStats{Kind: fix.Unverified, Attempts: 4, Retried: 4, Succeeded: 2}); len(got.Kinds) != 1 ||
		got.Kinds[0] != want {
		t.Errorf("%+v, want %+v", got.Kinds, want)
	}
}

// Of a request that was cut it is known what was used at least, and the question for a report is counted too.
func TestStatsAtLeast(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.Files{"a": "f:1"})
	fixtest.Sealed(t, s, "test", nil, nil, func(_ *draft.Draft, f *fix.Fix) {
		used := func(input, output int64) fix.Tokens { return fix.Tokens{Input: &input, Output: &output} }
		cut := fix.Tokens{Input: new(int64(300)), AtLeast: new(int64(330))}
		asked := &fix.Finalizer{Result: "recovered", DurationMS: 5, Tokens: used(4, 8), CostUSD: new(1.0)}
		f.Attempts = []fix.Attempt{
			{Number: 1, Agent: "a", DurationMS: 10, Tokens: used(100, 10), CostUSD: new(0.5)},
			{Number: 2, Agent: "a", DurationMS: 10, Tokens: cut, CostUSD: new(0.25)},
			{Number: 3, Agent: "b", DurationMS: 10, Tokens: used(1, 2), CostUSD: new(0.125), Finalizer: asked},
			{
				Number: 4, Agent: "b", DurationMS: 10, Tokens: used(1, 2),
				Finalizer: &fix.Finalizer{Result: "skipped"},
			},
		}
	})
	got, errs := s.Stats(nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	text, err := json.Marshal(got.Agents)
	fixtest.Check(t, err)
	want := `[{"agent":"a","attempts":2,"second_opinions":0,"tasks":0,"retries":0,"retries_succeeded":0,"tokens":{"input":400,"output":10,"cached":null,"at_least":440},"tokens_unknown":1,"cost_usd":0.75,"cost_unknown":0,"wall_clock_ms":20},` +
		`{"agent":"b","attempts":2,"second_opinions":0,"tasks":0,"retries":0,"retries_succeeded":0,"tokens":{"input":6,"output":12,"cached":null},"tokens_unknown":0,"cost_usd":1.125,"cost_unknown":1,"wall_clock_ms":25}]`
	if string(text) != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if got.Total.Tokens.AtLeast == nil || *got.Total.Tokens.AtLeast != 458 {
		t.Errorf("%v", got.Total.Tokens.AtLeast)
	}
}

// What no attempt reported is unknown, and lists are lists.
func TestStatsOfNothing(t *testing.T) {
	t.Parallel()
	got, errs := fixtest.NewStore(t, fixtest.Files{}).Stats(nil)
	if len(errs) > 0 || got.Total.CostUSD != nil || got.Total.Tokens.Input != nil || got.Agents == nil ||
		got.Kinds == nil {
		t.Errorf("%+v %v", got, errs)
	}
}
