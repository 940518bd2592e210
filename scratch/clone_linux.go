// What the Linux kernel copies by itself: shared extents where the file system has them, else without the way
// through this process.

package scratch

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// clone makes out share the extents of in.
func clone(in, out int) bool { return unix.IoctlFileClone(out, in) == nil }

// kernelCopy copies to the end of in, or until ctx ends. false: not between these two, and nothing was written.
func kernelCopy(ctx context.Context, in, out int, size int64) (bool, error) {
	for done := int64(0); ; {
		n, err := unix.CopyFileRange(in, nil, out, nil, int(min(max(size-done, 1<<20), 256<<20)), 0)
		switch {
		case ctx.Err() != nil:
			return true, ctx.Err()
		case errors.Is(err, unix.EINTR):
		case err != nil && done == 0:
			return false, nil
		case err != nil:
			return true, copyError(err)
		case n == 0 && done == 0 && size > 0: // some file systems answer so instead of an error
			return false, nil
		case n == 0:
			return true, nil
		default:
			done += int64(n)
		}
	}
}

// copyError returns the error of a copy that the kernel made. Of some faults it is known that writing failed.
func copyError(err error) error {
	for _, fault := range []error{unix.ENOSPC, unix.EDQUOT, unix.EFBIG, unix.EROFS} {
		if errors.Is(err, fault) {
			return &writeError{err}
		}
	}
	return err
}

// whiteout marks in an open folder, the upper one of an overlay, that the lower file or folder of that name is gone.
func whiteout(dir int, name string) error { return unix.Mknodat(dir, name, unix.S_IFCHR, 0) }
