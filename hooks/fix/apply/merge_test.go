package apply

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// Where git would leave conflicts they are shown as git marks them, and nothing is written.
func TestMergeConflicts(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{
		"a.txt": "f:" + numberedLines(nil), "bin": "f:\x00\x01", "del": "f:d\n", "link": "l:a",
		"gone": "f:g\n", "type": "f:t\n", "fine": "f:1\n",
	}
	after := fixtest.Files{
		"a.txt": "f:" + numberedLines(edits{5: "theirs", 40: "theirs too"}),
		"bin":   "f:\x00\x02", "link": "l:b", "gone": "f:G\n", "type": "l:t", "new": "f:n\n", "fine": "f:2\n",
	}
	s := newTree(t, before)
	p := based(t, s, "test", before, after)
	now := fixtest.Files{
		"a.txt": "f:mine first\n" + numberedLines(edits{5: "mine", 40: "mine too"}),
		"bin":   "f:\x00\x03", "del": "f:mine\n", "link": "l:c", "type": "f:mine\n", "new": "f:mine\n", "fine": "f:1\n",
	}
	now.Write(t, s.Root)
	for _, dry := range []bool{true, false} {
		_, err := apply(t, s, p, Options{ThreeWay: true, DryRun: dry})
		c := (*Conflicts)(nil)
		if !errors.As(err, &c) || !errors.Is(err, ErrRefused) || !errors.Is(err, ErrConflict) {
			t.Fatalf("%v", err)
		}
		why := map[string]string{}
		for _, f := range c.Files {
			why[f.Path] = f.Why
			switch f.Path {
			case "a.txt":
				if len(f.Clashes) != 2 || f.Clashes[0].Line != 6 || f.Clashes[1].Line != 41 ||
					f.Clashes[1].Text != "<<<<<<< ours\nmine too\n=======\ntheirs too\n>>>>>>> theirs\n" {
					t.Errorf("%+v", f.Clashes)
				}
			case "new":
				if len(f.Clashes) != 1 || f.Clashes[0].Line != 1 {
					t.Errorf("%+v", f.Clashes)
				}
			}
		}
		for path, want := range map[string]string{
			"a.txt": "conflict", "new": "conflict", "bin": "binary, and changed on both sides", "del": "the fix deletes it, and it was edited since",
			"link": "the fix and somebody since made it point elsewhere", "gone": "it is gone, and the fix changes it", "type": "the fix makes a symlink of it, and it was edited since",
		} {
			if why[path] != want {
				t.Errorf("%s: %q, want %q", path, why[path], want)
			}
		}
		for _, word := range []string{
			"nothing was written", "--3way --edit",
			"async-pipeline heal " + fixtest.RunID + " test",
		} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q is not said: %v", word, err)
			}
		}
		s.holds(t, "nothing is written", now)
	}
	fixtest.OK(t)(apply(t, s, p, Options{ThreeWay: true, Files: []string{"fine"}}))
}

