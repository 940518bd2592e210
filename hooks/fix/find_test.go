package fix_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// A fix that was applied before its task was healed once more in the same run is listed, found as TASK@N, and can be
// reverted.
func TestOlderHealingOfOneRun(t *testing.T) {
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
	older, err := s.Find(fixtest.RunID, task+"@1")
	fixtest.Check(t, err)
	_, err = apply.Tree{Fixes: s}.Revert(context.Background(), older, apply.Options{})
	fixtest.Check(t, err)
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
	j, err := fix.OpenJournal(fixtest.RunDir(s, fixtest.RunID), fixtest.VerdictOf(t, s, fixtest.RunID), nil)
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
