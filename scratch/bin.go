// Removing folders while the work goes on: a plain copy of a large tree takes seconds to remove.

package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// A Bin removes folders in the background. If this process ends before that, Sweep removes what is left. A nil Bin
// removes at once. Any goroutine may use it.
type Bin struct {
	mu      sync.Mutex
	emptied bool // nothing is begun any more
	work    sync.WaitGroup
	errs    []error
	empty   []string // folders to be removed at the end if they are empty
}

// goneName begins the name of a folder that is being removed.
const goneName = ".gone-"

// Remove removes a folder and its stamp. When it returns, nothing is in its place any more.
func (b *Bin) Remove(dir string) error { return b.RemoveBy(dir, filepath.Dir(dir)) }

// RemoveBy is Remove for a folder that Sweep does not look into: parent, on the same file system, is one that it does.
func (b *Bin) RemoveBy(dir, parent string) error {
	if b == nil {
		return remove(dir)
	}
	gone, err := setAside(dir, parent)
	if err != nil {
		return remove(dir)
	}
	return b.Do(func() error { return remove(gone) })
}

// setAside renames a folder to a name in parent that nobody uses. It has a stamp of this process under the new name
// before it is there, so that no Sweep takes it.
func setAside(dir, parent string) (gone string, err error) {
	if _, err := os.Lstat(dir); err != nil {
		return "", err
	}
	gone = filepath.Join(parent, goneName+randomName())
	if err := writeStamp(gone); err != nil {
		return "", err
	}
	if err := os.Rename(dir, gone); err != nil {
		return "", errors.Join(err, os.Remove(gone+stampSuffix))
	}
	if err := os.Remove(dir + stampSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return gone, nil
}

// Do removes something in the background. Empty returns its error.
func (b *Bin) Do(remove func() error) error {
	if b == nil {
		return remove()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.emptied {
		b.work.Go(func() {
			err := remove()
			b.mu.Lock()
			defer b.mu.Unlock()
			b.errs = append(b.errs, err)
		})
	}
	return nil
}

// RemoveEmpty removes a folder when everything else is removed, if nothing is in it then.
func (b *Bin) RemoveEmpty(dir string) {
	if b == nil {
		_ = os.Remove(dir) // it is not empty, or is gone
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.empty = append(b.empty, dir)
}

// Empty waits until all is removed. What comes later is left to Sweep.
func (b *Bin) Empty() error {
	b.mu.Lock()
	b.emptied = true
	b.mu.Unlock()
	b.work.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, dir := range b.empty {
		_ = os.Remove(dir) // it is not empty, or is gone
	}
	return errors.Join(b.errs...)
}
