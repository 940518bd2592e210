package fix

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

func TestStats(t *testing.T) {
	t.Parallel()
	before, after := files{"a": "f:1"}, files{"a": "f:2"}
	s := newStore(t, before)
	with := func(attempts ...Attempt) func(*Draft, *Fix) {
		return func(_ *Draft, f *Fix) {
			f.Fingerprint, f.Attempts = ptr("fp:1"), attempts
			f.CreatedAt = timestamp.Of(time.Now().Add(-time.Hour))           // whole healings count,
			f.Budget = &Budget{Used: Amounts{WallClockMS: ptr(int64(1000))}} // not what their budgets say
		}
	}
	idle, drop := ptr("idle_timeout"), ptr("disconnect")
	first := sealed(t, s, "test", before, after, with(
		Attempt{Number: 1, Agent: "a", Kind: idle, DurationMS: 10},
		Attempt{Number: 2, Agent: "a", Kind: drop, DurationMS: 20, Tokens: Tokens{Input: ptr(int64(5)), Output: ptr(int64(7))}, CostUSD: ptr(0.5)},
		Attempt{Number: 3, Agent: "b", DurationMS: 30, Tokens: Tokens{Input: ptr(int64(1))}, CostUSD: ptr(0.25)},
		Attempt{Number: 4, Agent: "b", DurationMS: 40}, // after one that ended by itself: no retry
	))
	check(t, addDecision(first.statePath(), first.digest, decision{To: applied}))
	sealed(t, s, "lint", before, after, func(_ *Draft, f *Fix) { f.Verdict = ptr("verified") })
	sealed(t, s, "lint", before, after, nil) // hides the one before
	sealed(t, s, "vet", nil, nil, with(Attempt{Number: 1, Agent: "a", Kind: idle}, Attempt{Number: 2, Agent: "a", RetryOf: ptr(1)}))
	sealedIn(t, s, laterRun, "test", nil, func(_ *Draft, f *Fix) { f.State = Skipped })

	later := time.Now().Add(time.Hour)
	got, errs := s.Stats([]End{
		{Run: "x", Task: "test", At: later, Passed: true},
		{Run: "y", Task: "test", At: later, Fingerprint: func() string { return "fp:1" }},
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if took := time.Duration(got.Healings.WallClockMS) * time.Millisecond; took < 2*time.Hour || took > 2*time.Hour+time.Minute {
		t.Errorf("healings took %s", took)
	}
	got.Healings.WallClockMS = 0
	want := `{"runs":{"total":0,"passed":0,"failed":0,"interrupted":0,"running":0,"unreadable":0,"wall_clock_ms":0,"first":null},` +
		`"healings":{"total":5,"proposed":3,"skipped":1,"not_reproduced":0,"flaky":0,"no_fix":1,"failed":0,"cancelled":0,"interrupted":0,"wall_clock_ms":0},` +
		`"proposals":{"total":3,"verified":1,"suspect":0,"unverified":2,"open":1,"applied":1,"rejected":0,"superseded":1,"reverted":0,"passed_since":1,"recurred":1},` +
		`"total":{"agent":null,"attempts":6,"retries":3,"retries_succeeded":2,"tokens":{"input":6,"output":7,"cached":null},"tokens_unknown":4,"cost_usd":0.75,"cost_unknown":4,"wall_clock_ms":100},` +
		`"agents":[{"agent":"a","attempts":4,"retries":2,"retries_succeeded":1,"tokens":{"input":5,"output":7,"cached":null},"tokens_unknown":3,"cost_usd":0.5,"cost_unknown":3,"wall_clock_ms":30},` +
		`{"agent":"b","attempts":2,"retries":1,"retries_succeeded":1,"tokens":{"input":1,"output":null,"cached":null},"tokens_unknown":1,"cost_usd":0.25,"cost_unknown":1,"wall_clock_ms":70}],` +
		`"kinds":[{"kind":"idle_timeout","attempts":2,"retried":2,"succeeded":1},{"kind":"disconnect","attempts":1,"retried":1,"succeeded":1}]}`
	text, err := json.Marshal(got)
	check(t, err)
	if string(text) != want {
		t.Errorf("%s\nwant\n%s", strings.ReplaceAll(string(text), `},`, "},\n"), strings.ReplaceAll(want, `},`, "},\n"))
	}
}

// An attempt whose patch did not verify, and what the next one was good for.
func TestStatsUnverified(t *testing.T) {
	t.Parallel()
	before, after := files{"a": "f:1"}, files{"a": "f:2"}
	s := newStore(t, before)
	left := Attempt{Number: 1, Agent: "a", Rescue: ptr("fixes/x/attempt-1.patch")}
	for task, c := range map[string]struct {
		verdict string
		all     []Attempt
	}{
		"helped":     {"verified", []Attempt{left, {Number: 2, Agent: "a"}}},
		"no better":  {"unverified", []Attempt{left, {Number: 2, Agent: "a"}}},
		"the second": {"suspect", []Attempt{left, {Number: 2, Agent: "a", Rescue: left.Rescue}, {Number: 3, Agent: "a"}}},
		"one":        {"unverified", []Attempt{left}},
	} {
		sealed(t, s, task, before, after, func(_ *Draft, f *Fix) { f.Verdict, f.Attempts = ptr(c.verdict), c.all })
	}
	got, errs := s.Stats(nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if a := got.Total; a.Attempts != 8 || a.Retries != 4 || a.RetriesSucceeded != 2 {
		t.Errorf("%+v", a)
	}
	if want := (KindStats{Kind: Unverified, Attempts: 4, Retried: 4, Succeeded: 2}); len(got.Kinds) != 1 || got.Kinds[0] != want {
		t.Errorf("%+v, want %+v", got.Kinds, want)
	}
}

// Of a request that was cut it is known what was used at least, and the question for a report is counted too.
func TestStatsAtLeast(t *testing.T) {
	t.Parallel()
	s := newStore(t, files{"a": "f:1"})
	sealed(t, s, "test", nil, nil, func(_ *Draft, f *Fix) {
		f.Attempts = []Attempt{
			{Number: 1, Agent: "a", DurationMS: 10, Tokens: Tokens{Input: ptr(int64(100)), Output: ptr(int64(10))}, CostUSD: ptr(0.5)},
			{Number: 2, Agent: "a", DurationMS: 10, Tokens: Tokens{Input: ptr(int64(300)), AtLeast: ptr(int64(330))}, CostUSD: ptr(0.25)},
			{
				Number: 3, Agent: "b", DurationMS: 10, Tokens: Tokens{Input: ptr(int64(1)), Output: ptr(int64(2))}, CostUSD: ptr(0.125),
				Finalizer: &Finalizer{Result: "recovered", DurationMS: 5, Tokens: Tokens{Input: ptr(int64(4)), Output: ptr(int64(8))}, CostUSD: ptr(1.0)},
			},
			{Number: 4, Agent: "b", DurationMS: 10, Tokens: Tokens{Input: ptr(int64(1)), Output: ptr(int64(2))}, Finalizer: &Finalizer{Result: "skipped"}},
		}
	})
	got, errs := s.Stats(nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	text, err := json.Marshal(got.Agents)
	check(t, err)
	want := `[{"agent":"a","attempts":2,"retries":0,"retries_succeeded":0,"tokens":{"input":400,"output":10,"cached":null,"at_least":440},"tokens_unknown":1,"cost_usd":0.75,"cost_unknown":0,"wall_clock_ms":20},` +
		`{"agent":"b","attempts":2,"retries":0,"retries_succeeded":0,"tokens":{"input":6,"output":12,"cached":null},"tokens_unknown":0,"cost_usd":1.125,"cost_unknown":1,"wall_clock_ms":25}]`
	if string(text) != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if got.Total.Tokens.AtLeast == nil || *got.Total.Tokens.AtLeast != 458 {
		t.Errorf("%v", got.Total.Tokens.AtLeast)
	}
}

// What no attempt has said is unknown, and lists are lists.
func TestStatsOfNothing(t *testing.T) {
	t.Parallel()
	got, errs := newStore(t, files{}).Stats(nil)
	if len(errs) > 0 || got.Total.CostUSD != nil || got.Total.Tokens.Input != nil || got.Agents == nil || got.Kinds == nil {
		t.Errorf("%+v %v", got, errs)
	}
}
