// Processes that killed runs left, and whose they are.
package main

import (
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// leftOf says of processes that killed runs left whether it was a run of this root: the root knows its runner or, where the
// record is gone, is the nearest above the folder that they were started in. What other roots have left is ended by their own next
// run, or by gc: who types a run here knows nothing of it.
func leftOf(store *record.Store) func(sandbox.Process) bool {
	known := map[process.Stamp]bool{}
	return func(p sandbox.Process) bool {
		made, asked := known[p.Runner]
		if !asked {
			made = store.Made(p.Runner)
			known[p.Runner] = made
		}
		return made || rootAbove(p.Dir) == realPath(store.Root)
	}
}

// rootAbove is the nearest folder with records, from dir upwards; empty where there is none.
func rootAbove(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	for at := realPath(dir); ; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(at, ".async")); err == nil && info.IsDir() {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// realPath is a path without links, as far as it is there.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// startedIn says where a process was started, as a part of a sentence.
func (h *hall) startedIn(p sandbox.Process) string {
	if p.Dir == "" {
		return ""
	}
	return ", started in " + h.said().Path(p.Dir)
}
