package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

func revert(t testing.TB, s *testTree, o Options) (Applied, error) {
	t.Helper()
	p := fixtest.Find(t, s.Store, fixtest.RunID, "test")
	o.By = "tester"
	return s.Revert(context.Background(), p, o)
}

// based is sealed with the contents that the fix found, as hooks store them.
func based(t testing.TB, s *testTree, task string, before, after fixtest.Files) *fix.Proposal {
	t.Helper()
	return fixtest.Sealed(t, s.Store, task, before, after, func(d *draft.Draft, f *fix.Fix) {
		fixtest.OK(t)(d.StoreBase(fixtest.Manifest(t, s.Root), "", nil, nil))
		fixtest.Check(t, d.StoreTouched(fixtest.Change(before, after)))
	})
}

// What was applied can be taken back whole, and applied again.
func TestRevertEveryKind(t *testing.T) {
	t.Parallel()
	s, p := proposed(t, everyKind, everyKindAfter)
	_, err := revert(t, s, Options{})
	if !errors.Is(err, ErrRefused) || err.Error() != "not reverted: it is not applied (this fix is open)" {
		t.Errorf("before: %v", err)
	}
	fixtest.OK(t)(apply(t, s, p, Options{}))
	dry := done(t)(revert(t, s, Options{DryRun: true}))
	s.holds(t, "a dry run", everyKindAfter)
	fixtest.Disposed(t, s.Store, fix.Applied)
	got := done(t)(revert(t, s, Options{}))
	s.holds(t, "reverted", everyKind)
	if got.Already || len(got.Files) != len(p.Patch.Files) || !slices.Equal(got.Files, dry.Files) {
		t.Errorf("%+v, dry %+v", got, dry)
	}
	settled(t, s)
	fixtest.Disposed(t, s.Store, fix.Reverted)
	if _, err = revert(t, s, Options{}); !errors.Is(err, ErrRefused) ||
		err.Error() != "not reverted: it is not applied (this fix is reverted)" {
		t.Errorf("twice: %v", err)
	}
	fixtest.OK(t)(apply(t, s, p, Options{}))
	s.holds(t, "applied again", everyKindAfter)
	fixtest.Disposed(t, s.Store, fix.Applied)
}

func TestRevertChecks(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a.txt": "f:one\n", "b.txt": "f:1\n"}, fixtest.Files{
		"a.txt": "f:two\n",
		"b.txt": "f:2\n", "c.txt": "f:c\n",
	}
	setup := func(t *testing.T) *testTree {
		s := newTree(t, before)
		fixtest.OK(t)(apply(t, s, based(t, s, "test", before, after), Options{}))
		return s
	}
	t.Run("edited since", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		fixtest.Put(t, s.Root, "a.txt", "f:two\nand more\n")
		for _, dry := range []bool{true, false} {
			_, err := revert(t, s, Options{DryRun: dry})
			if want := "not reverted: the files do not hold what was applied: a.txt (changed); --3way takes the fix out of them and leaves the rest; the others can be reverted with --files"; !errors.Is(err, ErrConflict) || err.Error() != want {
				t.Errorf("%v", err)
			}
		}
		s.holds(t, "refused", fixtest.Files{"a.txt": "f:two\nand more\n", "b.txt": "f:2\n", "c.txt": "f:c\n"})
		fixtest.OK(t)(revert(t, s, Options{Files: []string{"b.txt"}}))
		fixtest.Disposed(t, s.Store, fix.Open)
		if _, err := revert(t, s, Options{Files: []string{"b.txt"}}); !errors.Is(err, ErrRefused) ||
			!strings.Contains(err.Error(), "not applied to: b.txt") {
			t.Errorf("%v", err)
		}
		s.holds(t, "one file", fixtest.Files{"a.txt": "f:two\nand more\n", "b.txt": "f:1\n", "c.txt": "f:c\n"})
	})
	t.Run("a conflict", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		fixtest.Put(t, s.Root, "a.txt", "f:mine\n")
		_, err := revert(t, s, Options{ThreeWay: true})
		c := (*Conflicts)(nil)
		if !errors.As(err, &c) || !errors.Is(err, ErrConflict) || len(c.Files) != 1 || len(c.Files[0].Clashes) != 1 ||
			c.Files[0].Clashes[0].Text != "<<<<<<< ours\nmine\n=======\none\n>>>>>>> theirs\n" {
			t.Errorf("%v %+v", err, c)
		}
		s.holds(t, "nothing is written", fixtest.Files{"a.txt": "f:mine\n", "b.txt": "f:2\n", "c.txt": "f:c\n"})
	})
	t.Run("put back by hand", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		before.Write(t, s.Root)
		got := done(t)(revert(t, s, Options{}))
		if !got.Already {
			t.Errorf("%+v", got)
		}
		fixtest.Disposed(t, s.Store, fix.Reverted)
	})
	t.Run("damaged", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := fixtest.Find(t, s.Store, fixtest.RunID, "test")
		fixtest.Check(t, os.WriteFile(p.PatchPath(), []byte("x"), 0o600))
		if _, err := s.Find(fixtest.RunID, "test"); !errors.Is(err, fix.ErrDamaged) {
			t.Errorf("%v", err)
		}
		p.Diff = append(p.Diff, 'x')
		if _, err := s.Revert(context.Background(), p, Options{}); !errors.Is(err, fix.ErrDamaged) ||
			!strings.HasPrefix(err.Error(), "not reverted: ") {
			t.Errorf("%v", err)
		}
	})
}

