package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Settle ends what a killed runner began: what its agents had changed becomes rescue patches, its healings are sealed as
// interrupted, and only then its copies are removed. It gives what it did, in words for a person. While somebody heals
// it does nothing.
func Settle(ctx context.Context, store *record.Store, cache string, secrets *redact.Set) ([]string, error) {
	if !exists(store.Dir) {
		return nil, nil
	}
	lock, err := store.HealLock()
	if errors.Is(err, record.ErrLocked) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at, err := homes.Find(ctx, store, cache)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	said, err := settle(ctx, store, at, secrets)
	return said, errors.Join(err, lock.Unlock())
}

// settle does it under heal.lock.
func settle(ctx context.Context, store *record.Store, at homes.Places, secrets *redact.Set) ([]string, error) {
	fixes := &fix.Store{Root: store.Root, Dir: store.Dir}
	drafts, err := draft.Resume(fixes, secrets.Bytes)
	errs := []error{err}
	var said []string
	kept := true
	for _, d := range drafts {
		d.Secrets = secrets
		words, err := interrupted(ctx, d, at)
		if err != nil {
			errs = append(errs, fmt.Errorf("healing of task %q of run %s, which was interrupted: %w", d.Task, d.Run, err))
			kept = false
		}
		said = append(said, words...)
		errs = append(errs, d.Close())
	}
	if !kept { // better a copy too many than work that is lost
		return said, errors.Join(errs...)
	}
	_, err = scratch.Sweep(at.Work)
	return said, errors.Join(append(errs, err)...)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// interrupted stores what the attempts of one draft left and seals it.
func interrupted(ctx context.Context, d *draft.Draft, at homes.Places) ([]string, error) {
	works, err := d.Workplaces()
	if err != nil {
		return nil, err
	}
	var said []string
	f := &fix.Fix{
		State: fix.Interrupted, CreatedAt: timestamp.Now(),
		Reason: new("killed: the runner was ended while it healed"),
	}
	for attempt, w := range works {
		if !homes.Inside(w.Copy, at.Work) || !homes.Inside(w.Base, at.Work) || !exists(w.Copy) {
			continue // not ours, or already swept
		}
		rel, err := rescueFrom(ctx, d, attempt, w)
		if err != nil {
			return said, err
		}
		if rel != "" {
			said = append(said, fmt.Sprintf("a killed run left work of an agent for task %s; it is now the rescue patch %s", d.Task, filepath.Join(at.Store, "runs", d.Run, rel)))
		}
		if w.Agent != "" {
			f.Attempts = append(f.Attempts, fix.Attempt{
				Number: attempt, Agent: w.Agent, Sandbox: w.Sandbox, StartedAt: w.StartedAt, Rescue: orNull(rel),
				Kind: new(string(failure.LifecycleClose)), Class: new(string(failure.LifecycleClose.Class())), Evidence: new("the runner was ended"),
			})
		}
		if err := d.Rested(attempt); err != nil {
			return said, err
		}
	}
	return said, d.Seal(f)
}

// rescueFrom makes the rescue patch of a copy whose runner is gone.
func rescueFrom(ctx context.Context, d *draft.Draft, attempt int, w draft.Workplace) (string, error) {
	base, err := scratch.Reopen(ctx, w.Base)
	if errors.Is(err, os.ErrNotExist) { // killed before the base was whole: no agent had started
		return "", nil
	}
	if err != nil {
		return "", err
	}
	c, err := base.Adopt(w.Copy)
	if err != nil {
		return "", err
	}
	changes, omitted, err := c.Changes(ctx)
	if err != nil {
		return "", err
	}
	if _, err := keepLarge(d, c, attempt, omitted); err != nil {
		return "", err
	}
	if len(changes) == 0 {
		return "", nil
	}
	r, err := rescuePatch(d, attempt, changes)
	return cmp.Or(r.Path, r.Redacted), err
}
