package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"

	"github.com/async-pipeline/async-pipeline/internal/advice"
)

// WriteFile writes data to a temporary name beside path and renames it (mode 0600). With sync it also syncs the file
// and its folder, which must exist. A link in the place of path is replaced, never followed.
func WriteFile(path string, data []byte, sync bool) error {
	var err error
	if sync {
		err = writeSynced(path, data)
	} else {
		err = writeRenamed(path, data)
	}
	return writing(err, path)
}

// writing is advice.Writing, and says besides what it means that a folder of ours is gone.
func writing(err error, path string) error {
	if errors.Is(err, fs.ErrNotExist) {
		if _, look := os.Lstat(filepath.Dir(path)); errors.Is(look, fs.ErrNotExist) {
			return &goneError{path, err}
		}
	}
	return advice.Writing(err, path)
}

// A goneError is a file that cannot be written because its folder was removed.
type goneError struct {
	path string
	err  error
}

func (e *goneError) Error() string {
	return "writing " + e.path + ": its folder is gone, something removed it while the run went on: look which task removes .async, or what is in it, then run again"
}
func (e *goneError) Unwrap() error { return e.err }

func writeSynced(path string, data []byte) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }() // does nothing after the rename
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func writeRenamed(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// syncDir makes the names in a folder survive a crash of the machine.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	// Some network and FUSE file systems cannot sync a folder; the file itself is synced.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// readFile reads a regular file of at most limit bytes below a folder. It follows no link out of the folder and does
// not block on a pipe.
func readFile(dir, name string, limit int64) ([]byte, error) {
	f, size, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are read", filepath.Join(dir, name), size, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

func openFile(dir, name string) (*os.File, int64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", filepath.Join(dir, name))
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// digest is sha256:<hex> of b.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
