package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// The same failure again: when nothing is started for it, and what later runs say of a fix.

// MostOpen is how many proposals may wait for a person before runs make no more of them. The verb heal is not bounded by it:
// whoever types it asks for one more.
const MostOpen = 20

// signature is how a recorded task failed, and its log. Where the log was cut no test names are read: which ones are left
// differs from run to run.
func signature(run *record.Sealed, ended *record.Task) (testreport.Signature, []byte) {
	s := testreport.Signature{TimedOut: ended.Status == record.TimedOut}
	if ended.ExitCode != nil {
		s.ExitCode = *ended.ExitCode
	}
	if ended.Signal != nil {
		s.Signal = *ended.Signal
	}
	if ended.Log == nil {
		return s, nil
	}
	log, err := run.Tail(ended.Name, logLimit)
	if err != nil {
		return s, nil
	}
	if ended.Log.LeftOutBytes == 0 {
		s.Tests = testreport.Tests(log)
	}
	return s, log
}

// repeated says why a failure that was seen before is not healed again, or "". What a person asked for is never held back
// by what was there before; a second hook of the same task is by what the first one made.
func (h *healing) repeated(ctx context.Context) string {
	fixes := &fix.Store{Root: h.e.Store.Root, Dir: h.e.Store.Dir}
	alike, opened, _ := fixes.Earlier(*h.fix.Fingerprint) // what cannot be read holds nothing back, and is said by fix list
	var newer *fix.Proposal                               // the newest that was applied
	for _, p := range alike {
		if h.typed && p.CreatedAt < h.began {
			continue
		}
		if p.Disposition == "applied" && newer == nil {
			newer = p
		}
		fits, err := fixes.Fits(ctx, p)
		if err != nil || !fits {
			continue // a new proposal takes its place
		}
		look := "async-pipeline fix show " + p.Run + " " + word(p.Task)
		again := "to have another made: async-pipeline heal " + h.run.ID + " " + word(h.task.Name)
		switch {
		case p.Disposition == "open":
			return "open_proposal: run " + p.Run + " has an open one for the same failure of task " + p.Task + ": " + look
		case p.Disposition != "rejected":
		case newer == nil:
			return "rejected_proposal: the one of run " + p.Run + " for the same failure of task " + p.Task +
				" was rejected, and the files it touches are as they were; " + again
		default:
			// Somebody thought again since: what was decided last counts.
			if back := h.putBack(ctx, fixes, newer); back != "" {
				return "applied_proposal: the fix of run " + newer.Run + " for the same failure of task " + newer.Task +
					" was applied and is no longer in the tree; to have it back: " + back + "; " + again
			}
		}
	}
	for _, p := range alike {
		if p.Disposition == "applied" {
			h.note("the same failure as the one that the fix of run " + p.Run + " was applied for")
			if back := h.putBack(ctx, fixes, p); back != "" {
				h.note("that fix is no longer in the tree; to have it back: " + back)
			}
			break
		}
	}
	if opened >= MostOpen && !h.typed {
		return fmt.Sprintf("open_limit: %d proposals wait for a decision (async-pipeline fix list): apply or reject some, or type async-pipeline heal %s %s",
			opened, h.run.ID, word(h.task.Name))
	}
	return ""
}

// putBack is the command that applies an applied fix again: it fits, and is no longer in the tree. Empty: it is, or does not.
func (h *healing) putBack(ctx context.Context, fixes *fix.Store, p *fix.Proposal) string {
	p, err := fixes.Find(p.Run, p.Task)
	if err != nil {
		return ""
	}
	if r := fixes.Ready(ctx, p); r.Conflict != nil || r.Refused != nil || r.Nothing {
		return ""
	}
	back := "async-pipeline fix apply " + p.Run + " " + word(p.Task)
	for _, f := range p.Flags {
		back += " --accept " + word(f.ID)
	}
	return back
}

// word is a task's name as a person types it.
func word(name string) string {
	if strings.ContainsAny(name, "\"'[] $") {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

// supersede marks the proposals that the one just sealed takes the place of. Where that cannot be written both stay open.
func (h *healing) supersede(ctx context.Context) {
	fixes := &fix.Store{Root: h.e.Store.Root, Dir: h.e.Store.Dir}
	if err := fixes.Supersede(context.WithoutCancel(ctx), h.fix); err != nil {
		h.step("that it takes the place of an older proposal could not be recorded: %s", err)
	}
}

// mostLogs is how many logs Ends reads for fingerprints that no healing has recorded.
const mostLogs = 200

// Ends says how the tasks of all runs with a verdict ended, oldest first, for fix.Follow; and counts the runs. A log is read
// only when its fingerprint is asked for, the first 200 of them. What cannot be read is in the errors.
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
			if !passed && !failed(t) {
				continue
			}
			ends = append(ends, fix.End{
				Run: run.ID, Task: t.Name, At: began(run, t), Passed: passed,
				Fingerprint: func() string {
					if logs++; logs > mostLogs {
						return ""
					}
					s, log := signature(run, t)
					return testreport.Fingerprint(t.Name, s, log)
				},
			})
		}
	}
	return ends, runs, errs
}

// began is when a task began, or its run: what was in the tree then is what it judged.
func began(run *record.Sealed, t *record.Task) time.Time {
	if t.StartedAt != nil && !t.StartedAt.IsZero() {
		return t.StartedAt.Time
	}
	return run.StartedAt.Time
}
