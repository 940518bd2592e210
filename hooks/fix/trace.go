// The second trace of a decision: each line of <name>.state.jsonl is told of by a line "decided" of fixes/events.jsonl.

package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

const (
	EventsFile  = "events.jsonl"
	StateSuffix = ".state.jsonl"
	Decided     = "decided" // type of the event
)

// A trace is what events.jsonl tells of a decision. It is written after the decision itself: a crash between the two leaves a
// decision without a trace, never a trace without a decision.
type Trace struct {
	At    string `json:"at"`
	Fix   string `json:"fix"`   // name
	To    string `json:"to"`    // as of the decision
	Lines int64  `json:"lines"` // of <name>.state.jsonl, with this one
	Head  string `json:"head"`  // hash of this one

	Line int // of events.jsonl
}

// tracesIn picks the traces out of the lines of events.jsonl, by fix; those of the first lines (see broughtLines) are left out.
func TracesIn(lines [][]byte, brought int64) (map[string][]Trace, error) {
	all := map[string][]Trace{}
	for i, line := range lines {
		if int64(i) < brought || !bytes.Contains(line, []byte(`"type":"`+Decided+`"`)) {
			continue
		}
		var l struct {
			Type string `json:"type"`
			Trace
		}
		err := json.Unmarshal(line, &l)
		if err == nil && l.Type != Decided {
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

// broughtLines is how many lines of events.jsonl came with an import: what they tell was decided elsewhere, and stayed there.
// ends are the hashes of its lines.
func BroughtLines(runDir string, ends []string) int64 {
	text, err := recordfile.Read(filepath.Join(runDir, ImportedFile), 1<<16)
	if err != nil {
		return 0
	}
	var i Imported
	if json.Unmarshal(text, &i) != nil || i.Sum() != i.Digest || i.Journal == nil || i.Journal.Head == nil {
		return 0
	}
	n := i.Journal.Lines
	if n < 1 || n > int64(len(ends)) || ends[n-1] != *i.Journal.Head {
		return 0
	}
	return n
}

// A told is what events.jsonl of one run tells of the decisions on its fixes: it is read once for all of them.
type told struct {
	dir   string // fixes
	lines [][]byte
	all   map[string][]Trace
	gone  bool // there is no events.jsonl
	err   error
}

// readTold reads it. What is wrong with it is said by of, for each fix.
func readTold(dir string) *told {
	t := &told{dir: dir}
	c, err := ReadEvents(t.path())
	t.lines = c.Lines
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.gone = true
		return t
	case err == nil:
		t.all, err = TracesIn(c.Lines, 0)
		if err == nil && len(t.all) > 0 {
			t.all, err = TracesIn(c.Lines, BroughtLines(filepath.Dir(dir), c.Ends))
		}
	}
	if err != nil {
		t.err = fmt.Errorf("%w: %s: %w", ErrDamaged, t.path(), err)
	}
	return t
}

func (t *told) path() string { return filepath.Join(t.dir, EventsFile) }

// of gives what is told of one fix. That there is no events.jsonl is no error for a fix of a version that had none.
func (t *told) of(name string) ([]Trace, error) {
	if t.gone && hasProvenance(t.dir, name) {
		return nil, fmt.Errorf("%w: %s is gone: what was decided cannot be held against it; put it back as it was, or heal again", ErrDamaged, t.path())
	}
	return t.all[name], t.err
}

// readEvents reads a journal that others may write meanwhile, and holds it against its end file.
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
	// What has no end yet is of a crash, or being written.
	c, err = journal.Audit(bytes.NewReader(text[:bytes.LastIndexByte(text, '\n')+1]), nil, end)
	if err == nil && c.Fault != nil {
		err = fmt.Errorf("%s: expected %s, found %s", c.Fault.Where, c.Fault.Expected, c.Fault.Found)
	}
	return c, err
}

// hasProvenance says whether a fix is of a version that wrote events.jsonl whenever it sealed one.
func hasProvenance(dir, name string) bool {
	var f struct {
		Provenance *struct{} `json:"provenance"`
	}
	text, err := recordfile.Read(filepath.Join(dir, name+".json"), recordfile.MaxJSON)
	return err == nil && json.Unmarshal(text, &f) == nil && f.Provenance != nil
}

// agree holds the traces of a fix against the hashes of the lines of its state file. nil: each has its line. Lines without a trace are no
// error: of a crash, or of an earlier version.
func agree(state string, traces []Trace, ends []string) error {
	says := func(t Trace) string {
		return fmt.Sprintf("line %d of %s says that decision %d on this fix was %q, at %s", t.Line, EventsFile, t.Lines, t.To, t.At)
	}
	for i := range traces {
		if t := traces[len(traces)-1-i]; t.Lines > int64(len(ends)) {
			return fmt.Errorf("%w: %s: %s, and it holds %d: what was decided was removed; put it back as it was, or heal again", ErrDamaged, state, says(t), len(ends))
		}
	}
	for _, t := range traces {
		if ends[t.Lines-1] != t.Head {
			return fmt.Errorf("%w: %s: %s, and its line %d is another one: what was decided was changed; put it back as it was, or heal again", ErrDamaged, state, says(t), t.Lines)
		}
	}
	return nil
}

// openTraces opens events.jsonl beside a state file, for one more trace.
func openTraces(state string) (*Journal, error) {
	dir := filepath.Dir(state)
	sum, err := RunDigest(filepath.Dir(dir))
	if err != nil && !recordfile.Exists(filepath.Join(dir, EventsFile)) { // else its first line is there
		return nil, err
	}
	return OpenJournal(filepath.Dir(dir), sum, nil)
}

// trace adds one. What it says is of a record that is clean.
func (j *Journal) trace(state, to string, lines int64, head *string) error {
	data := map[string]any{"fix": strings.TrimSuffix(filepath.Base(state), StateSuffix), "to": to, "lines": lines, "head": head}
	var f struct {
		Task string `json:"task"`
	}
	if text, err := recordfile.Read(strings.TrimSuffix(state, StateSuffix)+".json", recordfile.MaxJSON); err == nil && json.Unmarshal(text, &f) == nil {
		data["task"] = f.Task
	}
	return j.Event(Decided, data)
}
