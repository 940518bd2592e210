package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A testTree is a tree with the store of its fixes.
type testTree struct {
	*Tree
	*fix.Store
}

// newTree is a folder with the files of before, without git.
func newTree(t testing.TB, before fixtest.Files) *testTree {
	t.Helper()
	return treeAt(t, fixtest.TempDir(t), before)
}

// proposed is a tree with a fix for the task "test" that nobody decided on.
func proposed(t testing.TB, before, after fixtest.Files) (*testTree, *fix.Proposal) {
	t.Helper()
	s := newTree(t, before)
	return s, fixtest.Sealed(t, s.Store, "test", before, after, nil)
}

// holds checks what is in the tree.
func (s *testTree) holds(t testing.TB, what string, want fixtest.Files) {
	t.Helper()
	fixtest.Same(t, what, fixtest.Snapshot(t, s.Root), want.With())
}

func treeAt(t testing.TB, root string, before fixtest.Files) *testTree {
	t.Helper()
	before.Write(t, root)
	s := treeOf(root)
	fixtest.Check(t, os.MkdirAll(fixtest.Dir(s.Store), 0o700))
	return s
}

// treeOf is a tree as another process has it.
func treeOf(root string) *testTree {
	s := &fix.Store{Root: root, Dir: filepath.Join(root, ".async")}
	return &testTree{&Tree{Fixes: s}, s}
}

func apply(t testing.TB, s *testTree, p *fix.Proposal, o Options) (Applied, error) {
	t.Helper()
	o.By = "tester"
	return s.Apply(context.Background(), p, o)
}

// done returns a function that fails the test for an error.
func done(t testing.TB) func(Applied, error) Applied {
	return func(a Applied, err error) Applied { t.Helper(); fixtest.Check(t, err); return a }
}

