// Layered copies: of a base that is shown through an overlay only what somebody changed is on disk. See
// Documentation/filesystems/overlayfs.rst of Linux for the forms of the upper folder.

package scratch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// The folders of a layered copy: Copy.Dir and Copy.Work.
const (
	upperFolder = "upper"
	workFolder  = "work"
)

// opaque is the extended attribute of a folder that hides the one of its name in the base.
const opaque = "user.overlay.opaque"

// Layer makes a new copy in the folder at, which must not exist. It copies nothing: Copy.Dir is empty at first, and
// gets what is changed through an overlay of it and Base.Dir: in a box, or through sandbox.Box.OpenCopy. There may be
// only one such overlay at a time, and none while a method of the copy works.
func (b *Base) Layer(at string) (_ *Copy, err error) {
	c, err := b.begin(at)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	c.Dir, c.Work = filepath.Join(c.holder, upperFolder), filepath.Join(c.holder, workFolder)
	for _, dir := range []string{c.holder, c.Dir, c.Work} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(b.Dir) // the top of an overlay has the mode of the upper folder
	if err == nil {
		err = os.Chmod(c.Dir, info.Mode().Perm())
	}
	if err != nil {
		return nil, err
	}
	return c, waitForTick(c.Dir, b.bytecode())
}

// bytecode returns Python's bytecode and, if there is any, its sources with the times when they were written.
func (b *Base) bytecode() map[string][]fileState {
	files := map[string][]fileState{}
	isCode := func(e tree.Entry) bool { return path.Ext(e.Path) == ".pyc" }
	if !slices.ContainsFunc(b.Manifest.Entries, isCode) {
		return nil
	}
	for _, e := range b.Manifest.Entries {
		var st unix.Stat_t
		if isCode(e) || patch.IsSource(e.Path) && unix.Lstat(filepath.Join(b.Dir, e.Path), &st) == nil {
			files["."] = append(files["."], fileState{path.Base(e.Path), facts{Mtime: st.Mtim.Nano()}})
		}
	}
	return files
}

// below returns the files and symlinks of the base below the folder dir, sorted.
func (b *Base) below(dir string) (paths []string) {
	all := b.Manifest.Entries
	i, _ := slices.BinarySearchFunc(all, dir+"/",
		func(e tree.Entry, p string) int { return strings.Compare(e.Path, p) })
	for ; i < len(all) && strings.HasPrefix(all[i].Path, dir+"/"); i++ {
		if !all[i].Mode.IsDir() && !hiddenPath(all[i].Path) {
			paths = append(paths, all[i].Path)
		}
	}
	return paths
}

// compareLayers finds in the upper folder what compare finds by a walk of a whole copy.
func (c *Copy) compareLayers(ctx context.Context, root *os.Root) (*difference, error) {
	var mu sync.Mutex
	d := &difference{}
	present := map[string]bool{} // files and symlinks of the upper folder
	var hidden []string          // folders of the base that are hidden by an opaque one
	closed, err := c.walk(ctx, root, func(dir string, fd int, entries []fs.DirEntry) ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		if isOpaque(fd) {
			hidden = append(hidden, dir)
		}
		var below []string
		for _, e := range entries {
			if enter := d.addUpper(c.base, dir, fd, e, present); enter {
				below = append(below, e.Name())
			}
		}
		return below, nil
	})
	if err != nil {
		return nil, fmt.Errorf("scratch copy: %w", err)
	}
	d.closed = closed
	for _, dir := range hidden {
		for _, p := range c.base.below(dir) {
			if !present[p] && !under(p, closed) {
				d.gone = append(d.gone, p)
			}
		}
	}
	slices.Sort(d.gone) // a folder inside a hidden one can be hidden too
	d.gone = slices.Compact(d.gone)
	return d, nil
}

// addUpper adds what an entry of the upper folder means, and reports whether it is a folder to enter.
func (d *difference) addUpper(b *Base, dir string, fd int, e fs.DirEntry, present map[string]bool) (enter bool) {
	name := e.Name()
	p := path.Join(dir, name)
	was, known := b.Manifest.Find(p)
	wasDir := known && was.Mode.IsDir()
	whiteout := isWhiteout(fd, e)
	switch {
	case name == ".async" && b.recordsIn(dir), dir == "." && name == ".git":
		return false
	case hidden(name):
		if e.IsDir() {
			d.private = append(d.private, p+"/")
		} else if !whiteout {
			d.private = append(d.private, p)
		}
		return false
	}
	if wasDir && !e.IsDir() {
		d.gone = append(d.gone, b.below(p)...)
	}
	isFile := e.Type() == 0 || e.Type() == fs.ModeSymlink
	switch {
	case isFile && known && !wasDir:
		d.changed = append(d.changed, p)
	case isFile:
		d.added = append(d.added, p)
	case known && !wasDir:
		d.gone = append(d.gone, p)
	}
	if isFile {
		present[p] = true
	} else if !e.IsDir() && !whiteout {
		d.special = append(d.special, p)
	}
	return e.IsDir()
}

// isWhiteout reports whether an entry of the open folder dir marks that the base's file or folder of its name is gone.
func isWhiteout(dir int, e fs.DirEntry) bool {
	var st unix.Stat_t
	return e.Type()&fs.ModeCharDevice != 0 && unixat.Stat(dir, e.Name(), &st) == nil &&
		st.Rdev == 0
}

