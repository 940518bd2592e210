package fix

import (
	"cmp"
	"slices"
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
		Verified: p.Verified, inTree: p.inTree, of: p,
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
