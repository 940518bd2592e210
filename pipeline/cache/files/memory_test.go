package files

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
	m := &Memory{Dir: filepath.Join(root, ".async", "cache"), Root: root}
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
