// The journal of the hooks of one run.

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
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A Journal is fixes/events.jsonl. It is safe for concurrent use, and several may be open on one file.
type Journal struct {
	lines *journal.Journal
	clean func([]byte) []byte // nil: nothing is cleaned
}

// named are the fields of events that name something: what they name must be found again, whatever a secret is spelled
// like. Every other value may hold free text.
var named = map[string]bool{
	"digest": true, "fix": true, "kind": true, "log": true, "log_digest": true, "path": true, "result": true, "run": true, "run_digest": true, "state": true, "status": true, "verdict": true,
}

// OpenJournal opens or makes the journal of the hooks of a run; the first line of a new one holds the digest of run.json.
func OpenJournal(runDir, runDigest string, clean func([]byte) []byte) (*Journal, error) {
	if err := CheckRunFolders(runDir); err != nil {
		return nil, err
	}
	dir := filepath.Join(runDir, "fixes")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, advice.Writing(err, dir)
	}
	// Event cleans: the journal does not know which values are names.
	events := filepath.Join(dir, "events.jsonl")
	j, err := journal.Open(events, nil, nil, nil)
	if err != nil {
		return nil, advice.Writing(err, events)
	}
	if err := j.First(journal.Event{Type: "opened", Data: map[string]any{"run": filepath.Base(runDir), "run_digest": runDigest}}); err != nil {
		_ = j.Close() // nothing was written
		return nil, advice.Writing(err, events)
	}
	hooks := &Journal{j, clean}
	if err := hooks.markBegun(runDir, runDigest); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return hooks, nil
}

// Event appends a line {seq, at, type, task, …data, prev}; data holds the task, where there is one, as "task".
func (j *Journal) Event(kind string, data map[string]any) error {
	rest := maps.Clone(data)
	task, _ := data["task"].(string)
	delete(rest, "task")
	for name, value := range rest {
		if j.clean == nil || named[name] {
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

// Close closes the journal; closing twice does nothing.
func (j *Journal) Close() error { return j.lines.Close() }

// cleanJSON cleans the strings of a JSON text one by one, decoded: a secret with a quote in it would not be found in
// its encoded form. Then the text as a whole, unless that would break it (a secret of digits inside a number).
func CleanJSON(text []byte, clean func([]byte) []byte) []byte {
	var out bytes.Buffer
	for len(text) > 0 {
		if text[0] != '"' {
			n := bytes.IndexByte(text, '"')
			if n < 0 {
				n = len(text)
			}
			out.Write(text[:n])
			text = text[n:]
			continue
		}
		n := 1
		for n < len(text) && text[n] != '"' {
			if text[n] == '\\' {
				n++
			}
			n++
		}
		n = min(n+1, len(text))
		out.Write(cleanString(text[:n], clean))
		text = text[n:]
	}
	if whole := clean(bytes.Clone(out.Bytes())); json.Valid(whole) {
		return whole
	}
	return out.Bytes()
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

// packed is the type of the event: {task, path, digest}.
const Packed = "packed"

// packPath is where the context pack of a task stands in the run's folder.
func PackPath(task string) string { return "context/" + filename.Of(task) + ".json" }

// End is the number of lines, and the hash of the last one; nil for no line.
func (j *Journal) End() (lines int64, head *string) { return j.lines.End() }