// settled checks that nothing of an apply is left in .async/apply.
func settled(t testing.TB, s *testTree) {
	t.Helper()
	entries, err := os.ReadDir(s.dir())
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	fixtest.Check(t, err)
	for _, e := range entries {
		if e.Name() != "lock" {
			t.Errorf("%s is left in apply/", e.Name())
		}
	}
	// A child that is between fork and exec holds every open file of its parent for a moment.
	for n := 0; recordfile.Locked(filepath.Join(s.dir(), "lock")); n++ {
		if n == 100 {
			t.Fatal("the lock is still held")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

var (
	everyKind = fixtest.Files{
		"mod.txt": "f:a\nb\nc\n", "bin": "f:\x00\x01\x02", "del.txt": "f:bye\n", "deep/er/gone.txt": "f:bye\n", "run.sh": "f:#!/bin/sh\n",
		"link": "l:mod.txt", "was-link": "l:x", "was-file": "f:x\n", "to-dir": "f:x\n", "to-file/in": "f:x\n", "keep": "f:k", "crlf": "f:a\r\nb\r\n", "noeol": "f:a",
		"un-x": "x:#!\n", "sp ace\"q\nü": "f:odd\n",
	}
	everyKindAfter = fixtest.Files{
		"mod.txt": "f:a\nB\nc\n", "bin": "f:\x00\x01\x03\xff", "run.sh": "x:#!/bin/sh\n",
		"link": "l:keep", "was-link": "f:y\n", "was-file": "l:y", "to-dir/in": "f:x\n", "to-file": "f:y\n", "keep": "f:k", "crlf": "f:a\r\nB\r\n", "noeol": "f:b",
		"un-x": "f:#!\n", "sp ace\"q\nü": "f:odder\n", "new/deep/er/x.txt": "f:new\n", "new/empty": "f:", "new/bin": "x:\x00\xfe",
		strings.Repeat("n", 255): "f:the longest name there is\n",
	}
)

func TestApplyEveryKind(t *testing.T) {
	t.Parallel()
	s, p := proposed(t, everyKind, everyKindAfter)
	dry := done(t)(apply(t, s, p, Options{DryRun: true}))
	s.holds(t, "after a dry run", everyKind)
	if recordfile.Exists(s.dir()) {
		t.Error("a dry run writes")
	}
	got := done(t)(apply(t, s, p, Options{}))
	s.holds(t, "applied", everyKindAfter)
	if !slices.Equal(got.Files, dry.Files) || len(got.Files) != len(p.Patch.Files) || got.Already ||
		got.Note != "this fix is unverified" {
		t.Errorf("%+v, dry %+v", got, dry)
	}
	settled(t, s)
	p = fixtest.Find(t, s.Store, fixtest.RunID, "test")
	if p.Disposition != fix.Applied {
		t.Errorf("disposition %q", p.Disposition)
	}

	t.Run("H16 apply twice", func(t *testing.T) {
		state := fixtest.Read(t, p.StatePath())
		if !strings.Contains(string(state), `"by":"tester","to":"applied","files":["bin","crlf",`) ||
			!strings.Contains(string(state), `"prev":"`+p.Digest+`"`) {
			t.Errorf("state: %s", state)
		}
		got := done(t)(apply(t, s, p, Options{}))
		if !got.Already {
			t.Errorf("%+v", got)
		}
		s.holds(t, "applied twice", everyKindAfter)
		if again, _ := os.ReadFile(p.StatePath()); string(again) != string(state) {
			t.Errorf("state: %s", again)
		}
	})
	t.Run("applied, then edited", func(t *testing.T) {
		fixtest.Put(t, s.Root, "mod.txt", "f:mine\n")
		_, err := apply(t, s, p, Options{})
		if !errors.Is(err, ErrConflict) || !errors.Is(err, ErrRefused) ||
			!strings.Contains(err.Error(), "it was applied before") {
			t.Errorf("%v", err)
		}
	})
}

// Apply and plain `git apply` of the same patch lead to the same tree.
func TestApplyAsGitDoes(t *testing.T) {
	t.Parallel()
	s, p := proposed(t, everyKind, everyKindAfter)
	fixtest.OK(t)(apply(t, s, p, Options{}))
	other := newTree(t, everyKind)
	c := exec.CommandContext(t.Context(), "git", "apply", filepath.Join(p.Dir, p.Patch.Path))
	c.Dir = other.Root
	c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(other.Root), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.holds(t, "git and we", fixtest.Snapshot(t, other.Root))
}

func TestApplyAlreadyThereByHand(t *testing.T) {
	t.Parallel()
	s, p := proposed(t, everyKind, everyKindAfter)
	everyKindAfter.Write(t, s.Root) // somebody ran git apply
	got := done(t)(apply(t, s, p, Options{}))
	if !got.Already {
		t.Errorf("%+v", got)
	}
	if p, err := s.Find(fixtest.RunID, "test"); err != nil || p.Disposition != fix.Applied {
		t.Errorf("not recorded: %+v %v", p, err)
	}
}

// flagged is two flags and what else more sets.
func flagged(rules [2]string, more func(*fix.Fix)) func(*draft.Draft, *fix.Fix) {
	return func(_ *draft.Draft, f *fix.Fix) {
		f.Flags = []fix.Flag{
			{ID: "F1", Rule: rules[0], Path: new("a.txt"), Line: new(7)},
			{ID: "F2", Rule: rules[1], Path: new("dir/new.txt")},
		}
		more(f)
	}
}

func TestApplyChecks(t *testing.T) {
	t.Parallel()
	after := fixtest.Files{"a.txt": "f:two\n", "dir/new.txt": "f:new\n"}
	flags := flagged([2]string{"check_file", "new_network"}, func(*fix.Fix) {})
	fixed := func(change func(f *fix.Fix)) func(*draft.Draft, *fix.Fix) {
		return func(_ *draft.Draft, f *fix.Fix) { change(f) }
	}
	decided := func(to string) func(*testing.T, *fix.Proposal) {
		return func(t *testing.T, p *fix.Proposal) { fixtest.Decide(t, p, to) }
	}
	type row struct {
		more func(*draft.Draft, *fix.Fix)
		with func(t *testing.T, p *fix.Proposal)
		tree fixtest.Files // what is in the tree; nil: what the fix found
		o    Options
		is   error
		says string
	}
	conflict := func(tree fixtest.Files, says string) row { return row{tree: tree, is: ErrConflict, says: says} }
	cases := map[string]row{
		"no proposal": {
			more: fixed(func(f *fix.Fix) { f.State, f.Patch = fix.NoFix, nil }),
			is:   ErrRefused, says: "no_fix",
		},
		"the repository is gone": {
			more: fixed(func(f *fix.Fix) { f.Base = &fix.Base{Commit: new("c0ffee")} }),
			is:   ErrRefused, says: "at commit c0ffee",
		},
		"the root moved": {
			more: fixed(func(f *fix.Fix) { f.Base = &fix.Base{Sub: new("pkg/a")} }),
			is:   ErrRefused, says: `"pkg/a"`,
		},

		"patch swapped in memory": {
			with: func(_ *testing.T, p *fix.Proposal) { p.Diff = append(p.Diff, '\n') },
			is:   fix.ErrDamaged, says: "heal again",
		},
		"not from the store": {
			with: func(_ *testing.T, p *fix.Proposal) { *p = fix.Proposal{Fix: p.Fix, Diff: p.Diff} },
			is:   ErrRefused, says: "not read from the store",
		},
		"decisions damaged": {
			with: func(t *testing.T, p *fix.Proposal) {
				fixtest.Check(t, os.WriteFile(p.StatePath(), []byte("x\n"), 0o600))
			},
			is: fix.ErrDamaged, says: "state.jsonl",
		},
		"rejected":   {with: decided(fix.Rejected), is: ErrRefused, says: "was rejected at 2"},
		"superseded": {with: decided(fix.Superseded), is: ErrRefused, says: "superseded"},

		"changed file": {
			tree: fixtest.Files{"a.txt": "f:mine\n"}, is: ErrConflict,
			says: "a.txt (changed); merge it in with --3way, or have a new fix proposed: " +
				"async-pipeline heal " + fixtest.RunID + " test",
		},
		"longer file":              conflict(fixtest.Files{"a.txt": "f:one\nand more\n"}, "a.txt (changed)"),
		"deleted file":             conflict(fixtest.Files{}, "a.txt (gone)"),
		"changed mode":             conflict(fixtest.Files{"a.txt": "x:one\n"}, "a.txt (its mode changed)"),
		"file became a folder":     conflict(fixtest.Files{"a.txt/x": "f:x"}, "a.txt (a folder now)"),
		"file became a link":       conflict(fixtest.Files{"a.txt": "l:b.txt"}, "a.txt (changed)"),
		"file became a FIFO":       conflict(fixtest.Files{"a.txt": "p:"}, "a.txt (changed)"),
		"new file is there":        conflict(one("dir/new.txt", "f:x"), "dir/new.txt (is there already)"),
		"a full folder in the way": conflict(one("dir/new.txt/x", "f:x"), "a folder that contains dir/new.txt/x"),
		"nested empty folders":     conflict(one("dir/new.txt/x/", "d"), "a folder that contains dir/new.txt/x/"),
		"a link on the way":        {tree: one("dir", "l:/tmp"), is: ErrRefused, says: "new.txt (dir is no folder)"},
		"a link inside on the way": {tree: one("dir", "l:."), is: ErrRefused, says: "dir/new.txt (dir is no folder)"},
		"a file on the way":        {tree: one("dir", "f:x"), is: ErrRefused, says: "dir/new.txt (dir is no folder)"},

		"flags": {more: flags, is: ErrFlagged, says: "F1 check_file a.txt:7, F2 new_network dir/new.txt"},
		"one flag accepted": {
			more: flags, o: Options{Accept: []string{"F1"}},
			is: ErrFlagged, says: "F2 new_network",
		},
		"no such flag": {
			o:  Options{Accept: []string{"all"}},
			is: ErrUse, says: `--accept "all": nothing in this fix is flagged`,
		},
		"a flag that is not there too": {
			more: flags, o: Options{Accept: []string{"F1", "F2", "F3"}}, is: ErrUse,
			says: `"F3": this fix has no such flag; it has: F1 check_file a.txt:7, F2 new_network dir/new.txt`,
		},
		"an empty flag": {
			more: flags, o: Options{Accept: []string{"F1,"}},
			is: ErrUse, says: `--accept "": this fix has no such flag; it has: F1`,
		},
		"no such file": {
			o:  Options{Files: []string{"b.txt"}},
			is: ErrUse, says: `"b.txt" is not in the patch; it touches: a.txt, dir/new.txt`,
		},
		"no file": {o: Options{Files: []string{}}, is: ErrUse, says: "no file is chosen"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTree(t, fixtest.One)
			p := fixtest.Sealed(t, s.Store, "test", fixtest.One, after, c.more)
			if c.with != nil {
				c.with(t, p)
			}
			if c.tree != nil {
				c.tree.Write(t, s.Root)
			}
			before := fixtest.Snapshot(t, s.Root)
			for _, dry := range []bool{true, false} {
				c.o.DryRun = dry
				_, err := apply(t, s, p, c.o)
				if errors.Is(err, ErrRefused) == errors.Is(c.is, ErrUse) || !errors.Is(err, c.is) ||
					!strings.Contains(err.Error(), c.says) {
					t.Errorf("dry %v: %v", dry, err)
				}
			}
			s.holds(t, "refused", before)
			settled(t, s)
		})
	}
}

// one is fixtest.One and one path more.
func one(name, v string) fixtest.Files { return fixtest.Files{"a.txt": fixtest.One["a.txt"], name: v} }

func TestApplyWhatIsAllowed(t *testing.T) {
	t.Parallel()
	after := fixtest.Files{"a.txt": "f:two\n", "dir/new.txt": "f:new\n"}
	flags := flagged([2]string{"check_file", "check_file"}, func(f *fix.Fix) {
		f.Verdict, f.Verification = new("suspect"), &fix.Verification{Reason: new("check_changed")}
	})
	const suspect, unverified = "this fix is suspect: check_changed", "this fix is unverified"
	for name, c := range map[string]struct {
		more    func(*draft.Draft, *fix.Fix)
		decided []string
		tree    fixtest.Files
		o       Options
		want    fixtest.Files
		state   string
		note    string
	}{
		"flags by rule": {
			more: flags, o: Options{Accept: []string{"check_file"}},
			want: after, state: `"accepted":["F1","F2"]`, note: suspect,
		},
		"flags with a comma": {
			more: flags, o: Options{Accept: []string{"F1, F2"}},
			want: after, state: `"accepted":["F1","F2"]`, note: suspect,
		},
		"flags by id": {
			more: flags, o: Options{Accept: []string{"F2", "F1"}},
			want: after, state: `"accepted":["F1","F2"]`, note: suspect,
		},
		"one file and its flag": {
			more: flags, o: Options{Files: []string{"a.txt"}, Accept: []string{"F1"}},
			want: fixtest.Two, state: `"files":["a.txt"],"accepted":["F1"]`, note: suspect,
		},
		"verified":                 {more: verdict("verified"), want: after, state: `"accepted":[]`},
		"an empty folder in place": {tree: one("dir/new.txt/", "d"), want: after, note: unverified},
		"a read-only file":         {tree: fixtest.Files{"a.txt": "r:one\n"}, want: after, note: unverified},
		"applied and reverted": {
			decided: []string{fix.Applied, fix.Reverted},
			want:    after, state: `"seq":3`, note: unverified,
		},
		"applied, then checked out": {decided: []string{fix.Applied}, want: after, state: `"seq":2`, note: unverified},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTree(t, fixtest.One)
			p := fixtest.Sealed(t, s.Store, "test", fixtest.One, after, c.more)
			for _, to := range c.decided {
				fixtest.Decide(t, p, to)
			}
			if c.tree != nil {
				c.tree.Write(t, s.Root)
			}
			got := done(t)(apply(t, s, p, c.o))
			if got.Already || got.Note != c.note {
				t.Errorf("%+v", got)
			}
			s.holds(t, "applied", c.want)
			if state := fixtest.Read(t, p.StatePath()); !strings.Contains(string(state), c.state) {
				t.Errorf("state: %s", state)
			}
		})
	}
}

