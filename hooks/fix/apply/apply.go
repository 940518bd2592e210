// Package apply writes fixes into the user's tree and takes them out again. Nothing else writes source files there, and
// only a person's command may call Apply, Revert and Reject.
//
// All checks come first. Then all files are written, or none: originals and a journal in .async/apply allow the next
// command to complete or undo what was interrupted. Package fix documents the files.
package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// Options of Apply. There is nothing here, and nowhere else, that makes it happen without a person.
type Options struct {
	Files      []string // only these paths of the patch; nil: all
	Hunks      []string // only these hunks, "PATH:N" or, of a patch of one file, "N"; beside Files
	Dir        string   // absolute: where a person typed Files and Hunks; empty: they are paths of the patch
	Edited     []byte   // the patch as a person edited what Selected gave; nil: as it was proposed
	ThreeWay   bool     // merge into files that are no longer as the fix found them
	AllowDirty bool
	Accept     []string // flag ids or rules, each alone or several with commas
	DryRun     bool
	By         string      // who applies, for the record
	Secrets    *redact.Set // contents that hold one are not kept for a revert; nil: none is known
}

// some says whether not all of the patch is chosen.
func (o Options) some() bool { return o.Files != nil || o.Hunks != nil }

// Applied is what Apply or Revert did (or would do).
type Applied struct {
	Files   []string   // sorted
	Already bool       // everything was there: nothing written
	Note    string     // what the person should know of this fix; empty: nothing
	Parts   []fix.Part // of Files: those of which only some hunks were chosen
	Merged  []string   // of Files: those that were merged three ways
	Dirty   []string   // of Files: those with uncommitted edits, gone over as asked
	Since   []string   // of Files: those that hold what was applied of them before, and that somebody edited elsewhere since
	At      string     // when they were applied; empty without Since
	Edited  bool
	Rest    bool // the fix is not applied as a whole by this
}

// A UserTree is the folder of a pipeline that fixes are applied to, with the records of them.
type Tree struct {
	Fixes *fix.Store

	step func(name string) error // told of every step of an apply and of a recovery, and may break it; nil outside tests
}

// Apply is a person's command: all checks first, then all files or none, with a journal in .async/apply that Recover
// settles after a crash. What is refused is ErrRefused, and one of ErrConflict (also a *Conflicts, where git would leave markers),
// ErrDirty, ErrFlagged where it applies; then nothing was written, as with ErrUse: o names what the fix does not have. An error with Applied.Files set means that the files are
// written and only the record of it is not.
func (t Tree) Apply(ctx context.Context, p *fix.Proposal, o Options) (Applied, error) {
	return t.alone(ctx, o.DryRun, func() (Applied, error) {
		w, err := t.check(ctx, p, o)
		if err != nil {
			return Applied{}, err
		}
		defer w.place.close()
		w.secrets = o.Secrets
		done := w.done()
		done.Note = note(p)
		return done, w.carryOut(ctx, o.DryRun)
	})
}

// alone does work that writes under the lock of .async/apply, after what an interrupted one left is settled.
func (t Tree) alone(ctx context.Context, dry bool, do func() (Applied, error)) (Applied, error) {
	if !dry {
		lock, err := t.lock(ctx)
		if err != nil {
			return Applied{}, err
		}
		defer func() { _ = lock.Close() }() // the kernel takes it back with the process at the latest
		if _, err := t.settle(ctx); err != nil {
			return Applied{}, err
		}
	}
	done, err := do()
	if err != nil && !errors.Is(err, errUnrecorded) {
		return Applied{}, err
	}
	return done, err
}

// errUnrecorded means that the files are written and that nobody could write it down.
var errUnrecorded = errors.New("the files are written, but not yet recorded (the next command does it)")

// done is what w does.
func (w *work) done() Applied {
	is, _ := fix.DispositionOf(&w.proposal.Fix, append(slices.Clone(w.decisions), fix.StateChange{To: fix.Applied, Files: stored(w.files), Details: w.Details}))
	done := Applied{Files: w.files, Already: len(w.moves) == 0, Parts: w.Hunks, Merged: w.Merged, Dirty: w.dirty, Since: w.since, Edited: w.Edited, Rest: is != fix.Applied}
	for _, name := range w.since {
		done.At = max(done.At, writtenAt(w.decisions, fix.AsStored(name)))
	}
	return done
}

// stored are paths as JSON gives them back.
func stored(paths []string) []string {
	var all []string
	for _, p := range paths {
		all = append(all, fix.AsStored(p))
	}
	return all
}

// carryOut writes, and records it.
func (w *work) carryOut(ctx context.Context, dry bool) error {
	t, p := w.tree, w.proposal
	to := fix.Applied
	if w.what == toRevert {
		to = fix.Reverted
	}
	switch {
	case dry, len(w.moves) == 0 && w.recorded():
		return nil
	case len(w.moves) == 0:
		return fix.AddState(p.StatePath(), p.Digest, fix.StateChange{By: w.by, To: to, Files: w.files, Accepted: w.accepted, Details: w.Details})
	}
	if err := ctx.Err(); err != nil { // from here on it is quick, and not interrupted
		return err
	}
	if err := t.carry(w); err != nil {
		if w.written {
			return fmt.Errorf("%w: %w", errUnrecorded, err)
		}
		return err
	}
	return nil
}

func (t Tree) applyDir() string { return filepath.Join(t.Fixes.Dir, "apply") }

// lock takes .async/apply/lock, waiting for who holds it until ctx ends.
func (t Tree) lock(ctx context.Context) (*flock.Flock, error) {
	dir := t.applyDir()
	if err := recordfile.NoLinks(t.Fixes.Dir, dir); err != nil {
		return nil, err
	}
	if err := recordfile.MakeFolder(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "lock")
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW), flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: waiting for another apply: %w", path, err)
		}
		return nil, advice.Writing(err, path)
	}
	return l, nil
}

// at tells a test where we are.
func (t Tree) at(step string) error {
	if t.step == nil {
		return nil
	}
	return t.step(step)
}
