// Supersede: a newer proposal takes the place of those of the same failure.

package apply

import (
	"context"
	"errors"
	"fmt"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"time"
)

// supersedeWait is how long Supersede waits for somebody who applies right now.
const supersedeWait = 10 * time.Second

// Supersede marks the open proposals that a newer one takes the place of: those of the same failure, in any run, and those
// of an earlier healing of the same task in the same run. newer is sealed and proposed.
func (t Tree) Supersede(ctx context.Context, newer *fix.Fix) (err error) {
	if newer.State != fix.Proposed {
		return nil
	}
	var old []*fix.Proposal
	runs, _ := t.Fixes.Runs() // what cannot be read takes no decision, and is said by fix list
	for _, run := range runs {
		fixes, _ := t.Fixes.Healings(run)
		for _, p := range fixes {
			alike := newer.Fingerprint != nil && p.Fingerprint != nil && *p.Fingerprint == *newer.Fingerprint
			same := p.Run == newer.Run && p.Task == newer.Task
			newest := p.Patch != nil && p.Run == newer.Run && p.Patch.Path == newer.Patch.Path
			if p.Disposition == fix.Open && p.Fault == nil && (alike || same) && !newest {
				old = append(old, p)
			}
		}
	}
	if len(old) == 0 {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, supersedeWait)
	defer cancel()
	lock, err := t.lock(wait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	var errs []error
	for _, p := range old {
		// Somebody may have decided while we waited.
		decisions, err := fix.ReadState(p.StatePath(), p.Digest)
		if is, _ := fix.DispositionOf(&p.Fix, decisions); err != nil || is != fix.Open {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, fix.AddState(p.StatePath(), p.Digest, fix.StateChange{
			To: fix.Superseded, Reason: fmt.Sprintf("run %s has a newer proposal for the same failure of task %s", newer.Run, newer.Task),
		}))
	}
	return errors.Join(errs...)
}
