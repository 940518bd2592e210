package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/process"
)

// A Store is the .async folder of one root.
type Store struct {
	Root string
	Dir  string // Root/.async
}

// At is the store of root; nothing is written before Begin or a lock.
func At(root string) *Store { return &Store{Root: root, Dir: filepath.Join(root, ".async")} }

// runs is the folder of the runs.
func (s *Store) runs() string { return filepath.Join(s.Dir, "runs") }

// make makes .async with its .gitignore. What a repository may have put in its place is refused: through a link we
// would write into a folder that somebody else chose.
func (s *Store) make() error {
	if err := folder(s.Dir); err != nil {
		return err
	}
	ignore := filepath.Join(s.Dir, ".gitignore")
	if _, err := os.Lstat(ignore); errors.Is(err, fs.ErrNotExist) {
		return WriteFile(ignore, []byte("*\n"), false)
	}
	return nil
}

// folder makes a folder that may exist already, and refuses anything else that has its name.
func folder(path string) error {
	err := os.Mkdir(path, 0o700)
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return isFolder(path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("making %s: there is no folder %s", path, filepath.Dir(path))
	}
	return advice.Writing(err, path)
}

// isFolder refuses a link or a file where a folder of ours should be.
func isFolder(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return advice.Writing(err, path)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil
	case mode&fs.ModeSymlink != 0:
		to, _ := os.Readlink(path)
		return fmt.Errorf("%s is a link (to %q): records are written only into a real folder; look who made it, then remove it", path, to)
	default:
		return fmt.Errorf("%s is not a folder: records are kept in a folder of this name; move it away", path)
	}
}

func hasLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// isOurs reports whether there is a store to read. False without an error means that nothing was recorded yet.
func (s *Store) isOurs() (bool, error) {
	for _, path := range []string{s.Dir, s.runs()} {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return false, nil
		}
		if err := isFolder(path); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Interrupted returns the ids of runs without run.json whose maker is no longer alive, oldest first.
func (s *Store) Interrupted() ([]string, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range ids {
		if s.hasVerdict(id) {
			continue
		}
		if there, live := s.maker(id); !there || live {
			continue
		}
		// The maker may have sealed the run and ended while we looked.
		if !s.hasVerdict(id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// Made reports whether a process, alive or not, is known here: it recorded one of the runs, or was the last to hold a
// lock and did not release it.
func (s *Store) Made(by process.Stamp) bool {
	ids, err := s.ids()
	if err != nil {
		return false // nobody is known in what cannot be read
	}
	at := func(dir, name string) bool {
		var stamp process.Stamp
		b, err := readFile(dir, name, 4096)
		return err == nil && json.Unmarshal(b, &stamp) == nil && stamp == by
	}
	for _, id := range slices.Backward(ids) {
		if at(filepath.Join(s.runs(), id), "maker.json") {
			return true
		}
	}
	return len(ids) > 0 && (at(s.Dir, "run.lock") || at(s.Dir, "heal.lock"))
}
