package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/process"
)

// An Entry is one folder of runs/: with a verdict, without one, or damaged.
type Entry struct {
	ID     string
	Dir    string  // .async/runs/<id>
	Sealed *Sealed // nil: there is no verdict, or none that can be read
	Live   bool    // no verdict yet: its maker still records
	Err    error   // why the verdict cannot be read
}

// IDs returns the folders of runs, newest first, sealed or not. Those ahead of the clock (Ahead) are last, because
// nobody knows when they were made, and they must not hide newer ones. Other names are left out.
func (s *Store) IDs() ([]string, error) {
	ids, err := s.ids()
	slices.Reverse(ids)
	return ids, err
}

// Entry reads one of IDs.
func (s *Store) Entry(id string) Entry {
	e := Entry{ID: id, Dir: filepath.Join(s.runs(), id)}
	e.Sealed, e.Err = s.open(id)
	if !errors.Is(e.Err, fs.ErrNotExist) {
		return e
	}
	e.Err = nil
	if _, e.Live = s.maker(id); e.Live {
		return e
	}
	// The maker may have sealed the run and ended while we looked.
	if e.Sealed, e.Err = s.open(id); errors.Is(e.Err, fs.ErrNotExist) {
		e.Err = nil
	}
	return e
}

// startTime is how long a maker may take from making the folder of its run to its stamp, on a busy machine; normally
// microseconds.
const startTime = 10 * time.Second

// maker reports whether a run without a verdict has its folder, and whether its maker is alive. A folder without a
// stamp has a maker only while it is new and somebody holds run.lock.
func (s *Store) maker(id string) (there, live bool) {
	dir := filepath.Join(s.runs(), id)
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false, false
	}
	b, err := readFile(dir, "maker.json", 4096)
	if errors.Is(err, fs.ErrNotExist) {
		age := time.Since(info.ModTime())
		return true, age.Abs() < startTime && slices.ContainsFunc(s.Held(), func(h Holder) bool { return h.Lock == "run.lock" })
	}
	var stamp process.Stamp
	return true, err == nil && json.Unmarshal(b, &stamp) == nil && stamp.Alive()
}

// Look finds a run by id or unique prefix, also one without a verdict; "latest" is the newest with one. Errors to
// test for: ErrNoRun, ErrAmbiguous.
func (s *Store) Look(id string) (Entry, error) {
	if id == "latest" {
		sealed, err := s.Find(id)
		if err != nil {
			return Entry{}, err
		}
		return Entry{ID: sealed.ID, Dir: sealed.Dir, Sealed: sealed}, nil
	}
	ids, err := s.ids()
	if err != nil {
		return Entry{}, err
	}
	var match []string
	for _, have := range ids {
		if id != "" && strings.HasPrefix(have, id) {
			match = append(match, have)
		}
	}
	switch len(match) {
	case 0:
		return Entry{}, s.noRun(id, ids)
	case 1:
		e := s.Entry(match[0])
		return e, e.Err
	}
	few := match[max(0, len(match)-5):]
	return Entry{}, fmt.Errorf("%w: %q may be %s; write more of it", ErrAmbiguous, id, strings.Join(few, ", "))
}

// Going returns the newest run in progress, if any.
func (s *Store) Going() (Entry, bool) {
	ids, err := s.IDs()
	if err != nil {
		return Entry{}, false // said by whatever is done instead
	}
	for _, id := range ids {
		if s.hasVerdict(id) {
			continue
		}
		if e := s.Entry(id); e.Live {
			return e, true
		}
	}
	return Entry{}, false
}

// Ahead reports whether a run began in the future, by its id: the clock was wrong then, or is now. It counts as older
// than all runs that are not ahead.
func Ahead(id string) bool { return journal.Ahead(id, time.Now()) }

// After reports whether run a was made after run b, in the order of IDs. Every run is after "".
func After(a, b string) bool {
	both := []string{a, b}
	journal.InOrder(both, time.Now())
	return a != b && (b == "" || both[1] == a)
}

// Began returns when a run began, by its id, to the second.
func Began(id string) time.Time {
	stamp, _, _ := strings.Cut(id, "-")
	at, err := time.Parse("20060102T150405Z", stamp)
	if err != nil {
		return time.Time{}
	}
	return at
}

// HasVerdict reports whether a run's folder has a run.json, whatever is in it.
func (s *Store) HasVerdict(id string) bool { return s.hasVerdict(id) }

// Newer reports whether an error of this package is about a record of a newer version, which is not damaged.
func Newer(err error) bool { return errors.Is(err, errNewer) }
