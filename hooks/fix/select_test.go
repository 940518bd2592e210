package fix

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A fix is applied when every file of it is; until then it is open, and says which files are in the tree.
func TestApplyOfSomeFilesIsNotAll(t *testing.T) {
	t.Parallel()
	after := files{"a.txt": "f:two\n", "b.txt": "f:b\n", "c.txt": "f:c\n"}
	s := newTree(t, one)
	p := sealed(t, s.Store, "test", one, after, nil)
	stands := func(what, disposition string, in ...string) {
		t.Helper()
		p, err := s.Find(runID, "test")
		check(t, err)
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
		check(t, err)
		if got.Already != already {
			t.Errorf("%q: %+v", names, got)
		}
	}
	stands("at first", open)
	some(false, "b.txt")
	stands("one file", open, "b.txt")
	state, err := os.ReadFile(p.statePath())
	check(t, err)
	some(true, "b.txt")
	if again, _ := os.ReadFile(p.statePath()); string(again) != string(state) {
		t.Errorf("the same file twice is recorded twice: %s", again)
	}
	put(t, s.Root, "c.txt", after["c.txt"]) // by hand
	some(true, "c.txt")
	stands("one more by hand", open, "b.txt", "c.txt")
	put(t, s.Root, "b.txt", "f:mine\n")
	if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "it was applied before; since then: the files are no longer as the fix found them: b.txt") {
		t.Errorf("%v", err)
	}
	some(false, "a.txt") // the rest all the same
	stands("all", applied, "a.txt", "b.txt", "c.txt")

	check(t, addDecision(p.statePath(), p.digest, decision{By: "x", To: reverted, Files: []string{"a.txt"}}))
	stands("one reverted", open, "b.txt", "c.txt")
	decide(t, p, reverted)
	stands("all reverted", reverted)
	check(t, addDecision(p.statePath(), p.digest, decision{By: "x", To: applied, Files: []string{"a.txt"}}))
	stands("one again", open, "a.txt")
	decide(t, p, rejected)
	stands("the rest rejected", rejected, "a.txt")
}

// JSON cannot hold every path: what is recorded of one that it cannot is found again all the same.
func TestApplyTwiceOfAnOddName(t *testing.T) {
	t.Parallel()
	after := files{"inv\xff\xfealid": "f:x\n", "b": "f:b\n"}
	s := newTree(t, files{})
	p := sealed(t, s.Store, "test", files{}, after, nil)
	for i, want := range []bool{false, true} {
		got, err := apply(t, s, p, Options{Files: []string{"inv\xff\xfealid"}})
		check(t, err)
		if got.Already != want {
			t.Errorf("%d: %+v", i, got)
		}
	}
	state, err := os.ReadFile(p.statePath())
	check(t, err)
	if n := strings.Count(string(state), "\n"); n != 1 {
		t.Errorf("%d decisions: %s", n, state)
	}
}

// What a person types names a file from where they are, or as the patch has it.
func TestApplyNamesFiles(t *testing.T) {
	t.Parallel()
	before := files{"a.txt": "f:1\n", "pkg/a.txt": "f:1\n", "pkg/b.txt": "f:1\n"}
	after := files{"a.txt": "f:2\n", "pkg/a.txt": "f:2\n", "pkg/b.txt": "f:2\n"}
	for i := range 12 {
		after[fmt.Sprintf("new/%02d", i)] = "f:n\n"
	}
	s := newTree(t, before)
	check(t, os.MkdirAll(filepath.Join(s.Root, "pkg", "deep"), 0o755))
	link := filepath.Join(tempDir(t), "link")
	check(t, os.Symlink(s.Root, link))
	p := sealed(t, s.Store, "test", before, after, nil)
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
	after := files{"a.txt": "f:two\n", "b.txt": "f:b\n"}
	s := newTree(t, one)
	p := sealed(t, s.Store, "test", one, after, nil)
	_, err := apply(t, s, p, Options{Files: []string{"b.txt", "b.txt"}})
	check(t, err)
	same(t, "one", snapshot(t, s.Root), files{"a.txt": "f:one\n", "b.txt": "f:b\n"})
	got, err := apply(t, s, p, Options{})
	check(t, err)
	if got.Already || len(got.Files) != 2 {
		t.Errorf("%+v", got)
	}
	same(t, "both", snapshot(t, s.Root), after)
}
