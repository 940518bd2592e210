package fix

import (
	"errors"
	"testing"
)

// A healing that came to nothing after the proposal that counts is told of; an older one, and one that was held back because
// there is a proposal, is not.
func TestLater(t *testing.T) {
	t.Parallel()
	before, after := files{"a": "f:1"}, files{"a": "f:2"}
	s := newStore(t, before)
	sealed(t, s, "test", nil, nil, nil)
	if p := sealed(t, s, "test", before, after, nil); p.Later != nil {
		t.Errorf("an older one: %+v", p.Later)
	}
	ended := func(state, reason string) func(*Draft, *Fix) {
		return func(_ *Draft, f *Fix) { f.State, f.Reason = state, &reason }
	}
	if p := sealed(t, s, "test", nil, nil, ended(NotReproduced, "passed")); p.State != Proposed || p.Later == nil ||
		p.Later.Name != "test@3" || p.Later.State != NotReproduced || *p.Later.Reason != "passed" {
		t.Errorf("%+v", p.Later)
	}
	if p := sealed(t, s, "test", nil, nil, ended(Skipped, "open_proposal: run x")); p.Later.Name != "test@3" {
		t.Errorf("held back by the proposal: %+v", p.Later)
	}
	if p := sealed(t, s, "test", nil, nil, ended(Failed, "idle")); p.Later.Name != "test@5" {
		t.Errorf("the newest: %+v", p.Later)
	}
	if p := sealed(t, s, "test", before, after, nil); p.Later != nil {
		t.Errorf("a newer proposal: %+v", p.Later)
	}
}

// Ready says what apply says, and writes nothing; FitNow looks at what is open and not begun.
func TestReady(t *testing.T) {
	t.Parallel()
	lines := "f:1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	before, after := files{"a": lines}, files{"a": "f:one\n2\n3\n4\n5\n6\n7\n8\n9\n"}
	for name, c := range map[string]struct {
		tree            string
		commit          bool
		dirty           int
		conflict, merge bool
	}{
		"as it was":          {lines, true, 0, false, false},
		"changed elsewhere":  {"f:1\n2\n3\n4\n5\n6\n7\n8\nnine\n", true, 0, true, true},
		"and not committed":  {"f:1\n2\n3\n4\n5\n6\n7\n8\nnine\n", false, 1, true, true},
		"changed at its own": {"f:uno\n2\n3\n4\n5\n6\n7\n8\n9\n", true, 0, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := tempDir(t)
			s := storeAt(t, root, before)
			commitAll(t, root)
			p := based(t, s, "test", before, after)
			put(t, root, "a", c.tree)
			if c.commit && c.tree != lines {
				commitAll(t, root)
			}
			was := snapshot(t, root)
			r := s.Ready(t.Context(), p)
			if len(r.Dirty) != c.dirty || errors.Is(r.Conflict, ErrConflict) != c.conflict || (len(r.Changed) == 1) != c.conflict || r.ThreeWay != c.merge || r.Nothing || r.Refused != nil {
				t.Errorf("%+v", r)
			}
			same(t, "after", snapshot(t, root), was)
			items, _ := s.List()
			s.FitNow(t.Context(), items)
			if items[0].Fits == nil || *items[0].Fits == c.conflict {
				t.Errorf("fits: %v", items[0].Fits)
			}
		})
	}
	s := newStore(t, before)
	p := sealed(t, s, "test", before, after, nil)
	check(t, addDecision(p.statePath(), p.digest, decision{To: rejected}))
	if r := s.Ready(t.Context(), p); !errors.Is(r.Refused, ErrRefused) || r.Conflict != nil {
		t.Errorf("rejected: %+v", r)
	}
	items, _ := s.List()
	if s.FitNow(t.Context(), items); items[0].Fits != nil {
		t.Error("one that nobody waits for was looked at")
	}
}
