package fix

import (
	"slices"
	"time"
)

// A stay is the last time during which every file of a fix was in the tree; the zero value: never.
type stay struct{ from, until time.Time } // zero until: it still is

func stayOf(f *Fix, all []StateChange) stay {
	if f.State != Proposed || f.Patch == nil {
		return stay{}
	}
	var s stay
	for i, d := range all {
		at, err := time.Parse(time.RFC3339, d.At)
		if err != nil {
			continue // cannot happen in a chain that is whole
		}
		_, in := DispositionOf(f, all[:i+1])
		switch whole := len(in) == len(f.Patch.Files); {
		case whole && (s.from.IsZero() || !s.until.IsZero()):
			s = stay{from: at}
		case !whole && !s.from.IsZero() && s.until.IsZero():
			s.until = at
		}
	}
	return s
}

// includes reports whether the fix was in the tree at a time.
func (s stay) includes(at time.Time) bool {
	return !s.from.IsZero() && at.After(s.from) && (s.until.IsZero() || at.Before(s.until))
}

// An End is how a task ended in a recorded run.
type End struct {
	Run, Task   string
	At          time.Time     // when the run began
	Passed      bool          // else it failed
	Fingerprint func() string // of a failure that no fix has the fingerprint of; "": not known
}

// Follow sets PassedIn, RecurredIn and Without of items from how tasks ended, oldest first. A reverted fix is
// followed until then. A pass belongs to the last fix of the same failure that was applied before it. Fingerprints
// are taken from items where they have them.
func Follow(items []Item, ends []End) {
	type failure struct{ run, task string }
	known := map[failure]string{}
	applied := map[string][]*Item{} // by task
	waiting := map[string][]*Item{} // by task: those that are open and that nobody ever applied
	for i := range items {
		it := &items[i]
		if it.Fingerprint != nil {
			known[failure{it.Run, it.Task}] = *it.Fingerprint
		}
		if !it.inTree.from.IsZero() {
			applied[it.Task] = append(applied[it.Task], it)
		} else if it.Disposition == Open {
			waiting[it.Task] = append(waiting[it.Task], it)
		}
	}
	for _, e := range ends {
		for _, it := range waiting[e.Task] {
			it.without(e)
		}
		for _, it := range applied[e.Task] {
			if !it.inTree.includes(e.At) {
				continue
			}
			if e.Passed {
				if it.PassedIn == nil && !it.replaced(applied[e.Task], e.At) {
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

// replaced reports whether another fix of the same failure was applied after this one and was in the tree at a time.
func (i *Item) replaced(all []*Item, at time.Time) bool {
	return slices.ContainsFunc(all, func(o *Item) bool {
		return o != i && i.Fingerprint != nil && o.Fingerprint != nil && *o.Fingerprint == *i.Fingerprint &&
			o.inTree.from.After(i.inTree.from) && o.inTree.includes(at)
	})
}

// without sets Without: the run since which the task of an open fix passes.
func (i *Item) without(e End) {
	made, err := time.Parse(time.RFC3339, i.CreatedAt)
	switch {
	case err != nil || !e.At.After(made) || len(i.Applied) > 0:
	case !e.Passed:
		i.Without = nil
	case i.Without == nil:
		i.Without = &e.Run
	}
}

// Follow sets PassedIn, RecurredIn and Without of one fix, among the others.
func (s *Store) Follow(p *Proposal, ends []End) {
	items, _ := s.List() // what cannot be read is not followed
	n := slices.IndexFunc(items, func(i Item) bool { return i.of != nil && i.of.Dir == p.Dir && i.of.Name == p.Name })
	if n < 0 {
		n, items = len(items), append(items, p.item())
	}
	Follow(items, ends)
	p.PassedIn, p.RecurredIn, p.Without = items[n].PassedIn, items[n].RecurredIn, items[n].Without
}

// Recurring returns the items whose failure came back although they were in the tree.
func Recurring(items []Item) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return len(i.RecurredIn) == 0 })
}
