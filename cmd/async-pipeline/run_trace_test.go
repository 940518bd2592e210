package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder that cannot be written in is said before anything runs.
func TestTraceInALockedFolder(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root writes everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	prog := process{dir: dir}.open()
	if _, err := traceFile(prog, filepath.Join(dir, "trace.json")); err == nil || !strings.Contains(err.Error(), "nothing can be written in the folder") {
		t.Errorf("%v", err)
	}
}
