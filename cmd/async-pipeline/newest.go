// Which run is meant where none is named.
package main

import (
	"errors"
	"slices"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// newestRun returns the newest run with a verdict or, where that does not have the task, a newer one without a
// verdict that has it. An empty task is any. A newer run that is not meant is named in a note, with the command from
// typed.
func newestRun(prog *program, store *record.Store, task string, typed func(newer record.Entry) string) (record.Entry, error) {
	e, err := lookRun(store, "latest")
	newer, names, there := unsealedAfter(store, e.ID)
	switch {
	case !there, err != nil && !errors.As(err, new(*exit.Error)):
		return e, err
	case err != nil, task != "" && e.Sealed.Task(task) == nil && slices.Contains(names, task):
		return newer, nil //nolint:nilerr // nothing has a verdict: this is what there is
	case newer.Live:
		prog.Messages().Note("run " + newer.ID + " is still running; " + typed(newer))
	default:
		prog.Messages().Note("run " + newer.ID + " is newer and was ended before its verdict; " + typed(newer))
	}
	return e, nil
}

// unsealedAfter returns the newest run without a verdict that began after another one ("": of all), and its tasks.
func unsealedAfter(store *record.Store, id string) (newer record.Entry, tasks []string, there bool) {
	ids, err := store.IDs()
	if err != nil {
		return newer, nil, false // said by whatever is done instead
	}
	for _, later := range ids {
		if later == id {
			break
		}
		if store.HasVerdict(later) {
			continue
		}
		if e := store.Entry(later); e.Sealed == nil && e.Err == nil {
			begun, _ := store.Beginning(later) // what cannot be read has no task
			return e, begun.Names, true
		}
	}
	return newer, nil, false
}
