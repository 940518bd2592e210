package scratch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

// What a bin removes is out of the way at once, nobody takes it for a leftover while its remover lives, and Sweep
// finds it afterwards.
func TestBin(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "home-1")
	must(t, Folder(dir))
	write(t, parent, map[string]string{"home-1/ro/x": "1"})
	must(t, os.Chmod(filepath.Join(dir, "ro"), 0o500))
	gone, err := setAside(dir, parent)
	must(t, err)
	must(t, Folder(dir)) // its name is free
	if _, err := os.Stat(filepath.Join(gone, "ro", "x")); err != nil {
		t.Error(err)
	}
	if left, err := Leftovers(parent); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	dead, err := json.Marshal(stamp{1, process.Stamp{PID: 1 << 30, Start: 1, Boot: process.Self().Boot}})
	must(t, err)
	must(t, os.WriteFile(gone+stampSuffix, dead, 0o600))
	left, err := Sweep(parent, nil)
	if err != nil || len(left) != 1 || left[0].Dir != gone {
		t.Errorf("%v %v", left, err)
	}

	var b Bin
	must(t, b.Remove(dir))
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it is still there")
	}
	must(t, b.Remove(dir), b.Empty(), b.Empty())
	must(t, Folder(dir), b.Remove(dir)) // too late: for Sweep
	if left, err := filepath.Glob(filepath.Join(parent, ".gone-*")); err != nil || len(left) != 2 {
		t.Errorf("%v %v", left, err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 2 {
		t.Errorf("%v %v", left, err)
	}
}

// The copies of a base, and the base, are removed by its bin.
func TestBinOfABase(t *testing.T) {
	t.Parallel()
	var bin Bin
	b := makeBase(t, Source{Root: newRepo(t, map[string]string{"a": "1"}), Bin: &bin})
	c := makeCopy(t, b)
	bin.mu.Lock() // nothing is removed yet
	bin.emptied = true
	bin.mu.Unlock()
	must(t, c.Close(), b.Close())
	left, err := filepath.Glob(filepath.Join(filepath.Dir(b.holder), ".gone-*"))
	if err != nil || len(left) != 4 { // each with its stamp
		t.Errorf("%v %v", left, err)
	}
}
