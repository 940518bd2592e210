package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// A Journal is fixes/events.jsonl, open for writing. It is safe for concurrent use, and several may be open on one
// file.
type Journal struct {
	lines *journal.Journal
	clean func([]byte) []byte // nil: nothing is cleaned
}

// names are the fields of events that name something. They are not cleaned: what they name must be found again,
// whatever a secret is. Every other field may hold free text.
var names = map[string]bool{
	"digest": true, "fix": true, "kind": true, "log": true, "log_digest": true, "path": true, "result": true,
	"run":        true,
	"run_digest": true, "state": true, "status": true, "verdict": true,
}

// OpenJournal opens or makes the journal of the hooks of a run. The first line of a new one holds the digest of
// run.json. clean removes secrets and may be nil.
func OpenJournal(runDir, runDigest string, clean func([]byte) []byte) (*Journal, error) {
	if err := CheckRunFolders(runDir); err != nil {
		return nil, err
	}
	dir := filepath.Join(runDir, "fixes")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, advice.Writing(err, dir)
	}
	events := filepath.Join(dir, EventsFile)
	j, err := journal.Open(events, nil, nil, nil) // Event cleans: journal does not know which values are names
	if err != nil {
		return nil, advice.Writing(err, events)
	}
	first := journal.Event{Type: "opened", Data: map[string]any{"run": filepath.Base(runDir), "run_digest": runDigest}}
	if err := j.First(first); err != nil {
		_ = j.Close() // nothing was written
		return nil, advice.Writing(err, events)
	}
	hooks := &Journal{j, clean}
	if err := hooks.mark(runDir, runDigest); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return hooks, nil
}

// Event appends a line {seq, at, type, task, …data, prev}. data has the task, if there is one, as "task".
func (j *Journal) Event(kind string, data map[string]any) error {
	rest := maps.Clone(data)
	task, _ := data["task"].(string)
	delete(rest, "task")
	for name, value := range rest {
		if j.clean == nil || names[name] {
			continue
		}
		text, err := recordfile.JSON(value)
		if err != nil {
			return fmt.Errorf("event %s: %s: %w", kind, name, err)
		}
		rest[name] = json.RawMessage(redact.FreeJSON(text, j.clean))
	}
	return j.lines.Event(journal.Event{Type: kind, Task: task, Data: rest})
}

// End returns the number of lines and the hash of the last one, nil for no line.
func (j *Journal) End() (lines int64, head *string) { return j.lines.End() }

// Close closes the journal; closing twice does nothing.
func (j *Journal) Close() error { return j.lines.Close() }

// MarkFile, beside fixes/, marks a run whose hooks have a journal, so that a missing fixes/ is noticed. Runs of
// older versions have none.
const MarkFile = "hooks.json"

// Mark returns what MarkFile holds.
func Mark(runDigest string) (string, error) {
	text, err := recordfile.JSON(struct {
		SchemaVersion int    `json:"schema_version"`
		Journal       string `json:"journal"`
		RunDigest     string `json:"run_digest"`
	}{SchemaVersion, "fixes/" + EventsFile, runDigest})
	return string(text) + "\n", err
}

// mark writes MarkFile, once, after the journal is on the disk: there is never a mark without a journal.
func (j *Journal) mark(runDir, runDigest string) error {
	path := filepath.Join(runDir, MarkFile)
	if runDigest == "" || recordfile.Exists(path) {
		return nil
	}
	text, err := Mark(runDigest)
	if err != nil {
		return err
	}
	if err := j.lines.Sync(); err != nil {
		return err
	}
	if err := recordfile.SyncDir(filepath.Join(runDir, "fixes")); err != nil {
		return err
	}
	return recordfile.Write(path, []byte(text), true)
}

// Begun reports whether the hooks of a run ever had a journal.
func Begun(runDir string) bool {
	return recordfile.Exists(filepath.Join(runDir, "fixes")) || recordfile.Exists(filepath.Join(runDir, MarkFile))
}

// Packed is the type of the event {task, path, digest} that names a context pack.
const Packed = "packed"

// EventsFile is the journal of the hooks, in the folder of the fixes.
const EventsFile = "events.jsonl"

// decided is the type of the event that traces a state change.
const decided = "decided"

// A Trace is the line of events.jsonl for one state change. It is written after the change itself: a crash between
// the two leaves a change without a trace, never a trace without a change.
type Trace struct {
	At    string `json:"at"`
	Fix   string `json:"fix"`   // name
	To    string `json:"to"`    // as of the change
	Lines int64  `json:"lines"` // of the state file, with this one
	Head  string `json:"head"`  // hash of this one

	Line int `json:"-"` // of events.jsonl
}

// Traces returns the traces in c, the journal of the hooks of a run, by fix. Those that came with an import are left
// out: their changes were made elsewhere, and stayed there.
func Traces(runDir string, c journal.Chain) (map[string][]Trace, error) {
	all := map[string][]Trace{}
	imported := int64(-1)
	for i, line := range c.Lines {
		if !isDecided(line) {
			continue
		}
		if imported < 0 {
			imported = importedLines(runDir, c.Ends)
		}
		if int64(i) < imported {
			continue
		}
		var l struct {
			Type string `json:"type"`
			Trace
		}
		err := json.Unmarshal(line, &l)
		if err == nil && l.Type != decided {
			continue
		}
		if err == nil && (l.Lines < 1 || l.Fix == "" || l.Head == "") {
			err = errors.New("it does not say what was decided")
		}
		if err != nil {
			return all, fmt.Errorf("line %d: %w", i+1, err)
		}
		l.Line = i + 1
		all[l.Fix] = append(all[l.Fix], l.Trace)
	}
	return all, nil
}

