// Writes changes into a copy. No symlink is followed out of it.

package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/rmtree"
)

// Put writes changes into the copy. Only Path and After of a change are used. What is at the path is replaced, a
// folder only if it is empty. Deletions come first and remove the folders that they empty, as git apply does. The
// error is patch.ErrUnsafePath for a path that leaves the copy, or has .git or .async in it.
func (c *Copy) Put(changes []patch.Change) error {
	for _, ch := range changes {
		if err := checkPath(ch.Path); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return fmt.Errorf("scratch copy: %w", err)
	}
	defer func() { _ = root.Close() }()
	remove := func(p string) error { return deleteFile(root, p) }
	write := func(p string, f *patch.File) error { return writeFile(root, p, f) }
	prune := func() error { return nil }
	if c.Work != "" {
		base, err := os.OpenRoot(c.base.Dir)
		if err != nil {
			return fmt.Errorf("scratch copy: %w", err)
		}
		defer func() { _ = base.Close() }()
		u := &upper{root: root, base: base}
		remove, write, prune = u.delete, u.write, u.prune
	}
	for _, ch := range changes {
		if ch.After == nil {
			if err := remove(ch.Path); err != nil {
				return fmt.Errorf("scratch copy: %s: %w", ch.Path, err)
			}
		}
	}
	if err := prune(); err != nil {
		return fmt.Errorf("scratch copy: %w", err)
	}
	for _, ch := range changes {
		if ch.After != nil {
			if err := write(ch.Path, ch.After); err != nil {
				return fmt.Errorf("scratch copy: %s: %w", ch.Path, err)
			}
		}
	}
	return nil
}

// Remove removes files, and folders with everything in them.
func (c *Copy) Remove(paths []string) error {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return fmt.Errorf("scratch copy: %w", err)
	}
	defer func() { _ = root.Close() }()
	remove := func(p string) error {
		return unlock(root, path.Dir(p), func() error { return rmtree.In(root, p) })
	}
	if c.Work != "" {
		base, err := os.OpenRoot(c.base.Dir)
		if err != nil {
			return fmt.Errorf("scratch copy: %w", err)
		}
		defer func() { _ = base.Close() }()
		remove = (&upper{root: root, base: base}).remove
	}
	for _, p := range paths {
		if err := checkPath(p); err != nil {
			return err
		}
		if err := remove(p); err != nil {
			return fmt.Errorf("scratch copy: %s: %w", p, err)
		}
	}
	return nil
}

func checkPath(p string) error {
	if !filepath.IsLocal(p) || p != path.Clean(p) || p == "." || hiddenPath(p) {
		return fmt.Errorf("%q: %w", p, patch.ErrUnsafePath)
	}
	return nil
}

func deleteFile(root *os.Root, p string) error {
	info, err := lstat(root, p)
	if err != nil || info == nil || info.IsDir() { // absent, or a folder now
		return err
	}
	if err := unlock(root, path.Dir(p), func() error { return root.Remove(p) }); err != nil {
		return err
	}
	// Up to the first folder that holds something else.
	for dir := path.Dir(p); dir != "." && root.Remove(dir) == nil; {
		dir = path.Dir(dir)
	}
	return nil
}

func writeFile(root *os.Root, p string, f *patch.File) error {
	if err := makeFolders(root, path.Dir(p)); err != nil {
		return err
	}
	info, err := lstat(root, p)
	if err != nil {
		return err
	}
	return unlock(root, path.Dir(p), func() error {
		if info != nil {
			if err := root.Remove(p); err != nil {
				return err
			}
		}
		return createFile(root, p, f, info)
	})
}

