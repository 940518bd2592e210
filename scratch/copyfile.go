// Copies one file or symlink: content, holes, permission bits, times. Hard links are never made: writing to one
// would write to the original.

package scratch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// bufferSize is the size of one read, in bytes. Larger files are copied by the kernel where it can.
const bufferSize = 256 << 10

// rereads is how often a file that changes while it is copied is copied again. The last result is used: for a log that
// is written all the time there is no better one.
const rereads = 5

// facts are the stat data that show, without reading a file, that it has changed. The zero facts match no file.
type facts struct {
	Dev, Ino           uint64
	Size, Mtime, Ctime int64 // bytes, ns, ns
	UID, GID           uint32
}

func factsOf(s *unix.Stat_t) facts {
	// Dev is int32 elsewhere
	return facts{uint64(s.Dev), s.Ino, s.Size, s.Mtim.Nano(), s.Ctim.Nano(), s.Uid, s.Gid} //nolint:unconvert
}

// A copied is one file or symlink that was copied.
type copied struct {
	Name     string
	From, To facts // stat data of source and copy; From is zero if the file kept changing
	Blocks   int64 // allocated, of 512 bytes each; a file system may allocate those of the copy later
	Mode     fs.FileMode
	Digest   string // as in tree.Entry; empty if no digests are wanted
	Link     string // text of a symlink
}

// A fileCopier copies one file at a time for one worker.
type fileCopier struct {
	ctx context.Context
	buf []byte
	sum hash.Hash // nil: no digests are wanted
}

func newFileCopier(ctx context.Context, sums bool) *fileCopier {
	h := &fileCopier{ctx: ctx, buf: make([]byte, bufferSize)}
	if sums {
		h.sum = sha256.New()
	}
	return h
}

// digest returns the digest of the file that was copied last.
func (h *fileCopier) digest() string {
	if h.sum == nil {
		return ""
	}
	return "sha256:" + hex.EncodeToString(h.sum.Sum(nil))
}

var errSpecial = errors.New("not a file, folder or symlink")

// A writeError is an error of writing the copy, such as a full disk, and not of reading the source.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// leaf copies f from one open folder to another.
func (h *fileCopier) leaf(from, to int, f leaf) (copied, error) {
	if f.link {
		got, err := h.link(from, to, f.name)
		if !errors.Is(err, unix.EINVAL) { // EINVAL: it is a file now
			return got, err
		}
	}
	for i := 0; ; i++ {
		got, changed, err := h.file(from, to, f.name)
		if errors.Is(err, unix.ELOOP) {
			return h.link(from, to, f.name)
		}
		if err == nil && changed && i == rereads {
			got.From = facts{}
			return got, nil
		}
		if err == nil && !changed {
			return got, nil
		}
		if err := unix.Unlinkat(to, f.name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return copied{}, &writeError{err}
		}
		if err != nil {
			return copied{}, err
		}
		time.Sleep(time.Duration(i+1) * time.Millisecond)
	}
}

func (h *fileCopier) link(from, to int, name string) (copied, error) {
	text, err := unixat.Readlink(from, name)
	if err != nil {
		return copied{}, err
	}
	var was, now unix.Stat_t
	if err := unixat.Stat(from, name, &was); err != nil {
		return copied{}, err
	}
	if err := unix.Symlinkat(text, to, name); err != nil {
		return copied{}, &writeError{err}
	}
	if err := unix.UtimesNanoAt(to, name, []unix.Timespec{was.Atim, was.Mtim}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return copied{}, &writeError{err}
	}
	if err := unixat.Stat(to, name, &now); err != nil {
		return copied{}, &writeError{err}
	}
	if h.sum != nil {
		h.sum.Reset()
		_, _ = h.sum.Write([]byte(text)) // a hash never fails
	}
	return copied{
		Name: name, From: factsOf(&was), To: factsOf(&now), Mode: fs.ModeSymlink | 0o777,
		Digest: h.digest(), Link: text,
	}, nil
}

// file copies a regular file, and reports whether it changed meanwhile.
func (h *fileCopier) file(from, to int, name string) (got copied, changed bool, err error) {
	// O_NONBLOCK: a FIFO in place of the file must not block.
	in, err := unixat.Open(from, name, unix.O_NONBLOCK|unix.O_NOCTTY)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENODEV) {
		err = errSpecial
	}
	if err != nil {
		return copied{}, false, err
	}
	defer func() { _ = unix.Close(in) }()
	var was, after, now unix.Stat_t
	if err := unix.Fstat(in, &was); err != nil {
		return copied{}, false, err
	}
	if was.Mode&unix.S_IFMT != unix.S_IFREG {
		return copied{}, false, errSpecial
	}
	// With its own permission bits; setModeAndTimes adds those that the umask removed.
	// the mode is narrower on darwin
	out, err := unix.Openat(to, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(was.Mode&0o777)) //nolint:unconvert
	if err != nil {
		return copied{}, false, &writeError{err}
	}
	err = h.fill(in, out, &was)
	if err == nil {
		err = setModeAndTimes(out, to, name, &was, &now)
	}
	if cerr := unix.Close(out); err == nil && cerr != nil {
		err = &writeError{cerr}
	}
	if err != nil {
		return copied{}, false, err
	}
	if err := unix.Fstat(in, &after); err != nil {
		return copied{}, false, err
	}
	got = copied{
		Name: name, From: factsOf(&was), To: factsOf(&now), Blocks: max(was.Blocks, now.Blocks),
		Mode: fs.FileMode(was.Mode & 0o777), Digest: h.digest(),
	}
	return got, factsOf(&after) != factsOf(&was), nil
}

