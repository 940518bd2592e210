package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// An Event is one line of a run's journal, a Field one member of it.
type (
	Event = journal.Event
	Field = journal.Field
)

// tick is the unit of the last part of an id: 1/65536 s, rounded up so that each step gives another id.
const tick = time.Second/65536 + 1

// idOf returns the id of a run that begins at a time.
func idOf(now time.Time) string {
	now = now.UTC()
	return fmt.Sprintf("%s-%04x", now.Format("20060102T150405Z"), int64(now.Nanosecond())*65536/int64(time.Second))
}

// A Draft is a run that is being recorded. It is safe for concurrent use.
type Draft struct {
	ID  string
	Dir string // .async/runs/<id>

	store   *Store
	before  func() string // the folder of the newest earlier run with a verdict: files that are the same are links to its files; empty: there is none
	began   time.Time
	clean   cleaner
	journal *journal.Journal

	mu      sync.Mutex
	sealed  bool
	stopped bool    // no event of a task is accepted any more
	graph   *string // digest of graph.json
}

// Begin makes the run's folder (and .async with its .gitignore) and opens its journal. The caller holds run.lock.
// clean is applied to every text that is written but logs, which are clean already (redaction); it may be nil.
// follow, if not nil, is called with each journal line, without its line end, as it is written (run --json).
func (s *Store) Begin(now time.Time, clean func([]byte) []byte, follow func(line []byte)) (*Draft, error) {
	if err := s.make(); err != nil {
		return nil, err
	}
	if err := folder(s.runs()); err != nil {
		return nil, err
	}
	d := &Draft{store: s, before: sync.OnceValue(s.newest), began: now, clean: clean}
	for at := now; ; at = at.Add(tick) {
		d.ID = idOf(at)
		d.Dir = filepath.Join(s.runs(), d.ID)
		err := os.Mkdir(d.Dir, 0o700)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || at.Sub(now) > time.Minute {
			return nil, writing(err, d.Dir)
		}
	}
	if err := d.open(follow); err != nil {
		_ = os.RemoveAll(d.Dir) // on a full disk every try would leave one more run that never was
		return nil, err
	}
	return d, nil
}

// LookBack looks for the run before, whose logs and receipts may be linked to. Otherwise the first log does, which then
// takes longer: where there are many runs that is more than a quick task takes.
func (d *Draft) LookBack() { d.before() }

// open makes the files and folders that a run has from the beginning.
func (d *Draft) open(follow func(line []byte)) error {
	b, err := json.Marshal(process.Self())
	if err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(d.Dir, "maker.json"), b, false); err != nil {
		return err
	}
	for _, name := range []string{"logs", "context", "cache"} {
		if err := folder(filepath.Join(d.Dir, name)); err != nil {
			return err
		}
	}
	d.journal, err = journal.Own(d.events(), d.clean.values(), follow)
	return writing(err, d.events())
}

// ErrStopped is the error of an event of a task after Stop.
var ErrStopped = errors.New("no task of this run is recorded any more")

// Event appends a line that carries the hash of the line before.
func (d *Draft) Event(e Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped && e.Task != "" {
		return fmt.Errorf("run %s: %w", d.ID, ErrStopped)
	}
	return writing(d.journal.Event(e), d.events())
}

// Stop refuses every further event of a task, and returns the tasks that have ended, by name, as the journal has
// them: a verdict made of these while tasks still run agrees with the journal.
func (d *Draft) Stop() (map[string]Task, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	story, err := d.store.Story(d.ID)
	return story.Ended, err
}

func (d *Draft) events() string { return filepath.Join(d.Dir, "events.jsonl") }

// Log returns the writer of the log of a task: bounded in memory and on disk (the tail kept, the cut marked with the
// bytes left out). Finish returns its entry in run.json. A second Log of the same task begins anew.
func (d *Draft) Log(task string) *LogWriter { return newLog(d.Dir, d.before, task) }

// A Node is one task of graph.json.
type Node struct {
	Name        string   `json:"name"`
	DependsOn   []string `json:"depends_on"`
	Fingerprint string   `json:"fingerprint"` // sha256:<hex> of the task as written
}

// graph is graph.json.
type graph struct {
	SchemaVersion int    `json:"schema_version"`
	Tasks         []Node `json:"tasks"`
}

// Graph writes graph.json.
func (d *Draft) Graph(nodes []Node) error {
	g := graph{SchemaVersion, make([]Node, len(nodes))}
	for i, n := range nodes {
		if n.DependsOn == nil {
			n.DependsOn = []string{}
		}
		g.Tasks[i] = n
	}
	b, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if err := WriteFile(filepath.Join(d.Dir, "graph.json"), b, false); err != nil {
		return err
	}
	sum := recordfile.Digest(b)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.graph = &sum
	return nil
}

// steady makes the times of a verdict ascend. Its tasks are a copy already.
func (d *Draft) steady(r *Run) {
	of := func(t Time) Time {
		if t.IsZero() {
			return t
		}
		return Time{journal.Steady(d.began, t.Time)}
	}
	r.StartedAt, r.FinishedAt, r.DurationMS = of(r.StartedAt), of(r.FinishedAt), max(0, r.DurationMS)
	for i := range r.Tasks {
		if t := &r.Tasks[i]; t.StartedAt != nil {
			at := of(*t.StartedAt)
			t.StartedAt = &at
		}
	}
}

// Seal writes run.json, fsynced, last, and closes the journal; a draft is sealed once. ID, SchemaVersion, Journal
// and GraphDigest are filled in, and StartedAt where it is zero. Where the clock was set back while the run went
// on, the times that are written go by the one that showed its beginning. If run.json cannot be written, Seal may
// be tried again.
func (d *Draft) Seal(r Run) (*Sealed, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sealed {
		return nil, fmt.Errorf("run %s is sealed already", d.ID)
	}
	switch r.Status {
	case Passed, Failed, Interrupted:
	default:
		return nil, fmt.Errorf("run %s cannot be sealed as %q", d.ID, r.Status)
	}
	if err := d.journal.Close(); err != nil {
		return nil, writing(err, d.events())
	}
	lines, head := d.journal.End()
	r.ID, r.SchemaVersion, r.Journal, r.GraphDigest = d.ID, SchemaVersion, &Anchor{Lines: lines, Head: head}, d.graph
	if r.StartedAt.IsZero() {
		r.StartedAt = Time{d.began}
	}
	d.clean.run(&r)
	d.steady(&r)
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	path := filepath.Join(d.Dir, "run.json")
	err = WriteFile(path, b, true)
	if err == nil {
		err = writing(recordfile.SyncDir(d.store.runs()), d.store.runs())
	}
	if err != nil {
		_ = os.Remove(path) // the caller says that there is no verdict
		return nil, err
	}
	d.sealed = true
	return &Sealed{Run: r, Dir: d.Dir, Digest: recordfile.Digest(b)}, nil
}
