// Folders of the records: what is written and read goes through real ones only.

package fix

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/advice"
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
	return advice.Writing(err, path)
}
