package files

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// newMemory is a memory of a tree with the given patterns of inputs.
func newMemory(root string, patterns ...string) *Memory {
	m := &Memory{Cache: filepath.Join(root, ".async", "cache"), Dir: filepath.Join(root, ".async", "cache"), Root: root}
	m.Want(nil, ParseAll(patterns))
	return m
}

func look(t *testing.T, m *Memory) *View {
	t.Helper()
	v, err := m.Look(context.Background())
	must(t, err)
	return v
}

// A tree that did not change is shown by the same view. What its links lead to is read again: it may be elsewhere.
func TestLookAgain(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "tree")
	outside := filepath.Join(filepath.Dir(root), "outside")
	write := func(name, text string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600))
	}
	write(filepath.Join(root, "a"), "a")
	write(outside, "one")
	must(t, os.Symlink("../outside", filepath.Join(root, "l")))
	time.Sleep(50 * time.Millisecond) // else the files are too fresh to be known
	m := newMemory(root, "**")
	inputs := func(v *View) string {
		t.Helper()
		all, err := v.Inputs(root, []string{"**"}, nil)
		if err != nil || len(all) != 2 || all[1].Path != "l" {
			t.Fatalf("%v %v", all, err)
		}
		return all[1].Link
	}
	first := look(t, m)
	was := inputs(first)
	if v := look(t, m); v != first || inputs(v) != was {
		t.Errorf("an unchanged tree: another view, or l was %q and is %q", was, inputs(v))
	}
	write(outside, "two")
	if got := inputs(look(t, m)); got == was {
		t.Errorf("what l leads to changed, and l is still %q", got)
	}
	write(filepath.Join(root, "a"), "A") // as long as before
	if look(t, m) == first {
		t.Error("a changed, and the view is the same")
	}
}

// What git said is stored when it was asked, and what was read again as well, so that the next run does neither.
func TestSavedAnswers(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	root := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		must(t, exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...).Run())
	}
	git("init", "-q")
	git("init", "-q", "inner")
	a := filepath.Join(root, "a")
	must(t, os.WriteFile(a, []byte("a"), 0o600))
	save := func() (m *Memory) {
		t.Helper()
		time.Sleep(50 * time.Millisecond)
		m = newMemory(root, "**")
		look(t, m)
		must(t, os.MkdirAll(m.Dir, 0o755), m.Save())
		return m
	}
	save()
	for what, change := range map[string]func(){
		"the index of git":  func() { git("add", "a") },
		"the times of a":    func() { must(t, os.Chtimes(a, time.Now(), time.Now())) },
		"nothing, at first": func() {},
	} {
		change()
		save()
		again := newMemory(root, "**")
		again.load()
		if again.ignore.Rules != again.rules(context.Background()) {
			t.Errorf("%s: git would be asked again", what)
		}
		if look(t, again); again.stale {
			t.Errorf("%s: files were read again", what)
		}
	}
}

// Whatever decides what git ignores is noticed when it changes, also where sizes and times are the same.
func TestRulesNoticed(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	top := filepath.Join(t.TempDir(), "top")
	then := time.Unix(1_700_000_000, 0)
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(top, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600), os.Chtimes(at, then, then))
	}
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-C", top, "-c", "user.name=n", "-c", "user.email=e"}, args...)
		must(t, exec.CommandContext(t.Context(), "git", args...).Run())
	}
	write("proj/a", "a")
	git("init", "-q")
	git("add", "proj/a")
	git("commit", "-qm", "one")
	linked := filepath.Join(filepath.Dir(top), "linked")
	git("worktree", "add", "-q", linked)
	write(".gitignore", "*.log\n")
	write(".git/info/exclude", "*.log\n")
	replace := func(name string) { // by a file of the same content, size and time, as git does
		t.Helper()
		at := filepath.Join(top, name)
		b, err := os.ReadFile(at)
		must(t, err, os.WriteFile(at+".new", b, 0o600), os.Chtimes(at+".new", then, then), os.Rename(at+".new", at))
	}
	replace(".git/index")
	for what, change := range map[string]struct {
		root string
		do   func()
	}{
		".gitignore above the root": {filepath.Join(top, "proj"), func() { write(".gitignore", "*.lag\n") }},
		"info/exclude":              {top, func() { write(".git/info/exclude", "*.leg\n") }},
		"the index":                 {top, func() { replace(".git/index") }},
		"the configuration":         {top, func() { replace(".git/config") }},
		"info/exclude of all":       {linked, func() { write(".git/info/exclude", "*.lig\n") }},
	} {
		m := newMemory(change.root, "**")
		was := m.rules(context.Background())
		if again := newMemory(change.root, "**").rules(context.Background()); again != was {
			t.Errorf("%s: it differs without a change", what)
		}
		change.do()
		if m.rules(context.Background()) == was {
			t.Errorf("%s: the change is not noticed", what)
		}
	}
}

