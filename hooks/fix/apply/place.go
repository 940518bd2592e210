// A place is the tree that an apply writes: every step is taken from an open folder and follows no symbolic link.

package apply

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A place is one folder and what is below it. Paths are slash-separated and relative to it.
type place struct {
	top *os.File
}

func openPlace(top string) (*place, error) {
	f, err := os.OpenFile(top, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	return &place{top: f}, nil
}

func (p *place) close() { _ = p.top.Close() } // opened for reading

// safePath says what is wrong with a path of a patch; nil when it may be written. What is true of a name in upper case
// too, because there are file systems that do not tell them apart.
func safePath(name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || name == "." || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%q does not lie inside the tree", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, ".async") {
			return fmt.Errorf("%q lies in a %s folder", name, part)
		}
	}
	return nil
}

// folder opens a folder; "." is the place itself. A link on the way is ENOTDIR or ELOOP.
func (p *place) folder(dir string) (*os.File, error) {
	at := p.top
	for part := range strings.SplitSeq(dir, "/") {
		fd, err := openat(at, part, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
		if at != p.top {
			_ = at.Close() // opened for reading
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
		}
		at = os.NewFile(uintptr(fd), dir)
	}
	return at, nil
}

func openat(at *os.File, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(int(at.Fd()), name, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// in opens the folder of a path and calls do with it and the last name.
func (p *place) in(name string, do func(dir int, base string) error) error {
	f, err := p.folder(path.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	if err := do(int(f.Fd()), path.Base(name)); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

// A held is what a path holds now.
type held struct {
	file  *patch.File // nil: no file and no link
	perm  uint32      // all twelve permission bits; of a folder too
	dir   bool
	other bool // a FIFO, a socket, a device
	long  bool // the file is longer than what was to be read; its Data is nil
}

// absent says that err means that there is nothing at the path, or that it cannot be for what is on the way.
func absent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// look reads a path. Nothing there, also because the way to it is no folder, is the zero held. Files longer than limit,
// in bytes, are not read.
func (p *place) look(name string, limit int64) (held, error) {
	var h held
	err := p.in(name, func(dir int, base string) error {
		var st unix.Stat_t
		if err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		h.perm = uint32(st.Mode) & 0o7777 //nolint:unconvert // it is an uint16 on other systems
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			h.dir = true
		case unix.S_IFLNK:
			text, err := readlink(dir, base)
			h.file = &patch.File{Mode: fs.ModeSymlink | 0o777, Data: text}
			return err
		case unix.S_IFREG:
			h.file = &patch.File{Mode: 0o644 | fs.FileMode(h.perm)&0o100/0o100*0o111}
			if h.long = st.Size > limit; h.long {
				return nil
			}
			fd, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			f := os.NewFile(uintptr(fd), name)
			defer func() { _ = f.Close() }() // opened for reading
			h.file.Data, err = io.ReadAll(io.LimitReader(f, limit+1))
			return err
		default:
			h.other = true
		}
		return nil
	})
	if absent(err) {
		return held{}, nil
	}
	return h, err
}

func readlink(dir int, base string) ([]byte, error) {
	for size := 256; ; size *= 2 {
		b := make([]byte, size)
		n, err := unix.Readlinkat(dir, base, b)
		if err != nil || n < size {
			return b[:max(n, 0)], err
		}
	}
}

// holds says whether a path holds what the record says: the same kind, executable bit and content; nil is nothing.
func (h held) holds(c *fix.Content) bool {
	if c == nil {
		return h.file == nil && !h.dir && !h.other
	}
	return h.file != nil && !h.long && int64(len(h.file.Data)) == c.Bytes && *fix.ContentOf(h.file) == *c
}

// blocked gives the first part of the way to a path that is there and is no folder; empty when there is none.
func (p *place) blocked(name string) (string, error) {
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		h, err := p.look(name[:i], 0)
		if err != nil {
			return "", err
		}
		if h.file != nil || h.other {
			return name[:i], nil
		}
		if !h.dir {
			break
		}
	}
	return "", nil
}

// stage writes a file or link under a temporary name. With exact the permission bits are perm; else the umask takes
// its part, as for any new file.
func (p *place) stage(temp string, f *patch.File, perm uint32, exact bool) error {
	return p.in(temp, func(dir int, base string) error {
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
			err = out.Sync() // a rename that is on the disk before its content would leave an empty file
		}
		return errors.Join(err, out.Close())
	})
}

func (p *place) rename(from, to string) error {
	a, err := p.folder(path.Dir(from))
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // opened for reading
	return p.in(to, func(dir int, base string) error {
		return unix.Renameat(int(a.Fd()), path.Base(from), dir, base)
	})
}

func (p *place) unlink(name string) error {
	return p.in(name, func(dir int, base string) error { return unix.Unlinkat(dir, base, 0) })
}

// rmdir removes a folder when it is empty; that it is not, or is gone, is no error.
func (p *place) rmdir(name string) error {
	err := p.in(name, func(dir int, base string) error { return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR) })
	if err == nil || p.nothing(name) {
		return nil
	}
	if absent(err) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EBUSY) {
		return nil
	}
	return err
}

// mkdir makes a folder where there is none. With exact the permission bits are perm.
func (p *place) mkdir(name string, perm uint32, exact bool) error {
	err := p.in(name, func(dir int, base string) error {
		if err := unix.Mkdirat(dir, base, perm&0o777); err != nil || !exact {
			return err
		}
		return unix.Fchmodat(dir, base, perm, 0)
	})
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// writable says why a folder takes no new names; nil when it does.
func (p *place) writable(dir string) error {
	f, err := p.folder(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return unix.Faccessat(int(f.Fd()), ".", unix.W_OK|unix.X_OK, 0)
}

// nothing says that a path is not there. It asks without writing: a file system that is read-only says EROFS to
// whoever removes nothing.
func (p *place) nothing(name string) bool {
	err := p.in(name, func(dir int, base string) error {
		var st unix.Stat_t
		return unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return absent(err)
}

// sync puts the names in a folder on the disk; a folder that is gone needs nothing.
func (p *place) sync(dir string) error {
	f, err := p.folder(dir)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return f.Sync()
}

// parents lists the folders above a path, nearest first, without the place itself.
func parents(name string) []string {
	var all []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		all = append(all, dir)
	}
	return all
}

// nearest is the nearest folder above a path that is there.
func (p *place) nearest(name string) (string, error) {
	for _, dir := range parents(name) {
		h, err := p.look(dir, 0)
		if err != nil {
			return "", err
		}
		if h.dir { // and so is all above it: look follows no link
			return dir, nil
		}
	}
	return ".", nil
}
