package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// WriteFile writes data to a temporary name beside path and renames it (mode 0600). With sync it also syncs the file
// and its folder, which must exist. A link in the place of path is replaced, never followed.
func WriteFile(path string, data []byte, sync bool) error {
	return writing(recordfile.Write(path, data, sync), path)
}

// writing is advice.Writing that also explains why a folder of ours is missing.
func writing(err error, path string) error {
	if errors.Is(err, fs.ErrNotExist) && !recordfile.Exists(filepath.Dir(path)) {
		return &goneError{path, err}
	}
	return advice.Writing(err, path)
}

// A goneError is a file that cannot be written because its folder was removed.
type goneError struct {
	path string
	err  error
}

func (e *goneError) Error() string {
	return "writing " + e.path + ": its folder is gone, something removed it while the run went on: " +
		"look which task removes .async, or what is in it, then run again"
}
func (e *goneError) Unwrap() error { return e.err }

// readFile reads a regular file of at most limit bytes below a folder. It follows no link out of the folder and does
// not block on a pipe.
func readFile(dir, name string, limit int64) ([]byte, error) {
	f, size, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are read", filepath.Join(dir, name),
			size, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// openFile opens a file as readFile does, and returns its size in bytes.
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
	return f, info.Size(), err
}
