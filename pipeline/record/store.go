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

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// A Store is the .async folder of one root.
type Store struct {
	Root string
	Dir  string // Root/.async
}

// At returns the store of root. It writes nothing; Begin and the locks do.
func At(root string) *Store { return &Store{Root: root, Dir: filepath.Join(root, ".async")} }

// runs is the folder of the runs.
func (s *Store) runs() string { return filepath.Join(s.Dir, "runs") }

// make makes .async with its .gitignore. It refuses a link, which a repository may bring along: through it we would
// write into a folder that somebody else chose.
func (s *Store) make() error {
	if err := folder(s.Dir); err != nil {
		return err
	}
	if ignore := filepath.Join(s.Dir, ".gitignore"); !recordfile.Exists(ignore) {
		return WriteFile(ignore, []byte("*\n"), false)
	}
	return nil
}

// folder makes a folder that may exist already, and refuses anything else in its place.
func folder(path string) error {
	err := recordfile.MakeFolder(path)
	if unixat.IsNotExist(err) {
		return fmt.Errorf("making %s: there is no folder %s", path, filepath.Dir(path))
	}
	return err
}

// isOurs reports whether there is a store to read. False without an error means that nothing was recorded yet.
func (s *Store) isOurs() (bool, error) {
	if err := recordfile.NoLinks(s.Dir, s.runs()); err != nil {
		return false, err
	}
	for _, path := range []string{s.Dir, s.runs()} {
		switch info, err := os.Lstat(path); {
		case unixat.IsNotExist(err):
			return false, nil
		case err != nil:
			return false, advice.Writing(err, path)
		case !info.IsDir():
			return false, fmt.Errorf("%s is not a folder: records are kept under this name; move it away", path)
		}
	}
	return true, nil
}

// ids returns the folders of runs, oldest first, sealed or not; those ahead of the clock come before all others. A
// folder of any other name is not ours.
func (s *Store) ids() ([]string, error) {
	ours, err := s.isOurs()
	if !ours || err != nil {
		return nil, err
	}
	d, err := os.Open(s.runs())
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // opened for reading
	names, err := d.Readdirnames(-1) // os.ReadDir would sort what is put in order below
	if err != nil {
		return nil, err
	}
	ids := slices.DeleteFunc(names, func(name string) bool { return !journal.IsRun(name) })
	journal.InOrder(ids, time.Now())
	return ids, nil
}

// newest returns the folder of the newest run with a verdict, if there is one that can be read.
func (s *Store) newest() string {
	ids, _ := s.ids() // a store that cannot be read has none
	for _, id := range slices.Backward(ids) {
		dir := filepath.Join(s.runs(), id)
		if s.HasVerdict(id) && recordfile.NoLinks(filepath.Join(dir, "logs"), filepath.Join(dir, "cache")) == nil {
			return dir
		}
	}
	return ""
}

// HasVerdict reports whether a run's folder has a run.json, whatever is in it.
func (s *Store) HasVerdict(id string) bool {
	dir := filepath.Join(s.runs(), id)
	return recordfile.IsFolder(dir) && recordfile.Exists(filepath.Join(dir, "run.json"))
}

// Find returns a run by id, unique prefix, or "latest": the newest sealed one in the order of IDs. A damaged one is
// passed over, one of a newer version is an error. Errors to test for: ErrNoRun, ErrAmbiguous.
func (s *Store) Find(id string) (*Sealed, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	if id == "latest" {
		return s.latest(ids)
	}
	if id, err = s.pick(ids, id, s.HasVerdict); err != nil {
		return nil, err
	}
	return s.open(id)
}

// pick returns the one of ids that has a prefix and for which fits returns true.
func (s *Store) pick(ids []string, prefix string, fits func(id string) bool) (string, error) {
	match := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return prefix == "" || !strings.HasPrefix(id, prefix) || !fits(id)
	})
	switch len(match) {
	case 0:
		return "", s.noRun(prefix, ids)
	case 1:
		return match[0], nil
	}
	few := match[max(0, len(match)-5):]
	return "", fmt.Errorf("%w: %q may be %s; write more of it", ErrAmbiguous, prefix, strings.Join(few, ", "))
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
	if id, err = s.pick(ids, id, func(string) bool { return true }); err != nil {
		return Entry{}, err
	}
	e := s.Entry(id)
	return e, e.Err
}

func (s *Store) latest(ids []string) (*Sealed, error) {
	for _, id := range slices.Backward(ids) {
		if !s.HasVerdict(id) {
			continue
		}
		sealed, err := s.open(id)
		if err == nil || errors.Is(err, errNewer) {
			return sealed, err
		}
	}
	return nil, s.noRun("latest", ids)
}

// noRun returns the error for an id that fits no run. It names the newest runs.
func (s *Store) noRun(id string, ids []string) error {
	var sealed []string
	for _, have := range slices.Backward(ids) {
		switch {
		case len(sealed) < 3 && s.HasVerdict(have):
			sealed = append(sealed, have)
		case id != "" && have == id:
			return fmt.Errorf("%w: %s has no verdict: it was interrupted, or is still running", ErrNoRun, id)
		}
	}
	if len(sealed) == 0 {
		return fmt.Errorf("%w: %q: no run is recorded in %s yet; `async-pipeline run` makes one", ErrNoRun, id, s.Dir)
	}
	return fmt.Errorf("%w: %q; the newest are %s", ErrNoRun, id, strings.Join(sealed, ", "))
}

// List returns the sealed runs, oldest first, and an error for each folder that cannot be read.
func (s *Store) List() ([]*Sealed, []error) {
	ids, err := s.ids()
	if err != nil {
		return nil, []error{err}
	}
	var runs []*Sealed
	var errs []error
	for _, id := range ids {
		sealed, err := s.open(id)
		switch {
		case err == nil:
			runs = append(runs, sealed)
		case errors.Is(err, fs.ErrNotExist): // not sealed: see Interrupted
		default:
			errs = append(errs, err)
		}
	}
	return runs, errs
}

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

// Going returns the newest run in progress, if any.
func (s *Store) Going() (Entry, bool) {
	ids, err := s.IDs()
	if err != nil {
		return Entry{}, false // said by whatever is done instead
	}
	for _, id := range ids {
		if s.HasVerdict(id) {
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
	at, _ := time.Parse("20060102T150405Z", stamp) // the zero time where it is no id
	return at
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
		locked := recordfile.Locked(filepath.Join(s.Dir, runLock))
		return true, age.Abs() < startTime && locked
	}
	var stamp process.Stamp
	return true, err == nil && json.Unmarshal(b, &stamp) == nil && stamp.Alive()
}

// Interrupted returns the ids of runs without run.json whose maker is no longer alive, oldest first.
func (s *Store) Interrupted() ([]string, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ids, func(id string) bool { return !s.interrupted(id) }), nil
}

func (s *Store) interrupted(id string) bool {
	if s.HasVerdict(id) {
		return false
	}
	there, live := s.maker(id)
	return there && !live && !s.HasVerdict(id) // the maker may have sealed the run and ended while we looked
}

// Unfinished returns those of Interrupted that began after the newest run with a verdict, oldest first. It looks at
// no older run.
func (s *Store) Unfinished() ([]string, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	for i := len(ids) - 1; i >= 0; i-- {
		if s.HasVerdict(ids[i]) {
			ids = ids[i+1:]
			break
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return !s.interrupted(id) }), nil
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
	return len(ids) > 0 && (at(s.Dir, runLock) || at(s.Dir, healLock))
}
