// Proposals that may not be applied any more.

package apply

import (
	"cmp"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// verifiedOne says which older one is verified, in a message; empty: none.
func verifiedOne(p *fix.Proposal) string {
	if p.Verified == nil {
		return ""
	}
	return "; " + *p.Verified + " is verified: async-pipeline fix apply " + p.Run + " " + quoted(*p.Verified)
}

// bySuperseding says what keeps a superseded proposal out of the tree that a person named by its number: a fix in its place is
// there. nil: nothing does.
func (t Tree) bySuperseding(p *fix.Proposal) *fix.Proposal {
	runs, _ := t.Fixes.Runs() // what cannot be read is said by fix list, and the checks of the tree stand
	for _, run := range runs {
		fixes, _ := t.Fixes.Healings(run)
		for _, o := range fixes {
			beside := o.Run == p.Run && o.Task == p.Task && o.Name != p.Name
			alike := p.Fingerprint != nil && o.Fingerprint != nil && *o.Fingerprint == *p.Fingerprint
			after := cmp.Compare(o.CreatedAt, p.CreatedAt) >= 0 && o.Run != p.Run
			if (beside || alike && after) && o.InTheTree() {
				return o
			}
		}
	}
	return nil
}

// barred says why a fix that a person decided on, or that a newer one took the place of, is not applied; nil: it may be.
func (w *work) barred() error {
	t, p := w.tree, w.proposal
	last := func() string { return w.decisions[len(w.decisions)-1].At + because(w.decisions) }
	switch {
	case w.what != toApply:
	case w.disposition == fix.Rejected:
		return refused("this fix was rejected at %s; heal again, or apply %s with git apply%s", last(), p.PatchPath(), verifiedOne(p))
	case w.disposition == fix.Superseded && !p.ByNumber:
		return refused("this fix was superseded at %s; heal again, or name it by its number to apply it all the same: async-pipeline fix apply %s %s",
			last(), p.Run, quoted(fix.CalledBy(p.Task, p.Name)))
	case w.disposition == fix.Superseded:
		if o := t.bySuperseding(p); o != nil {
			return refused("this fix was superseded at %s, and one in its place is in the tree; take that out first: async-pipeline fix revert %s %s",
				last(), o.Run, quoted(fix.CalledBy(o.Task, o.Name)))
		}
	}
	return nil
}
