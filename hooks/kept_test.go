package hooks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// keeps makes a kept folder of root with a file that cannot be removed at once, last used so long ago.
func keeps(t *testing.T, cache, name, root string, ago time.Duration) string {
	t.Helper()
	dir := filepath.Join(cache, "kept", name)
	sub := filepath.Join(dir, "check", "go-mod", "m")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sub, "x"), make([]byte, 1000), 0o400); err != nil {
		t.Fatal(err)
	}
	if root != "" {
		if err := (places{kept: dir}).used(root); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Now().Add(-ago)
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, at, at))
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(sub, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(sub, 0o700) }) // for who removes it, where it is still there
	return dir
}

func TestKept(t *testing.T) {
	t.Parallel()
	cache, root := t.TempDir(), t.TempDir()
	if all, err := AllKept(cache); len(all) > 0 || err != nil {
		t.Fatalf("of nothing: %v, %v", all, err)
	}
	const day = 24 * time.Hour
	forgotten := map[string]bool{
		keeps(t, cache, "used", root, 29*day):                            false,
		keeps(t, cache, "unused", root, 31*day):                          true,
		keeps(t, cache, "moved", filepath.Join(root, "gone"), time.Hour): true,
		keeps(t, cache, "nameless", "", 29*day):                          false,
		keeps(t, cache, "oldnameless", "", 31*day):                       true,
		keeps(t, cache, doomed+"x", root, time.Hour):                     true,
		keeps(t, cache, "busy", root, 31*day):                            false,
	}
	work := filepath.Join(cache, "scratch", "busy")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := scratch.Folder(filepath.Join(work, "base-1")); err != nil {
		t.Fatal(err)
	}
	all, err := AllKept(cache)
	if err != nil || len(all) != len(forgotten) {
		t.Fatalf("%d, %v", len(all), err)
	}
	for _, k := range all {
		want := forgotten[k.Dir]
		if got := k.Forgotten(time.Now()); got != want || k.Bytes < 1000 {
			t.Errorf("%s: forgotten %v, want %v: %+v", k.Dir, got, want, k)
		}
		removed, err := RemoveKept(k)
		if err != nil || removed == k.Busy {
			t.Errorf("%s: removed %v, %v", k.Dir, removed, err)
		}
		if exists(k.Dir) == removed {
			t.Errorf("%s: removed %v, and there is %v", k.Dir, removed, exists(k.Dir))
		}
	}
	entries, err := os.ReadDir(filepath.Join(cache, "kept"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "busy" {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// Build caches of a root in which somebody heals stay, whatever their age.
func TestKeptWhileHealing(t *testing.T) {
	t.Parallel()
	cache, root := t.TempDir(), t.TempDir()
	dir := keeps(t, cache, "a", root, 90*24*time.Hour)
	lock, err := record.At(root).HealLock()
	if err != nil {
		t.Fatal(err)
	}
	all, err := AllKept(cache)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if removed, err := RemoveKept(all[0]); removed || err != nil || !exists(dir) {
		t.Errorf("removed %v, %v", removed, err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if removed, err := RemoveKept(all[0]); !removed || err != nil || exists(dir) {
		t.Errorf("removed %v, %v", removed, err)
	}
}

// A kept folder says whose it is, and that it was used.
func TestKeptIsMarked(t *testing.T) {
	t.Parallel()
	cache, root := t.TempDir(), t.TempDir()
	dir := keeps(t, cache, "a", root, 90*24*time.Hour)
	if err := (places{kept: dir}).used(root); err != nil {
		t.Fatal(err)
	}
	all, err := AllKept(cache)
	if err != nil || all[0].Root != root || time.Since(all[0].Used) > time.Minute || all[0].Forgotten(time.Now()) {
		t.Errorf("%+v, %v", all, err)
	}
}
