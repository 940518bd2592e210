// Package leftovers finds, and cleans up, what killed runners left behind in the hooks of a root.
package leftovers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Found lists what killed runners left behind, which Settle would clean up.
type Found struct {
	Fixes   []fix.Abandoned
	Copies  []scratch.Leftover
	Rescued []string // copies whose difference could not be stored; only a person removes them
}

// Find lists what killed runners left behind, and changes nothing. caches are the person's cache folders of this
// program; they need not exist. With an error Find returns what it could find, too.
func Find(ctx context.Context, store *record.Store, caches ...string) (Found, error) {
	var l Found
	drafts, errs := (&fix.Store{Root: store.Root, Dir: store.Dir}).Abandoned()
	l.Fixes = drafts
	seen := map[string]bool{}
	for _, cache := range caches {
		at, ok, err := homes.Look(ctx, store, cache)
		errs = append(errs, err)
		if !ok || seen[at.Work] {
			continue
		}
		seen[at.Work] = true
		copies, err := scratch.Leftovers(at.Work)
		l.Copies, errs = append(l.Copies, copies...), append(errs, err)
		l.Rescued = append(l.Rescued, at.AllRescued()...)
	}
	return l, errors.Join(errs...)
}

// Settle ends what a killed runner began: what its agents had changed becomes rescue patches, its fixes are sealed as
// interrupted, and only then its copies are removed, by the bin. Then heal.lock names no killed process any more. It
// returns what it did, in words for a person. While another process holds heal.lock it does nothing. cache is the folder
// that hooks use now; copies in those of more, which earlier ones used, are removed too.
func Settle(
	ctx context.Context, store *record.Store, cache string, secrets *redact.Set, bin *scratch.Bin, more ...string,
) ([]string, error) {
	more = slices.DeleteFunc(more, func(cache string) bool { return homes.NoWork(store, cache) })
	if !recordfile.Exists(store.Dir) || !store.HooksKilled() && none(store, cache) && len(more) == 0 {
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
	said, err := SettleLocked(ctx, store, at, secrets, bin)
	bin.RemoveEmpty(at.Work)
	for _, cache := range more {
		if err != nil { // better a copy too many than lost work
			break
		}
		if at, err = homes.Find(ctx, store, cache); err == nil {
			_, err = scratch.Sweep(at.Work, bin)
			bin.RemoveEmpty(at.Work)
		}
	}
	if err == nil {
		lock.Settled()
	}
	return said, errors.Join(err, lock.Unlock())
}

// AnyCopy reports whether there are copies of the tree below cache folders; a fix that works now may have made them. It
// reads two folders for each: every run asks.
func AnyCopy(store *record.Store, caches ...string) bool {
	return slices.ContainsFunc(caches, func(cache string) bool { return !homes.NoWork(store, cache) })
}

// none reports whether there is nothing to settle for certain. It reads folders only.
func none(store *record.Store, cache string) bool {
	if !homes.NoWork(store, cache) {
		return false
	}
	drafts, errs := (&fix.Store{Root: store.Root, Dir: store.Dir}).Abandoned()
	return len(drafts) == 0 && len(errs) == 0
}

// SettleLocked is Settle for a caller that holds heal.lock.
func SettleLocked(
	ctx context.Context, store *record.Store, at homes.Places, secrets *redact.Set, bin *scratch.Bin,
) ([]string, error) {
	fixes := &fix.Store{Root: store.Root, Dir: store.Dir}
	drafts, err := draft.Resume(fixes, secrets.Bytes)
	errs := []error{err}
	var said []string
	kept := true
	for _, d := range drafts {
		d.Secrets = secrets
		words, err := interrupted(ctx, store, d)
		if err != nil {
			errs = append(errs, fmt.Errorf("interrupted work of an agent for task %q of run %s: %w", d.Task, d.Run, err))
			kept = false
		}
		said = append(said, words...)
		errs = append(errs, d.Close())
	}
	if !kept { // better a copy too many than lost work
		return said, errors.Join(errs...)
	}
	_, err = scratch.Sweep(at.Work, bin)
	return said, errors.Join(append(errs, err)...)
}

// interrupted stores what the attempts of one draft left, and seals or finishes it.
func interrupted(ctx context.Context, store *record.Store, d *draft.Draft) ([]string, error) {
	places, err := d.Workplaces()
	if err != nil {
		return nil, err
	}
	var said []string
	f := &fix.Fix{
		State: fix.Interrupted, CreatedAt: timestamp.Now(),
		Reason: new("killed: async-pipeline was killed, or its disk was full, before this fix was recorded"),
	}
	lines, _ := (&fix.Proposal{Dir: d.RunDir(), Name: d.Name}).Transcript() // what cannot be read is not known
	for _, attempt := range slices.Sorted(maps.Keys(places)) {
		w := places[attempt]
		at, ours := homes.Around(ctx, store, w.Copy)
		if !w.Ended && ours && homes.Inside(w.Base, at.Work) && recordfile.Exists(w.Copy) { // else it is not ours, or swept
			rel, kept, err := rescueFrom(ctx, d, attempt, w, at)
			if err != nil {
				return said, err
			}
			if kept != "" {
				said = append(said, fmt.Sprintf("an agent's changes for task %s, left by a killed run, may hold what the agent was given, "+
					"so no patch is made of them; its copy is kept in %s", d.Task, kept))
			}
			if rel != "" {
				said = append(said, fmt.Sprintf("an agent's changes for task %s, left by a killed run, are kept in the rescue patch %s",
					d.Task, filepath.Join(at.Store, "runs", d.Run, rel)))
			}
			if err := d.EndWork(attempt); err != nil {
				return said, err
			}
		}
		if w.Agent != "" && !d.IsTask() {
			f.Attempts = append(f.Attempts, rowOf(d, lines, attempt, w))
		}
	}
	if d.IsTask() { // the record of its run is that of its runner
		return said, d.Finish()
	}
	f.Advice = f.NextStep()
	return said, d.Seal(f)
}

// rowOf returns what is known of an attempt for the record: of one whose agent had ended how, if it failed, and of one whose
// agent was at work what it had used by then. lines is the transcript.
func rowOf(d *draft.Draft, lines []fix.TranscriptLine, attempt int, w draft.Workplace) fix.Attempt {
	row := fix.Attempt{
		Number: attempt, Agent: w.Agent, Sandbox: w.Sandbox, StartedAt: w.StartedAt, Rescue: fix.OrNull(d.Rescued(attempt)),
	}
	input, output, requests, whole := used(lines, attempt)
	switch {
	case requests > 0 && whole && w.Ended:
		row.Tokens = fix.Tokens{Input: &input, Output: &output}
		row.Requests = &requests
	case input+output > 0:
		row.Tokens = fix.Tokens{AtLeast: new(input + output)}
	}
	if !w.Ended {
		row.Kind, row.Class = new(string(failure.LifecycleClose)), new(string(failure.LifecycleClose.Class()))
		row.Evidence = new("the runner was ended")
		return row
	}
	for _, l := range lines {
		if l.Attempt == attempt && l.Type == "retry" { // it failed, and this was decided about it
			text := func(name string) *string { s, _ := l.Data[name].(string); return fix.OrNull(s) }
			row.Kind, row.Class, row.Evidence = text("kind"), text("class"), text("evidence")
		}
	}
	return row
}

// used returns the tokens that a transcript counts for the requests of an attempt, without those of a question for a
// report or of a reviewer. whole means that each of them has a count.
func used(lines []fix.TranscriptLine, attempt int) (input, output int64, requests int, whole bool) {
	whole = true
	for _, l := range lines {
		if l.Attempt != attempt {
			continue
		}
		if l.Type == "finalizer" || l.Data["reviewer"] == true {
			break
		}
		if l.Type == "request" {
			in, counted := l.Data["input_tokens"].(float64)
			out, both := l.Data["output_tokens"].(float64)
			input, output, requests = input+int64(in), output+int64(out), requests+1
			whole = whole && counted && both
		}
	}
	return input, output, requests, whole
}

// rescueFrom stores the difference that is in a copy whose runner is gone, and returns the path of the rescue patch, or
// where the copy is kept instead.
func rescueFrom(
	ctx context.Context, d *draft.Draft, attempt int, w draft.Workplace, at homes.Places,
) (rel, kept string, err error) {
	base, err := scratch.Reopen(ctx, w.Base)
	if errors.Is(err, os.ErrNotExist) { // killed before the base was whole: no agent had started
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	c, err := base.Adopt(w.Copy)
	if err != nil {
		return "", "", err
	}
	changes, omitted, err := c.Changes(ctx)
	if err != nil {
		return "", "", err
	}
	if w.Keyed {
		if len(changes)+len(omitted) == 0 {
			return "", "", nil
		}
		kept, err = at.Rescue(base, c, d.Run, d.Task, attempt)
		return "", kept, err
	}
	if _, err := d.KeepOmitted(attempt, c.Dir, c.WorthKeeping(changes, omitted), len(changes) > 0); err != nil {
		return "", "", err
	}
	if len(changes) == 0 {
		return "", "", nil
	}
	r, err := d.Rescue(attempt, changes)
	return cmp.Or(r.Path, r.Redacted), "", err
}
