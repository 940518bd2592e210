package apply

import (
	"cmp"
	"context"
	"fmt"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A record is a fix whose record was checked: it is whole, of the run beside it, made here, and a proposal.
type record struct {
	*fix.Proposal
	root
	parsed      *patch.Patch
	touched     map[string]fix.PatchFile // every file of the patch, by path
	changes     []fix.StateChange        // what people did with the fix
	disposition string
	extents     map[string]fix.Extent // how much of each file is applied
	history     map[string][]step     // what earlier applies wrote to each file
}

// record checks the record of a fix, before an apply or a revert.
func (t Tree) record(ctx context.Context, p *fix.Proposal, kind string) (*record, error) {
	changes, err := readState(p)
	if err != nil {
		return nil, err
	}
	r := &record{
		Proposal: p, changes: changes, extents: fix.Extents(&p.Fix, changes),
		history: historyOf(&p.Fix, changes),
	}
	r.disposition, _ = fix.DispositionOf(&p.Fix, changes)
	if p.State != fix.Proposed || p.Patch == nil {
		return nil, refused("no fix is proposed for task %s of run %s (%s); there is no patch", p.Task, p.Run, p.State)
	}
	if recordfile.Digest(p.Diff) != p.Patch.Digest {
		return nil, refused("%w: the patch is not the one that was proposed; run heal again", fix.ErrDamaged)
	}
	if kind == toApply {
		if err := t.barred(r); err != nil {
			return nil, err
		}
	}
	if err := fix.Consistent(&p.Fix); err != nil {
		return nil, refused("%w: %w; run heal again", fix.ErrDamaged, err)
	}
	if err := p.CheckRun(); err != nil {
		return nil, refused("%w", err)
	}
	if r.parsed, r.touched, err = p.ParseDiff(); err != nil {
		return nil, refused("%w", err)
	}
	if r.root, err = t.root(ctx, p); err != nil {
		return nil, err
	}
	if came, err := r.foreign(ctx); err != nil {
		return nil, err
	} else if came {
		return nil, refused("%w", ErrForeign)
	}
	if p.Base != nil && p.Base.Sub != nil && *p.Base.Sub != r.sub {
		return nil, refused("the fix was made with the pipeline's folder at %q of its work tree, now it is at %q; run heal again",
			*p.Base.Sub, r.sub)
	}
	return r, nil
}

// readState reads what people did with a fix that was found in the store.
func readState(p *fix.Proposal) ([]fix.StateChange, error) {
	if p.Name == "" {
		return nil, refused("the proposal was not read from the store")
	}
	if err := p.CheckFolders(); err != nil {
		return nil, refused("%w", err)
	}
	changes, err := fix.ReadState(p.StatePath(), p.Digest)
	if err != nil {
		return nil, refused("%w", err)
	}
	return changes, nil
}

// barred refuses a fix that a person rejected, or that a newer one took the place of.
func (t Tree) barred(r *record) error {
	at := ""
	if n := len(r.changes); n > 0 {
		at = r.changes[n-1].At
		if why := r.changes[n-1].Reason; why != "" {
			at += fmt.Sprintf(" (%q)", why)
		}
	}
	switch {
	case r.disposition == fix.Rejected:
		other := ""
		if r.Verified != nil {
			other = "; " + *r.Verified + " is verified: " + command("apply", r.Run, *r.Verified)
		}
		return refused("this fix was rejected at %s; run heal again, or apply %s with git apply%s", at, r.PatchPath(), other)
	case r.disposition == fix.Superseded && !r.ByNumber:
		return refused("this fix was superseded at %s; run heal again, or name it by its number to apply it all the same: %s",
			at, command("apply", r.Run, fix.CalledBy(r.Task, r.Name)))
	case r.disposition == fix.Superseded:
		if o := t.inItsPlace(r.Proposal); o != nil {
			return refused("this fix was superseded at %s, and one in its place is in the tree; take that out first: %s",
				at, command("revert", o.Run, fix.CalledBy(o.Task, o.Name)))
		}
	}
	return nil
}

// inItsPlace returns a newer fix of the same failure, or another one of the same task and run, that is in the tree.
func (t Tree) inItsPlace(p *fix.Proposal) *fix.Proposal {
	for _, o := range t.Fixes.All() {
		beside := o.Run == p.Run && o.Task == p.Task && o.Name != p.Name
		alike := p.Fingerprint != nil && o.Fingerprint != nil && *o.Fingerprint == *p.Fingerprint
		after := cmp.Compare(o.CreatedAt, p.CreatedAt) >= 0 && o.Run != p.Run
		if (beside || alike && after) && o.InTheTree() {
			return o
		}
	}
	return nil
}

// command is a verb for one fix, as a person types it.
func command(verb, run, name string) string {
	return "async-pipeline fix " + verb + " " + run + " " + quoted(name)
}
