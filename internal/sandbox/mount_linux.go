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
	clones := make([]clone, 0, len(s.Mounts))
	defer func() {
		for _, c := range clones {
			_ = unix.Close(c.fd)
		}
	}()
	for _, m := range s.Mounts {
		c, err := m.clone()
		if err != nil {
			return err
		}
		clones = append(clones, c)
	}
	// Landlock does not hold back changes of modes, owners and times. What was taken above keeps its own state, and what
	// is no file is written to through a read-only mount as ever: devices, pipes, sockets.
	if !s.Open {
		ro := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &ro); err != nil {
			return &refusal{"cannot make what lies outside read-only: " + err.Error(), true}
		}
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
	if m.From == "" {
		fd, err := memory()
		if err != nil {
			return clone{}, m.failed("make a file system in memory for", m.At, err)
		}
		return clone{m, fd, true}, nil
	}
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

// memory makes what stands at /dev/shm: nothing in it outlives the command.
func memory() (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(fs) }()
	for _, kv := range [][2]string{{"mode", "1777"}, {"size", "1g"}} {
		if err := unix.FsconfigSetString(fs, kv[0], kv[1]); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
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