func TestApplyKeepsPermissions(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"plain": "f:1\n", "to-x": "f:1\n", "from-x": "x:1\n", "hard": "f:1\n"}
	after := fixtest.Files{
		"plain": "f:2\n", "to-x": "x:2\n", "from-x": "f:2\n", "hard": "f:2\n", "new": "f:2\n",
		"new-x": "x:2\n",
	}
	s, p := proposed(t, before, after)
	for name, mode := range map[string]os.FileMode{"plain": 0o600, "to-x": 0o640, "from-x": 0o751} {
		fixtest.Check(t, os.Chmod(filepath.Join(s.Root, name), mode))
	}
	fixtest.Check(t, os.Link(filepath.Join(s.Root, "hard"), filepath.Join(s.Root, "other")))
	fixtest.OK(t)(apply(t, s, p, Options{}))
	all, err := os.OpenFile(filepath.Join(s.Root, "all"), os.O_CREATE|os.O_WRONLY, 0o777)
	fixtest.Check(t, err)
	info, err := all.Stat()
	fixtest.Check(t, err)
	fixtest.Check(t, all.Close())
	mask := 0o777 &^ info.Mode()
	for name, want := range map[string]os.FileMode{
		"plain": 0o600, "to-x": 0o750, "from-x": 0o640, "new": 0o644 &^ mask,
		"new-x": 0o755 &^ mask,
	} {
		info, err := os.Stat(filepath.Join(s.Root, name))
		fixtest.Check(t, err)
		if info.Mode() != want {
			t.Errorf("%s has %v, want %v", name, info.Mode(), want)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(s.Root, "other")); string(b) != "1\n" {
		t.Errorf("the other name of a hard link changed to %q", b)
	}
}

