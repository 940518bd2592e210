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

// Ended is what the records of all runs tell for fix.Follow and fix.Stats.
type Ended struct {
	Tasks  []fix.End // of runs with a verdict, oldest first
	Agents []fix.AgentTask
	Runs   fix.RunStats
	Errs   []error // what cannot be read
}

// Ends reads how the tasks of all runs ended. A log is read when its fingerprint is asked for, the first 200 of them only.
func Ends(store *record.Store) (all Ended) {
	ids, err := store.IDs()
	if err != nil {
		return Ended{Errs: []error{err}}
	}
	runs := &all.Runs
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
			all.Errs = append(all.Errs, e.Err)
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
			if a := t.Agent; a != nil && a.DurationMS != nil { // else the cache answered it, or it did not start
				all.Agents = append(all.Agents, fix.AgentTask{
					Agent: a.Agent, DurationMS: *a.DurationMS, Tokens: fix.Tokens(a.Tokens), CostUSD: a.CostUSD, CostAtLeast: a.CostAtLeast,
				})
			}
			passed := t.Status == record.Passed || t.Status == record.Cached
			if !passed && !Failed(t) || passed && len(t.Args) > 0 { // with arguments it may have checked less
				continue
			}
			all.Tasks = append(all.Tasks, fix.End{
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
	return all
}

// began returns when a task began, or its run. It judged what was in the tree then.
func began(run *record.Sealed, t *record.Task) time.Time {
	if t.StartedAt != nil && !t.StartedAt.IsZero() {
		return t.StartedAt.Time
	}
	return run.StartedAt.Time
}
