package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A Tree is a pipeline's folder that fixes are applied to, with their records.
type Tree struct {
	Fixes *fix.Store

	step func(name string) error // called before every step of a write; an error fails it; nil outside tests
}

// locked calls do while it holds the lock of .async/apply, after an interrupted apply is settled. A dry run takes no
// lock.
func (t Tree) locked(ctx context.Context, dry bool, do func() (Applied, error)) (Applied, error) {
	if !dry {
		lock, err := t.lock(ctx)
		if err != nil {
			return Applied{}, err
		}
		defer func() { _ = lock.Close() }() // ends with the process at the latest
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

// lock takes .async/apply/lock. It waits for another holder until ctx ends.
func (t Tree) lock(ctx context.Context) (*flock.Flock, error) {
	dir := t.dir()
	if err := recordfile.NoLinks(t.Fixes.Dir, dir); err != nil {
		return nil, err
	}
	if err := recordfile.MakeFolder(dir); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "lock")
	l := flock.New(file, flock.SetFlag(os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW), flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: waiting for another apply: %w", file, err)
		}
		return nil, advice.Writing(err, file)
	}
	return l, nil
}

// dir is .async/apply.
func (t Tree) dir() string { return filepath.Join(t.Fixes.Dir, "apply") }

// A root is where the paths of a patch begin.
type root struct {
	top  string    // git's top, or the pipeline's folder where there is no git
	sub  string    // the pipeline's folder relative to top, slash-separated
	repo *git.Repo // nil: no git
}

// root finds where the paths of p begin; p may be nil.
func (t Tree) root(ctx context.Context, p *fix.Proposal) (r root, err error) {
	dir, err := filepath.EvalSymlinks(t.Fixes.Root)
	if err != nil {
		return r, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return r, err
	}
	r.repo, err = git.Of(ctx, t.Fixes.Root)
	switch {
	case err == nil:
		r.top = r.repo.Top
	case !errors.Is(err, git.ErrNone):
		return r, err
	case p != nil && p.Base != nil && p.Base.Commit != nil:
		return r, refused("the fix was made in a git work tree, at commit %s, but: %w; bring the repository back, "+
			"or apply %s by hand", *p.Base.Commit, err, p.PatchPath())
	default:
		r.top = dir
	}
	sub, err := filepath.Rel(r.top, dir)
	if err != nil || !filepath.IsLocal(sub) {
		return r, fmt.Errorf("%s is not below %s, the work tree that git names for it", dir, r.top)
	}
	r.sub = filepath.ToSlash(sub)
	return r, nil
}

// ErrForeign means that git tracks records: they came with the repository, whoever wrote them.
var ErrForeign = errors.New("the records in .async came with the repository: " +
	"nothing in them was seen to happen here; git rm -r --cached .async, remove .async/runs, then run again")

// Foreign reports whether git tracks anything in .async. Such records are shown, but never applied (ErrForeign).
func (t Tree) Foreign(ctx context.Context) (bool, error) {
	r, err := t.root(ctx, nil)
	if err != nil {
		return false, err
	}
	return r.foreign(ctx)
}

func (r root) foreign(ctx context.Context) (bool, error) {
	if r.repo == nil {
		return false, nil
	}
	return r.repo.Tracks(ctx, path.Join(r.sub, ".async"))
}
