package apply

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

func TestFits(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:1", "gone": "f:x", "other": "f:o"}
	after := fixtest.Files{"a": "f:2", "dir/new": "x:n", "other": "f:o"}
	for name, c := range map[string]struct {
		do   func(t *testing.T, root string)
		want bool
	}{
		"as it was":               {func(*testing.T, string) {}, true},
		"an untouched file":       {func(t *testing.T, root string) { fixtest.Put(t, root, "other", "f:p") }, true},
		"a part is there already": {func(t *testing.T, root string) { fixtest.Put(t, root, "a", "f:2") }, true},
		"all is there already":    {func(t *testing.T, root string) { after.Write(t, root) }, true},
		"edited":                  {func(t *testing.T, root string) { fixtest.Put(t, root, "a", "f:3") }, false},
		"its mode":                {func(t *testing.T, root string) { fixtest.Put(t, root, "a", "x:1") }, false},
		"gone": {func(t *testing.T, root string) {
			fixtest.Check(t, os.Remove(filepath.Join(root, "a")))
		}, false},
		"another in its place": {func(t *testing.T, root string) { fixtest.Put(t, root, "dir/new", "f:else") }, false},
		"a folder in its place": {func(t *testing.T, root string) {
			fixtest.Check(t, os.Remove(filepath.Join(root, "a")))
			fixtest.Check(t, os.Mkdir(filepath.Join(root, "a"), 0o700))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := proposed(t, before, after)
			c.do(t, s.Root)
			if got, err := s.Fits(context.Background(), p); got != c.want || err != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	s := newTree(t, before)
	if got, err := s.Fits(context.Background(), fixtest.Sealed(t, s.Store, "test", nil, nil, nil)); got || err != nil {
		t.Errorf("without a proposal: %v, %v", got, err)
	}
}

func TestSupersede(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a": "f:1"}, fixtest.Files{"a": "f:2"}
	s := newTree(t, before)
	is := func(run, task string) string {
		t.Helper()
		for _, p := range s.All() {
			if p.Run == run && p.Name == task {
				return p.Disposition
			}
		}
		t.Fatalf("run %s has no %s", run, task)
		return ""
	}
	fixtest.Sealed(t, s.Store, "test", before, after, fixtest.Printed("fp:1"))
	fixtest.Sealed(t, s.Store, "lint", before, after, fixtest.Printed("fp:2"))
	in := fixtest.Sealed(t, s.Store, "vet", before, after, fixtest.Printed("fp:1"))
	fixtest.Check(t, fix.AddState(in.StatePath(), in.Digest, fix.StateChange{To: fix.Applied}))
	fixtest.SealedIn(t, s.Store, fixtest.LaterRun, "test", fixtest.Change(before, after), nil)
	newer := fixtest.SealedIn(t, s.Store, fixtest.LaterRun, "test", fixtest.Change(before, after),
		fixtest.Printed("fp:1"))

	fixtest.Check(t, s.Supersede(context.Background(), &fix.Fix{State: fix.NoFix, Fingerprint: new("fp:1")}))
	if got := is(fixtest.RunID, "test"); got != fix.Open {
		t.Errorf("what proposes nothing took the place of a proposal: %s", got)
	}
	for range 2 {
		fixtest.Check(t, s.Supersede(context.Background(), &newer.Fix))
	}
	for _, want := range []struct{ run, name, is string }{
		{fixtest.RunID, "test", fix.Superseded},
		{fixtest.RunID, "lint", fix.Open},          // another failure
		{fixtest.RunID, "vet", fix.Applied},        // decided on
		{fixtest.LaterRun, "test", fix.Superseded}, // the same task, without a fingerprint
		{fixtest.LaterRun, "test@2", fix.Open},
	} {
		if got := is(want.run, want.name); got != want.is {
			t.Errorf("%s of %s is %s, want %s", want.name, want.run, got, want.is)
		}
	}
	old := fixtest.Find(t, s.Store, fixtest.RunID, "test")
	decisions, err := fix.ReadState(old.StatePath(), old.Digest)
	fixtest.Check(t, err)
	if len(decisions) != 1 || decisions[0].By != "" || !strings.Contains(decisions[0].Reason, fixtest.LaterRun) {
		t.Errorf("%+v", decisions)
	}
	if _, err := s.Apply(context.Background(), old, Options{}); err == nil ||
		!strings.Contains(err.Error(), "superseded") {
		t.Errorf("applied all the same: %v", err)
	}
}

// Ready returns what Apply would, and writes nothing; FitNow reads what is open and not begun.
func TestReady(t *testing.T) {
	t.Parallel()
	lines := "f:1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	before, after := fixtest.Files{"a": lines}, fixtest.Files{"a": "f:one\n2\n3\n4\n5\n6\n7\n8\n9\n"}
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
			root := fixtest.TempDir(t)
			s := treeAt(t, root, before)
			commitAll(t, root)
			p := based(t, s, "test", before, after)
			fixtest.Put(t, root, "a", c.tree)
			if c.commit && c.tree != lines {
				commitAll(t, root)
			}
			was := fixtest.Snapshot(t, root)
			r := s.Ready(t.Context(), p)
			if len(r.Dirty) != c.dirty || errors.Is(r.Conflict, ErrConflict) != c.conflict ||
				(len(r.Changed) == 1) != c.conflict || r.ThreeWay != c.merge || r.Nothing || r.Refused != nil {
				t.Errorf("%+v", r)
			}
			fixtest.Same(t, "after", fixtest.Snapshot(t, root), was)
			items, _ := s.List()
			s.FitNow(t.Context(), items)
			if items[0].Fits == nil || *items[0].Fits == c.conflict {
				t.Errorf("fits: %v", items[0].Fits)
			}
		})
	}
	s, p := proposed(t, before, after)
	fixtest.Check(t, fix.AddState(p.StatePath(), p.Digest, fix.StateChange{To: fix.Rejected}))
	if r := s.Ready(t.Context(), p); !errors.Is(r.Refused, ErrRefused) || r.Conflict != nil {
		t.Errorf("rejected: %+v", r)
	}
	items, _ := s.List()
	if s.FitNow(t.Context(), items); items[0].Fits != nil {
		t.Error("one that nobody waits for was looked at")
	}
}
