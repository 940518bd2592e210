package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An unfinished file is where nothing counts as a change, so that a process that is killed leaves nothing in a
// patch.
func TestUnfinishedIsNoChange(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"d/a": "old\n"})
	top := w.root.Name()
	apart, err := w.apart("a.txt", []byte("half"), nil) // and no more: it was killed here
	if err != nil || !strings.HasPrefix(apart, ".async/") || w.content(t, apart) != "half" {
		t.Fatalf("%q, %v", apart, err)
	}
	w.do(t, "list", o{}, "ok", ".: 1 entry\nd/\n")
	w.do(t, "list", o{"path": "d"}, "ok", "d: 1 entry\na\n")
	w.do(t, "write", o{"path": "d/new", "content": "x\n"}, "ok")
	if w.content(t, apart) != "half" {
		t.Error("what another left was taken")
	}
	w.tidy(apart)
	w.do(t, "edit", o{"path": "d/a", "old": "old", "new": "new"}, "ok")
	if _, err := os.Lstat(filepath.Join(top, ".async")); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
}

// The agent's commands may have put something else where our folder belongs.
func TestUnfinishedIsNotLedAway(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(at, top string) error{
		"link": func(at, top string) error { return os.Symlink("d", at) },
		"out":  func(at, top string) error { return os.Symlink(filepath.Dir(top), at) },
		"file": func(at, top string) error { return os.WriteFile(at, []byte("x"), 0o600) },
	} {
		w := workIn(t, map[string]string{"d/a": "old\n"})
		if err := make(filepath.Join(w.root.Name(), ".async"), w.root.Name()); err != nil {
			t.Fatal(err)
		}
		apart, err := w.apart("a.txt", []byte("half"), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if info, err := os.Lstat(filepath.Join(w.root.Name(), ".async")); err != nil || !info.IsDir() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		w.tidy(apart)
		w.do(t, "list", o{"path": "d"}, "ok", "d: 1 entry\na\n")
	}
}

// A write that cannot end leaves nothing.
func TestSaveThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"d/a": "x\n"})
	if err := w.save("d", []byte("x"), nil); err == nil || !strings.Contains(err.Error(), "d could not be written") {
		t.Errorf("%v", err)
	}
	w.do(t, "list", o{}, "ok", ".: 1 entry\nd/\n")
	if _, err := os.Lstat(filepath.Join(w.root.Name(), ".async")); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
}

// Python tells a source from the one it compiled by whole seconds and size: what is edited twice in a second is run
// as it is.
func TestSaveIsSeenByPython(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"calc.py": "a - b\n", "calc.txt": "a - b\n"})
	for _, name := range []string{"calc.py", "calc.txt"} {
		before := w.second(t, name)
		w.do(t, "edit", o{"path": name, "old": "-", "new": "+"}, "ok")
		w.do(t, "edit", o{"path": name, "old": "+", "new": "*"}, "ok")
		if after := w.second(t, name); name == "calc.py" && after < before+2 {
			t.Errorf("%s was written in second %d and edited twice in %d", name, before, after)
		}
		if text := w.content(t, name); text != "a * b\n" {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// second is the one in which a file changed last.
func (w *Toolset) second(t *testing.T, name string) int64 {
	t.Helper()
	info, err := w.root.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime().Unix()
}
