package apply

import (
	"errors"
	"fmt"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// numbered lines, some of them in other words.
func numberedLines(edits map[int]string) string {
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
	with := func(a map[int]string, b string) fixtest.Files {
		return fixtest.Files{"a.txt": "f:" + numberedLines(a), "b": b}
	}
	s := newTree(t, before)
	p := fixtest.Sealed(t, s.Store, "test", before, with(map[int]string{5: "five", 30: "thirty\nand", 55: "last"},
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
	got, err := apply(t, s, p, Options{Hunks: []string{"a.txt:2"}})
	fixtest.Check(t, err)
	fixtest.Same(t, "the second", fixtest.Snapshot(t, s.Root), with(map[int]string{30: "thirty\nand"}, "f:b\n"))
	if want := []fix.Part{{Path: "a.txt", Hunks: []int{2}, Of: 3}}; !reflect.DeepEqual(got.Parts, want) || !got.Rest ||
		got.Already {
		t.Errorf("%+v", got)
	}
	stands("the second", fix.Open, fix.Part{Path: "a.txt", Hunks: []int{2}, Of: 3})
	if got, err = apply(t, s, p, Options{Hunks: []string{"a.txt:2"}}); err != nil || !got.Already {
		t.Errorf("twice: %+v %v", got, err)
	}
	fixtest.Put(t, s.Root, "a.txt", with(map[int]string{30: "thirty\nand", 55: "last"}, "")["a.txt"]) // the third, by hand
	_, err = apply(t, s, p, Options{Hunks: []string{"a.txt:1"}, Files: []string{"b"}})
	fixtest.Check(t, err)
	fixtest.Same(t, "all", fixtest.Snapshot(t, s.Root), with(map[int]string{5: "five", 30: "thirty\nand", 55: "last"},
		"x:B\n"))
	stands("nobody recorded the third", fix.Open, fix.Part{Path: "a.txt", Hunks: []int{1, 2}, Of: 3})
	if got, err = apply(t, s, p, Options{}); err != nil || !got.Already || got.Rest {
		t.Errorf("all: %+v %v", got, err)
	}
	stands("all", fix.Applied)
	_, err = revert(t, s, Options{})
	fixtest.Check(t, err)
	fixtest.Same(t, "reverted", fixtest.Snapshot(t, s.Root), before)
	stands("reverted", fix.Reverted)
	_, err = apply(t, s, p, Options{Hunks: []string{"./a.txt:3", "a.txt:1"}, Dir: s.Root})
	fixtest.Check(t, err)
	fixtest.Same(t, "two", fixtest.Snapshot(t, s.Root), with(map[int]string{5: "five", 55: "last"}, "f:b\n"))
	_, err = revert(t, s, Options{})
	fixtest.Check(t, err)
	fixtest.Same(t, "two reverted", fixtest.Snapshot(t, s.Root), before)
	stands("two reverted", fix.Reverted)
}

// A change of mode goes with the first hunk.
func TestModeGoesWithTheFirstHunk(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:" + numberedLines(nil)}
	s := newTree(t, before)
	p := fixtest.Sealed(t, s.Store, "test", before,
		fixtest.Files{"a": "x:" + numberedLines(map[int]string{5: "five", 55: "last"})}, nil)
	for _, step := range []struct{ hunk, want string }{
		{"2", "f:" + numberedLines(map[int]string{55: "last"})},
		{"1", "x:" + numberedLines(map[int]string{5: "five", 55: "last"})},
	} {
		_, err := apply(t, s, p, Options{Hunks: []string{step.hunk}})
		fixtest.Check(t, err)
		fixtest.Same(t, "hunk "+step.hunk, fixtest.Snapshot(t, s.Root), fixtest.Files{"a": step.want})
	}
	fixtest.Disposed(t, s.Store, fix.Applied)
}

func TestHunksThatAreNotThere(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil), "bin": "f:\x00\x01", "one:2": "f:1\n", "run": "f:1\n"}
	after := fixtest.Files{"a.txt": "f:" + numberedLines(map[int]string{5: "five", 55: "last"}), "bin": "f:\x00\x02",
		"one:2": "f:2\n", "new": "f:n\n", "run": "x:1\n"}
	s := newTree(t, before)
	p := fixtest.Sealed(t, s.Store, "test", before, after, nil)
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
	got, err := apply(t, s, p, Options{Hunks: []string{"bin:1", "one:2:1", "new:1"}})
	fixtest.Check(t, err)
	if len(got.Parts) > 0 || len(got.Files) != 3 {
		t.Errorf("%+v", got)
	}
	want := maps.Clone(after)
	want["a.txt"], want["run"] = before["a.txt"], before["run"]
	fixtest.Same(t, "three of one part", fixtest.Snapshot(t, s.Root), want)
}

// What an apply of a part wrote is no uncommitted edit for the apply of the rest; what somebody added to it is.
func TestTheRestIsNotDirty(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:" + numberedLines(nil), "b": "f:b\n"}
	s := newTree(t, before)
	commitAll(t, s.Root)
	p := based(t, s, "test", before, fixtest.Files{"a.txt": "f:" + numberedLines(map[int]string{5: "five", 55: "last"}),
		"b": "f:b\n"})
	_, err := apply(t, s, p, Options{Hunks: []string{"1"}})
	fixtest.Check(t, err)
	fixtest.Put(t, s.Root, "a.txt", "f:"+numberedLines(map[int]string{5: "five", 30: "mine"}))
	if _, err := apply(t, s, p, Options{ThreeWay: true}); !errors.Is(err, ErrDirty) {
		t.Errorf("%v", err)
	}
	fixtest.Put(t, s.Root, "a.txt", "f:"+numberedLines(map[int]string{5: "five"}))
	got, err := apply(t, s, p, Options{})
	fixtest.Check(t, err)
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
