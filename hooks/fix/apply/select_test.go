package apply

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A fix is applied when every file of it is; until then it is open, and its files that are in the tree are known.
func TestApplyOfSomeFilesIsNotAll(t *testing.T) {
	t.Parallel()
	after := fixtest.Files{"a.txt": "f:two\n", "b.txt": "f:b\n", "c.txt": "f:c\n"}
	s, p := proposed(t, fixtest.One, after)
	stands := func(what, disposition string, in ...string) {
		t.Helper()
		p := fixtest.Find(t, s.Store, fixtest.RunID, "test")
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
		got := done(t)(apply(t, s, p, Options{Files: names}))
		if got.Already != already {
			t.Errorf("%q: %+v", names, got)
		}
	}
	stands("at first", fix.Open)
	some(false, "b.txt")
	stands("one file", fix.Open, "b.txt")
	state := fixtest.Read(t, p.StatePath())
	some(true, "b.txt")
	if again, _ := os.ReadFile(p.StatePath()); string(again) != string(state) {
		t.Errorf("the same file twice is recorded twice: %s", again)
	}
	fixtest.Put(t, s.Root, "c.txt", after["c.txt"]) // by hand
	some(true, "c.txt")
	stands("one more by hand", fix.Open, "b.txt", "c.txt")
	fixtest.Put(t, s.Root, "b.txt", "f:mine\n")
	if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(),
		"it was applied before; since then: the files are no longer as the fix found them: b.txt") {
		t.Errorf("%v", err)
	}
	some(false, "a.txt") // the rest all the same
	stands("all", fix.Applied, "a.txt", "b.txt", "c.txt")

	fixtest.Check(t, fix.AddState(p.StatePath(), p.Digest, fix.StateChange{
		By: "x", To: fix.Reverted,
		Files: []string{"a.txt"},
	}))
	stands("one reverted", fix.Open, "b.txt", "c.txt")
	fixtest.Decide(t, p, fix.Reverted)
	stands("all reverted", fix.Reverted)
	fixtest.Check(t, fix.AddState(p.StatePath(), p.Digest, fix.StateChange{
		By: "x", To: fix.Applied,
		Files: []string{"a.txt"},
	}))
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
		got := done(t)(apply(t, s, p, Options{Files: []string{"inv\xff\xfealid"}}))
		if got.Already != want {
			t.Errorf("%d: %+v", i, got)
		}
	}
	state := fixtest.Read(t, p.StatePath())
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
	s, p := proposed(t, fixtest.One, twoAndB)
	fixtest.OK(t)(apply(t, s, p, Options{Files: []string{"b.txt", "b.txt"}}))
	s.holds(t, "one", one("b.txt", "f:b\n"))
	got := done(t)(apply(t, s, p, Options{}))
	if got.Already || len(got.Files) != 2 {
		t.Errorf("%+v", got)
	}
	s.holds(t, "both", twoAndB)
}

// What was applied and then edited in other places is applied, with and without --3way; where the fix itself was
// edited or taken out by hand, it is not.
func TestApplyTwiceWithEditsBetween(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil), "b.txt": "f:1\n"}
	after := fixtest.Files{"a.txt": "f:" + numberedLines(edits{3: "fixed"}), "b.txt": "f:2\n"}
	s := newTree(t, before)
	p := based(t, s, "test", before, after)
	fixtest.OK(t)(apply(t, s, p, Options{}))
	state := fixtest.Read(t, p.StatePath())

	edited := "f:" + numberedLines(edits{3: "fixed", 25: "mine"})
	fixtest.Put(t, s.Root, "a.txt", edited)
	for _, o := range []Options{{}, {DryRun: true}, {ThreeWay: true}, {Files: []string{"a.txt"}}} {
		got, err := apply(t, s, p, o)
		if err != nil || !got.Already || !slices.Equal(got.Since, []string{"a.txt"}) ||
			!strings.Contains(string(state), `"at":"`+got.At+`"`) {
			t.Errorf("%+v: %+v %v", o, got, err)
		}
	}
	s.holds(t, "edited elsewhere", fixtest.Files{"a.txt": edited, "b.txt": "f:2\n"})
	if again, _ := os.ReadFile(p.StatePath()); string(again) != string(state) {
		t.Errorf("it is recorded twice: %s", again)
	}
	if got, err := apply(t, s, p, Options{Files: []string{"b.txt"}}); err != nil || !got.Already || got.Since != nil ||
		got.At != "" {
		t.Errorf("a file that nobody edited: %+v %v", got, err)
	}

	for what, text := range map[string]string{
		"the fix edited":                   "f:" + numberedLines(edits{3: "mine"}),
		"the fix taken out, edited beside": "f:" + numberedLines(edits{25: "mine"}),
	} {
		fixtest.Put(t, s.Root, "a.txt", text)
		if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrConflict) ||
			!strings.Contains(err.Error(), "it was applied before; since then: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	fixtest.Put(t, s.Root, "a.txt", edited)
	fixtest.Check(t, os.Remove(filepath.Join(s.Root, "b.txt")))
	if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrConflict) ||
		!strings.Contains(err.Error(), "b.txt (gone)") || strings.Contains(err.Error(), "a.txt (") {
		t.Errorf("one of two gone: %v", err)
	}
}

