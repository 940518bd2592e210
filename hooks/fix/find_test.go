package fix_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// A fix that was applied before another one of its task was made in the same run is listed, found as TASK@N, and can
// be reverted.
func TestOlderFixOfOneRun(t *testing.T) {
	t.Parallel()
	const task = `test["linux"]`
	second, third := fixtest.Files{"a.txt": "f:two\n"}, fixtest.Files{"a.txt": "f:three\n"}
	s := fixtest.NewStore(t, fixtest.One)
	_, err := apply.Tree{Fixes: s}.Apply(context.Background(), fixtest.Sealed(t, s, task, fixtest.One, second, nil),
		apply.Options{})
	fixtest.Check(t, err)
	newest := fixtest.Sealed(t, s, task, second, third, nil)
	fixtest.Check(t, apply.Tree{Fixes: s}.Supersede(context.Background(), &newest.Fix))

	items, errs := s.List()
	if len(errs) > 0 || len(items) != 2 || items[0].Name != task || items[0].Disposition != fix.Open ||
		items[1].Name != task+"@1" || items[1].Disposition != fix.Applied {
		t.Fatalf("%+v %v", items, errs)
	}
	for typed, want := range map[string]string{task: task, task + "@1": task + "@1", task + "@2": task} {
		for _, run := range []string{fixtest.RunID, "latest"} {
			if p, err := s.Find(run, typed); err != nil || p.Called != want {
				t.Errorf("Find(%q, %q): %+v, %v", run, typed, p, err)
			}
		}
	}
	for _, typed := range []string{task + "@3", task + "@01", task + "@0", task + "@", "@1", "lint@1"} {
		if _, err := s.Find(fixtest.RunID, typed); !errors.Is(err, fix.ErrNone) || typed == task+"@3" &&
			!strings.Contains(err.Error(), "it has: "+task+"@1, "+task+"@2") {
			t.Errorf("Find(%q): %v", typed, err)
		}
	}

	if _, err := (apply.Tree{Fixes: s}).Revert(context.Background(), newest, apply.Options{}); !errors.Is(err,
		apply.ErrRefused) || !strings.HasSuffix(err.Error(), "(this fix is open); another fix of this task is: async-pipeline fix revert "+fixtest.RunID+` 'test["linux"]@1'`) {
		t.Errorf("revert of the newest: %v", err)
	}
	older := fixtest.Find(t, s, fixtest.RunID, task+"@1")
	fixtest.OK(t)(apply.Tree{Fixes: s}.Revert(context.Background(), older, apply.Options{}))
	fixtest.Same(t, "reverted", fixtest.Snapshot(t, s.Root), fixtest.One)
	if p, err := s.Find(fixtest.RunID, task+"@1"); err != nil || p.Disposition != fix.Reverted {
		t.Errorf("%+v, %v", p, err)
	}
}

// The journal of a run is read once, however many fixes it has.
func TestListReadsEventsOnce(t *testing.T) { //nolint:paralleltest // what it measures is the memory of the whole process
	s := fixtest.NewStore(t, fixtest.One)
	const fixes = 30
	for i := range fixes {
		fixtest.Sealed(t, s, fmt.Sprint("t", i), fixtest.One, fixtest.Files{"a.txt": "f:two\n"}, nil)
	}
	j, err := fix.OpenJournal(fixtest.Dir(s), fixtest.VerdictOf(t, s, fixtest.RunID), nil)
	fixtest.Check(t, err)
	for range 64 {
		fixtest.Check(t, j.Event("step", map[string]any{"text": strings.Repeat("x", 32<<10)}))
	}
	fixtest.Check(t, j.Close())
	took := func(do func() int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if n := do(); n != fixes {
			t.Fatalf("%d fixes", n)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) >> 20
	}
	if mib := took(func() int { items, errs := s.List(); return len(items) - len(errs) }); mib > 2*fixes {
		t.Errorf("List takes %d MiB", mib)
	}
	if mib := took(func() int {
		items, _ := s.List()
		apply.Tree{Fixes: s}.FitNow(context.Background(), items)
		return len(slices.DeleteFunc(items, func(i fix.Item) bool { return i.Fits == nil }))
	}); mib > 2*fixes {
		t.Errorf("FitNow takes %d MiB", mib)
	}
	if mib := took(func() int { st, _ := s.Stats(nil); return st.Proposals.Total }); mib > 2*fixes {
		t.Errorf("Stats takes %d MiB", mib)
	}
}

// A proposal of a run that was made while the clock was wrong does not hide those that are made later.
func TestFindLatestAheadOfTheClock(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	ahead := "20991231T235959Z-ffff"
	fixtest.SealedIn(t, s, ahead, "test", fixtest.Change(fixtest.One, fixtest.Two), nil)
	if p, err := s.Find("latest", ""); err != nil || p.Run != ahead {
		t.Errorf("of one run: %+v, %v", p, err)
	}
	fixtest.SealedIn(t, s, fixtest.RunID, "test", fixtest.Change(fixtest.One, fixtest.Two), nil)
	if p, err := s.Find("latest", "test"); err != nil || p.Run != fixtest.RunID {
		t.Errorf("latest: %+v, %v", p, err)
	}
}