// setModeAndTimes gives the copy the permission bits of the source (no setuid, setgid or sticky bit) and its times.
func setModeAndTimes(out, to int, name string, was, now *unix.Stat_t) error {
	if err := unix.UtimesNanoAt(to, name, []unix.Timespec{was.Atim, was.Mtim}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &writeError{err}
	}
	if err := unix.Fstat(out, now); err != nil {
		return &writeError{err}
	}
	if now.Mode&0o7777 == was.Mode&0o777 {
		return nil
	}
	//nolint:unconvert // the mode is narrower on darwin
	if err := unix.Fchmod(out, uint32(was.Mode&0o777)); err != nil {
		return &writeError{err}
	}
	if err := unix.Fstat(out, now); err != nil {
		return &writeError{err}
	}
	return nil
}

// fill copies the content, and hashes it if a digest is wanted.
func (h *fileCopier) fill(in, out int, was *unix.Stat_t) error {
	if h.sum != nil {
		h.sum.Reset()
	}
	if was.Size == 0 {
		return nil
	}
	sparse := was.Blocks*512 < was.Size
	if (was.Size > bufferSize || sparse) && clone(in, out) {
		return h.reread(out)
	}
	if sparse {
		if ok, err := h.fillSparse(in, out, was.Size); ok || err != nil {
			if err != nil {
				return err
			}
			return h.reread(out)
		}
	}
	if was.Size > bufferSize && h.sum == nil {
		if ok, err := kernelCopy(h.ctx, in, out, was.Size); ok || err != nil {
			return err
		}
	}
	// Only up to the size at the start: a file that has grown is copied again, because its facts differ.
	return h.pump(in, out, was.Size, h.sum)
}

// reread hashes a file that the kernel copied.
func (h *fileCopier) reread(out int) error {
	if h.sum == nil {
		return nil
	}
	for at := int64(0); ; {
		n, err := unix.Pread(out, h.buf, at)
		switch {
		case h.ctx.Err() != nil:
			return h.ctx.Err()
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return &writeError{err}
		case n == 0:
			return nil
		default:
			_, _ = h.sum.Write(h.buf[:n]) // a hash never fails
			at += int64(n)
		}
	}
}

// pump copies n bytes from the current offsets, or to the end if n is negative. They are also written to sum if it is
// not nil.
func (h *fileCopier) pump(in, out int, n int64, sum hash.Hash) error {
	for n != 0 {
		if err := h.ctx.Err(); err != nil {
			return err
		}
		part := h.buf
		if n > 0 && n < int64(len(part)) {
			part = part[:n]
		}
		got, err := unixat.Read(in, part)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if got == 0 {
			return nil
		}
		for done := 0; done < got; {
			w, err := unix.Write(out, part[done:got])
			if err != nil && !errors.Is(err, unix.EINTR) {
				return &writeError{err}
			}
			done += max(w, 0)
		}
		if sum != nil {
			_, _ = sum.Write(part[:got]) // a hash never fails
		}
		if n > 0 {
			n -= int64(got)
		}
	}
	return nil
}

// fillSparse copies data and leaves holes out. It returns false if the file system cannot report holes.
func (h *fileCopier) fillSparse(in, out int, size int64) (bool, error) {
	for at := int64(0); at < size; {
		data, err := unix.Seek(in, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // a hole up to the end
			break
		}
		if err != nil {
			_, err = unix.Seek(in, 0, unix.SEEK_SET)
			return false, err
		}
		hole, err := unix.Seek(in, data, unix.SEEK_HOLE)
		if err != nil {
			return true, err
		}
		if _, err := unix.Seek(in, data, unix.SEEK_SET); err != nil {
			return true, err
		}
		if _, err := unix.Seek(out, data, unix.SEEK_SET); err != nil {
			return true, &writeError{err}
		}
		if err := h.pump(in, out, hole-data, nil); err != nil {
			return true, err
		}
		at = hole
	}
	if err := unix.Ftruncate(out, size); err != nil {
		return true, &writeError{err}
	}
	return true, nil
}