// createFile makes a file in the place of was, which may be nil.
func createFile(root *os.Root, p string, f *patch.File, was fs.FileInfo) error {
	if f.Mode.Type() == fs.ModeSymlink {
		return root.Symlink(string(f.Data), p)
	}
	perm := fs.FileMode(0o644)
	if was != nil && was.Mode().IsRegular() {
		perm = was.Mode().Perm() &^ 0o111
	}
	if f.Mode&0o100 != 0 {
		perm |= 0o100 | perm&0o444>>2 // whoever may read may execute
	}
	w, err := root.OpenFile(p, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = w.Write(f.Data)
	err = errors.Join(err, w.Chmod(perm))
	if err == nil && was != nil && patch.IsSource(p) {
		err = patch.TellApart(w, f.Data, was)
	}
	return errors.Join(err, w.Close())
}

// unlock calls do, which changes a folder. If the folder is not writable, it is made so meanwhile.
func unlock(root *os.Root, dir string, do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	info, serr := root.Lstat(dir)
	if serr != nil || root.Chmod(dir, info.Mode().Perm()|0o700) != nil {
		return err
	}
	return errors.Join(do(), root.Chmod(dir, info.Mode().Perm()))
}

// makeFolders makes dir and the folders above it. A symlink among them is an error.
func makeFolders(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if err := makeFolders(root, path.Dir(dir)); err != nil {
		return err
	}
	info, err := root.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unlock(root, path.Dir(dir), func() error { return root.Mkdir(dir, 0o755) })
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder: %w", dir, patch.ErrConflict)
	}
	return nil
}

// lstat returns the info of p. It is nil if p does not exist, or something above p is a symlink or no folder.
func lstat(root *os.Root, p string) (fs.FileInfo, error) {
	for i, r := range p {
		if r != '/' {
			continue
		}
		info, err := root.Lstat(p[:i])
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	info, err := root.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// Close removes the copy.
func (c *Copy) Close() error {
	c.base.mu.Lock()
	delete(c.base.copies, c)
	c.base.mu.Unlock()
	return c.base.bin.Remove(c.holder)
}

// waitForTick waits until the file system's clock has passed the last change of these files, because what an agent
// writes in the same tick would look unchanged. With Python bytecode among them it also waits for the next second:
// Python would not see a source that was written in the same second (patch.Stamp). It reads the clock by a chmod of
// dir to the mode it has.
func waitForTick(dir string, files map[string][]fileState) error {
	var newest int64
	seconds := sourceSeconds(files)
	for _, list := range files {
		for _, f := range list {
			newest = max(newest, f.Ctime)
		}
	}
	for end := time.Now().Add(longestTick); ; time.Sleep(time.Millisecond) {
		var now unix.Stat_t
		if err := unix.Stat(dir, &now); err != nil {
			return fmt.Errorf("scratch copy %s: %w", dir, err)
		}
		at := now.Ctim.Nano()
		if at > newest && !seconds[at/int64(time.Second)] || time.Now().After(end) {
			return nil
		}
		// Mode is uint16 elsewhere; where it cannot be had, the wait is the longest
		_ = unix.Chmod(dir, uint32(now.Mode)&0o7777) //nolint:unconvert
	}
}

// sourceSeconds returns the seconds in which Python sources were written. It returns nil if there is no bytecode.
func sourceSeconds(files map[string][]fileState) map[int64]bool {
	seconds, found := map[int64]bool{}, false
	for _, list := range files {
		for _, f := range list {
			switch {
			case patch.IsSource(f.name):
				seconds[f.Mtime/int64(time.Second)] = true
			case path.Ext(f.name) == ".pyc":
				found = true
			}
		}
	}
	if !found {
		return nil
	}
	return seconds
}

// fileStates returns the stat data of the files of one folder after they were copied.
func fileStates(files []copied) []fileState {
	list := make([]fileState, 0, len(files))
	for _, f := range files {
		if !hidden(f.Name) {
			list = append(list, fileState{f.Name, f.To})
		}
	}
	return list
}

// longestTick is a little more than the coarsest resolution of file times: 2 seconds on some file systems.
const longestTick = 2100 * time.Millisecond

// hiddenPath reports whether a component of p is .git or .async.
func hiddenPath(p string) bool { return slices.ContainsFunc(strings.Split(p, "/"), hidden) }
