// Stamps: which process made a folder, and whether it is still alive.

package scratch

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/rmtree"
)

// stampSuffix is appended to the name of a folder to name its stamp.
const stampSuffix = ".stamp"

// unstamped is how old a folder without a stamp must be before it counts as left behind.
const unstamped = time.Hour

// A stamp identifies the process that made a folder.
type stamp struct {
	SchemaVersion int `json:"schema_version"`
	process.Stamp
}

// writeStamp writes the stamp of dir atomically, before dir is made. It replaces that of a dead runner.
func writeStamp(dir string) error {
	b, err := json.Marshal(stamp{1, process.Self()})
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(dir), process.TempName(draftStamp)+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), dir+stampSuffix)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// A Leftover is a folder that a killed runner left.
type Leftover struct {
	Dir  string
	Made time.Time
}

// Leftovers lists folders below parent whose maker is no longer alive; Sweep removes them.
func Leftovers(parent string) ([]Leftover, error) {
	left, _, err := scan(parent)
	return left, err
}

// scan returns the leftovers below parent, sorted, and whether a folder there is in use.
func scan(parent string) (left []Leftover, used bool, err error) {
	entries, err := os.ReadDir(parent) // sorted
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("scratch folder: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		info, err := e.Info()
		if err != nil { // removed meanwhile
			continue
		}
		made := info.ModTime()
		if known, live := readStamp(dir, &made); live || !known && time.Since(made) < unstamped {
			used = true
		} else {
			left = append(left, Leftover{dir, made})
		}
	}
	return left, used, nil
}

// readStamp reports whether dir has a complete stamp, and whether that names a living process. It sets made to the
// time of the stamp.
func readStamp(dir string, made *time.Time) (known, live bool) {
	b, err := os.ReadFile(dir + stampSuffix)
	if err != nil {
		return false, false
	}
	if info, err := os.Lstat(dir + stampSuffix); err == nil {
		*made = info.ModTime()
	}
	var s stamp
	if json.Unmarshal(b, &s) != nil || s.PID == 0 {
		return false, false
	}
	return true, s.Alive()
}

// Sweep removes the folders that Leftovers lists, by the bin, and returns them.
func Sweep(parent string, bin *Bin) ([]Leftover, error) {
	left, err := Leftovers(parent)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, l := range left {
		errs = append(errs, bin.Remove(l.Dir))
	}
	return left, errors.Join(append(errs, sweepStamps(parent))...)
}

// sweepStamps removes stamps of dead runners whose folder is gone, and drafts of stamps older than an hour.
func sweepStamps(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	var errs []error
	for _, e := range entries {
		name := filepath.Join(parent, e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		dir, isStamp := strings.CutSuffix(name, stampSuffix)
		dead := abandoned(e.Name(), info.ModTime())
		if isStamp {
			made := info.ModTime()
			known, live := readStamp(dir, &made)
			_, err := os.Lstat(dir)
			dead = errors.Is(err, fs.ErrNotExist) && !live && (known || time.Since(made) > unstamped)
		}
		if dead {
			errs = append(errs, os.Remove(name))
		}
	}
	return errors.Join(errs...)
}

// draftStamp begins the name of a stamp that is being written. The process that writes it follows.
const draftStamp = ".stamp-"

// abandoned reports whether a file is a stamp whose maker ended while writing it.
func abandoned(name string, made time.Time) bool {
	if maker, ok := process.MakerOf(name, draftStamp); ok {
		return !maker.Alive()
	}
	return strings.HasPrefix(name, draftStamp) && time.Since(made) > unstamped
}

// remove removes a folder and then its stamp, in this order: if we are killed in between, the next Sweep finds both.
func remove(dir string) error {
	if err := removeTree(dir); err != nil {
		return err
	}
	if err := os.Remove(dir + stampSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeTree removes a file or folder, whatever its modes are.
func removeTree(dir string) error {
	if err := rmtree.All(dir); err != nil {
		return fmt.Errorf("scratch copy: %w; remove it by hand", err)
	}
	return nil
}

// Folder makes an empty folder at dir with a stamp beside it, for temporary things that belong to a copy: a home, a
// TMPDIR, caches. If this process is killed, Leftovers finds it.
func Folder(dir string) error {
	if err := remove(dir); err != nil {
		return err
	}
	if err := writeStamp(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return errors.Join(err, os.Remove(dir+stampSuffix))
	}
	return nil
}

// InUse reports whether a living process uses a folder below parent: one with its stamp, or one that is too new to
// have a stamp.
func InUse(parent string) (bool, error) {
	_, used, err := scan(parent)
	return used, err
}

func randomName() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