// What is in a repository in the tree git does not ignore for the one around it, from when that repository is there.
func TestRepositoryAppears(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	root := t.TempDir()
	git := func(dir string) {
		t.Helper()
		must(t, exec.CommandContext(t.Context(), "git", "init", "-q", filepath.Join(root, dir)).Run())
	}
	git("")
	must(t, os.MkdirAll(filepath.Join(root, "src/k"), 0o755))
	for name, text := range map[string]string{".gitignore": "*.log\n", "src/k/x.log": "x", "src/a": "a"} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	scope := Scope{In: ParseAll([]string{"src/**"}), Paths: []string{"src"}}
	for _, part := range []bool{false, true} {
		m := newMemory(root, "src/**")
		inputs := func(v *View) (n int) {
			t.Helper()
			all, err := v.Inputs(root, []string{"src/**"}, nil)
			must(t, err)
			return len(all)
		}
		if n := inputs(look(t, m)); n != 1 {
			t.Fatalf("%d inputs, want src/a", n)
		}
		git("src/k")
		if part {
			if _, ok, err := m.Part(context.Background(), scope); ok || err != nil {
				t.Errorf("a part of the tree is shown without asking git: %v", err)
			}
		}
		if n := inputs(look(t, m)); n != 2 {
			t.Errorf("%d inputs after a repository appeared, want src/k/x.log too", n)
		}
		if v, ok, err := m.Part(context.Background(), scope); !ok || err != nil || inputs(v) != 2 {
			t.Errorf("a part of the tree: %v %v", ok, err)
		}
		must(t, os.WriteFile(filepath.Join(root, "src/k/.git/index"), []byte("no index"), 0o600))
		if n := inputs(look(t, m)); n != 2 {
			t.Errorf("%d inputs with a repository that git cannot read", n)
		}
		must(t, os.RemoveAll(filepath.Join(root, "src/k/.git")))
		if n := inputs(look(t, m)); n != 1 {
			t.Errorf("%d inputs after the repository was gone", n)
		}
	}
}

// What is behind a link to a folder is no input: that is said, unless the pattern matches the link and another names what
// it leads to.
func TestBehindLinks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "alt/d"), 0o755), os.WriteFile(filepath.Join(root, "alt/d/a"), nil, 0o600),
		os.Symlink("alt", filepath.Join(root, "src")))
	for patterns, fault := range map[string]string{
		"src/d/a":        "src is a link",
		"src/d/*":        "src is a link",
		"src/d/**":       "src is a link",
		"src/**/*.c":     "src is a link",
		"src/**":         "src is a link",
		"src/** alt/**":  "",
		"alt/d/a":        "",
		"alt/d/a !src/x": "",
	} {
		texts := strings.Fields(patterns)
		m := newMemory(root, texts...)
		for range 2 {
			_, err := look(t, m).Inputs(root, texts, nil)
			if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
				t.Errorf("%s: %v", patterns, err)
			}
			v, ok, partErr := m.Part(context.Background(), Scope{In: ParseAll(texts), Paths: []string{ParseAll(texts)[0].Folder}})
			if !ok || partErr != nil {
				t.Fatalf("%s: %v %v", patterns, ok, partErr)
			}
			if strings.Contains(patterns, "alt/** ") {
				continue
			}
			if _, err := v.Inputs(root, texts, nil); fault != "" && err == nil {
				t.Errorf("%s: a part of the tree shows no fault", patterns)
			}
		}
	}
}

// A damaged answer of git is not used.
func TestDamagedAnswer(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	m := newMemory(root, "**")
	must(t, os.MkdirAll(m.Dir, 0o755))
	look(t, m)
	m.ignore.Top = []string{"src/b.log"}
	m.stale = true
	must(t, m.Save())
	at := filepath.Join(m.Dir, "ignored.json")
	b, err := os.ReadFile(at)
	must(t, err)
	for i := range b {
		damaged := bytes.Clone(b)
		damaged[i] ^= 1
		must(t, os.WriteFile(at, damaged, 0o600))
		again := newMemory(root, "**")
		again.load()
		if len(again.ignore.Top) > 0 && again.ignore.Top[0] != "src/b.log" {
			t.Errorf("with another byte at %d: %q", i, again.ignore.Top)
		}
	}
}

// What was made after git was asked what it ignores is told from what was there before, and from what is only edited.
func TestAnyMade(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name string) { must(t, os.WriteFile(filepath.Join(root, name), []byte(name), 0o600)) }
	write("a")
	m := newMemory(root, "**")
	found, err := m.walk(t.Context(), nil)
	must(t, err)
	if !m.anyMade(found, time.Now()) || m.anyMade(found, time.Now().Add(time.Minute)) {
		t.Error("the first walk")
	}
	m.known = found
	time.Sleep(12 * time.Millisecond) // the clock of files is coarse
	at := time.Now()
	write("a")
	edited, err := m.walk(t.Context(), nil)
	must(t, err)
	write("b")
	made, err := m.walk(t.Context(), nil)
	must(t, err)
	if m.anyMade(edited, at) || !m.anyMade(made, at) || len(edited.Anew) == 0 {
		t.Error("later walks")
	}
}
