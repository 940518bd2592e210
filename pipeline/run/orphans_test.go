package run

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A process belongs to the root that recorded its runner, else to the nearest root above the folder it was started in.
func TestOrphansOf(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	here, inner, elsewhere := filepath.Join(top, "here"), filepath.Join(top, "here", "inner"), filepath.Join(top, "elsewhere")
	for _, dir := range []string{filepath.Join(here, ".async"), filepath.Join(inner, ".async"), filepath.Join(here, "sub"), filepath.Join(elsewhere, ".async")} {
		check(t, os.MkdirAll(dir, 0o700))
	}
	check(t, os.Symlink(here, filepath.Join(top, "link")))
	store := record.At(here)
	if _, err := store.Begin(time.Now(), nil, nil); err != nil { // by this process
		t.Fatal(err)
	}
	heals := process.Stamp{PID: 1, Start: 2, Boot: "3"}
	check(t, os.WriteFile(filepath.Join(here, ".async", "heal.lock"), []byte(`{"pid": 1, "start": 2, "boot": "3"}`), 0o600))
	other := process.Stamp{PID: 4, Start: 5, Boot: "6"}
	for _, tt := range []struct {
		runner process.Stamp
		dir    string
		want   bool
	}{
		{process.Self(), "/", true},
		{process.Self(), elsewhere, true},
		{heals, "/", true},
		{other, "/", false},
		{other, "", false},
		{other, elsewhere, false},
		{other, inner, false},
		{other, here, true},
		{other, filepath.Join(here, "sub", "gone"), true},
		{other, filepath.Join(top, "link", "sub"), true},
	} {
		if got := OrphansOf(store)(sandbox.Process{Runner: tt.runner, Dir: tt.dir}); got != tt.want {
			t.Errorf("of runner %v, started in %s: %v", tt.runner, tt.dir, got)
		}
	}
}
