package main

import (
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// noteInterrupted names the runs since the newest verdict that were ended without one. After the next verdict they
// are old, so each is named once.
func noteInterrupted(prog *program, store *record.Store) {
	ids, err := store.Interrupted()
	if err != nil || len(ids) == 0 {
		return // a store that cannot be read is said by what needs it
	}
	newest := ""
	if run, err := store.Find("latest"); err == nil {
		newest = run.ID
	}
	for _, id := range ids {
		if record.After(id, newest) {
			prog.Messages().Note("run " + id + " was ended before its verdict; what it recorded is in " + prog.Messages().Path(filepath.Join(store.Dir, "runs", id)))
		}
	}
}