func TestApplyInGit(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"top.txt": "f:t\n", "pkg/a.txt": "f:one\n", "pkg/other.txt": "f:o\n"}
	after := fixtest.Files{"top.txt": "f:T\n", "pkg/a.txt": "f:two\n", "pkg/other.txt": "f:o\n", "pkg/new.txt": "f:n\n"}
	setup := func(t *testing.T) (*testTree, string, *fix.Proposal) {
		top, err := filepath.EvalSymlinks(t.TempDir())
		fixtest.Check(t, err)
		before.Write(t, top)
		commit := commitAll(t, top)
		s := treeOf(filepath.Join(top, "pkg"))
		fixtest.Check(t, os.MkdirAll(fixtest.Dir(s.Store), 0o700))
		return s, top, fixtest.Sealed(t, s.Store, "test", before, after,
			func(_ *draft.Draft, f *fix.Fix) { f.Base = &fix.Base{Commit: &commit, Sub: new("pkg")} })
	}
	tree := func(t *testing.T, top string) fixtest.Files {
		f := fixtest.Snapshot(t, top)
		maps.DeleteFunc(f, func(name, _ string) bool { return strings.HasPrefix(name, "pkg/.async") })
		return f
	}
	t.Run("the root in a sub-folder", func(t *testing.T) {
		t.Parallel()
		s, top, p := setup(t)
		fixtest.OK(t)(apply(t, s, p, Options{}))
		fixtest.Same(t, "applied", tree(t, top), after.With())
		got, err := apply(t, s, p, Options{})
		if err != nil || !got.Already {
			t.Errorf("H16 apply twice, the files now dirty: %+v %v", got, err)
		}
		if log := gitRun(t, top, "log", "--oneline"); strings.Count(log, "\n") != 0 {
			t.Errorf("committed: %s", log)
		}
	})
	// The fix may have been made on a dirty file: its base is then the dirty content.
	dirty := maps.Clone(before)
	dirty["pkg/a.txt"] = "f:dirty\n"
	for name, make := range map[string]func(t *testing.T, top string){
		"changed": func(*testing.T, string) {},
		"staged":  func(t *testing.T, top string) { gitRun(t, top, "add", "pkg/a.txt") },
		"untracked": func(t *testing.T, top string) {
			gitRun(t, top, "rm", "-q", "--cached", "pkg/a.txt")
			gitRun(t, top, "commit", "-q", "-m", "y")
		},
		"hidden": func(t *testing.T, top string) { gitRun(t, top, "update-index", "--assume-unchanged", "pkg/a.txt") },
	} {
		t.Run("H17 apply on dirty touched file: "+name, func(t *testing.T) {
			t.Parallel()
			s, top, _ := setup(t)
			fixtest.Put(t, top, "pkg/a.txt", "f:dirty\n")
			make(t, top)
			p := fixtest.SealedIn(t, s.Store, fixtest.RunID, "second", fixtest.Change(dirty, after), nil)
			_, err := apply(t, s, p, Options{})
			if !errors.Is(err, ErrDirty) || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "pkg/a.txt") ||
				strings.Contains(err.Error(), "top.txt") {
				t.Errorf("%v", err)
			}
			fixtest.Same(t, "refused", tree(t, top), dirty.With())
			fixtest.OK(t)(apply(t, s, p, Options{AllowDirty: true}))
			fixtest.Same(t, "allowed", tree(t, top), after.With())
		})
	}
	t.Run("changed since, and not committed", func(t *testing.T) {
		t.Parallel()
		s, top, p := setup(t)
		fixtest.Put(t, top, "pkg/a.txt", "f:mine\n")
		fixtest.Put(t, top, "top.txt", "f:mine\n")
		gitRun(t, top, "commit", "-q", "-m", "y", "top.txt")
		_, err := apply(t, s, p, Options{})
		if want := "pkg/a.txt (changed), top.txt (changed); undo or stash your uncommitted edits of pkg/a.txt and apply again, merge it in with --3way --allow-dirty, or have a new fix proposed: async-pipeline heal " + fixtest.RunID + " test"; !errors.Is(err, ErrConflict) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v", err)
		}
	})
	t.Run("H18 apply on dirty untouched file", func(t *testing.T) {
		t.Parallel()
		s, top, p := setup(t)
		fixtest.Put(t, top, "pkg/other.txt", "f:mine\n")
		fixtest.OK(t)(apply(t, s, p, Options{}))
		want := maps.Clone(after)
		want["pkg/other.txt"] = "f:mine\n"
		fixtest.Same(t, "applied", tree(t, top), want.With())
	})
	t.Run("the repository is gone", func(t *testing.T) {
		t.Parallel()
		s, top, p := setup(t)
		fixtest.Check(t, os.RemoveAll(filepath.Join(top, ".git")))
		if _, err := apply(t, s, p, Options{}); !errors.Is(err, ErrRefused) ||
			!strings.Contains(err.Error(), "git work tree") {
			t.Errorf("%v", err)
		}
	})
}

