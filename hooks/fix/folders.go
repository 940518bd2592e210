// Folders of the records: what is written and read goes through real ones only.

package fix

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// realFolders refuses a link in the place of any of these: a repository may hold one, and through it we would read and
// write what somebody else chose. What is not there is no error.
func realFolders(paths ...string) error {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
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

// realRun is realFolders for .async, runs, the run and its fixes. runDir is .async/runs/<run>.
func realRun(runDir string) error {
	runs := filepath.Dir(runDir)
	return realFolders(filepath.Dir(runs), runs, runDir, filepath.Join(runDir, "fixes"))
}

// real is realRun for a fix that was found, with its own folder.
func (p *Proposal) real() error {
	if err := realRun(p.Dir); err != nil {
		return err
	}
	return realFolders(filepath.Join(p.Dir, "fixes", p.name))
}

// makeFolder makes a folder in one that is there; it may exist, but not as a link.
func makeFolder(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		if err := realFolders(path); err != nil {
			return err
		}
		if !isDir(path) {
			return fmt.Errorf("%s is not a folder: records are kept in a folder of this name; move it away", path)
		}
		return nil
	}
	return advise(err, path)
}

// advise says where err happened and what to do about it, where that is known. path is what was to be written.
func advise(err error, path string) error {
	var known *writeError
	if err == nil || errors.As(err, &known) {
		return err
	}
	var what, do string
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		what, do = "there is no space left on the disk (or in your quota)", "free some, then try again"
	case errors.Is(err, syscall.EROFS):
		what, do = "the file system is read-only", "make it writable, then try again"
	case errors.Is(err, fs.ErrPermission):
		what, do = "permission denied", "make its folder writable for you (was it made by another user, or with sudo?), then try again"
	default:
		return err
	}
	return &writeError{path: path, what: what, do: do, err: err}
}

// A writeError is advice on top of what the system said.
type writeError struct {
	path, what, do string
	err            error
}

func (e *writeError) Error() string { return "writing " + e.path + ": " + e.what + ": " + e.do }
func (e *writeError) Unwrap() error { return e.err }
