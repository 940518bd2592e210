package apply

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// A worktree is the folder that an apply writes to. Paths are slash-separated and relative to it. Every step begins
// at an open folder and follows no symbolic link.
type worktree struct {
	top    *os.File
	staged map[uint64]string // for syncStaged: a folder on each file system; nil: each content is synced as it is staged
}

func openWorktree(top string) (*worktree, error) {
	f, err := os.OpenFile(top, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	return &worktree{top: f}, nil
}

func (w *worktree) close() { _ = w.top.Close() } // opened for reading

// folder opens a folder; "." is the work tree itself. A link on the way is ENOTDIR or ELOOP.
func (w *worktree) folder(dir string) (*os.File, error) {
	at := w.top
	for part := range strings.SplitSeq(dir, "/") {
		fd, err := unixat.Open(int(at.Fd()), part, unix.O_DIRECTORY)
		if at != w.top {
			_ = at.Close() // opened for reading
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
		}
		at = os.NewFile(uintptr(fd), dir)
	}
	return at, nil
}

// in opens the folder of a path, and calls do with it and the last name.
func (w *worktree) in(name string, do func(dir int, base string) error) error {
	f, err := w.folder(path.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	if err := do(int(f.Fd()), path.Base(name)); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

// A node is what is at a path now; the zero value is nothing.
type node struct {
	file  *patch.File // a file or a link
	perm  uint32      // all twelve permission bits; of a folder too
	dir   bool
	other bool // a FIFO, a socket, a device
	long  bool // the file is longer than what was to be read; its Data is nil
}

// notThere reports whether err means that nothing is at a path, or that nothing can be because of what is on the way.
func notThere(err error) bool {
	return unixat.IsNotExist(err) || errors.Is(err, unix.ELOOP)
}

// read reads a path. Nothing there, also because the way to it is no folder, is the zero node. Files longer than
// limit, in bytes, are not read.
func (w *worktree) read(name string, limit int64) (node, error) {
	var n node
	err := w.in(name, func(dir int, base string) error {
		var st unix.Stat_t
		if err := unixat.Stat(dir, base, &st); err != nil {
			return err
		}
		n.perm = uint32(st.Mode) & 0o7777 //nolint:unconvert // it is an uint16 on other systems
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			n.dir = true
		case unix.S_IFLNK:
			text, err := unixat.Readlink(dir, base)
			n.file = &patch.File{Mode: fs.ModeSymlink | 0o777, Data: []byte(text)}
			return err
		case unix.S_IFREG:
			n.file = &patch.File{Mode: 0o644 | fs.FileMode(n.perm)&0o100/0o100*0o111}
			if n.long = st.Size > limit; n.long {
				return nil
			}
			fd, err := unixat.Open(dir, base, unix.O_NONBLOCK)
			if err != nil {
				return err
			}
			f := os.NewFile(uintptr(fd), name)
			defer func() { _ = f.Close() }() // opened for reading
			n.file.Data, err = io.ReadAll(io.LimitReader(f, limit+1))
			return err
		default:
			n.other = true
		}
		return nil
	})
	if notThere(err) {
		return node{}, nil
	}
	return n, err
}

// is reports whether a path is as the record says: the same kind, executable bit and content; nil is nothing.
func (n node) is(c *fix.Content) bool {
	if c == nil {
		return n.file == nil && !n.dir && !n.other
	}
	return n.file != nil && !n.long && int64(len(n.file.Data)) == c.Bytes && *fix.ContentOf(n.file) == *c
}

// blocked returns the first part of the way to a path that is there and is no folder, or "".
func (w *worktree) blocked(name string) (string, error) {
	for _, dir := range slices.Backward(parents(name)) {
		n, err := w.read(dir, 0)
		switch {
		case err != nil:
			return "", err
		case n.file != nil || n.other:
			return dir, nil
		case !n.dir:
			return "", nil
		}
	}
	return "", nil
}

// stage writes a file or link under a temporary name. With exact its permission bits are perm; else the umask clears
// some, as of any new file.
func (w *worktree) stage(temp string, f *patch.File, perm uint32, exact bool) error {
	return w.in(temp, func(dir int, base string) error {
		if f.Mode&fs.ModeSymlink != 0 {
			return unix.Symlinkat(string(f.Data), dir, base)
		}
		fd, err := unix.Openat(dir, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm&0o777)
		if err != nil {
			return err
		}
		out := os.NewFile(uintptr(fd), temp)
		_, err = out.Write(f.Data)
		if err == nil && exact {
			err = unix.Fchmod(fd, perm)
		}
		if err == nil {
			err = w.syncContent(out, path.Dir(temp))
		}
		return errors.Join(err, out.Close())
	})
}

// give gives a staged file, or a new folder, to the owner of the file at name, or else of the folder that temp is in, where
// root writes into the tree of somebody else. Not all file systems and user namespaces allow that: then it stays root's.
func (w *worktree) give(temp, name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	like, err := w.lstat(name)
	if notThere(err) {
		like, err = w.lstat(path.Dir(temp))
	}
	if err != nil || like.Uid == 0 && like.Gid == 0 {
		return err
	}
	return w.in(temp, func(dir int, base string) error {
		var was unix.Stat_t
		if err := unixat.Stat(dir, base, &was); err != nil {
			return err
		}
		err := unix.Fchownat(dir, base, int(like.Uid), int(like.Gid), unix.AT_SYMLINK_NOFOLLOW)
		if err == nil && was.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 { // the kernel cleared these
			return unix.Fchmodat(dir, base, uint32(was.Mode)&0o7777, 0) //nolint:unconvert // 16 bits on macOS
		}
		return nil
	})
}

// syncContent makes a staged content last, or notes that syncStaged has to: a rename that is on the disk before the
// content would leave an empty file.
func (w *worktree) syncContent(f *os.File, dir string) error {
	if w.staged == nil {
		return f.Sync()
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	w.staged[uint64(st.Dev)] = dir //nolint:unconvert // signed on macOS
	return nil
}

// syncStaged makes all contents last that syncContent noted.
func (w *worktree) syncStaged() error {
	for _, dir := range w.staged {
		d, err := w.folder(dir)
		if err != nil {
			return err
		}
		err = recordfile.SyncAll(d)
		_ = d.Close() // opened for reading
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *worktree) rename(from, to string) error {
	a, err := w.folder(path.Dir(from))
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // opened for reading
	return w.in(to, func(dir int, base string) error {
		return unix.Renameat(int(a.Fd()), path.Base(from), dir, base)
	})
}

func (w *worktree) unlink(name string) error {
	return w.in(name, func(dir int, base string) error { return unix.Unlinkat(dir, base, 0) })
}

// rmdir removes a folder if it is empty; it is no error that it is not, or that it is gone.
func (w *worktree) rmdir(name string) error {
	err := w.in(name, func(dir int, base string) error { return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR) })
	if err == nil || w.absent(name) {
		return nil
	}
	if notThere(err) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EBUSY) {
		return nil
	}
	return err
}

// mkdir makes a folder where there is none. With exact its permission bits are perm.
func (w *worktree) mkdir(name string, perm uint32, exact bool) error {
	err := w.in(name, func(dir int, base string) error {
		if err := unix.Mkdirat(dir, base, perm&0o777); err != nil || !exact {
			return err
		}
		return unix.Fchmodat(dir, base, perm, 0)
	})
	switch {
	case errors.Is(err, unix.EEXIST):
		return nil
	case err != nil:
		return err
	}
	return w.give(name, path.Dir(name))
}

// writable returns an error if a folder takes no new names.
func (w *worktree) writable(dir string) error {
	f, err := w.folder(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return unix.Faccessat(int(f.Fd()), ".", unix.W_OK|unix.X_OK, 0)
}

// absent reports whether nothing is at a path. It does not try to remove anything: on a read-only file system that
// is EROFS, also where nothing is.
func (w *worktree) absent(name string) bool {
	_, err := w.lstat(name)
	return notThere(err)
}

func (w *worktree) lstat(name string) (st unix.Stat_t, err error) {
	err = w.in(name, func(dir int, base string) error {
		return unixat.Stat(dir, base, &st)
	})
	return st, err
}

// sync makes the names in a folder last through a crash of the machine; a folder that is gone needs nothing.
func (w *worktree) sync(dir string) error {
	f, err := w.folder(dir)
	if notThere(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return f.Sync()
}

// parents returns the folders above a path, nearest first, without the work tree itself.
func parents(name string) []string {
	var all []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		all = append(all, dir)
	}
	return all
}

// nearest returns the nearest folder above a path that is there.
func (w *worktree) nearest(name string) (string, error) {
	for _, dir := range parents(name) {
		n, err := w.read(dir, 0)
		if err != nil {
			return "", err
		}
		if n.dir { // and so is all above it: read follows no link
			return dir, nil
		}
	}
	return ".", nil
}

// readFor reads the path of a target: whole only where it is neither of the contents that the record knows.
func (w *worktree) readFor(t *target) (node, error) {
	n, err := w.read(t.path, larger(t.before, t.after))
	if err == nil && n.long {
		n, err = w.read(t.path, maxMerge)
	}
	return n, err
}

// larger returns the size of the larger content, in bytes.
func larger(a, b *fix.Content) int64 {
	var n int64
	for _, c := range []*fix.Content{a, b} {
		if c != nil {
			n = max(n, c.Bytes)
		}
	}
	return n
}

// names returns the names in a folder, sorted.
func (w *worktree) names(dir string) ([]string, error) {
	f, err := w.folder(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// stamp returns what caches compare of a file; the zero Stamp of anything else.
func (w *worktree) stamp(name string) (s patch.Stamp, err error) {
	st, err := w.lstat(name)
	switch {
	case notThere(err):
		return s, nil
	case err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG:
		s = patch.Stamp{Size: st.Size, Time: time.Unix(0, st.Mtim.Nano())}
	}
	return s, err
}

// removeEmpty removes the folders above a deleted path that are empty now, as git does.
func (w *worktree) removeEmpty(deleted string) error {
	for _, dir := range parents(deleted) {
		if err := w.rmdir(dir); err != nil {
			return err
		}
	}
	return nil
}
