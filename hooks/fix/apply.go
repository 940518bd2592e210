// Apply: the only way a repair reaches the user's tree.

package fix

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/advice"
)

// Options of Apply. There is nothing here, and nowhere else, that makes it happen without a person.
type Options struct {
	Files      []string // only these paths of the patch; nil: all
	Dir        string   // absolute: where a person typed Files; empty: they are paths of the patch
	AllowDirty bool
	Accept     []string // flag ids or rules
	DryRun     bool
	By         string // who applies, for the record
}

// Applied is what Apply did (or would do).
type Applied struct {
	Files   []string // sorted
	Already bool     // everything was there: nothing written
	Note    string   // what the person should know of this fix; empty: nothing
}

// Apply is a person's command: all checks first, then all files or none, with a journal in .async/apply that Recover
// settles after a crash. What is refused is ErrRefused, and one of ErrConflict, ErrDirty, ErrFlagged where it applies; then nothing was
// written. An error with Applied.Files set means that the files are written and only the record of it is not.
func (s *Store) Apply(ctx context.Context, p *Proposal, o Options) (Applied, error) {
	if !o.DryRun {
		lock, err := s.lock(ctx)
		if err != nil {
			return Applied{}, err
		}
		defer func() { _ = lock.Close() }() // the kernel takes it back with the process at the latest
		if _, err := s.settle(ctx); err != nil {
			return Applied{}, err
		}
	}
	w, err := s.check(ctx, p, o)
	if err != nil {
		return Applied{}, err
	}
	defer w.place.close()
	done := Applied{Files: w.files, Already: len(w.moves) == 0, Note: p.note()}
	switch {
	case o.DryRun:
		return done, nil
	case done.Already && w.recorded():
		return done, nil
	case done.Already:
		return done, addDecision(p.statePath(), p.digest, decision{By: o.By, To: applied, Files: w.files, Accepted: w.accepted})
	}
	if err := ctx.Err(); err != nil { // from here on it is quick, and not interrupted
		return Applied{}, err
	}
	if err := s.carry(w); err != nil {
		if w.written {
			return done, fmt.Errorf("the files are written, but not yet recorded as applied (the next command does it): %w", err)
		}
		return Applied{}, err
	}
	return done, nil
}

// note says that a fix is not verified.
func (p *Proposal) note() string {
	verdict := "unverified"
	if p.Verdict != nil {
		verdict = *p.Verdict
	}
	if verdict == "verified" {
		return ""
	}
	note := "this fix is " + verdict
	if p.Verification != nil && p.Verification.Reason != nil {
		note += ": " + *p.Verification.Reason
	}
	return note
}

func (s *Store) applyDir() string { return filepath.Join(s.Dir, "apply") }

// lock takes .async/apply/lock, waiting for who holds it until ctx ends.
func (s *Store) lock(ctx context.Context) (*flock.Flock, error) {
	dir := s.applyDir()
	if err := realFolders(s.Dir, dir); err != nil {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
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
func (s *Store) at(step string) error {
	if s.step == nil {
		return nil
	}
	return s.step(step)
}