func TestEarlier(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a": "f:1"}, fixtest.Files{"a": "f:2"}
	s := fixtest.NewStore(t, before)
	fixtest.Sealed(t, s, "test", before, after, fixtest.Printed("fp:1"))
	fixtest.SealedIn(t, s, fixtest.LaterRun, "test", fixtest.Change(before, after), fixtest.Printed("fp:1"))
	rejectedOne := fixtest.SealedIn(t, s, fixtest.LaterRun, "lint", fixtest.Change(before, after),
		fixtest.Printed("fp:2"))
	fixtest.Check(t, fix.AddState(rejectedOne.StatePath(), rejectedOne.Digest, fix.StateChange{To: fix.Rejected}))
	fixtest.SealedIn(t, s, fixtest.LaterRun, "vet", nil, fixtest.Printed("fp:1")) // no proposal
	alike, opened, errs := s.Earlier("fp:1")
	if len(errs) > 0 || opened != 2 || len(alike) != 2 || alike[0].Run != fixtest.LaterRun ||
		alike[1].Run != fixtest.RunID {
		t.Errorf("%d open, alike %v, %v", opened, alike, errs)
	}
	if alike, opened, _ := s.Earlier("fp:2"); opened != 2 || len(alike) != 1 || alike[0].Disposition != fix.Rejected {
		t.Errorf("%d open, alike %v", opened, alike)
	}
	if alike, _, _ := s.Earlier(""); len(alike) > 0 {
		t.Errorf("alike nothing: %v", alike)
	}
}

// A fix that came to nothing after the proposal that counts is told of; an older one, and one that was held back
// because there is a proposal, is not.
func TestLater(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a": "f:1"}, fixtest.Files{"a": "f:2"}
	s := fixtest.NewStore(t, before)
	fixtest.Sealed(t, s, "test", nil, nil, nil)
	if p := fixtest.Sealed(t, s, "test", before, after, nil); p.Later != nil {
		t.Errorf("an older one: %+v", p.Later)
	}
	ended := func(state, reason string) func(*draft.Draft, *fix.Fix) {
		return func(_ *draft.Draft, f *fix.Fix) { f.State, f.Reason = state, &reason }
	}
	if p := fixtest.Sealed(t, s, "test", nil, nil, ended(fix.NotReproduced, "passed")); p.State != fix.Proposed ||
		p.Later == nil ||
		p.Later.Name != "test@3" || p.Later.State != fix.NotReproduced || *p.Later.Reason != "passed" {
		t.Errorf("%+v", p.Later)
	}
	if p := fixtest.Sealed(t, s, "test", nil, nil, ended(fix.Skipped, "open_proposal: run x")); p.Later.Name != "test@3" {
		t.Errorf("held back by the proposal: %+v", p.Later)
	}
	if p := fixtest.Sealed(t, s, "test", nil, nil, ended(fix.Failed, "idle")); p.Later.Name != "test@5" {
		t.Errorf("the newest: %+v", p.Later)
	}
	if p := fixtest.Sealed(t, s, "test", before, after, nil); p.Later != nil {
		t.Errorf("a newer proposal: %+v", p.Later)
	}
}

func TestResumesAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	waits := func(agent, started, until string) fix.Attempt {
		a := fix.Attempt{Agent: agent, StartedAt: "2026-03-01T" + started + ":00.000Z"}
		if until != "" {
			a.Decision = &fix.Decision{ResumeAt: new("2026-03-01T" + until + ":00.000Z")}
		}
		return a
	}
	for name, c := range map[string]struct {
		attempts []fix.Attempt
		want     time.Time
	}{
		"nothing":         {nil, time.Time{}},
		"later":           {[]fix.Attempt{waits("a", "11:00", "13:00")}, now.Add(time.Hour)},
		"past":            {[]fix.Attempt{waits("a", "10:00", "11:00")}, time.Time{}},
		"another":         {[]fix.Attempt{waits("b", "11:00", "13:00")}, time.Time{}},
		"it worked since": {[]fix.Attempt{waits("a", "11:00", "13:00"), waits("a", "11:30", "")}, time.Time{}},
		"no time":         {[]fix.Attempt{waits("a", "11:00", "soon")}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := fixtest.Files{"a": "644 1"}
			s := fixtest.NewStore(t, before)
			fixtest.Sealed(t, s, "test", before, fixtest.Files{"a": "644 2"},
				func(_ *draft.Draft, f *fix.Fix) { f.Attempts = c.attempts })
			if got, _ := s.ResumesAt("a", now); !got.Equal(c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
