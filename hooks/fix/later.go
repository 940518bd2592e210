// What is newer than a proposal: a healing of the same task that came to nothing, and what the tree holds now.

package fix

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// A Later is a healing that was done after the one that counts and made no proposal.
type Later struct {
	Name      string  `json:"name"` // of its files in fixes/
	State     string  `json:"state"`
	Reason    *string `json:"reason"`
	Kind      *string `json:"kind"`
	CreatedAt string  `json:"created_at"`
}

// after takes another healing of the same task and run as what came later, if it did. One that was held back because there is a
// proposal says nothing new.
func (p *Proposal) after(o *Proposal) {
	held := o.State == Skipped && o.Reason != nil && strings.HasPrefix(*o.Reason, "open_proposal")
	if p.State == Proposed && o.State != Proposed && !held {
		p.later(&Later{Name: o.name, State: o.State, Reason: o.Reason, Kind: o.Kind, CreatedAt: o.CreatedAt})
	}
}

// later keeps the newest.
func (p *Proposal) later(l *Later) {
	if n := number(l.Name); n > number(p.name) && (p.Later == nil || n > number(p.Later.Name)) {
		p.Later = l
	}
}

// FitNow fills in Fits of the open ones. What cannot be told stays nil.
func (s *Store) FitNow(ctx context.Context, items []Item) {
	for i := range items {
		if it := &items[i]; it.Disposition == open && it.of != nil {
			if fits, err := s.fitsNow(ctx, it.of); err == nil {
				it.Fits = &fits
			}
		}
	}
}

// fitsNow is Fits, also where a part of it is applied.
func (s *Store) fitsNow(ctx context.Context, p *Proposal) (bool, error) {
	fits, err := s.Fits(ctx, p)
	if fits || err != nil || p.fault != nil || len(partly(&p.Fix, p.decided)) == 0 {
		return fits, errors.Join(err, p.fault)
	}
	if p.Diff, err = p.readPatch(); err != nil {
		return false, err
	}
	return s.Ready(ctx, p).Conflict == nil, nil
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
func (s *Store) Ready(ctx context.Context, p *Proposal) Readiness {
	o := Options{DryRun: true}
	for _, f := range p.Flags {
		o.Accept = append(o.Accept, f.ID)
	}
	var r Readiness
	try := func() error {
		done, err := s.Apply(ctx, p, o)
		if errors.Is(err, ErrDirty) {
			o.AllowDirty = true
			if done, err = s.Apply(ctx, p, o); err == nil {
				r.Dirty = done.Dirty
			}
		}
		r.Nothing = err == nil && done.Already
		return err
	}
	err := try()
	switch {
	case errors.Is(err, ErrConflict):
		r.Conflict = err
		r.Changed = s.changedWhole(ctx, p)
		o.ThreeWay, o.AllowDirty = true, false
		r.ThreeWay = try() == nil
	default:
		r.Refused = err
	}
	return r
}

// changedWhole are the paths that stand in the way; those of which some hunks are applied only where nothing else does.
func (s *Store) changedWhole(ctx context.Context, p *Proposal) []string {
	changed, err := s.changed(ctx, p)
	parts, fault := p.Partly()
	if err != nil || fault != nil {
		return changed
	}
	whole := slices.DeleteFunc(slices.Clone(changed), func(name string) bool {
		return slices.ContainsFunc(parts, func(part Part) bool { return part.Path == name })
	})
	if len(whole) > 0 {
		return whole
	}
	return changed
}
