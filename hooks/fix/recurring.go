// What happened after a fix was applied: the first run that passes, and runs with the same failure again.

package fix

import (
	"slices"
	"time"
)

// A stay is how long every file of a fix was in the tree, as far as decisions say. The zero stay: never.
type stay struct{ from, until time.Time } // zero until: it still is

// stayOf is the last of them.
func stayOf(f *Fix, all []decision) stay {
	if f.State != Proposed || f.Patch == nil {
		return stay{}
	}
	var s stay
	for i, d := range all {
		at, err := time.Parse(time.RFC3339, d.At)
		if err != nil {
			continue // a line that was not written by us in a chain that is whole: there is none
		}
		_, in := disposition(f, all[:i+1])
		switch whole := len(in) == len(f.Patch.Files); {
		case whole && (s.from.IsZero() || !s.until.IsZero()):
			s = stay{from: at}
		case !whole && !s.from.IsZero() && s.until.IsZero():
			s.until = at
		}
	}
	return s
}

// holds says whether the fix was in the tree at a time.
func (s stay) holds(at time.Time) bool {
	return !s.from.IsZero() && at.After(s.from) && (s.until.IsZero() || at.Before(s.until))
}

// An End is how a task ended in a recorded run.
type End struct {
	Run, Task   string
	At          time.Time     // when the run began
	Passed      bool          // else it failed
	Fingerprint func() string // of a failure that no healing has a fingerprint of; "" when it is not known
}

// Follow fills in PassedIn and RecurredIn of items from how tasks ended, oldest first. A fix that was reverted is followed
// up to then. The fingerprints of failures that were healed come from items.
func Follow(items []Item, ends []End) {
	type failure struct{ run, task string }
	known := map[failure]string{}
	applied := map[string][]*Item{} // by task
	for i := range items {
		it := &items[i]
		if it.Fingerprint != nil {
			known[failure{it.Run, it.Task}] = *it.Fingerprint
		}
		if !it.inTree.from.IsZero() {
			applied[it.Task] = append(applied[it.Task], it)
		}
	}
	for _, e := range ends {
		for _, it := range applied[e.Task] {
			if !it.inTree.holds(e.At) {
				continue
			}
			if e.Passed {
				if it.PassedIn == nil {
					it.PassedIn = &e.Run
				}
				continue
			}
			if it.Fingerprint == nil {
				continue
			}
			at := failure{e.Run, e.Task}
			print, ok := known[at]
			if !ok && e.Fingerprint != nil {
				print = e.Fingerprint()
				known[at] = print
			}
			if print == *it.Fingerprint {
				it.RecurredIn = append(it.RecurredIn, e.Run)
			}
		}
	}
}

// Follow is Follow for one proposal.
func (p *Proposal) Follow(ends []End) {
	items := []Item{p.item()}
	Follow(items, ends)
	p.PassedIn, p.RecurredIn = items[0].PassedIn, items[0].RecurredIn
}

// Recurring are the items whose failure came back although they were in the tree.
func Recurring(items []Item) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return len(i.RecurredIn) == 0 })
}