// edits are lines in other words, by number.
type edits map[int]string

// numbered is a tree with one file of 60 lines.
func numbered(e edits) fixtest.Files { return fixtest.Files{"a.txt": "f:" + numberedLines(e)} }

func numberedLines(edits edits) string {
	var b strings.Builder
	for i := 1; i <= 60; i++ {
		line, ok := edits[i]
		if !ok {
			line = fmt.Sprint("line ", i)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// Hunks are applied one by one, each known to be there already, whoever wrote it; the fix is open until all are.
func TestApplyHunkByHunk(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil), "b": "f:b\n"}
	with := func(a edits, b string) fixtest.Files {
		return fixtest.Files{"a.txt": "f:" + numberedLines(a), "b": b}
	}
	s := newTree(t, before)
	p := fixtest.Sealed(t, s.Store, "test", before, with(edits{5: "five", 30: "thirty\nand", 55: "last"},
		"x:B\n"), nil)
	stands := func(what, disposition string, parts ...fix.Part) {
		t.Helper()
		fixtest.Disposed(t, s.Store, disposition)
		got, err := p.Partly()
		fixtest.Check(t, err)
		if len(got) != len(parts) || len(parts) > 0 && !reflect.DeepEqual(got, parts) {
			t.Errorf("%s: %+v", what, got)
		}
	}
	got := done(t)(apply(t, s, p, Options{Hunks: []string{"a.txt:2"}}))
	s.holds(t, "the second", with(edits{30: "thirty\nand"}, "f:b\n"))
	if want := []fix.Part{{Path: "a.txt", Hunks: []int{2}, Of: 3}}; !reflect.DeepEqual(got.Parts, want) || !got.Rest ||
		got.Already {
		t.Errorf("%+v", got)
	}
	stands("the second", fix.Open, fix.Part{Path: "a.txt", Hunks: []int{2}, Of: 3})
	if got, err := apply(t, s, p, Options{Hunks: []string{"a.txt:2"}}); err != nil || !got.Already {
		t.Errorf("twice: %+v %v", got, err)
	}
	fixtest.Put(t, s.Root, "a.txt", with(edits{30: "thirty\nand", 55: "last"}, "")["a.txt"]) // the third, by hand
	fixtest.OK(t)(apply(t, s, p, Options{Hunks: []string{"a.txt:1"}, Files: []string{"b"}}))
	s.holds(t, "all", with(edits{5: "five", 30: "thirty\nand", 55: "last"}, "x:B\n"))
	stands("nobody recorded the third", fix.Open, fix.Part{Path: "a.txt", Hunks: []int{1, 2}, Of: 3})
	if got, err := apply(t, s, p, Options{}); err != nil || !got.Already || got.Rest {
		t.Errorf("all: %+v %v", got, err)
	}
	stands("all", fix.Applied)
	fixtest.OK(t)(revert(t, s, Options{}))
	s.holds(t, "reverted", before)
	stands("reverted", fix.Reverted)
	fixtest.OK(t)(apply(t, s, p, Options{Hunks: []string{"./a.txt:3", "a.txt:1"}, Dir: s.Root}))
	s.holds(t, "two", with(edits{5: "five", 55: "last"}, "f:b\n"))
	fixtest.OK(t)(revert(t, s, Options{}))
	s.holds(t, "two reverted", before)
	stands("two reverted", fix.Reverted)
}

// What was applied and thrown away by hand is applied again, hunk by hunk or as a whole, whatever the record tells.
func TestApplyAgainAfterACheckout(t *testing.T) {
	t.Parallel()
	before := numbered(nil)
	after := numbered(edits{5: "five", 55: "last"})
	for _, thrown := range []Options{{}, {Hunks: []string{"1"}}, {Hunks: []string{"2"}}} {
		for _, rest := range []Options{{}, {Files: []string{"a.txt"}}, {Hunks: []string{"1"}}, {ThreeWay: true}} {
			s := newTree(t, before)
			p := based(t, s, "test", before, after)
			fixtest.OK(t)(apply(t, s, p, thrown))
			before.Write(t, s.Root) // git checkout
			fixtest.OK(t)(apply(t, s, p, Options{Hunks: []string{"2"}}))
			if got, err := apply(t, s, p, rest); err != nil || got.Already {
				t.Errorf("%+v thrown away, then %+v: %+v %v", thrown, rest, got, err)
			}
			s.holds(t, "applied again", after)
			if got, err := apply(t, s, p, rest); err != nil || !got.Already {
				t.Errorf("%+v thrown away, %+v twice: %+v %v", thrown, rest, got, err)
			}
		}
	}
}

// A change of mode goes with the first hunk.
func TestModeGoesWithTheFirstHunk(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:" + numberedLines(nil)}
	s := newTree(t, before)
	p := fixtest.Sealed(t, s.Store, "test", before,
		fixtest.Files{"a": "x:" + numberedLines(edits{5: "five", 55: "last"})}, nil)
	for _, step := range []struct{ hunk, want string }{
		{"2", "f:" + numberedLines(edits{55: "last"})},
		{"1", "x:" + numberedLines(edits{5: "five", 55: "last"})},
	} {
		fixtest.OK(t)(apply(t, s, p, Options{Hunks: []string{step.hunk}}))
		s.holds(t, "hunk "+step.hunk, fixtest.Files{"a": step.want})
	}
	fixtest.Disposed(t, s.Store, fix.Applied)
}

func TestHunksThatAreNotThere(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil), "bin": "f:\x00\x01", "one:2": "f:1\n", "run": "f:1\n"}
	after := fixtest.Files{
		"a.txt": "f:" + numberedLines(edits{5: "five", 55: "last"}), "bin": "f:\x00\x02",
		"one:2": "f:2\n", "new": "f:n\n", "run": "x:1\n",
	}
	s, p := proposed(t, before, after)
	for typed, says := range map[string]string{
		"1":         `--hunk "1": the patch has several files, say of which: PATH:1; it touches: a.txt, bin, new, one:2, run`,
		"run:1":     `--hunk "run:1": run has no hunk, only another mode; --files takes it`,
		"a.txt":     `--hunk "a.txt": want PATH:N, N counted from 1`,
		"a.txt:":    `--hunk "a.txt:": want PATH:N`,
		"a.txt:0":   `--hunk "a.txt:0": a.txt has: 1 (@@ -2,7 +2,7 @@), 2 (@@ -52,7 +52,7 @@)`,
		"a.txt:3":   "a.txt has: 1 (",
		"b.txt:1":   `"b.txt" is not in the patch; it touches: a.txt`,
		"bin:2":     "bin has: 1 (binary)",
		"new:2":     "new has: 1 (added)",
		"one:2:2":   "one:2 has: 1 (@@ -1 +1 @@)",
		"a.txt:1,2": "want PATH:N",
	} {
		_, err := apply(t, s, p, Options{Hunks: []string{typed}, DryRun: true})
		if !errors.Is(err, ErrUse) || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", typed, err)
		}
	}
	got := done(t)(apply(t, s, p, Options{Hunks: []string{"bin:1", "one:2:1", "new:1"}}))
	if len(got.Parts) > 0 || len(got.Files) != 3 {
		t.Errorf("%+v", got)
	}
	want := maps.Clone(after)
	want["a.txt"], want["run"] = before["a.txt"], before["run"]
	s.holds(t, "three of one part", want)
}