// How git merges a path is the repository's to say: all lines of both, not at all, or by a program that is not run.
func TestMergeAttributes(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{
		"union": "f:1\n2\n3\n", "binary": "f:1\n2\n3\n", "custom": "f:1\n2\n3\n",
		".gitattributes": "f:union merge=union\nbinary -merge\ncustom merge=mine\n",
	}
	after := fixtest.Files{
		"union": "f:1\n2\n3\ntheirs\n", "binary": "f:1\n2\n3\ntheirs\n",
		"custom": "f:1\n2\n3\ntheirs\n", ".gitattributes": before[".gitattributes"],
	}
	s := newTree(t, before)
	commitAll(t, s.Root)
	gitRun(t, s.Root, "config", "merge.mine.driver", "touch "+filepath.Join(s.Root, "ran"))
	p := based(t, s, "test", before, after)
	for _, name := range []string{"union", "binary", "custom"} {
		fixtest.Put(t, s.Root, name, "f:1\n2\n3\nours\n")
	}
	for name, says := range map[string]string{
		"binary": "its merge attribute forbids merging, and both sides changed it); nothing was written\nchoose ",
		"custom": `its merge attribute names "mine", a program of your own`,
	} {
		if _, err := apply(t, s, p, Options{ThreeWay: true, AllowDirty: true, Files: []string{name}}); !errors.Is(err,
			ErrConflict) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got := done(t)(apply(t, s, p, Options{ThreeWay: true, AllowDirty: true, Files: []string{"union"}}))
	if b, _ := os.ReadFile(filepath.Join(s.Root, "union")); string(b) != "1\n2\n3\nours\ntheirs\n" {
		t.Errorf("%q", b)
	}
	if len(got.Dirty) != 1 || len(got.Merged) != 1 {
		t.Errorf("what it went over is not said: %+v", got)
	}
	if recordfile.Exists(filepath.Join(s.Root, "ran")) {
		t.Error("a driver was run")
	}
}

// A merge takes away what nothing else gives back: it is kept for the revert, unless it holds a secret.
func TestWhatAMergeKeeps(t *testing.T) {
	t.Parallel()
	before, after := numbered(nil), numbered(edits{5: "five"})
	for _, secret := range []bool{false, true} {
		s := newTree(t, before)
		p := based(t, s, "test", before, after)
		mine := numbered(edits{30: "token hunter2hunter2"})
		mine.Write(t, s.Root)
		o := Options{ThreeWay: true}
		if secret {
			o.Secrets = &redact.Set{}
			o.Secrets.Add("TOKEN", "hunter2hunter2")
		}
		fixtest.OK(t)(apply(t, s, p, o))
		_, err := revert(t, s, Options{})
		if secret {
			if entries, _ := os.ReadDir(p.Folder("applied")); len(entries) > 0 || !errors.Is(err, ErrConflict) {
				t.Errorf("a secret is kept: %v %v", entries, err)
			}
			continue
		}
		fixtest.Check(t, err)
		s.holds(t, "reverted", mine)
	}
}

// Without what the fix found there is nothing to merge with.
func TestMergeWithoutItsBase(t *testing.T) {
	t.Parallel()
	before := numbered(nil)
	s := newTree(t, before)
	p := fixtest.Sealed(t, s.Store, "test", before, numbered(edits{5: "five"}), nil)
	numbered(edits{30: "mine"}).Write(t, s.Root)
	if _, err := apply(t, s, p, Options{ThreeWay: true}); !errors.Is(err, ErrConflict) ||
		!strings.Contains(err.Error(), "its old content is not kept") {
		t.Errorf("%v", err)
	}
}

// A patch that a person edited is applied as it was edited, recorded as that, and can be taken back.
func TestApplyEdited(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil), "b": "f:b\n"}
	after := fixtest.Files{"a.txt": "f:" + numberedLines(edits{5: "five", 55: "last"}), "b": "f:B\n"}
	s := newTree(t, before)
	p := based(t, s, "test", before, after)
	text, err := s.Selected(context.Background(), p, Options{Hunks: []string{"a.txt:2"}})
	fixtest.Check(t, err)
	if got := string(text); strings.Contains(got, "five") || !strings.Contains(got, "+last\n") ||
		strings.Contains(got, "+B") {
		t.Errorf("%s", got)
	}
	o := Options{
		Hunks:  []string{"a.txt:2"},
		Edited: []byte("# help\n" + strings.Replace(string(text), "+last\n", "+the last\n+of all\n", 1) + "\n\n"),
	}
	got := done(t)(apply(t, s, p, o))
	want := fixtest.Files{"a.txt": "f:" + numberedLines(edits{55: "the last\nof all"}), "b": "f:b\n"}
	s.holds(t, "edited", want)
	if !got.Edited || !got.Rest || got.Already {
		t.Errorf("%+v", got)
	}
	state := fixtest.Read(t, p.StatePath())
	if !strings.Contains(string(state), `"edited":true,"patch_digest":"sha256:`) ||
		!strings.Contains(string(state), `"files":["a.txt"]`) {
		t.Errorf("%s", state)
	}
	if got, err = apply(t, s, p, o); err != nil || !got.Already {
		t.Errorf("twice: %+v %v", got, err)
	}
	// The rest of the file goes beside what was edited, which stays.
	if got = done(t)(apply(t, s, p, Options{Files: []string{"a.txt"}})); got.Already || !slices.Equal(got.Merged, []string{"a.txt"}) {
		t.Errorf("%+v", got)
	}
	want["a.txt"] = "f:" + numberedLines(edits{5: "five", 55: "the last\nof all"})
	s.holds(t, "the rest", want)
	if got, err = apply(t, s, p, Options{Files: []string{"a.txt"}}); err != nil || !got.Already {
		t.Errorf("what was edited out comes back: %+v %v", got, err)
	}
	fixtest.OK(t)(apply(t, s, p, Options{}))
	fixtest.Disposed(t, s.Store, fix.Applied)
	fixtest.OK(t)(revert(t, s, Options{}))
	s.holds(t, "reverted", before)
}

