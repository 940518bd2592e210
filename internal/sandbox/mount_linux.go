package sandbox

// The mounts of a view, made by the entrant in its own namespace.

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A clone is a detached mount: taken before anything is hidden, put in its place afterwards.
type clone struct {
	mount
	fd    int
	isDir bool
}

func mountView(s spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return &refusal{"cannot make mounts private: " + err.Error(), true}
	}
	mounts := s.Mounts
	if s.Tmp != "" {
		mounts = append([]mount{{From: s.Tmp, At: s.Hidden}}, mounts...)
	}
	clones := make([]clone, 0, len(mounts))
	defer func() {
		for _, c := range clones {
			_ = unix.Close(c.fd)
		}
	}()
	for _, m := range mounts {
		c, err := m.clone()
		if err != nil {
			return err
		}
		clones = append(clones, c)
	}
	for _, c := range clones {
		err := c.attach()
		if c.Optional && errors.Is(err, unix.ELOOP) {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m mount) clone() (clone, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, m.From, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return clone{}, m.failed("take", m.From, err)
	}
	if m.ReadOnly {
		ro := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &ro); err != nil {
			_ = unix.Close(fd)
			return clone{}, m.failed("protect", m.From, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return clone{}, m.failed("look at", m.From, err)
	}
	return clone{m, fd, st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

func (c clone) attach() error {
	at, err := c.open()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	err = unix.MoveMount(c.fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err != nil {
		return c.failed("show "+c.From+" at", c.At, err)
	}
	return nil
}

// open gives the place to mount on, and makes it where it is missing. No symlink is followed: an earlier command may
// have put one in the private /tmp or in the copy.
func (c clone) open() (int, error) {
	fd, err := openPlain(c.At, unix.O_PATH)
	if !errors.Is(err, unix.ENOENT) || c.Within == "" {
		if err != nil {
			err = c.failed("show "+c.From+" at", c.At, err)
		}
		return fd, err
	}
	rel, ok := below(c.Within, c.At)
	if !ok {
		return -1, c.failed("make", c.At, err)
	}
	if err := c.make(rel); err != nil {
		return -1, c.failed("make", c.At, err)
	}
	if fd, err = openPlain(c.At, unix.O_PATH); err != nil {
		return -1, c.failed("show "+c.From+" at", c.At, err)
	}
	return fd, nil
}

// make makes the folders of rel below c.Within, and an empty folder or file at its end.
func (c clone) make(rel string) error {
	dir := c.Within
	names := strings.Split(rel, "/")
	for i, name := range names {
		parent, err := openPlain(dir, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		if i < len(names)-1 || c.isDir {
			err = unix.Mkdirat(parent, name, 0o700)
		} else {
			err = unix.Mknodat(parent, name, unix.S_IFREG|0o600, 0)
		}
		_ = unix.Close(parent)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		dir = filepath.Join(dir, name)
	}
	return nil
}

func openPlain(path string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// failed tells what the machine refuses from what is wrong with the box.
func (m mount) failed(what, path string, err error) error {
	text := fmt.Sprintf("cannot %s %s: %v", what, path, err)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSYS):
		return &refusal{text, true}
	case errors.Is(err, unix.ELOOP):
		return fmt.Errorf("cannot %s %s: a symlink stands in the way: %w", what, path, err)
	}
	return fmt.Errorf("cannot %s %s: %w", what, path, err)
}