func TestTwoFixesOnOneFile(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:1\n2\n3\n4\n5\n6\n7\n8\n9\n"}
	s := newTree(t, before)
	first := fixtest.Sealed(t, s.Store, "test", before, fixtest.Files{"a.txt": "f:ONE\n2\n3\n4\n5\n6\n7\n8\n9\n"}, nil)
	second := fixtest.Sealed(t, s.Store, "lint", before, fixtest.Files{"a.txt": "f:1\n2\n3\n4\n5\n6\n7\n8\nNINE\n"}, nil)
	fixtest.OK(t)(apply(t, s, first, Options{}))
	_, err := apply(t, s, second, Options{})
	if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(),
		"a.txt (changed: the fix for test of run "+fixtest.RunID+" was applied to it); merge it in with --3way, or have a new fix proposed: async-pipeline heal "+fixtest.RunID+" lint") || strings.Contains(err.Error(), "git") {
		t.Errorf("H14 the second fix of one file: %v", err)
	}
	s.holds(t, "H14", fixtest.Files{"a.txt": "f:ONE\n2\n3\n4\n5\n6\n7\n8\n9\n"})
}

func TestTwoAppliesAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 10 {
		s, p := proposed(t, everyKind, everyKindAfter)
		q := fixtest.Sealed(t, s.Store, "lint", everyKind, fixtest.Files{}, nil)
		var wg sync.WaitGroup
		results := make([]string, 3)
		for i, p := range []*fix.Proposal{p, p, q} {
			wg.Go(func() {
				other := treeOf(s.Root) // as another process has it
				got, err := apply(t, other, p, Options{})
				switch {
				case errors.Is(err, ErrConflict):
					results[i] = "conflict"
				case err != nil:
					results[i] = err.Error()
				default:
					results[i] = fmt.Sprint(got.Already)
				}
			})
		}
		wg.Wait()
		slices.Sort(results[:2])
		switch got := strings.Join(results, " "); got {
		case "false true conflict":
			s.holds(t, "applied", everyKindAfter)
		case "conflict conflict false":
			s.holds(t, "the other", fixtest.Files{})
		default:
			t.Errorf("round %d: %s", round, got)
		}
		settled(t, s)
	}
}

func TestApplyWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	s, p := proposed(t, fixtest.One, fixtest.Two)
	lock, err := s.lock(t.Context())
	fixtest.Check(t, err)
	defer func() { fixtest.Check(t, lock.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Apply(ctx, p, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	fixtest.Check(t, os.WriteFile(s.transaction(nil).file(), []byte("{}"), 0o600))
	if _, err := s.Recover(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Recover: %v", err)
	}
}

// gitRun runs git in dir with no configuration of anybody.
func gitRun(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commitAll makes dir a repository that holds everything but .async.
func commitAll(t testing.TB, dir string) string {
	t.Helper()
	gitRun(t, dir, "init", "-q")
	fixtest.Check(t, os.WriteFile(filepath.Join(dir, ".git", "info", "exclude"), []byte(".async\n"), 0o600))
	gitRun(t, dir, "add", "-A")
	gitRun(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
	return gitRun(t, dir, "rev-parse", "HEAD")
}
