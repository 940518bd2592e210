package run

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// OrphansOf returns a function that reports whether a process was left by a killed run of this root: the records of
// the root know its runner or, where those are gone, the root is the nearest one above the folder in which the
// process was started. Orphans of other roots are ended by the next run there, or by gc.
func OrphansOf(store *record.Store) func(sandbox.Process) bool {
	known := map[process.Stamp]bool{}
	return func(p sandbox.Process) bool {
		made, asked := known[p.Runner]
		if !asked {
			made = store.Made(p.Runner)
			known[p.Runner] = made
		}
		return made || RootAbove(p.Dir) == sandbox.Resolved(store.Root)
	}
}

// RootAbove returns the nearest folder with records, from dir upwards; "" where there is none.
func RootAbove(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	for at := sandbox.Resolved(dir); ; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(at, ".async")); err == nil && info.IsDir() {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// endTime is how long the supervisors of a killed run may take to end its processes.
const endTime = sandbox.Grace + 2*time.Second

// LastingOrphans returns the processes of killed runs that are not being ended by their own supervisors. It may
// take endTime.
func LastingOrphans() ([]sandbox.Process, error) {
	left, err := sandbox.Orphans()
	for end := time.Now().Add(endTime); err == nil && len(left) > 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		var now []sandbox.Process
		now, err = sandbox.Orphans()
		left = slices.DeleteFunc(left, func(p sandbox.Process) bool { return !slices.Contains(now, p) })
	}
	return left, err
}