// Edits of the person's own before, between and after two applies stay; the fix goes.
func TestRevertLeavesOwnEdits(t *testing.T) {
	t.Parallel()
	s := newTree(t, numbered(nil))
	p := based(t, s, "test", numbered(nil), numbered(edits{5: "fix 1", 50: "fix 2"}))
	numbered(edits{20: "mine 1"}).Write(t, s.Root)
	fixtest.OK(t)(apply(t, s, p, Options{Hunks: []string{"1"}, ThreeWay: true}))
	numbered(edits{20: "mine 1", 5: "fix 1", 30: "mine 2"}).Write(t, s.Root)
	fixtest.OK(t)(apply(t, s, p, Options{ThreeWay: true}))
	s.holds(t, "applied", numbered(edits{20: "mine 1", 5: "fix 1", 30: "mine 2", 50: "fix 2"}))
	fixtest.Disposed(t, s.Store, fix.Applied)
	if _, err := revert(t, s, Options{}); !errors.Is(err, ErrConflict) {
		t.Errorf("what was edited between two applies is taken back without --3way: %v", err)
	}
	numbered(edits{20: "mine 1", 5: "fix 1", 30: "mine 2", 50: "fix 2", 40: "mine 3"}).Write(t, s.Root)
	fixtest.OK(t)(revert(t, s, Options{ThreeWay: true}))
	s.holds(t, "reverted", numbered(edits{20: "mine 1", 30: "mine 2", 40: "mine 3"}))
	fixtest.Disposed(t, s.Store, fix.Reverted)
}

// What was put back by hand and applied again is taken back to what it was before the second time.
func TestRevertAfterASecondApply(t *testing.T) {
	t.Parallel()
	before, after := numbered(nil), numbered(edits{5: "five", 55: "last"})
	for _, hunks := range [][]string{nil, {"1"}} {
		s := newTree(t, before)
		p := based(t, s, "test", before, after)
		for _, mine := range []edits{{20: "mine"}, {40: "mine"}} {
			numbered(mine).Write(t, s.Root)
			fixtest.OK(t)(apply(t, s, p, Options{ThreeWay: true, Hunks: hunks}))
		}
		fixtest.OK(t)(revert(t, s, Options{}))
		s.holds(t, "reverted", numbered(edits{40: "mine"}))
	}
}

// At every step of a revert an error takes everything back, and a crash is settled to the one or the other.
func TestRevertErrorAndCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	before, later := someKinds, someKindsAfter
	broken := errors.New("disk full")
	ends := map[string]int{}
	for n := 0; ; n++ {
		ended := false
		for _, crash := range []bool{false, true} {
			s := newTree(t, before)
			fixtest.OK(t)(apply(t, s, fixtest.Sealed(t, s.Store, "test", before, later, nil), Options{}))
			step := ""
			s.step = after(n, func(at string) error {
				step = at
				if crash {
					return die(at)
				}
				return broken
			})
			var err error
			_ = crashing(func() { _, err = revert(t, s, Options{}) })
			s.step = nil
			if step == "" {
				fixtest.Check(t, err)
				ended = true
				continue
			}
			if !crash && !errors.Is(err, broken) {
				t.Errorf("%s: %v", step, err)
			}
			r, err := s.Recover(context.Background())
			fixtest.Check(t, err)
			if r != nil {
				ends[r.What+" "+r.To]++
			}
			if !whole(t, fmt.Sprintf("%s, crash %v", step, crash), s, before, later) {
				fixtest.Disposed(t, s.Store, fix.Reverted)
				continue
			}
			if _, err := revert(t, s, Options{}); err != nil {
				t.Errorf("%s: reverted later: %v", step, err)
			}
			s.holds(t, "reverted later", before)
		}
		if ended {
			break
		}
	}
	if ends["revert completed"] == 0 || ends["revert undone"] == 0 {
		t.Errorf("%v", slices.Sorted(maps.Keys(ends)))
	}
}

// Without the contents that a merge took away there is no way back but the one that a person knows.
func TestRevertOfWhatIsNotKept(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a.txt": "f:1\n2\n3\n4\n5\n6\n7\n8\n"}, fixtest.Files{"a.txt": "f:1\n2\n3\n4\n5\n6\n7\nEIGHT\n"}
	s := newTree(t, before)
	p := based(t, s, "test", before, after)
	fixtest.Put(t, s.Root, "a.txt", "f:ONE\n2\n3\n4\n5\n6\n7\n8\n")
	fixtest.OK(t)(apply(t, s, p, Options{ThreeWay: true}))
	fixtest.Check(t, os.RemoveAll(p.Folder("applied")))
	for _, o := range []Options{{}, {ThreeWay: true}} {
		if _, err := revert(t, s, o); !errors.Is(err, ErrConflict) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	s.holds(t, "as it was applied", fixtest.Files{"a.txt": "f:ONE\n2\n3\n4\n5\n6\n7\nEIGHT\n"})
	if recordfile.Exists(filepath.Join(s.Dir, "apply", "journal.json")) {
		t.Error("a journal is left")
	}
}
