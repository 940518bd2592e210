package main

import (
	"bytes"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// namesBytes is how much of the ends of logs, in bytes, is searched for failing tests, of all failed tasks together:
// reading takes some tenths of a second.
const namesBytes = 1 << 20

// failingOf returns the tests that the end of a failed task's log names. of is how many failed tasks share the
// budget.
func failingOf(s *record.Sealed, t *record.Task, of int) view.Failing {
	limit := max(namesBytes/of, tailBytes)
	log, err := s.Tail(t.Name, limit)
	if err != nil {
		return view.Failing{} // said where the end of the log is shown
	}
	cut := len(log) == limit
	if cut {
		log = log[bytes.IndexByte(log, '\n')+1:] // the first line is torn
	}
	return view.Failing{Names: testreport.Tests(log), MayBeMore: cut || t.Log.LeftOutBytes > 0}
}

// failingIn returns the failing tests of as many failed tasks as a summary shows.
func failingIn(s *record.Sealed) map[string]view.Failing {
	var failed []*record.Task
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Log != nil && (t.Status == record.Failed || t.Status == record.TimedOut) && len(failed) < view.MostFailures {
			failed = append(failed, t)
		}
	}
	all := map[string]view.Failing{}
	for _, t := range failed {
		all[t.Name] = failingOf(s, t, len(failed))
	}
	return all
}