func isOpaque(fd int) bool {
	var value [1]byte
	n, err := unix.Fgetxattr(fd, opaque, value[:])
	return err == nil && n == 1 && value[0] == 'y'
}

// An upper is the upper folder of a copy over its base.
type upper struct {
	root, base *os.Root
	emptied    map[string]bool // folders that a file was deleted from
}

// stat returns what is seen at p, and whether the upper folder has it; nil: nothing is seen.
func (u *upper) stat(p string) (info fs.FileInfo, own bool, err error) {
	for i, r := range p + "/" {
		if r != '/' {
			continue
		}
		info, err := u.root.Lstat(p[:i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			info, err = lstat(u.base, p)
			return info, false, err
		case err != nil:
			return nil, false, err
		case isMark(info), i < len(p) && !info.IsDir():
			return nil, false, nil
		case i == len(p):
			return info, true, nil
		case u.isOpaque(p[:i]):
			if info, err = lstat(u.root, p); info != nil && isMark(info) {
				info = nil
			}
			return info, info != nil, err
		}
	}
	return nil, false, nil
}

// isMark reports whether a file of the upper folder is a whiteout.
func isMark(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode()&fs.ModeCharDevice != 0 && ok && st.Rdev == 0
}

func (u *upper) isOpaque(dir string) bool {
	f, err := u.root.Open(dir)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return isOpaque(int(f.Fd()))
}

// in calls do with a folder of the upper one, open. Where it is missing there it is made, with the mode that it has
// in the base.
func (u *upper) in(dir string, do func(fd int) error) error {
	if err := u.folder(dir); err != nil {
		return err
	}
	return unlock(u.root, dir, func() error {
		f, err := u.root.Open(dir)
		if err != nil {
			return err
		}
		return errors.Join(do(int(f.Fd())), f.Close())
	})
}

func (u *upper) folder(dir string) error {
	info, own, err := u.stat(dir)
	switch {
	case dir == "." || err != nil || own && info.IsDir():
		return err
	case info != nil && !info.IsDir():
		return fmt.Errorf("%s is no folder: %w", dir, patch.ErrConflict)
	}
	return u.in(path.Dir(dir), func(fd int) error {
		name, mode := path.Base(dir), uint32(0o755)
		if info != nil {
			mode = uint32(info.Mode().Perm())
		}
		hides := unix.Unlinkat(fd, name, 0) == nil // a whiteout
		if err := unix.Mkdirat(fd, name, mode); err != nil {
			return err
		}
		f, err := u.root.Open(dir)
		if err != nil {
			return err
		}
		if err = f.Chmod(fs.FileMode(mode)); err == nil && hides {
			err = unix.Fsetxattr(int(f.Fd()), opaque, []byte("y"), 0)
		}
		return errors.Join(err, f.Close())
	})
}

// delete removes a file. The folders that become empty are removed by prune.
func (u *upper) delete(p string) error {
	info, _, err := u.stat(p)
	if err != nil || info == nil || info.IsDir() {
		return err
	}
	if u.emptied == nil {
		u.emptied = map[string]bool{}
	}
	u.emptied[path.Dir(p)] = true
	return u.remove(p)
}

// prune removes the folders that delete emptied, and those above that become empty by that. It lists each folder
// once or twice, and not after every file.
func (u *upper) prune() error {
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(u.emptied))) { // those below a folder come before it
		for ; dir != "."; dir = path.Dir(dir) {
			if info, _, err := u.stat(dir); err != nil {
				return err
			} else if info == nil {
				continue
			}
			if empty, err := u.isEmpty(dir); err != nil {
				return err
			} else if !empty {
				break
			}
			if err := u.remove(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes a file or an empty folder: from the upper folder, and by a whiteout where the base has one.
func (u *upper) remove(p string) error {
	return u.in(path.Dir(p), func(fd int) error {
		if err := u.root.RemoveAll(p); err != nil {
			return err
		}
		if info, _, err := u.stat(p); err != nil || info == nil {
			return err
		}
		return whiteout(fd, path.Base(p))
	})
}

// isEmpty reports whether nothing is seen in a folder.
func (u *upper) isEmpty(dir string) (bool, error) {
	for _, root := range []*os.Root{u.root, u.base} {
		entries, err := list(root, dir)
		if err != nil && !unixat.IsNotExist(err) {
			return false, err
		}
		for _, e := range entries {
			if info, _, err := u.stat(path.Join(dir, e.Name())); info != nil || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// write replaces a file or an empty folder.
func (u *upper) write(p string, f *patch.File) error {
	was, _, err := u.stat(p)
	if err != nil {
		return err
	}
	if was != nil && was.IsDir() {
		if empty, err := u.isEmpty(p); err != nil || !empty {
			return cmp.Or(err, error(&fs.PathError{Op: "write", Path: p, Err: unix.ENOTEMPTY}))
		}
	}
	return u.in(path.Dir(p), func(int) error {
		if err := u.root.RemoveAll(p); err != nil {
			return err
		}
		return createFile(u.root, p, f, was)
	})
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
