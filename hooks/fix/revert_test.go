package fix

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
)

func revert(t testing.TB, s *testTree, o Options) (Applied, error) {
	t.Helper()
	p, err := s.Find(runID, "test")
	check(t, err)
	o.By = "tester"
	return s.Revert(context.Background(), p, o)
}

// based is sealed with the contents that the fix found, as a healing stores them.
func based(t testing.TB, s *testTree, task string, before, after files) *Proposal {
	t.Helper()
	return sealed(t, s.Store, task, before, after, func(d *Draft, f *Fix) {
		_, err := d.StoreBase(manifest(t, s.Root), "", nil, nil)
		check(t, err)
		check(t, d.StoreTouched(change(before, after)))
	})
}

// What was applied can be taken back whole, and applied again.
func TestRevertEveryKind(t *testing.T) {
	t.Parallel()
	s := newTree(t, everyKind)
	p := sealed(t, s.Store, "test", everyKind, everyKindAfter, nil)
	_, err := revert(t, s, Options{})
	if !errors.Is(err, ErrRefused) || err.Error() != "not reverted: it is not applied (this fix is open)" {
		t.Errorf("before: %v", err)
	}
	_, err = apply(t, s, p, Options{})
	check(t, err)
	dry, err := revert(t, s, Options{DryRun: true})
	check(t, err)
	same(t, "a dry run", snapshot(t, s.Root), everyKindAfter.with())
	disposed(t, s.Store, applied)
	got, err := revert(t, s, Options{})
	check(t, err)
	same(t, "reverted", snapshot(t, s.Root), everyKind.with())
	if got.Already || len(got.Files) != len(p.Patch.Files) || !slices.Equal(got.Files, dry.Files) {
		t.Errorf("%+v, dry %+v", got, dry)
	}
	settled(t, s)
	disposed(t, s.Store, reverted)
	if _, err = revert(t, s, Options{}); !errors.Is(err, ErrRefused) || err.Error() != "not reverted: it is not applied (this fix is reverted)" {
		t.Errorf("twice: %v", err)
	}
	_, err = apply(t, s, p, Options{})
	check(t, err)
	same(t, "applied again", snapshot(t, s.Root), everyKindAfter.with())
	disposed(t, s.Store, applied)
}

func TestRevertChecks(t *testing.T) {
	t.Parallel()
	before, after := files{"a.txt": "f:one\n", "b.txt": "f:1\n"}, files{"a.txt": "f:two\n", "b.txt": "f:2\n", "c.txt": "f:c\n"}
	setup := func(t *testing.T) *testTree {
		s := newTree(t, before)
		_, err := apply(t, s, based(t, s, "test", before, after), Options{})
		check(t, err)
		return s
	}
	t.Run("edited since", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		put(t, s.Root, "a.txt", "f:two\nand more\n")
		for _, dry := range []bool{true, false} {
			_, err := revert(t, s, Options{DryRun: dry})
			if want := "not reverted: the files do not hold what was applied: a.txt (changed); --3way takes the fix out of them and leaves the rest; the others can be reverted with --files"; !errors.Is(err, ErrConflict) || err.Error() != want {
				t.Errorf("%v", err)
			}
		}
		same(t, "refused", snapshot(t, s.Root), files{"a.txt": "f:two\nand more\n", "b.txt": "f:2\n", "c.txt": "f:c\n"})
		_, err := revert(t, s, Options{Files: []string{"b.txt"}})
		check(t, err)
		disposed(t, s.Store, open)
		if _, err := revert(t, s, Options{Files: []string{"b.txt"}}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "not applied to: b.txt") {
			t.Errorf("%v", err)
		}
		same(t, "one file", snapshot(t, s.Root), files{"a.txt": "f:two\nand more\n", "b.txt": "f:1\n", "c.txt": "f:c\n"})
	})
	t.Run("a conflict", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		put(t, s.Root, "a.txt", "f:mine\n")
		_, err := revert(t, s, Options{ThreeWay: true})
		c := (*Conflicts)(nil)
		if !errors.As(err, &c) || !errors.Is(err, ErrConflict) || len(c.Files) != 1 || len(c.Files[0].Clashes) != 1 || c.Files[0].Clashes[0].Text != "<<<<<<< ours\nmine\n=======\none\n>>>>>>> theirs\n" {
			t.Errorf("%v %+v", err, c)
		}
		same(t, "nothing is written", snapshot(t, s.Root), files{"a.txt": "f:mine\n", "b.txt": "f:2\n", "c.txt": "f:c\n"})
	})
	t.Run("put back by hand", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		before.write(t, s.Root)
		got, err := revert(t, s, Options{})
		check(t, err)
		if !got.Already {
			t.Errorf("%+v", got)
		}
		disposed(t, s.Store, reverted)
	})
	t.Run("damaged", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p, err := s.Find(runID, "test")
		check(t, err)
		check(t, os.WriteFile(p.patchPath(), []byte("x"), 0o600))
		if _, err := s.Find(runID, "test"); !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
		p.Diff = append(p.Diff, 'x')
		if _, err := s.Revert(context.Background(), p, Options{}); !errors.Is(err, ErrDamaged) || !strings.HasPrefix(err.Error(), "not reverted: ") {
			t.Errorf("%v", err)
		}
	})
}

