package apply

import (
	"errors"
	"fmt"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A fix is applied when every file of it is; until then it is open, and says which files are in the tree.
func TestApplyOfSomeFilesIsNotAll(t *testing.T) {
	t.Parallel()
	after := fixtest.Files{"a.txt": "f:two\n", "b.txt": "f:b\n", "c.txt": "f:c\n"}
	s := newTree(t, fixtest.One)
	p := fixtest.Sealed(t, s.Store, "test", fixtest.One, after, nil)
	stands := func(what, disposition string, in ...string) {
		t.Helper()
		p, err := s.Find(fixtest.RunID, "test")
		fixtest.Check(t, err)
		items, errs := s.List()
		if len(errs) > 0 || len(items) != 1 || items[0].Disposition != disposition || !slices.Equal(items[0].Applied, in) {
			t.Errorf("%s: List %+v %v", what, items, errs)
		}
		if p.Disposition != disposition || !slices.Equal(p.Applied, in) {
			t.Errorf("%s: %s %q", what, p.Disposition, p.Applied)
		}
	}
	some := func(already bool, names ...string) {
		t.Helper()
		got, err := apply(t, s, p, Options{Files: names})
		fixtest.Check(t, err)
		if got.Already != already {
			t.Errorf("%q: %+v", names, got)
		}
	}
	stands("at first", fix.Open)
	some(false, "b.txt")
	stands("one file", fix.Open, "b.txt")
	state, err := os.ReadFile(p.StatePath())
	fixtest.Check(t, err)
	some(true, "b.txt")
	if again, _ := os.ReadFile(p.StatePath()); string(again) != string(state) {
		t.Errorf("the same file twice is recorded twice: %s", again)
	}
	fixtest.Put(t, s.Root, "c.txt", after["c.txt"]) // by hand
	some(true, "c.txt")
	stands("one more by hand", fix.Open, "b.txt", "c.txt")
	fixtest.Put(t, s.Root, "b.txt", "f:mine\n")
	if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrConflict) ||
		!strings.Contains(err.Error(),
			"it was applied before; since then: the files are no longer as the fix found them: b.txt") {
		t.Errorf("%v", err)
	}
	some(false, "a.txt") // the rest all the same
	stands("all", fix.Applied, "a.txt", "b.txt", "c.txt")

	fixtest.Check(t, fix.AddState(p.StatePath(), p.Digest, fix.StateChange{By: "x", To: fix.Reverted,
		Files: []string{"a.txt"}}))
	stands("one reverted", fix.Open, "b.txt", "c.txt")
	fixtest.Decide(t, p, fix.Reverted)
	stands("all reverted", fix.Reverted)
	fixtest.Check(t, fix.AddState(p.StatePath(), p.Digest, fix.StateChange{By: "x", To: fix.Applied,
		Files: []string{"a.txt"}}))
	stands("one again", fix.Open, "a.txt")
	fixtest.Decide(t, p, fix.Rejected)
	stands("the rest rejected", fix.Rejected, "a.txt")
}

// JSON cannot hold every path: what is recorded of one that it cannot is found again all the same.
func TestApplyTwiceOfAnOddName(t *testing.T) {
	t.Parallel()
	after := fixtest.Files{"inv\xff\xfealid": "f:x\n", "b": "f:b\n"}
	s := newTree(t, fixtest.Files{})
	p := fixtest.Sealed(t, s.Store, "test", fixtest.Files{}, after, nil)
	for i, want := range []bool{false, true} {
		got, err := apply(t, s, p, Options{Files: []string{"inv\xff\xfealid"}})
		fixtest.Check(t, err)
		if got.Already != want {
			t.Errorf("%d: %+v", i, got)
		}
	}
	state, err := os.ReadFile(p.StatePath())
	fixtest.Check(t, err)
	if n := strings.Count(string(state), "\n"); n != 1 {
		t.Errorf("%d decisions: %s", n, state)
	}
}

// What a person types names a file from where they are, or as the patch has it.
func TestApplyNamesFiles(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:1\n", "pkg/a.txt": "f:1\n", "pkg/b.txt": "f:1\n"}
	after := fixtest.Files{"a.txt": "f:2\n", "pkg/a.txt": "f:2\n", "pkg/b.txt": "f:2\n"}
	for i := range 12 {
		after[fmt.Sprintf("new/%02d", i)] = "f:n\n"
	}
	s := newTree(t, before)
	fixtest.Check(t, os.MkdirAll(filepath.Join(s.Root, "pkg", "deep"), 0o755))
	link := filepath.Join(fixtest.TempDir(t), "link")
	fixtest.Check(t, os.Symlink(s.Root, link))
	p := fixtest.Sealed(t, s.Store, "test", before, after, nil)
	for _, c := range []struct{ dir, typed, want string }{
		{"", "a.txt", "a.txt"},
		{"", "./a.txt", "a.txt"},
		{"", "pkg//../pkg/./b.txt", "pkg/b.txt"},
		{"pkg", "b.txt", "pkg/b.txt"},
		{"pkg", "./a.txt", "pkg/a.txt"},
		{"pkg", "a.txt", "a.txt"}, // as the patch has it, and as we print it
		{"pkg", "pkg/a.txt", "pkg/a.txt"},
		{"pkg/deep", "../b.txt", "pkg/b.txt"},
		{"pkg/deep", "../../a.txt", "a.txt"},
		{"pkg", "../new/00", "new/00"},
		{"pkg", filepath.Join(s.Root, "a.txt"), "a.txt"},
		{"", filepath.Join(link, "pkg/b.txt"), "pkg/b.txt"},
		{"", "b.txt", ""},
		{"", "../a.txt", ""},
		{"pkg", "../../a.txt", ""},
		{"", "", ""},
	} {
		o := Options{Files: []string{c.typed}, DryRun: true}
		if c.dir != "" {
			o.Dir = filepath.Join(s.Root, filepath.FromSlash(c.dir))
		}
		got, err := apply(t, s, p, o)
		switch {
		case c.want == "":
			want := fmt.Sprintf("%q is not in the patch; it touches: a.txt, new/00, new/01, new/02, new/03, new/04, new/05, new/06, new/07, new/08 and 5 more", c.typed)
			if !errors.Is(err, ErrUse) || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
				t.Errorf("%q in %q: %v", c.typed, c.dir, err)
			}
		case err != nil || !slices.Equal(got.Files, []string{c.want}):
			t.Errorf("%q in %q: %q %v", c.typed, c.dir, got.Files, err)
		}
	}
}

func TestApplyInParts(t *testing.T) {
	t.Parallel()
	after := fixtest.Files{"a.txt": "f:two\n", "b.txt": "f:b\n"}
	s := newTree(t, fixtest.One)
	p := fixtest.Sealed(t, s.Store, "test", fixtest.One, after, nil)
	_, err := apply(t, s, p, Options{Files: []string{"b.txt", "b.txt"}})
	fixtest.Check(t, err)
	fixtest.Same(t, "one", fixtest.Snapshot(t, s.Root), fixtest.Files{"a.txt": "f:one\n", "b.txt": "f:b\n"})
	got, err := apply(t, s, p, Options{})
	fixtest.Check(t, err)
	if got.Already || len(got.Files) != 2 {
		t.Errorf("%+v", got)
	}
	fixtest.Same(t, "both", fixtest.Snapshot(t, s.Root), after)
}
