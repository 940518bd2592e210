// Proposals that wait for a person, and what a newer one does to those of the same failure.

package fix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Earlier are the proposals that count (see List), newest first: those of one fingerprint, and how many of all are open.
// What cannot be read is in the errors.
func (s *Store) Earlier(fingerprint string) (alike []*Proposal, opened int, errs []error) {
	runs, errs := s.runs()
	for _, run := range slices.Backward(runs) {
		fixes, faults := s.ofRun(run)
		errs = append(errs, faults...)
		for _, p := range fixes {
			if p.Disposition == open {
				opened++
			}
			if p.State == Proposed && p.Fingerprint != nil && *p.Fingerprint == fingerprint {
				alike = append(alike, p)
			}
		}
	}
	return alike, opened, errs
}

// Fits says whether each file that a proposal touches is as it was found, or already as the proposal makes it: whether it
// still speaks of the tree as it is.
func (s *Store) Fits(ctx context.Context, p *Proposal) (bool, error) {
	changed, err := s.changed(ctx, p)
	if errors.Is(err, errNoFit) {
		return false, nil
	}
	return len(changed) == 0 && err == nil, err
}

// errNoFit means that a proposal cannot be held against the tree at all.
var errNoFit = errors.New("there is no tree that it could fit")

// changed are the paths of a proposal that are neither as it found them nor as it makes them.
func (s *Store) changed(ctx context.Context, p *Proposal) ([]string, error) {
	if p.State != Proposed || p.Patch == nil {
		return nil, errNoFit
	}
	top, _, err := s.top(ctx, p)
	if errors.Is(err, ErrRefused) { // the repository that it was made in is gone
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
		name := fullPath(f.Path, f.PathBytes)
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

// supersedeWait is how long Supersede waits for somebody who applies right now.
const supersedeWait = 10 * time.Second

// Supersede marks the open proposals that a newer one takes the place of: those of the same failure, in any run, and those
// of an earlier healing of the same task in the same run. newer is sealed and proposed.
func (s *Store) Supersede(ctx context.Context, newer *Fix) (err error) {
	if newer.State != Proposed {
		return nil
	}
	var old []*Proposal
	runs, _ := s.runs() // what cannot be read takes no decision, and is said by fix list
	for _, run := range runs {
		fixes, _ := s.healings(run)
		for _, p := range fixes {
			alike := newer.Fingerprint != nil && p.Fingerprint != nil && *p.Fingerprint == *newer.Fingerprint
			same := p.Run == newer.Run && p.Task == newer.Task
			newest := p.Patch != nil && p.Run == newer.Run && p.Patch.Path == newer.Patch.Path
			if p.Disposition == open && p.fault == nil && (alike || same) && !newest {
				old = append(old, p)
			}
		}
	}
	if len(old) == 0 {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, supersedeWait)
	defer cancel()
	lock, err := s.lock(wait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	var errs []error
	for _, p := range old {
		// Somebody may have decided while we waited.
		decisions, err := readDecisions(p.statePath(), p.digest)
		if is, _ := disposition(&p.Fix, decisions); err != nil || is != open {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, addDecision(p.statePath(), p.digest, decision{
			To: superseded, Reason: fmt.Sprintf("run %s has a newer proposal for the same failure of task %s", newer.Run, newer.Task),
		}))
	}
	return errors.Join(errs...)
}
