package fix

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A fix that was applied before its task was healed once more in the same run is listed, found as TASK@N, and can be reverted.
func TestOlderHealingOfOneRun(t *testing.T) {
	t.Parallel()
	const task = `test["linux"]`
	second, third := files{"a.txt": "f:two\n"}, files{"a.txt": "f:three\n"}
	s := newStore(t, one)
	_, err := UserTree{Fixes: s}.Apply(context.Background(), sealed(t, s, task, one, second, nil), Options{})
	check(t, err)
	newest := sealed(t, s, task, second, third, nil)
	check(t, UserTree{Fixes: s}.Supersede(context.Background(), &newest.Fix))

	items, errs := s.List()
	if len(errs) > 0 || len(items) != 2 || items[0].Name != task || items[0].Disposition != open || items[1].Name != task+"@1" || items[1].Disposition != applied {
		t.Fatalf("%+v %v", items, errs)
	}
	for typed, want := range map[string]string{task: task, task + "@1": task + "@1", task + "@2": task} {
		for _, run := range []string{runID, "latest"} {
			if p, err := s.Find(run, typed); err != nil || p.Called != want {
				t.Errorf("Find(%q, %q): %+v, %v", run, typed, p, err)
			}
		}
	}
	for _, typed := range []string{task + "@3", task + "@01", task + "@0", task + "@", "@1", "lint@1"} {
		if _, err := s.Find(runID, typed); !errors.Is(err, ErrNone) || typed == task+"@3" && !strings.Contains(err.Error(), "it has: "+task+"@1, "+task+"@2") {
			t.Errorf("Find(%q): %v", typed, err)
		}
	}

	if _, err := (UserTree{Fixes: s}).Revert(context.Background(), newest, Options{}); !errors.Is(err, ErrRefused) || !strings.HasSuffix(err.Error(), "(this fix is open); another fix of this task is: async-pipeline fix revert "+runID+` 'test["linux"]@1'`) {
		t.Errorf("revert of the newest: %v", err)
	}
	older, err := s.Find(runID, task+"@1")
	check(t, err)
	_, err = UserTree{Fixes: s}.Revert(context.Background(), older, Options{})
	check(t, err)
	same(t, "reverted", snapshot(t, s.Root), one)
	if p, err := s.Find(runID, task+"@1"); err != nil || p.Disposition != reverted {
		t.Errorf("%+v, %v", p, err)
	}
}

// The journal of a run is read once, however many fixes it has.
func TestListReadsEventsOnce(t *testing.T) { //nolint:paralleltest // what it measures is the memory of the whole process
	s := newStore(t, one)
	const fixes = 30
	for i := range fixes {
		sealed(t, s, fmt.Sprint("t", i), one, files{"a.txt": "f:two\n"}, nil)
	}
	j, err := OpenJournal(runDir(s, runID), verdictOf(t, s, runID), nil)
	check(t, err)
	for range 64 {
		check(t, j.Event("step", map[string]any{"text": strings.Repeat("x", 32<<10)}))
	}
	check(t, j.Close())
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
		UserTree{Fixes: s}.FitNow(context.Background(), items)
		return len(slices.DeleteFunc(items, func(i Item) bool { return i.Fits == nil }))
	}); mib > 2*fixes {
		t.Errorf("FitNow takes %d MiB", mib)
	}
	if mib := took(func() int { st, _ := s.Stats(nil); return st.Proposals.Total }); mib > 2*fixes {
		t.Errorf("Stats takes %d MiB", mib)
	}
}
