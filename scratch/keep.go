// Keeping a base between healings: it is taken over and put back by one rename each, so it has one owner at a time,
// and whoever is killed while he owns it leaves it where leftovers are swept.

package scratch

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/process"
)

// mostKept is the largest base, in bytes, that is kept.
const mostKept = 4 << 30

// knownFile stands in a base that is kept, and only there: it is written last and removed first.
const knownFile = "known"

// newFolder makes a folder below parent, its stamp first: the kept base where there is one and nobody else took it,
// else a new one, empty.
func newFolder(parent, kept string) (string, error) {
	for {
		dir := filepath.Join(parent, "base-"+randomName())
		if _, err := os.Lstat(dir); err == nil {
			continue
		}
		if err := putStamp(dir); err != nil {
			return "", err
		}
		if kept != "" && os.Rename(kept, dir) == nil {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() {
				return dir, nil
			}
			if err := os.Remove(dir); err != nil { // no folder of ours
				return "", err
			}
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", errors.Join(err, os.Remove(dir+stampSuffix))
		}
		return dir, nil
	}
}

// recall returns what is known of the base in holder, of the tree top. nil: nothing that can be trusted, and the
// folder is emptied.
func recall(holder, top string) (*known, error) {
	k := &known{}
	if readKnown(holder, k) != nil || k.Version != knownVersion || k.Top != top || k.Boot != process.Self().Boot {
		k = nil
	}
	// From here on the base is no longer one that could be kept, until it is whole again.
	entries, err := os.ReadDir(holder)
	if err != nil {
		return nil, err
	}
	if err := removeTree(filepath.Join(holder, knownFile)); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if k != nil && e.Name() == "tree" && e.IsDir() {
			continue
		}
		if err := removeTree(filepath.Join(holder, e.Name())); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func readKnown(holder string, k *known) error {
	f, err := os.Open(filepath.Join(holder, knownFile))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	return gob.NewDecoder(bufio.NewReader(f)).Decode(k)
}

func (b *Base) writeKnown() error {
	f, err := os.OpenFile(filepath.Join(b.holder, knownFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	return errors.Join(gob.NewEncoder(w).Encode(b.now), w.Flush(), f.Close())
}

// putBack keeps the base for the next healing; false: it is not kept.
func (b *Base) putBack() bool {
	if b.kept == "" || b.now == nil || b.now.size() > mostKept {
		return false
	}
	if b.writeKnown() != nil || os.MkdirAll(filepath.Dir(b.kept), 0o700) != nil {
		return false
	}
	return unix.Rename(b.holder, b.kept) == nil // not over another's: that is no empty folder
}

// newKnown begins what is known of a base of top.
func newKnown(top string, start int64) *known {
	return &known{Version: knownVersion, Top: top, Boot: process.Self().Boot, Start: start, Files: map[string][]copied{}}
}

// RemoveBase removes a base that was kept at dir, unless somebody takes it over first.
func RemoveBase(dir string) error {
	gone := dir + ".gone-" + randomName() // nobody takes it over half removed
	if err := os.Rename(dir, gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return removeTree(gone)
}

// What a base holds, for those who judge it and store it.

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

// Loose lists the files whose content git cannot give back later: changed since the commit, or not tracked. Without
// git these are all. Ignored files are not among them.
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
