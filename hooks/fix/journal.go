package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
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
	"digest": true, "fix": true, "kind": true, "log": true, "log_digest": true, "path": true, "result": true, "run": true,
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
		rest[name] = json.RawMessage(CleanJSON(text, j.clean))
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

// PackPath returns the file of a task's context pack, relative to the run's folder.
func PackPath(task string) string { return "context/" + filename.Of(task) + ".json" }

// jsonString matches the strings of a JSON text.
var jsonString = lazyregexp.New(`(?s)"(?:[^"\\]|\\.)*"`)

// CleanJSON cleans the strings of a JSON text one by one, decoded: a secret with a quote in it would not be found in
// its encoded form. Then it cleans the text as a whole, unless that would break it (a secret of digits inside a
// number).
func CleanJSON(text []byte, clean func([]byte) []byte) []byte {
	text = jsonString().ReplaceAllFunc(text, func(quoted []byte) []byte { return cleanString(quoted, clean) })
	if whole := clean(bytes.Clone(text)); json.Valid(whole) {
		return whole
	}
	return text
}

func cleanString(quoted []byte, clean func([]byte) []byte) []byte {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return quoted
	}
	cleaned := string(clean([]byte(s)))
	if cleaned == s {
		return quoted
	}
	b, err := recordfile.JSON(cleaned)
	if err != nil {
		return []byte(`""`)
	}
	return b
}
