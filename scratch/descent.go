// Reaches the folders of many paths one after the other, each through its open parent.

package scratch

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// A descent has the folders above one path open. If paths come sorted, in either order, each folder is opened once.
// No symlink is followed. It belongs to one goroutine.
type descent struct {
	make bool // folders that are missing are made
	open []level
}

// A level is an open folder. The first one is the top; the name of another is relative to the level before it. It is a
// single name, but for the last of mostHeld levels.
type level struct {
	name string
	fd   int
}

// descend opens the folder top. The caller must call close.
func descend(top string) (*descent, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Open(top, flags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: top, Err: err}
	}
	return &descent{open: []level{{fd: fd}}}, nil
}

// folder returns dir, a path below the top, or ".", as an open folder. It is valid until the next call.
func (d *descent) folder(dir string) (int, error) {
	if dir != path.Clean(dir) || !filepath.IsLocal(dir) {
		return -1, &fs.PathError{Op: "open", Path: dir, Err: patch.ErrUnsafePath}
	}
	var names []string
	if dir != "." {
		names = strings.Split(dir, "/")
	}
	if most := mostHeld - 2; len(names) > most {
		names = append(names[:most:most], strings.Join(names[most:], "/"))
	}
	same := 0
	for same < len(names) && same+1 < len(d.open) && d.open[same+1].name == names[same] {
		same++
	}
	for _, l := range d.open[same+1:] {
		_ = unix.Close(l.fd) // a folder
	}
	d.open = d.open[:same+1]
	for _, name := range names[same:] {
		fd, err := d.enter(d.open[len(d.open)-1].fd, name)
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: dir, Err: err}
		}
		d.open = append(d.open, level{name, fd})
	}
	return d.open[len(d.open)-1].fd, nil
}

// enter opens a folder whose path is relative to the open folder at.
func (d *descent) enter(at int, name string) (int, error) {
	fd, err := openBelow(at, name)
	if !d.make || !errors.Is(err, fs.ErrNotExist) {
		return fd, err
	}
	for i := range name + "/" {
		if i < len(name) && name[i] != '/' {
			continue
		}
		up, last := at, name[:i]
		if j := strings.LastIndexByte(last, '/'); j >= 0 {
			if up, err = openBelow(at, last[:j]); err != nil {
				return -1, err
			}
			last = last[j+1:]
		}
		err = unix.Mkdirat(up, last, 0o755)
		if up != at {
			_ = unix.Close(up) // a folder
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return -1, err
		}
	}
	return openBelow(at, name)
}

// list reads a folder.
func (d *descent) list(dir string) ([]fs.DirEntry, error) {
	at, err := d.folder(dir)
	if err != nil {
		return nil, err
	}
	fd, err := openBelow(at, ".")
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), dir)
	defer func() { _ = f.Close() }() // it was only read
	return f.ReadDir(-1)
}

// lstat returns the stat data of p.
func (d *descent) lstat(p string) (st unix.Stat_t, err error) {
	dir, err := d.folder(path.Dir(p))
	if err != nil {
		return st, err
	}
	if err := unixat.Stat(dir, path.Base(p), &st); err != nil {
		return st, &fs.PathError{Op: "lstat", Path: p, Err: err}
	}
	return st, nil
}

// file reads a file or symlink. It returns nil where there is none, also where something above p is a symlink or no
// folder. most is a limit in bytes, 0 for none.
func (d *descent) file(p string, most int64) (*patch.File, error) {
	st, err := d.lstat(p)
	if unixat.IsNotExist(err) || errors.Is(err, unix.ELOOP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	name, dir := path.Base(p), d.open[len(d.open)-1].fd
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFDIR, kind == unix.S_IFCHR && st.Rdev == 0: // the latter is a whiteout
		return nil, nil
	case kind == unix.S_IFLNK:
		text, err := unixat.Readlink(dir, name)
		if err != nil {
			return nil, &fs.PathError{Op: "readlink", Path: p, Err: err}
		}
		return &patch.File{Mode: fs.ModeSymlink | 0o777, Data: []byte(text)}, nil
	case kind != unix.S_IFREG:
		return nil, errSpecial
	case most > 0 && st.Size > most:
		return nil, errOversize
	}
	fd, err := unixat.Open(dir, name, unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	f := os.NewFile(uintptr(fd), p)
	defer func() { _ = f.Close() }() // it was only read
	var from io.Reader = f
	if most > 0 {
		from = io.LimitReader(f, most+1)
	}
	data, err := io.ReadAll(from)
	if err == nil && most > 0 && int64(len(data)) > most {
		err = errOversize
	}
	return &patch.File{Mode: fs.FileMode(st.Mode & 0o777), Data: data}, err
}

// unlock makes a file readable.
func (d *descent) unlock(p string) error {
	st, err := d.lstat(p)
	if err != nil {
		return err
	}
	// the mode is narrower on darwin
	return unix.Fchmodat(d.open[len(d.open)-1].fd, path.Base(p), uint32(st.Mode&0o777|0o400), 0) //nolint:unconvert
}

// close closes all that is open.
func (d *descent) close() {
	for _, l := range slices.Backward(d.open) {
		_ = unix.Close(l.fd) // a folder
	}
	d.open = nil
}
