// Several proposals for one task: what each is called for ever, and when an older one may still be applied.

package fix

import (
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
		return CalledBy(f.Task, name)
	}
	return f.Task
}

// Exact is what a verb takes for this fix and no other: the task, or TASK@N where it was healed more than once in its run, or
// where only that applies it.
func (p *Proposal) Exact() string {
	if p.several || p.ByNumber {
		return CalledBy(p.Task, p.Name)
	}
	return p.Task
}

// verified says whether a proposal was verified.
func (p *Proposal) verified() bool {
	return p.State == Proposed && p.Verdict != nil && *p.Verdict == "verified"
}

// inTheTree says whether any of a proposal was applied and not reverted.
func (p *Proposal) InTheTree() bool {
	return len(p.Applied)+len(Partly(&p.Fix, p.Decided)) > 0
}

// waits says whether a person may still decide for a proposal.
func (p *Proposal) waits() bool { return p.Disposition == Open || p.Disposition == Superseded }

// compared fills in what the one that counts and the others of one run and task have to do with each other.
func (p *Proposal) compared(others []*Proposal) {
	of := slices.DeleteFunc(slices.Clone(others), func(o *Proposal) bool { return o.Task != p.Task })
	if len(of) == 0 {
		return
	}
	p.several = true
	in, best := p.InTheTree(), (*Proposal)(nil)
	if p.State == Proposed && p.waits() {
		p.among++
	}
	for _, o := range of {
		o.several = true
		in = in || o.InTheTree()
		if o.State != Proposed || !o.waits() {
			continue
		}
		p.among++
		if o.verified() && o.Fault == nil && (best == nil || newer(o, best)) {
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
