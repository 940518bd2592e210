// Package unixat has system calls that read what is in an open folder, and tells what an error of one means. The calls are
// those of x/sys/unix, and are repeated where a signal ended them: a file system in user space (FUSE) or on a network may
// return EINTR although Go's signals ask the kernel to go on, and the file would be taken for one that cannot be read.
package unixat

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// IsNotExist reports whether an error means that a path leads nowhere: a name on it is not there, or stands for something
// else than a folder. errors.Is(err, fs.ErrNotExist) is only the first.
func IsNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// Open opens a name in a folder for reading. It does not follow a link as the last component.
func Open(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// Stat sets st to the facts of a name in a folder. Those of a link are its own.
func Stat(dir int, name string, st *unix.Stat_t) error {
	for {
		err := unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Read reads at most len(b) bytes of an open file; 0 at its end.
func Read(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// Readlink returns the text of a link in a folder.
func Readlink(dir int, name string) (string, error) {
	for b := make([]byte, 256); ; {
		n, err := unix.Readlinkat(dir, name, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return "", err
		case n < len(b):
			return string(b[:n]), nil
		default:
			b = make([]byte, 4*len(b))
		}
	}
}
