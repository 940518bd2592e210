package scratch

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFolder(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "home-1")
	for range 2 { // a second time it is empty again
		if err := Folder(dir); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Fatalf("%v %v", entries, err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "read-only", "below"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "read-only"), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := Sweep(parent); err != nil || len(left) > 0 {
		t.Errorf("swept while its maker lives: %v %v", left, err)
	}
	// The stamp of a process that is no more: pid 1 of another boot.
	if err := os.WriteFile(dir+stampSuffix, []byte(`{"schema_version":1,"pid":1,"start":1,"boot":"another"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if left, err := Sweep(parent); err != nil || len(left) != 1 {
		t.Errorf("swept %v %v", left, err)
	}
	if err := Folder(dir); err != nil {
		t.Fatal(err)
	}
	if err := remove(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
		t.Errorf("left: %v %v", entries, err)
	}
}
