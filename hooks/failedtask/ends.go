package failedtask

import (
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// mostLogs is how many logs Ends reads for fingerprints that no fix has recorded.
const mostLogs = 200

// Ends returns how the tasks of all runs with a verdict ended, oldest first, for fix.Follow, and counts the runs. A
// log is read when its fingerprint is asked for, the first 200 of them only. The errors name what cannot be read.
func Ends(store *record.Store) (ends []fix.End, runs fix.RunStats, errs []error) {
	ids, err := store.IDs()
	if err != nil {
		return nil, runs, []error{err}
	}
	logs := 0
	for _, id := range slices.Backward(ids) {
		e := store.Entry(id)
		runs.Total++
		if runs.First == nil && !record.Ahead(id) { // how old such a run is nobody knows
			runs.First = &id
		}
		switch {
		case e.Err != nil:
			runs.Unreadable++
			errs = append(errs, e.Err)
			continue
		case e.Live:
			runs.Running++
			continue
		case e.Sealed == nil:
			runs.Interrupted++
			continue
		}
		run := e.Sealed
		switch run.Status {
		case record.Passed:
			runs.Passed++
		case record.Failed:
			runs.Failed++
		default:
			runs.Interrupted++
		}
		runs.WallClockMS += run.DurationMS
		for i := range run.Tasks {
			t := &run.Tasks[i]
			passed := t.Status == record.Passed || t.Status == record.Cached
			if !passed && !Failed(t) || passed && len(t.Args) > 0 { // with arguments it may have checked less
				continue
			}
			ends = append(ends, fix.End{
				Run: run.ID, Task: t.Name, At: began(run, t), Passed: passed,
				Fingerprint: func() string {
					if logs++; logs > mostLogs {
						return ""
					}
					s, log := Signature(run, t)
					return testreport.Fingerprint(called(t), s, log)
				},
			})
		}
	}
	return ends, runs, errs
}

// began returns when a task began, or its run. It judged what was in the tree then.
func began(run *record.Sealed, t *record.Task) time.Time {
	if t.StartedAt != nil && !t.StartedAt.IsZero() {
		return t.StartedAt.Time
	}
	return run.StartedAt.Time
}