// An edited patch goes into a file that changed since like any other.
func TestApplyEditedThreeWay(t *testing.T) {
	t.Parallel()
	before := numbered(nil)
	s := newTree(t, before)
	p := based(t, s, "test", before, numbered(edits{5: "five"}))
	numbered(edits{30: "mine"}).Write(t, s.Root)
	edited := []byte(strings.Replace(string(p.Diff), "+five", "+FIVE", 1))
	if _, err := apply(t, s, p, Options{Edited: edited}); !errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
	fixtest.OK(t)(apply(t, s, p, Options{Edited: edited, ThreeWay: true}))
	s.holds(t, "merged", numbered(edits{5: "FIVE", 30: "mine"}))
	fixtest.OK(t)(revert(t, s, Options{}))
	s.holds(t, "reverted", numbered(edits{30: "mine"}))
}

func TestEditedPatchesThatAreRefused(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil), "b": "f:b\n"}
	after := fixtest.Files{"a.txt": "f:" + numberedLines(edits{5: "five"}), "b": "f:B\n"}
	s := newTree(t, before)
	p := based(t, s, "test", before, after)
	diff := string(p.Diff)
	for name, c := range map[string]struct{ text, says string }{
		"another path": {
			strings.ReplaceAll(diff, "a.txt", "c.txt"),
			`the edited patch touches "c.txt", which was not chosen; it may touch: a.txt, b`,
		},
		"out of the tree": {strings.ReplaceAll(diff, "/a.txt", "/../a.txt"), "unsafe path"},
		"into .git":       {strings.ReplaceAll(diff, "/a.txt", "/.git/config"), "unsafe path"},
		"a rename":        {strings.Replace(diff, "b/a.txt", "b/c.txt", 1), "renames are not taken"},
		"not what was found": {
			strings.Replace(diff, " line 4", " line four", 1),
			"the text is not the one the patch was made for",
		},
		"nothing": {"# nothing\n", "nothing is left"},
		"no change": {strings.NewReplacer("-line 5\n", " line 5\n", "+five\n", "", "-b\n", " b\n", "+B\n",
			"").Replace(diff), "nothing is left"},
		"words":         {"please\n--- fix it\n", "not a well-formed patch"},
		"a broken line": {strings.Replace(diff, "+five", "five", 1), "not a well-formed patch"},
	} {
		_, err := apply(t, s, p, Options{Edited: []byte(c.text)})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		s.holds(t, name, before)
	}
	fixtest.Disposed(t, s.Store, fix.Open)
}

// A hunk that a person edited out stays out when the rest of the file is applied.
func TestEditedOutStaysOut(t *testing.T) {
	t.Parallel()
	before := numbered(nil)
	s := newTree(t, before)
	p := based(t, s, "test", before, numbered(edits{5: "five", 30: "thirty", 55: "last"}))
	second, err := s.Selected(context.Background(), p, Options{Hunks: []string{"a.txt:2"}})
	fixtest.Check(t, err)
	o := Options{Hunks: []string{"a.txt:1", "a.txt:2"}, Edited: second}
	fixtest.OK(t)(apply(t, s, p, o))
	if got, err := apply(t, s, p, o); err != nil || !got.Already {
		t.Errorf("twice: %+v %v", got, err)
	}
	fixtest.OK(t)(apply(t, s, p, Options{Files: []string{"a.txt"}}))
	s.holds(t, "the rest", numbered(edits{30: "thirty", 55: "last"}))
}

// The rest of a file that cannot go beside what was edited, or where a person's own edits are, is refused with advice that
// helps.
func TestRestIsRefused(t *testing.T) {
	t.Parallel()
	before, after := numbered(nil), numbered(edits{5: "five", 55: "last"})
	s := newTree(t, before)
	p := based(t, s, "test", before, after)
	edited := []byte(strings.NewReplacer("+five", "+FIVE", "+last", "+LAST").Replace(string(p.Diff)))
	fixtest.OK(t)(apply(t, s, p, Options{Hunks: []string{"a.txt:2"}, Edited: edited}))
	if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "cannot be merged") ||
		strings.Contains(err.Error(), "merge it in with") {
		t.Errorf("%v", err)
	}

	s = newTree(t, before)
	p = based(t, s, "test", before, after)
	numbered(edits{30: "mine"}).Write(t, s.Root)
	fixtest.OK(t)(apply(t, s, p, Options{Hunks: []string{"a.txt:1"}, ThreeWay: true}))
	if _, err := apply(t, s, p, Options{Hunks: []string{"a.txt:2"}}); !errors.Is(err, ErrConflict) ||
		!strings.Contains(err.Error(), "merge it in with --3way") {
		t.Errorf("%v", err)
	}
}
