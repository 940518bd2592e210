// Reading one file or symlink of a walk, and what the kernel says about it.

package tree

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/digest"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// A fact has the stat data that tell an unchanged file from a changed one. The zero fact matches no file.
type fact struct {
	Dev, Ino           uint64
	Size, Mtime, Ctime int64 // bytes, ns, ns
}

func factOf(st *unix.Stat_t) fact {
	// Dev is int32 elsewhere
	return fact{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()} //nolint:unconvert
}

// Facts returns as a text what tells a file from what it was before: device, inode, mode, size and times. A link is not followed.
func Facts(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return "", &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return fmt.Sprintf("%v %v", modeOf(&st), factOf(&st)), nil
}

// The kernel stamps files with a clock that ticks every few milliseconds, so a write after the start of a walk can
// carry a time a little before it; a file system that knows only (even) seconds cuts off much more.
const (
	tick   = int64(20 * time.Millisecond)
	coarse = int64(2 * time.Second)
)

// Settled reports whether a file with these times (ns since 1970) was last changed well before start. Then a content
// that was read after start is valid as long as the times stay the same (git's rule for racily clean files).
func Settled(mtime, ctime, start int64) bool {
	if mtime%int64(time.Second) == 0 && ctime%int64(time.Second) == 0 {
		start -= coarse
	}
	return max(mtime, ctime) < start-tick
}

// Latest returns the latest time at which a file with this ctime may have been changed (ns since 1970): a little after
// the end of the second, or of two, where the file system knows only (even) seconds.
func Latest(ctime int64) int64 {
	switch {
	case ctime%coarse == 0:
		return ctime + coarse + tick
	case ctime%int64(time.Second) == 0:
		return ctime + int64(time.Second) + tick
	}
	return ctime
}

func (f fact) settled(start int64) bool { return Settled(f.Mtime, f.Ctime, start) }

// unchanged reports whether the i-th entry is a file that has not changed since it was read.
func (m *Manifest) unchanged(i int, now fact) bool {
	return m.facts[i] == now && now.settled(m.startOf(i)) && m.Entries[i].Mode.IsRegular()
}

// maxReads is how often a file that changes while it is read is read.
const maxReads = 3

// addFile reads a file that st says is regular; errReplaced when it is not. at is as in take. What is read
// again counts as anew, so that it is remembered as read by this walk.
func (h *worker) addFile(f *folder, name, path string, at int, st *unix.Stat_t) error {
	if at >= 0 && h.known.unchanged(at, factOf(st)) {
		if e := h.known.Entries[at]; e.Mode != modeOf(st) {
			e.Mode = modeOf(st)
			h.found = append(h.found, &item{e, factOf(st)})
		} else {
			h.same = append(h.same, at)
		}
		return nil
	}
	for try := 1; ; try++ {
		it, steady, err := h.readFile(f.fd, name, path)
		switch {
		case errors.Is(err, errReplaced):
			return err
		case h.ctx.Err() != nil:
			return h.ctx.Err()
		case err != nil:
			return h.openFailed(path, err)
		case !steady && try < maxReads:
			continue
		case !steady:
			it.fact = fact{} // a mix of contents; a later walk reads the file again
		}
		h.found = append(h.found, it)
		return nil
	}
}

var errReplaced = errors.New("not what it was a moment ago")

// readFile opens and hashes one file; steady reports whether it did not change meanwhile. No more than the size at
// the start is read, so a file that keeps growing is read in bounded time.
func (h *worker) readFile(dir int, name, path string) (_ *item, steady bool, err error) {
	fd, err := unixat.Open(dir, name, unix.O_NONBLOCK|unix.O_NOCTTY)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, false, errReplaced // it is a symlink, a socket or a FIFO now
	}
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = unix.Close(fd) }()
	var before, after unix.Stat_t
	if err := unix.Fstat(fd, &before); err != nil {
		return nil, false, err
	}
	if before.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, false, errReplaced
	}
	if h.buf == nil {
		h.buf = make([]byte, 128<<10)
	}
	sum, size := sha256.New(), int64(0)
	for size < before.Size {
		n, err := unixat.Read(fd, h.buf[:min(int64(len(h.buf)), before.Size-size)])
		if err != nil {
			return nil, false, err
		}
		if n == 0 {
			break
		}
		_, _ = sum.Write(h.buf[:n])
		size += int64(n)
		if err := h.ctx.Err(); err != nil {
			return nil, false, err
		}
	}
	if h.seen != nil {
		h.seen()
	}
	if err := unix.Fstat(fd, &after); err != nil {
		return nil, false, err
	}
	e := Entry{Path: path, Mode: modeOf(&after), Size: size, Digest: digest.Text(sum.Sum(nil))}
	return &item{e, factOf(&after)}, factOf(&before) == factOf(&after) && size == after.Size, nil
}

// addLink reads the text of a symlink. at is as in take.
func (h *worker) addLink(f *folder, name, path string, at int) error {
	text, err := unixat.Readlink(f.fd, name)
	switch {
	case errors.Is(err, unix.EINVAL):
		return errReplaced
	case err != nil:
		return h.openFailed(path, err)
	}
	sum := sha256.Sum256([]byte(text))
	e := Entry{Path: path, Mode: fs.ModeSymlink | 0o777, Size: int64(len(text)), Digest: digest.Text(sum[:]), Link: text}
	h.take(at, &item{Entry: e})
	return nil
}

// isResourceLimit reports whether an error is due to a limit of this process, not to the file.
func isResourceLimit(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}
