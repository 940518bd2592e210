// What a base holds, for those who judge it and store it.

package scratch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/git"
)

// Paths lists the files and symlinks that the base holds, sorted; ignored folders that came along are left out.
func (b *Base) Paths() []string {
	var paths []string
	for _, e := range b.Manifest.Entries {
		if !e.Mode.IsDir() && !b.isTaken(e.Path) {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// Loose lists the files whose content git cannot give back later: changed since the commit, or not tracked. Without git these
// are all. Ignored files are not among them.
func (b *Base) Loose(ctx context.Context) ([]string, error) {
	if b.counted == nil {
		return b.Paths(), nil
	}
	at := b.Dir
	if b.HistoryMissing { // the private .git does not know what was committed
		at = b.Top
	}
	repo, err := git.Find(ctx, at)
	if errors.Is(err, git.ErrNone) {
		return b.Paths(), nil
	}
	if err != nil {
		return nil, err
	}
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return nil, err
	}
	dirty = append(dirty, b.veiled...)
	for _, p := range b.Paths() {
		if !b.tracked[p] { // of a nested repository, or a submodule: the outer commit does not hold it
			dirty = append(dirty, p)
		}
	}
	slices.Sort(dirty)
	return slices.DeleteFunc(slices.Compact(dirty), func(p string) bool {
		e, ok := b.Manifest.Find(p)
		return !ok || e.Mode.IsDir() || !b.counted[p]
	}), nil
}

// Keep moves a copy that holds work which could not be stored to the folder to, which must not exist and which nobody
// sweeps. The copy is no longer the base's.
func (b *Base) Keep(c *Copy, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Rename(c.Dir, to); err != nil {
		return err
	}
	b.mu.Lock()
	delete(b.copies, c)
	b.mu.Unlock()
	return os.Remove(c.Dir + stampSuffix)
}
