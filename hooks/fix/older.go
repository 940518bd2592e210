// Several proposals for one task: what each is called for ever, and when an older one may still be applied.

package fix

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Exact is what a verb takes for this fix and no later one: the task, or TASK@N where it is not the first healing of it in
// its run.
func (f *Fix) Exact() string {
	if f.Patch == nil {
		return f.Task
	}
	if name := strings.TrimSuffix(path.Base(f.Patch.Path), ".patch"); number(name) > 1 {
		return calledBy(f.Task, name)
	}
	return f.Task
}

// Exact is what a verb takes for this fix and no other: the task, or TASK@N where it was healed more than once in its run, or
// where only that applies it.
func (p *Proposal) Exact() string {
	if p.several || p.ByNumber {
		return calledBy(p.Task, p.name)
	}
	return p.Task
}

// verified says whether a proposal was verified.
func (p *Proposal) verified() bool {
	return p.State == Proposed && p.Verdict != nil && *p.Verdict == "verified"
}

// inTheTree says whether any of a proposal was applied and not reverted.
func (p *Proposal) inTheTree() bool {
	return len(p.Applied)+len(partly(&p.Fix, p.decided)) > 0
}

// waits says whether a person may still decide for a proposal.
func (p *Proposal) waits() bool { return p.Disposition == open || p.Disposition == superseded }

// compared fills in what the one that counts and the others of one run and task have to do with each other.
func (p *Proposal) compared(others []*Proposal) {
	of := slices.DeleteFunc(slices.Clone(others), func(o *Proposal) bool { return o.Task != p.Task })
	if len(of) == 0 {
		return
	}
	p.several = true
	in, best := p.inTheTree(), (*Proposal)(nil)
	if p.State == Proposed && p.waits() {
		p.among++
	}
	for _, o := range of {
		o.several = true
		in = in || o.inTheTree()
		if o.State != Proposed || !o.waits() {
			continue
		}
		p.among++
		if o.verified() && o.fault == nil && (best == nil || newer(o, best)) {
			best = o
		}
	}
	if best != nil && !in && p.State == Proposed && !p.verified() {
		p.Verified = &best.Called
	}
}

// Among is how many proposals of the task wait in the run, where there are several and none was named by its number; else 0.
func (p *Proposal) Among() int {
	if p.ByNumber || p.State != Proposed || p.among < 2 {
		return 0
	}
	return p.among
}

// verifiedOne says which older one is verified, in a message; empty: none.
func (p *Proposal) verifiedOne() string {
	if p.Verified == nil {
		return ""
	}
	return "; " + *p.Verified + " is verified: async-pipeline fix apply " + p.Run + " " + quoted(*p.Verified)
}

// bySuperseding says what keeps a superseded proposal out of the tree that a person named by its number: a fix in its place is
// there. nil: nothing does.
func (s *Store) bySuperseding(p *Proposal) *Proposal {
	runs, _ := s.runs() // what cannot be read is said by fix list, and the checks of the tree stand
	for _, run := range runs {
		fixes, _ := s.healings(run)
		for _, o := range fixes {
			beside := o.Run == p.Run && o.Task == p.Task && o.name != p.name
			alike := p.Fingerprint != nil && o.Fingerprint != nil && *o.Fingerprint == *p.Fingerprint
			after := cmp.Compare(o.CreatedAt, p.CreatedAt) >= 0 && o.Run != p.Run
			if (beside || alike && after) && o.inTheTree() {
				return o
			}
		}
	}
	return nil
}

// barred says why a fix that a person decided on, or that a newer one took the place of, is not applied; nil: it may be.
func (w *work) barred() error {
	s, p := w.store, w.proposal
	last := func() string { return w.decisions[len(w.decisions)-1].At + because(w.decisions) }
	switch {
	case w.what != toApply:
	case w.disposition == rejected:
		return refused("this fix was rejected at %s; heal again, or apply %s with git apply%s", last(), p.patchPath(), p.verifiedOne())
	case w.disposition == superseded && !p.ByNumber:
		return refused("this fix was superseded at %s; heal again, or name it by its number to apply it all the same: async-pipeline fix apply %s %s",
			last(), p.Run, quoted(calledBy(p.Task, p.name)))
	case w.disposition == superseded:
		if o := s.bySuperseding(p); o != nil {
			return refused("this fix was superseded at %s, and one in its place is in the tree; take that out first: async-pipeline fix revert %s %s",
				last(), o.Run, quoted(calledBy(o.Task, o.name)))
		}
	}
	return nil
}
