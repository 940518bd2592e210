// When an agent that ran into a limit says that it can go on.

package fix

import (
	"time"
)

// quotaRuns is how many of the newest runs are looked at.
const quotaRuns = 20

// ResumesAt is when an agent can go on, by what the newest attempt of it on record said, and the error kind of that; the zero time:
// it can now, as far as anybody knows.
func (s *Store) ResumesAt(agent string, now time.Time) (at time.Time, kind string) {
	runs, _ := s.Runs() // what cannot be read holds nothing back
	if len(runs) > quotaRuns {
		runs = runs[len(runs)-quotaRuns:]
	}
	var newest *Attempt
	for _, run := range runs {
		all, _ := s.Healings(run)
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
