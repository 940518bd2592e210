package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Fits reports whether each file that a fix touches is as it was found, or already as the fix makes it.
func (t Tree) Fits(ctx context.Context, p *fix.Proposal) (bool, error) {
	changed, err := t.changed(ctx, p)
	if errors.Is(err, errNoFit) {
		return false, nil
	}
	return len(changed) == 0 && err == nil, err
}

// errNoFit means that a fix cannot be compared with the tree at all.
var errNoFit = errors.New("there is no tree that it could fit")

// changed returns the paths of a fix that are neither as it found them nor as it makes them.
func (t Tree) changed(ctx context.Context, p *fix.Proposal) ([]string, error) {
	if p.State != fix.Proposed || p.Patch == nil {
		return nil, errNoFit
	}
	root, err := t.root(ctx, p)
	if errors.Is(err, ErrRefused) { // the repository that it was made in is gone
		return nil, errNoFit
	}
	if err != nil {
		return nil, err
	}
	tree, err := openWorktree(root.top)
	if err != nil {
		return nil, err
	}
	defer tree.close()
	var changed []string
	for _, f := range p.Patch.Files {
		name := f.FullPath()
		if patch.CheckPath(name) != nil {
			return nil, errNoFit
		}
		now, err := tree.read(name, larger(f.Before, f.After))
		if err != nil {
			return nil, err
		}
		asFound := now.is(f.Before) || f.Before == nil && now.dir
		if !asFound && !now.is(f.After) {
			changed = append(changed, f.Path)
		}
	}
	return changed, nil
}

// FitNow sets Fits of the open items. It stays nil where nobody can tell.
func (t Tree) FitNow(ctx context.Context, items []fix.Item) {
	for i := range items {
		if it := &items[i]; it.Disposition == fix.Open && it.Proposal() != nil {
			if fits, err := t.fitsNow(ctx, it.Proposal()); err == nil {
				it.Fits = &fits
			}
		}
	}
}

// fitsNow is Fits, also where a part of the fix is applied.
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

// A Readiness is what Apply would answer right now, all flags accepted.
type Readiness struct {
	Dirty    []string // files with uncommitted changes that are not the fix's own: AllowDirty is needed
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
		if errors.Is(err, ErrDirty) {
			o.AllowDirty = true
			if done, err = t.Apply(ctx, p, o); err == nil {
				r.Dirty = done.Dirty
			}
		}
		r.Nothing = err == nil && done.Already
		return err
	}
	if err := try(); errors.Is(err, ErrConflict) {
		r.Conflict, r.Changed = err, t.changedWhole(ctx, p)
		o.ThreeWay, o.AllowDirty = true, false
		r.ThreeWay = try() == nil
	} else {
		r.Refused = err
	}
	return r
}

// changedWhole returns the paths that prevent an apply; those of which some hunks are applied only if there are no
// others.
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
