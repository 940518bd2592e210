package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

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
	b, err := readFile(dir, "run.json", recordfile.MaxJSON)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "run.json")
	sealed := &Sealed{Dir: dir, Digest: recordfile.Digest(b)}
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
		return nil, fmt.Errorf("%s is damaged (%w): remove the folder if you do not need what is left in it",
			path, damaged)
	}
	if sealed.SchemaVersion < 1 || sealed.ID != id {
		return nil, fmt.Errorf("%s is not the verdict of run %s (it says %q): the folder was renamed or changed by hand", path, id, sealed.ID)
	}
	return sealed, nil
}

// Newer reports whether an error of this package is about a record of a newer version, which is not damaged.
func Newer(err error) bool { return errors.Is(err, errNewer) }

// Task finds a task of the run, or nil.
func (s *Sealed) Task(name string) *Task {
	if i := slices.IndexFunc(s.Tasks, func(t Task) bool { return t.Name == name }); i >= 0 {
		return &s.Tasks[i]
	}
	return nil
}

// Graph returns the graph of the run.
func (s *Sealed) Graph() ([]Node, error) { return ReadGraph(s.Dir) }

// ReadGraph returns the graph of the run in a folder, which may have no verdict.
func ReadGraph(runDir string) ([]Node, error) {
	b, err := readFile(runDir, "graph.json", recordfile.MaxJSON)
	if err != nil {
		return nil, err
	}
	var g graph
	if err := json.Unmarshal(b, &g); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(runDir, "graph.json"), err)
	}
	return g.Tasks, nil
}

// WriteContext stores the context pack of a failed task. A link in the place of one of our folders is an error.
func (s *Sealed) WriteContext(task string, pack []byte) error {
	runs := filepath.Dir(s.Dir)
	if err := recordfile.NoLinks(filepath.Dir(runs), runs, s.Dir); err != nil {
		return err
	}
	path := filepath.Join(s.Dir, filename.OfPack(task))
	if err := folder(filepath.Dir(path)); err != nil {
		return err
	}
	return WriteFile(path, pack, false)
}

// Context returns the context pack that WriteContext stored; fs.ErrNotExist where there is none.
func (s *Sealed) Context(task string) ([]byte, error) {
	if err := recordfile.NoLinks(filepath.Join(s.Dir, "context")); err != nil {
		return nil, err
	}
	return readFile(s.Dir, filename.OfPack(task), recordfile.MaxJSON)
}

// Tail returns the last max bytes of a task's log, less when it has less; nothing when the task has no log. A log
// that is a link out of the run's folder is not read.
func (s *Sealed) Tail(task string, max int) ([]byte, error) {
	f, size, err := openFile(s.Dir, "logs/"+filename.Of(task)+".log")
	if unixat.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	n := min(size, int64(max))
	return io.ReadAll(io.NewSectionReader(f, size-n, n))
}
