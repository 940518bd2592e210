package main

import (
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// sayInterrupted names the runs since the newest verdict that were ended without one: "the newest run" is none of them. The
// next verdict makes them old, so each is said once by a verb that runs.
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
