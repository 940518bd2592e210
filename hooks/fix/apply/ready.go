// What an apply would do right now: whether a proposal still fits the tree.

package apply

import (
	"context"
	"errors"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"slices"
)

// Fits says whether each file that a proposal touches is as it was found, or already as the proposal makes it: whether it
// still speaks of the tree as it is.
func (t Tree) Fits(ctx context.Context, p *fix.Proposal) (bool, error) {
	changed, err := t.changed(ctx, p)
	if errors.Is(err, errNoFit) {
		return false, nil
	}
	return len(changed) == 0 && err == nil, err
}

// errNoFit means that a proposal cannot be held against the tree at all.
var errNoFit = errors.New("there is no tree that it could fit")

// changed are the paths of a proposal that are neither as it found them nor as it makes them.
func (t Tree) changed(ctx context.Context, p *fix.Proposal) ([]string, error) {
	if p.State != fix.Proposed || p.Patch == nil {
		return nil, errNoFit
	}
	top, _, err := t.top(ctx, p)
	if errors.Is(err, fix.ErrRefused) { // the repository that it was made in is gone
		return nil, errNoFit
	}
	if err != nil {
		return nil, err
	}
	in, err := openPlace(top)
	if err != nil {
		return nil, err
	}
	defer in.close()
	var changed []string
	for _, f := range p.Patch.Files {
		name := fix.FullPath(f.Path, f.PathBytes)
		if safePath(name) != nil {
			return nil, errNoFit
		}
		h, err := in.look(name, most(f.Before, f.After))
		if err != nil {
			return nil, err
		}
		asFound := h.holds(f.Before) || f.Before == nil && h.dir
		if !asFound && !h.holds(f.After) {
			changed = append(changed, f.Path)
		}
	}
	return changed, nil
}

// FitNow fills in Fits of the open ones. What cannot be told stays nil.
func (t Tree) FitNow(ctx context.Context, items []fix.Item) {
	for i := range items {
		if it := &items[i]; it.Disposition == fix.Open && it.Proposal() != nil {
			if fits, err := t.fitsNow(ctx, it.Proposal()); err == nil {
				it.Fits = &fits
			}
		}
	}
}

// fitsNow is Fits, also where a part of it is applied.
func (t Tree) fitsNow(ctx context.Context, p *fix.Proposal) (bool, error) {
	fits, err := t.Fits(ctx, p)
	if fits || err != nil || p.Fault != nil || len(fix.Partly(&p.Fix, p.Decided)) == 0 {
		return fits, errors.Join(err, p.Fault)
	}
	if p.Diff, err = p.ReadPatch(); err != nil {
		return false, err
	}
	return t.Ready(ctx, p).Conflict == nil, nil
}

// A Readiness is what apply would say of a proposal right now, all flagged items accepted.
type Readiness struct {
	Dirty    []string // files with uncommitted changes that are not the fix's own: it needs AllowDirty
	Conflict error    // ErrConflict: files are no longer as the fix found them,
	Changed  []string // namely these
	ThreeWay bool     // they can be merged
	Refused  error    // any other reason why it is refused
	Nothing  bool     // all of it is in the tree: there is nothing to write
}

// Ready makes all checks of an apply and writes nothing.
func (t Tree) Ready(ctx context.Context, p *fix.Proposal) Readiness {
	o := Options{DryRun: true}
	for _, f := range p.Flags {
		o.Accept = append(o.Accept, f.ID)
	}
	var r Readiness
	try := func() error {
		done, err := t.Apply(ctx, p, o)
		if errors.Is(err, fix.ErrDirty) {
			o.AllowDirty = true
			if done, err = t.Apply(ctx, p, o); err == nil {
				r.Dirty = done.Dirty
			}
		}
		r.Nothing = err == nil && done.Already
		return err
	}
	err := try()
	switch {
	case errors.Is(err, fix.ErrConflict):
		r.Conflict = err
		r.Changed = t.changedWhole(ctx, p)
		o.ThreeWay, o.AllowDirty = true, false
		r.ThreeWay = try() == nil
	default:
		r.Refused = err
	}
	return r
}

// changedWhole are the paths that stand in the way; those of which some hunks are applied only where nothing else does.
func (t Tree) changedWhole(ctx context.Context, p *fix.Proposal) []string {
	changed, err := t.changed(ctx, p)
	parts, fault := p.Partly()
	if err != nil || fault != nil {
		return changed
	}
	whole := slices.DeleteFunc(slices.Clone(changed), func(name string) bool {
		return slices.ContainsFunc(parts, func(part fix.Part) bool { return part.Path == name })
	})
	if len(whole) > 0 {
		return whole
	}
	return changed
}
