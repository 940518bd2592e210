package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// maxRun is the largest run.json, in bytes, that is read: some 100,000 tasks.
const maxRun = 64 << 20

// A Sealed is a run that can be read. A folder without run.json is none.
type Sealed struct {
	Run
	Dir    string
	Digest string // sha256:<hex> of run.json's bytes
}

// errNewer is a run.json that this version does not know how to read.
var errNewer = errors.New("made by a newer version of async-pipeline")

// open reads one run. The error is fs.ErrNotExist where there is no verdict.
func (s *Store) open(id string) (*Sealed, error) {
	dir := filepath.Join(s.runs(), id)
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder: it is no run of ours, remove it", dir)
	}
	b, err := readFile(dir, "run.json", maxRun)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "run.json")
	sealed := &Sealed{Dir: dir, Digest: digest(b)}
	damaged := json.Unmarshal(b, &sealed.Run)
	version := sealed.SchemaVersion
	if damaged != nil { // a newer version may have given a field another form
		var only struct {
			SchemaVersion int `json:"schema_version"`
		}
		if json.Unmarshal(b, &only) == nil {
			version = only.SchemaVersion
		}
	}
	if version > SchemaVersion {
		return nil, fmt.Errorf("%s was %w (schema_version %d, this one reads up to %d): update async-pipeline to read it",
			path, errNewer, version, SchemaVersion)
	}
	if damaged != nil {
		return nil, fmt.Errorf("%s is damaged (%w): remove the folder if you do not need what is left in it", path, damaged)
	}
	if sealed.SchemaVersion < 1 || sealed.ID != id {
		return nil, fmt.Errorf("%s is not the verdict of run %s (it says %q): the folder was renamed or changed by hand", path, id, sealed.ID)
	}
	return sealed, nil
}

// ids lists the folders of runs, oldest first, sealed or not; those that are ahead of the clock stand before all others. What is
// not named like a run is not ours.
func (s *Store) ids() ([]string, error) {
	ours, err := s.isOurs()
	if !ours || err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.runs())
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if idPattern.MatchString(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	journal.InOrder(ids, time.Now())
	return ids, nil
}

// hasVerdict reports whether a run's folder has a run.json, without reading it.
func (s *Store) hasVerdict(id string) bool {
	dir := filepath.Join(s.runs(), id)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, "run.json"))
	return err == nil
}

// Find gives a run by id, unique prefix, or "latest" (the newest sealed one in the order of IDs; a damaged one is passed over, one of a newer
// version is an error). ErrNoRun and ErrAmbiguous may be tested for.
func (s *Store) Find(id string) (*Sealed, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	if id == "latest" {
		return s.latest(ids)
	}
	var match []string
	for _, have := range ids {
		if id != "" && strings.HasPrefix(have, id) && s.hasVerdict(have) {
			match = append(match, have)
		}
	}
	switch len(match) {
	case 1:
		return s.open(match[0])
	case 0:
		return nil, s.noRun(id, ids)
	}
	few := match[max(0, len(match)-5):]
	return nil, fmt.Errorf("%w: %q may be %s; write more of it", ErrAmbiguous, id, strings.Join(few, ", "))
}

func (s *Store) latest(ids []string) (*Sealed, error) {
	for _, id := range slices.Backward(ids) {
		if !s.hasVerdict(id) {
			continue
		}
		sealed, err := s.open(id)
		if err == nil || errors.Is(err, errNewer) {
			return sealed, err
		}
	}
	return nil, s.noRun("latest", ids)
}

// noRun says why there is no such run, and which there are.
func (s *Store) noRun(id string, ids []string) error {
	var sealed []string
	for _, have := range slices.Backward(ids) {
		switch {
		case len(sealed) < 3 && s.hasVerdict(have):
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

// List gives the sealed runs, oldest first; a folder that cannot be read is in the error list and does not hide the others.
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

// Task finds a task of the run, or nil.
func (s *Sealed) Task(name string) *Task {
	for i := range s.Tasks {
		if s.Tasks[i].Name == name {
			return &s.Tasks[i]
		}
	}
	return nil
}

// Graph gives the graph that the run was asked to carry out.
func (s *Sealed) Graph() ([]Node, error) {
	b, err := readFile(s.Dir, "graph.json", maxRun)
	if err != nil {
		return nil, err
	}
	var g graph
	if err := json.Unmarshal(b, &g); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(s.Dir, "graph.json"), err)
	}
	return g.Tasks, nil
}

// packFile returns the path of a task's context pack in the run's folder.
func packFile(task string) string { return "context/" + filename.Of(task) + ".json" }

// WriteContext stores the context pack of a failed task. Through a link in the place of one of our folders nothing is
// written.
func (s *Sealed) WriteContext(task string, pack []byte) error {
	runs := filepath.Dir(s.Dir)
	for _, dir := range []string{filepath.Dir(runs), runs, s.Dir} {
		if err := isFolder(dir); err != nil {
			return err
		}
	}
	path := filepath.Join(s.Dir, packFile(task))
	if err := folder(filepath.Dir(path)); err != nil {
		return err
	}
	return WriteFile(path, pack, false)
}

// Context gives the context pack that WriteContext stored; fs.ErrNotExist where there is none.
func (s *Sealed) Context(task string) ([]byte, error) {
	if dir := filepath.Join(s.Dir, "context"); hasLink(dir) {
		return nil, isFolder(dir)
	}
	return readFile(s.Dir, packFile(task), maxRun)
}

// Tail gives the last max bytes of a task's log, less when it has less; nothing when the task has no log. A log that is
// a link out of the run's folder is not read.
func (s *Sealed) Tail(task string, max int) ([]byte, error) {
	f, size, err := openFile(s.Dir, "logs/"+filename.Of(task)+".log")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	n := min(size, int64(max))
	return io.ReadAll(io.NewSectionReader(f, size-n, n))
}
