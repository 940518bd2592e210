package fix

import (
	"time"
)

// quotaRuns is how many of the newest runs ResumesAt reads.
const quotaRuns = 20

// ResumesAt returns when an agent that ran into a limit can go on, as its newest recorded attempt said, and the
// error kind of that attempt. The zero time: it can now, as far as is known.
func (s *Store) ResumesAt(agent string, now time.Time) (at time.Time, kind string) {
	runs, _ := s.Runs() // what cannot be read is no reason to wait
	if len(runs) > quotaRuns {
		runs = runs[len(runs)-quotaRuns:]
	}
	var newest *Attempt
	for _, run := range runs {
		all, _, _ := s.ended(run)
		for _, p := range all {
			for i := range p.Attempts {
				if a := &p.Attempts[i]; a.Agent == agent && (newest == nil || a.StartedAt >= newest.StartedAt) {
					newest = a
				}
			}
		}
	}
	if newest == nil || newest.Decision == nil || newest.Decision.ResumeAt == nil {
		return time.Time{}, ""
	}
	at, err := time.Parse(time.RFC3339, *newest.Decision.ResumeAt)
	if err != nil || !at.After(now) {
		return time.Time{}, ""
	}
	return at, kindOf(newest)
}
