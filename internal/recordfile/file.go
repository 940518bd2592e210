// Package recordfile reads and writes the files of records: written under a temporary name and renamed, never read or
// written through a symbolic link.
package recordfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/digest"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// Largest files that are read back, in bytes: a record from elsewhere must not fill the memory.
const (
	MaxJSON  = 64 << 20
	MaxPatch = 1 << 30
)

// Digest returns sha256:<hex> of b.
func Digest(b []byte) string { return digest.Of(b) }

// Write writes all of data to path or nothing. With sync it is on the disk, its name too, before Write returns.
func Write(path string, data []byte, sync bool) error {
	return advice.Writing(put(path, data, sync), path)
}

func put(path string, data []byte, sync bool) error {
	dir := filepath.Dir(path)
	if sync {
		if err := renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(dir)); err != nil {
			return err
		}
		return SyncDir(dir)
	}
	f, err := os.CreateTemp(dir, tempPrefix+"*") // 0600; the leading dot keeps it from being taken for a record
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

const tempPrefix = ".tmp-"

// IsTemp reports whether a name is that of a file which Write, without sync, has not written in full.
func IsTemp(name string) bool {
	digits, ok := strings.CutPrefix(name, tempPrefix)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// Create makes a new regular file of mode 0600. os.OpenFile would first try whether it can be polled, which is most of
// what making a small file costs.
func Create(path string, flags int) (*os.File, error) {
	fd, err := retried(func() (int, error) {
		return unix.Open(path, flags|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// WriteNew writes a new file under its own name. It is for files that count only when a later one names them: they
// are on the disk before that with sync, or after SyncAll.
func WriteNew(path string, data []byte, sync bool) error {
	f, err := Create(path, os.O_WRONLY)
	if err != nil {
		return advice.Writing(err, path)
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	return advice.Writing(errors.Join(err, f.Close()), path)
}

// LinkSame gives the file old another name, path, where it has these bytes, and reports whether it did. It is for files
// that are written once: a link costs less than a file, on ext4 a tenth where many were removed shortly before.
func LinkSame(old, path string, data []byte) bool {
	return has(old, data) && unix.Link(old, path) == nil
}

// has reports whether a regular file has these bytes. A link in its place has none.
func has(path string, data []byte) bool {
	f, size, err := open(path)
	if err != nil {
		return false
	}
	defer f.close()
	if size != int64(len(data)) || size == 0 {
		return size == int64(len(data))
	}
	b := make([]byte, len(data))
	_, err = io.ReadFull(f, b)
	return err == nil && bytes.Equal(b, data)
}

// SyncDir makes the names in a folder last through a crash of the machine.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // opened for reading
	if err = d.Sync(); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil // some network and FUSE file systems cannot sync a folder; the file itself is synced
	}
	return err
}

// Read reads a regular file of at most limit bytes. A link in its place is an error.
func Read(path string, limit int64) ([]byte, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are read", path, size, limit)
	}
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err = b.ReadFrom(io.LimitReader(f, limit))
	return b.Bytes(), err
}

// A reader is an open file descriptor. An os.File would first be tried whether it can be polled, see Create.
type reader struct {
	fd   int
	path string
}

// open opens a regular file for reading, and returns its size in bytes. A link in its place is an error.
func open(path string) (r reader, size int64, err error) {
	fd, err := retried(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if errors.Is(err, unix.ELOOP) {
		return r, 0, fmt.Errorf("%s is a symbolic link", path)
	}
	if err != nil {
		return r, 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	r = reader{fd, path}
	var info unix.Stat_t
	if err = unix.Fstat(fd, &info); err != nil {
		err = &os.PathError{Op: "stat", Path: path, Err: err}
	} else if info.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		r.close()
	}
	return r, info.Size, err
}

func (r reader) Read(p []byte) (int, error) {
	n, err := retried(func() (int, error) { return unix.Read(r.fd, p) })
	switch {
	case err != nil:
		return 0, &os.PathError{Op: "read", Path: r.path, Err: err}
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

func (r reader) close() { _ = unix.Close(r.fd) } // opened for reading

// retried calls f until no signal interrupts it.
func retried(f func() (int, error)) (int, error) {
	for {
		if n, err := f(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// A summed is a value with a digest of it, as JSON.
type summed struct {
	Sum string          `json:"sum"` // sha256 in hexadecimal, of the bytes of Of
	Of  json.RawMessage `json:"of"`
}

// WriteSummed replaces a file by v and a digest of it, {"sum","of"}. It is not synced.
func WriteSummed(path string, v any) error {
	of, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b, err := json.Marshal(summed{sum(of), of})
	if err != nil {
		return err
	}
	return Write(path, b, false)
}

// ReadSummed reads what WriteSummed wrote. A file that is damaged is an error; then v may have changed.
func ReadSummed(path string, limit int64, v any) error {
	b, err := Read(path, limit)
	if err != nil {
		return err
	}
	var s summed
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if s.Sum != sum(s.Of) {
		return fmt.Errorf("%s is damaged", path)
	}
	return json.Unmarshal(s.Of, v)
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// IsFolder reports whether path is a folder itself, not a link to one.
func IsFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// Exists reports whether anything is at path, also a link to nothing.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Lock waits for an exclusive lock of an open file, which ends when the file is closed.
func Lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Locked reports whether another process holds the lock of the file at path.
func Locked(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // and with it the lock
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// JSON encodes v on one line, without HTML escapes and without a line end.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// WriteJSON writes v as one line, as Write does.
func WriteJSON(path string, v any, sync bool) error {
	text, err := JSON(v)
	if err != nil {
		return err
	}
	return Write(path, append(text, '\n'), sync)
}

// NoLinks returns an error if one of paths is a link: a repository can bring one along, and through it we would read
// and write what somebody else chose. What is not there is no error.
func NoLinks(paths ...string) error {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if unixat.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			to, _ := os.Readlink(path) // for the message only
			return fmt.Errorf("%s is a link (to %q): records are never followed through links; look who made it, then remove it", path, to)
		}
	}
	return nil
}

// MakeFolder makes a folder in one that is there. It may exist, but not as a link.
func MakeFolder(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		if err := NoLinks(path); err != nil {
			return err
		}
		if !IsFolder(path) {
			return fmt.Errorf("%s is not a folder: records are kept in a folder of this name; move it away", path)
		}
		return nil
	}
	return advice.Writing(err, path)
}