// Edits of the person's own before, between and after two applies stay; the fix goes.
func TestRevertLeavesOwnEdits(t *testing.T) {
	t.Parallel()
	lines := func(edits map[int]string) files {
		var b strings.Builder
		for i := range 60 {
			line, ok := edits[i]
			if !ok {
				line = fmt.Sprint("line ", i)
			}
			b.WriteString(line + "\n")
		}
		return files{"a.txt": "f:" + b.String()}
	}
	s := newTree(t, lines(nil))
	p := based(t, s, "test", lines(nil), lines(map[int]string{5: "fix 1", 50: "fix 2"}))
	lines(map[int]string{20: "mine 1"}).write(t, s.Root)
	_, err := apply(t, s, p, Options{Hunks: []string{"1"}, ThreeWay: true})
	check(t, err)
	lines(map[int]string{20: "mine 1", 5: "fix 1", 30: "mine 2"}).write(t, s.Root)
	_, err = apply(t, s, p, Options{ThreeWay: true})
	check(t, err)
	same(t, "applied", snapshot(t, s.Root), lines(map[int]string{20: "mine 1", 5: "fix 1", 30: "mine 2", 50: "fix 2"}))
	disposed(t, s.Store, applied)
	if _, err := revert(t, s, Options{}); !errors.Is(err, ErrConflict) {
		t.Errorf("what was edited between two applies is taken back without --3way: %v", err)
	}
	lines(map[int]string{20: "mine 1", 5: "fix 1", 30: "mine 2", 50: "fix 2", 40: "mine 3"}).write(t, s.Root)
	_, err = revert(t, s, Options{ThreeWay: true})
	check(t, err)
	same(t, "reverted", snapshot(t, s.Root), lines(map[int]string{20: "mine 1", 30: "mine 2", 40: "mine 3"}))
	disposed(t, s.Store, reverted)
}

// What was put back by hand and applied again is taken back to what it was before the second time.
func TestRevertAfterASecondApply(t *testing.T) {
	t.Parallel()
	before, after := files{"a.txt": "f:" + numberedLines(nil)}, files{"a.txt": "f:" + numberedLines(map[int]string{5: "five", 55: "last"})}
	for _, hunks := range [][]string{nil, {"1"}} {
		s := newTree(t, before)
		p := based(t, s, "test", before, after)
		for _, mine := range []map[int]string{{20: "mine"}, {40: "mine"}} {
			put(t, s.Root, "a.txt", "f:"+numberedLines(mine))
			_, err := apply(t, s, p, Options{ThreeWay: true, Hunks: hunks})
			check(t, err)
		}
		_, err := revert(t, s, Options{})
		check(t, err)
		same(t, "reverted", snapshot(t, s.Root), files{"a.txt": "f:" + numberedLines(map[int]string{40: "mine"})})
	}
}

// At every step of a revert an error takes everything back, and a crash is settled to the one or the other.
func TestRevertErrorAndCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	before := files{"mod": "f:1\n", "del/in": "f:x\n", "to-dir": "f:x\n", "to-file/in": "f:x\n", "link": "l:mod", "keep": "f:k"}
	later := files{"mod": "x:2\n", "to-dir/in": "f:x\n", "to-file": "f:y\n", "link": "l:keep", "new/deep": "f:n\n", "keep": "f:k"}
	broken := errors.New("disk full")
	ends := map[string]int{}
	for n := 0; ; n++ {
		ended := false
		for _, crash := range []bool{false, true} {
			s := newTree(t, before)
			_, err := apply(t, s, sealed(t, s.Store, "test", before, later, nil), Options{})
			check(t, err)
			step := ""
			s.step = after(n, func(at string) error {
				step = at
				if crash {
					return die(at)
				}
				return broken
			})
			_ = crashing(func() { _, err = revert(t, s, Options{}) })
			s.step = nil
			if step == "" {
				check(t, err)
				ended = true
				continue
			}
			if !crash && !errors.Is(err, broken) {
				t.Errorf("%s: %v", step, err)
			}
			r, err := s.Recover(context.Background())
			check(t, err)
			if r != nil {
				ends[r.What+" "+r.To]++
			}
			if !whole(t, fmt.Sprintf("%s, crash %v", step, crash), s, before, later) {
				disposed(t, s.Store, reverted)
				continue
			}
			if _, err := revert(t, s, Options{}); err != nil {
				t.Errorf("%s: reverted later: %v", step, err)
			}
			same(t, "reverted later", snapshot(t, s.Root), before.with())
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
	before, after := files{"a.txt": "f:1\n2\n3\n4\n5\n6\n7\n8\n"}, files{"a.txt": "f:1\n2\n3\n4\n5\n6\n7\nEIGHT\n"}
	s := newTree(t, before)
	p := based(t, s, "test", before, after)
	put(t, s.Root, "a.txt", "f:ONE\n2\n3\n4\n5\n6\n7\n8\n")
	_, err := apply(t, s, p, Options{ThreeWay: true})
	check(t, err)
	check(t, os.RemoveAll(p.folderOf("applied")))
	for _, o := range []Options{{}, {ThreeWay: true}} {
		if _, err := revert(t, s, o); !errors.Is(err, ErrConflict) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	same(t, "as it was applied", snapshot(t, s.Root), files{"a.txt": "f:ONE\n2\n3\n4\n5\n6\n7\nEIGHT\n"})
	if exists(filepath.Join(s.Dir, "apply", "journal.json")) {
		t.Error("a journal is left")
	}
}