// What an apply of a part wrote is no uncommitted edit for the apply of the rest; what somebody added to it is.
func TestTheRestIsNotDirty(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil), "b": "f:b\n"}
	s := newTree(t, before)
	commitAll(t, s.Root)
	p := based(t, s, "test", before, fixtest.Files{
		"a.txt": "f:" + numberedLines(edits{5: "five", 55: "last"}),
		"b":     "f:b\n",
	})
	fixtest.OK(t)(apply(t, s, p, Options{Hunks: []string{"1"}}))
	fixtest.Put(t, s.Root, "a.txt", "f:"+numberedLines(edits{5: "five", 30: "mine"}))
	if _, err := apply(t, s, p, Options{ThreeWay: true}); !errors.Is(err, ErrDirty) {
		t.Errorf("%v", err)
	}
	fixtest.Put(t, s.Root, "a.txt", "f:"+numberedLines(edits{5: "five"}))
	got := done(t)(apply(t, s, p, Options{}))
	if len(got.Dirty) > 0 {
		t.Errorf("%+v", got)
	}
	if log := gitRun(t, s.Root, "log", "--oneline"); strings.Contains(log, "\n") {
		t.Errorf("committed: %s", log)
	}
	if recordfile.Exists(filepath.Join(s.Root, ".git", "MERGE_HEAD")) {
		t.Error("git thinks that it merges")
	}
}

// A flag on a file of a part of the patch has to be accepted, also where its name is no UTF-8, which the record cannot
// hold; those on other files need not.
func TestFlagsOfSelected(t *testing.T) {
	t.Parallel()
	p := &fix.Proposal{}
	p.Flags = []fix.Flag{{ID: "f1", Rule: "catch_all", Path: new(fix.AsStored("a\xff"))}, {ID: "f2", Rule: "placeholder", Path: new("b")}}
	for _, c := range []struct {
		files, accept []string
		want          string
	}{
		{[]string{"a\xff"}, nil, "f1"},
		{[]string{"a\xff"}, []string{"f1"}, ""},
		{[]string{"b"}, []string{"f1"}, "f2"},
		{[]string{"c"}, nil, ""},
	} {
		_, err := acceptedFlags(p, c.files, Options{Files: c.files, Accept: c.accept})
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, accepted %q: %v", c.files, c.accept, err)
		}
	}
}