// isDecided reports whether a line of events.jsonl can be a trace.
func isDecided(line []byte) bool { return bytes.Contains(line, []byte(`"type":"`+decided+`"`)) }

// UpToDecisions returns the text of a journal of the hooks before its first trace.
func UpToDecisions(text []byte) []byte {
	at := 0
	for line := range bytes.Lines(text) {
		if isDecided(line) {
			break
		}
		at += len(line)
	}
	return text[:at]
}

// importedLines returns how many lines of events.jsonl came with an import. heads are the hashes of its lines.
func importedLines(runDir string, heads []string) int64 {
	i, err := imported(runDir)
	if err != nil || i.Sum() != i.Digest || i.Journal == nil || i.Journal.Head == nil {
		return 0
	}
	n := i.Journal.Lines
	if n < 1 || n > int64(len(heads)) || heads[n-1] != *i.Journal.Head {
		return 0
	}
	return n
}

// A runJournal is the journal of the hooks of one run, read once for all its fixes.
type runJournal struct {
	dir    string // of the fixes
	lines  [][]byte
	traces map[string][]Trace
	sealed map[string]sealing // by the name of the fix
	gone   bool               // there is none
	err    error
}

// A sealing is the line of a journal that tells the digest of a record.
type sealing struct {
	Type   string `json:"type"`
	Fix    string `json:"fix"`    // name
	Digest string `json:"digest"` // of <name>.json
	line   int    // of events.jsonl
}

// unchanged returns an error if the record of a fix is not the one that was sealed. digest is that of the record.
func (j *runJournal) unchanged(name, digest string) error {
	s, known := j.sealed[name]
	if !known || s.Digest == digest { // versions before the journal told of none
		return nil
	}
	return fmt.Errorf("%w: %s is not the record that line %d of %s tells of: it was changed; restore it, or run heal again",
		ErrDamaged, filepath.Join(j.dir, name+".json"), s.line, EventsFile)
}

// readRunJournal reads a journal. Its faults are returned by of, for each fix.
func readRunJournal(dir string) *runJournal {
	j := &runJournal{dir: dir}
	c, err := ReadEvents(j.path())
	j.lines = c.Lines
	if errors.Is(err, fs.ErrNotExist) {
		j.gone = true
		return j
	}
	if err == nil {
		j.traces, err = Traces(filepath.Dir(dir), c)
	}
	for i, line := range c.Lines {
		if s := (sealing{line: i + 1}); bytes.Contains(line, []byte(`"type":"sealed"`)) && json.Unmarshal(line, &s) == nil && s.Type == "sealed" {
			if j.sealed == nil {
				j.sealed = map[string]sealing{}
			}
			j.sealed[s.Fix] = s
		}
	}
	if err != nil {
		j.err = fmt.Errorf("%w: %s: %w", ErrDamaged, j.path(), err)
	}
	return j
}

func (j *runJournal) path() string { return filepath.Join(j.dir, EventsFile) }

// of returns the traces of one fix. A missing journal is no error for a fix of a version that wrote none.
func (j *runJournal) of(name string) ([]Trace, error) {
	if j.gone {
		var f struct {
			Provenance *struct{} `json:"provenance"` // since then there is always a journal
		}
		text, err := recordfile.Read(filepath.Join(j.dir, name+".json"), recordfile.MaxJSON)
		if err == nil && json.Unmarshal(text, &f) == nil && f.Provenance != nil {
			return nil, fmt.Errorf("%w: %s is gone: what was decided cannot be compared with it; "+
				"restore it, or run heal again", ErrDamaged, j.path())
		}
	}
	return j.traces[name], j.err
}

// ReadEvents reads a journal that others may write meanwhile, and compares it with its end file.
func ReadEvents(path string) (c journal.Chain, err error) {
	var end *journal.End // read first: the journal is never behind it
	text, err := recordfile.Read(path+journal.EndSuffix, 1<<10)
	if err == nil {
		var e journal.End
		if e, err = journal.ReadEnd(text); err == nil && e.Lines > 0 {
			end = &e
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("%s: %w", filepath.Base(path)+journal.EndSuffix, err)
	}
	text, err = recordfile.Read(path, recordfile.MaxJSON)
	if errors.Is(err, fs.ErrNotExist) && end != nil {
		return c, fmt.Errorf("it is gone; %d lines were in it", end.Lines)
	}
	if err != nil {
		return c, err
	}
	// An incomplete last line is of a crash, or being written.
	c, err = journal.Audit(bytes.NewReader(text[:bytes.LastIndexByte(text, '\n')+1]), nil, end)
	if err == nil && c.Fault != nil {
		err = fmt.Errorf("%s: expected %s, found %s", c.Fault.Where, c.Fault.Expected, c.Fault.Found)
	}
	return c, err
}

// compare returns an error if a trace of a fix has no line in its state file, or another one. heads are the hashes
// of the lines. Lines without a trace are no error: of a crash, or of an earlier version.
func compare(state string, traces []Trace, heads []string) error {
	says := func(t Trace) string {
		return fmt.Sprintf("line %d of %s says that decision %d on this fix was %q, at %s",
			t.Line, EventsFile, t.Lines, t.To, t.At)
	}
	for _, t := range slices.Backward(traces) {
		if t.Lines > int64(len(heads)) {
			return fmt.Errorf("%w: %s: %s, and it has only %d: what was decided was removed; "+
				"restore it, or run heal again", ErrDamaged, state, says(t), len(heads))
		}
	}
	for _, t := range traces {
		if heads[t.Lines-1] != t.Head {
			return fmt.Errorf("%w: %s: %s, and its line %d is another one: "+
				"what was decided was changed; restore it, or run heal again", ErrDamaged, state, says(t), t.Lines)
		}
	}
	return nil
}
