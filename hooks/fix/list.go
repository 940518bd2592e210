package fix

import (
	"cmp"
	"slices"
	"time"
)

// An Item is one line of `fix list --json`.
type Item struct {
	Run         string   `json:"run"`
	Task        string   `json:"task"`
	Name        string   `json:"name"` // what a verb takes: the task, or TASK@N for an older proposal
	State       string   `json:"state"`
	Disposition string   `json:"disposition"` // open|applied|rejected|superseded|reverted|none
	Verdict     *string  `json:"verdict"`
	Flags       []Flag   `json:"flags"`
	Summary     *string  `json:"summary"`
	Files       []string `json:"files"`
	Applied     []string `json:"applied"` // those of Files that were applied and not reverted
	Partly      []Part   `json:"partly"`  // those of Files of which only some hunks are applied
	Edited      bool     `json:"edited"`  // it was applied as a person had edited the patch
	Rescue      []string `json:"rescue"`  // relative to the run's folder; of all fixes of this task in this run
	CreatedAt   string   `json:"created_at"`
	Fingerprint *string  `json:"fingerprint"` // of the failure

	// The first later run in which the task passed with the fix in the tree, and later runs with the same failure
	// although the fix was in the tree, oldest first. Follow sets them.
	PassedIn   *string  `json:"passed_in"`
	RecurredIn []string `json:"recurred_in"`

	Reason *string `json:"reason"` // why State is what it is
	Kind   *string `json:"kind"`   // error kind of the last attempt
	Later  *Later  `json:"later"`  // the newest fix of the task in the run that is newer than this and came to nothing

	// Of an open one: whether each file is as the fix found it, or as the fix makes it. apply.Tree.FitNow sets it.
	Fits *bool `json:"fits"`

	// The run since which the task passes, though the fix was never in the tree. Follow sets it.
	Without *string `json:"passed_without"`

	// TASK@N of an older fix that is verified and may be applied, where this is not verified.
	Verified *string `json:"verified_older"`

	of     *Proposal
	inTree stay
}

// Proposal returns the fix of the item; nil if List did not make it.
func (i *Item) Proposal() *Proposal { return i.of }

// List returns every fix, newest first: those that count (see InRun) and older proposals. A draft that was never
// sealed and whose maker is gone has State interrupted. The errors name what cannot be read.
func (s *Store) List() ([]Item, []error) {
	runs, errs := s.Runs()
	items := []Item{}
	for _, run := range runs {
		fixes, others, faults := s.InRun(run)
		errs = append(errs, faults...)
		for _, p := range slices.Concat(fixes, others) {
			if p.State == Proposed || p.Called == p.Task {
				items = append(items, p.item())
			}
		}
	}
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.Run, a.Run), cmp.Compare(a.Task, b.Task),
			cmp.Compare(number(b.of.Name), number(a.of.Name)))
	})
	return items, errs
}

func (p *Proposal) item() Item {
	i := Item{
		Run: p.Run, Task: p.Task, Name: p.Called, State: p.State, Disposition: p.Disposition, Verdict: p.Verdict,
		Flags: p.Flags, Files: []string{}, Applied: p.Applied, Partly: Partly(&p.Fix, p.Decided), Rescue: p.Rescue,
		CreatedAt: p.CreatedAt, Fingerprint: p.Fingerprint, Reason: p.Reason, Kind: p.Kind, Later: p.Later,
		Verified: p.Verified, Edited: AsEdited(p.Decided), inTree: p.inTree, of: p,
	}
	Fill(&i.RecurredIn)
	Fill(&i.Applied)
	Fill(&i.Partly)
	Fill(&i.Flags)
	Fill(&i.Rescue)
	if p.AgentSaid != nil {
		i.Summary = &p.AgentSaid.Summary
	}
	if p.Patch != nil {
		for _, f := range p.Patch.Files {
			i.Files = append(i.Files, f.Path)
		}
	}
	return i
}

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
