package fix

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const laterRun = "20261122T024000Z-0a0a"

func printed(print string) func(*Draft, *Fix) {
	return func(_ *Draft, f *Fix) { f.Fingerprint = ptr(print) }
}

func TestEarlier(t *testing.T) {
	t.Parallel()
	before, after := files{"a": "f:1"}, files{"a": "f:2"}
	s := newStore(t, before)
	sealed(t, s, "test", before, after, printed("fp:1"))
	sealedIn(t, s, laterRun, "test", change(before, after), printed("fp:1"))
	rejectedOne := sealedIn(t, s, laterRun, "lint", change(before, after), printed("fp:2"))
	check(t, addDecision(rejectedOne.statePath(), rejectedOne.digest, decision{To: rejected}))
	sealedIn(t, s, laterRun, "vet", nil, printed("fp:1")) // no proposal
	alike, opened, errs := s.Earlier("fp:1")
	if len(errs) > 0 || opened != 2 || len(alike) != 2 || alike[0].Run != laterRun || alike[1].Run != runID {
		t.Errorf("%d open, alike %v, %v", opened, alike, errs)
	}
	if alike, opened, _ := s.Earlier("fp:2"); opened != 2 || len(alike) != 1 || alike[0].Disposition != rejected {
		t.Errorf("%d open, alike %v", opened, alike)
	}
	if alike, _, _ := s.Earlier(""); len(alike) > 0 {
		t.Errorf("alike nothing: %v", alike)
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	before := files{"a": "f:1", "gone": "f:x", "other": "f:o"}
	after := files{"a": "f:2", "dir/new": "x:n", "other": "f:o"}
	for name, c := range map[string]struct {
		do   func(t *testing.T, root string)
		want bool
	}{
		"as it was":               {func(*testing.T, string) {}, true},
		"an untouched file":       {func(t *testing.T, root string) { put(t, root, "other", "f:p") }, true},
		"a part is there already": {func(t *testing.T, root string) { put(t, root, "a", "f:2") }, true},
		"all is there already":    {func(t *testing.T, root string) { after.write(t, root) }, true},
		"edited":                  {func(t *testing.T, root string) { put(t, root, "a", "f:3") }, false},
		"its mode":                {func(t *testing.T, root string) { put(t, root, "a", "x:1") }, false},
		"gone":                    {func(t *testing.T, root string) { check(t, os.Remove(filepath.Join(root, "a"))) }, false},
		"another in its place":    {func(t *testing.T, root string) { put(t, root, "dir/new", "f:else") }, false},
		"a folder in its place": {func(t *testing.T, root string) {
			check(t, os.Remove(filepath.Join(root, "a")))
			check(t, os.Mkdir(filepath.Join(root, "a"), 0o700))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, before)
			p := sealed(t, s, "test", before, after, nil)
			c.do(t, s.Root)
			if got, err := s.Fits(context.Background(), p); got != c.want || err != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	s := newStore(t, before)
	if got, err := s.Fits(context.Background(), sealed(t, s, "test", nil, nil, nil)); got || err != nil {
		t.Errorf("without a proposal: %v, %v", got, err)
	}
}

func TestSupersede(t *testing.T) {
	t.Parallel()
	before, after := files{"a": "f:1"}, files{"a": "f:2"}
	s := newStore(t, before)
	is := func(run, task string) string {
		t.Helper()
		for _, p := range mustHealings(t, s, run) {
			if p.name == task {
				return p.Disposition
			}
		}
		t.Fatalf("run %s has no %s", run, task)
		return ""
	}
	sealed(t, s, "test", before, after, printed("fp:1"))
	sealed(t, s, "lint", before, after, printed("fp:2"))
	in := sealed(t, s, "vet", before, after, printed("fp:1"))
	check(t, addDecision(in.statePath(), in.digest, decision{To: applied}))
	sealedIn(t, s, laterRun, "test", change(before, after), nil)
	newer := sealedIn(t, s, laterRun, "test", change(before, after), printed("fp:1"))

	check(t, s.Supersede(context.Background(), &Fix{State: NoFix, Fingerprint: ptr("fp:1")}))
	if got := is(runID, "test"); got != open {
		t.Errorf("what proposes nothing took the place of a proposal: %s", got)
	}
	for range 2 {
		check(t, s.Supersede(context.Background(), &newer.Fix))
	}
	for _, want := range []struct{ run, name, is string }{
		{runID, "test", superseded},
		{runID, "lint", open},          // another failure
		{runID, "vet", applied},        // decided on
		{laterRun, "test", superseded}, // the same task, without a fingerprint
		{laterRun, "test@2", open},
	} {
		if got := is(want.run, want.name); got != want.is {
			t.Errorf("%s of %s is %s, want %s", want.name, want.run, got, want.is)
		}
	}
	old, err := s.Find(runID, "test")
	check(t, err)
	decisions, err := readDecisions(old.statePath(), old.digest)
	check(t, err)
	if len(decisions) != 1 || decisions[0].By != "" || !strings.Contains(decisions[0].Reason, laterRun) {
		t.Errorf("%+v", decisions)
	}
	if _, err := s.Apply(context.Background(), old, Options{}); err == nil || !strings.Contains(err.Error(), "superseded") {
		t.Errorf("applied all the same: %v", err)
	}
}

func mustHealings(t *testing.T, s *Store, run string) []*Proposal {
	t.Helper()
	all, errs := s.healings(run)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return all
}
