// Copies one file or symlink: content, holes, permission bits, times. Never a hard link: who writes through one writes the original.

package scratch

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// bufferSize is what one read takes, in bytes; larger files are left to the kernel.
const bufferSize = 256 << 10

// rereads is how often a file that changes while it is copied is copied again. What the last time gave is kept: a log
// that is written all the time has no better state.
const rereads = 5

// Facts tell a file from a later state of it without reading it.
type facts struct {
	ino          uint64
	size         int64
	mtime, ctime unix.Timespec
}

func factsOf(s *unix.Stat_t) facts { return facts{s.Ino, s.Size, s.Mtim, s.Ctim} }

var errSpecial = errors.New("not a file, folder or symlink")

// A writeError is a fault of the copy's side: a full disk, not a file that cannot be read.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// copyLeaf copies f from one open folder to another.
func copyLeaf(from, to int, f leaf, buf []byte) (facts, error) {
	if f.link {
		got, err := copyLink(from, to, f.name)
		if !errors.Is(err, unix.EINVAL) { // else it has become a file
			return got, err
		}
	}
	for i := 0; ; i++ {
		got, changed, err := copyFile(from, to, f.name, buf)
		if errors.Is(err, unix.ELOOP) {
			return copyLink(from, to, f.name)
		}
		if err == nil && (!changed || i == rereads) {
			return got, nil
		}
		if err := unix.Unlinkat(to, f.name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return facts{}, &writeError{err}
		}
		if err != nil {
			return facts{}, err
		}
		time.Sleep(time.Duration(i+1) * time.Millisecond)
	}
}

func copyLink(from, to int, name string) (facts, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(from, name, buf)
	if err != nil {
		return facts{}, err
	}
	var was, now unix.Stat_t
	if err := unix.Fstatat(from, name, &was, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return facts{}, err
	}
	if err := unix.Symlinkat(string(buf[:n]), to, name); err != nil {
		return facts{}, &writeError{err}
	}
	if err := unix.UtimesNanoAt(to, name, []unix.Timespec{was.Atim, was.Mtim}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return facts{}, &writeError{err}
	}
	if err := unix.Fstatat(to, name, &now, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return facts{}, &writeError{err}
	}
	return factsOf(&now), nil
}

// copyFile says also whether the file changed while it was copied.
func copyFile(from, to int, name string, buf []byte) (got facts, changed bool, err error) {
	// O_NONBLOCK: a FIFO that took the file's place must not hold us.
	in, err := unix.Openat(from, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENODEV) {
		err = errSpecial
	}
	if err != nil {
		return facts{}, false, err
	}
	defer func() { _ = unix.Close(in) }()
	var was, after, now unix.Stat_t
	if err := unix.Fstat(in, &was); err != nil {
		return facts{}, false, err
	}
	if was.Mode&unix.S_IFMT != unix.S_IFREG {
		return facts{}, false, errSpecial
	}
	out, err := unix.Openat(to, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return facts{}, false, &writeError{err}
	}
	err = fill(in, out, &was, buf)
	if err == nil {
		err = settle(out, to, name, &was, &now)
	}
	if cerr := unix.Close(out); err == nil && cerr != nil {
		err = &writeError{cerr}
	}
	if err != nil {
		return facts{}, false, err
	}
	if err := unix.Fstat(in, &after); err != nil {
		return facts{}, false, err
	}
	return factsOf(&now), factsOf(&after) != factsOf(&was), nil
}

// settle gives the copy its permission bits (no setuid, setgid or sticky bit) and times.
func settle(out, to int, name string, was, now *unix.Stat_t) error {
	//nolint:unconvert // the mode is narrower on darwin
	if err := unix.Fchmod(out, uint32(was.Mode&0o777)); err != nil {
		return &writeError{err}
	}
	if err := unix.UtimesNanoAt(to, name, []unix.Timespec{was.Atim, was.Mtim}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &writeError{err}
	}
	if err := unix.Fstat(out, now); err != nil {
		return &writeError{err}
	}
	return nil
}

// fill copies the content.
func fill(in, out int, was *unix.Stat_t, buf []byte) error {
	if was.Size == 0 {
		return nil
	}
	sparse := was.Blocks*512 < was.Size
	if was.Size > bufferSize || sparse {
		if clone(in, out) {
			return nil
		}
	}
	if sparse {
		if ok, err := fillSparse(in, out, was.Size, buf); ok || err != nil {
			return err
		}
	}
	if was.Size > bufferSize {
		if ok, err := kernelCopy(in, out, was.Size); ok || err != nil {
			return err
		}
	}
	return pump(in, out, -1, buf)
}

// pump copies n bytes from where both files stand, to the end when n is negative.
func pump(in, out int, n int64, buf []byte) error {
	for n != 0 {
		part := buf
		if n > 0 && n < int64(len(part)) {
			part = part[:n]
		}
		got, err := unix.Read(in, part)
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
		if n > 0 {
			n -= int64(got)
		}
	}
	return nil
}

// fillSparse copies data and leaves holes out. false: the file system cannot tell them.
func fillSparse(in, out int, size int64, buf []byte) (bool, error) {
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
		if err := pump(in, out, hole-data, buf); err != nil {
			return true, err
		}
		at = hole
	}
	if err := unix.Ftruncate(out, size); err != nil {
		return true, &writeError{err}
	}
	return true, nil
}
