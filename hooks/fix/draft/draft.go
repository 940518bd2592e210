// Package draft collects the evidence of a fix while it is made, and seals it: what the agent said and printed, the base
// that it worked on, what every attempt left, and the proposed patch. Package fix documents the files.
package draft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

// A Draft collects evidence of one hook before it is sealed. Everything it writes goes through clean (redaction), but
// patches and base contents: those hold no secret at all, or are not written. Safe for concurrent use; the fields are
// set before it is shared.
type Draft struct {
	Run, Task string
	Secrets   *redact.Set // what no patch, base content or stream may hold; nil: nothing
	Name      string      // of the files: <name>.json …; Begin chooses it
	Sub       string      // the root relative to where the paths of changes start (scratch.Base.Sub); empty: not known

	runDir, runDigest string
	clean             func([]byte) []byte
	journal           *fix.Journal
	alive             *os.File // draft.json; its lock says that somebody is at work

	mu         sync.Mutex
	transcript *os.File
	lines      int
	prompts    []fix.PromptRef
	base       *storedBase
	closed     bool
}

// Begin opens a draft below runDir/fixes. A second healing of the same task gets the suffix @2, @3 …. clean may be nil.
// The caller closes it, also after Seal.
func Begin(runDir, runID, runDigest, task string, clean func([]byte) []byte) (*Draft, error) {
	if clean == nil {
		clean = func(b []byte) []byte { return b }
	}
	j, err := fix.OpenJournal(runDir, runDigest, clean)
	if err != nil {
		return nil, err
	}
	d := &Draft{Run: runID, Task: task, runDir: runDir, runDigest: runDigest, clean: clean, journal: j}
	if err := d.claim(); err != nil {
		return nil, errors.Join(fmt.Errorf("fix of task %q: %w", task, err), d.Close())
	}
	return d, nil
}

// claim takes the first free name: making the folder is what nobody can do twice.
func (d *Draft) claim() error {
	base := filename.Of(d.Task)
	for n := 1; ; n++ {
		d.Name = fix.Numbered(base, n)
		if recordfile.Exists(d.Path(".json")) {
			continue
		}
		err := os.Mkdir(d.Path(""), 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return advice.Writing(err, d.Path(""))
		}
		break
	}
	// The lock is taken before the file gets its name: it is never seen unlocked while its maker lives.
	tmp := d.Path("/.draft")
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return advice.Writing(err, tmp)
	}
	d.alive = f
	if err := recordfile.Lock(f); err != nil {
		return err
	}
	text, err := recordfile.JSON(fix.DraftFile{SchemaVersion: fix.SchemaVersion, Run: d.Run, RunDigest: d.runDigest, Task: d.Task, StartedAt: timestamp.Now()})
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil { // names and digests only
		return advice.Writing(err, tmp)
	}
	if err := os.Rename(tmp, d.Path("/draft.json")); err != nil {
		return err
	}
	d.transcript, err = os.OpenFile(d.Path(".transcript.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	return advice.Writing(err, d.Path(".transcript.jsonl"))
}

// path is the absolute path of one of the draft's own files.
func (d *Draft) Path(suffix string) string {
	return filepath.Join(d.runDir, "fixes", d.Name+filepath.FromSlash(suffix))
}

// rel is the same path relative to the run's folder, as the record names it.
func (d *Draft) rel(suffix string) string { return "fixes/" + d.Name + suffix }

// Event appends to fixes/events.jsonl; its first line holds the digest of run.json.
func (d *Draft) Event(kind string, data map[string]any) error {
	with := map[string]any{"task": d.Task, "fix": d.Name}
	for k, v := range data {
		with[k] = v
	}
	return d.journal.Event(kind, with)
}

// Transcript appends a line {seq,at,attempt,type,…}.
func (d *Draft) Transcript(attempt int, kind string, data map[string]any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.transcript == nil {
		return fmt.Errorf("transcript of %s: %w", d.Name, os.ErrClosed)
	}
	fields := []journal.Field{
		{Name: "seq", Value: d.lines + 1}, {Name: "at", Value: timestamp.Now()}, {Name: "attempt", Value: attempt}, {Name: "type", Value: kind},
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if !slices.ContainsFunc(fields, func(f journal.Field) bool { return f.Name == name }) {
			value, err := recordfile.JSON(data[name])
			if err != nil {
				return fmt.Errorf("transcript of %s: %s: %w", d.Name, name, err)
			}
			fields = append(fields, journal.Field{Name: name, Value: json.RawMessage(fix.CleanJSON(value, d.clean))})
		}
	}
	line, err := journal.Object(fields)
	if err != nil {
		return fmt.Errorf("transcript of %s: %w", d.Name, err)
	}
	if _, err := d.transcript.Write(append(line, '\n')); err != nil {
		return err
	}
	d.lines++
	if sum := fix.PromptDigest(line); kind == "prompt" && sum != "" {
		d.prompts = append(d.prompts, fix.PromptRef{Attempt: attempt, Digest: sum})
	}
	return nil
}

// maxRaw bounds what one attempt's program may print into the record, in bytes.
const maxRaw = 64 << 20

// Raw opens attempt-<n>.raw.jsonl. What goes beyond 64 MiB is left out; a last line says how much.
func (d *Draft) Raw(attempt int) (io.WriteCloser, error) {
	f, err := create(d.Path(fmt.Sprintf("/attempt-%d.raw.jsonl", attempt)))
	if err != nil {
		return nil, err
	}
	return d.stream(&headWriter{f: f, left: maxRaw}), nil
}

// Log opens a bounded log of a check (the tail is kept), and gives its path relative to the run's folder.
func (d *Draft) Log(name string) (w io.WriteCloser, rel string, err error) {
	suffix := "/" + filename.Of(name) + ".log"
	f, err := create(d.Path(suffix))
	if err != nil {
		return nil, "", err
	}
	return d.stream(&tailWriter{f: f}), d.rel(suffix), nil
}

// HookLog opens the log of the n-th on_fail "run" of a task, which has no draft: fixes/<task>.hook-<n>.log, bounded as
// Draft.Log.
func HookLog(runDir, task string, n int, clean func([]byte) []byte) (w io.WriteCloser, rel string, err error) {
	if clean == nil {
		clean = func(b []byte) []byte { return b }
	}
	rel = fmt.Sprintf("fixes/%s.hook-%d.log", filename.Of(task), n)
	path := filepath.Join(runDir, filepath.FromSlash(rel))
	if err := fix.CheckRunFolders(runDir); err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, "", advice.Writing(err, path)
	}
	f, err := create(path)
	if err != nil {
		return nil, "", err
	}
	return newStream(&tailWriter{f: f}, nil, clean), rel, nil
}

func (d *Draft) stream(to io.WriteCloser) io.WriteCloser { return newStream(to, d.Secrets, d.clean) }

// Seal writes <task>.json, fsynced, last. A draft that is never sealed is an interrupted healing. It fills in what the
// draft knows: schema version, run, task, base, a missing time, provenance but for policy, sandbox and agent. Then it tells the
// journal the digest of <task>.json.
func (d *Draft) Seal(f *fix.Fix) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return fmt.Errorf("fix %s: %w", d.Name, os.ErrClosed)
	case recordfile.Exists(d.Path(".json")):
		return fmt.Errorf("%s is sealed: it never changes", d.Path(".json"))
	}
	f.SchemaVersion, f.Run, f.RunDigest, f.Task = fix.SchemaVersion, d.Run, d.runDigest, d.Task
	if f.CreatedAt == "" {
		f.CreatedAt = timestamp.Now()
	}
	if d.base != nil {
		f.Base = d.base.said(d.Sub)
	}
	fix.FillLists(f)
	if d.transcript != nil { // the record counts on it
		if err := d.transcript.Sync(); err != nil {
			return err
		}
	}
	if err := d.provenance(f); err != nil {
		return fmt.Errorf("fix %s: %w", d.Name, err)
	}
	stored, err := cleaned(f, d.clean)
	if err != nil {
		return fmt.Errorf("fix %s: %w", d.Name, err)
	}
	if err := hide(stored.Provenance, d.clean); err != nil {
		return fmt.Errorf("fix %s: %w", d.Name, err)
	}
	if err := stored.WellFormed(d.Run, d.Name); err != nil { // a record that nobody could read again is none
		return fmt.Errorf("fix %s: %w", d.Name, err)
	}
	text, err := recordfile.JSON(stored)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := recordfile.Write(d.Path(".json"), text, true); err != nil {
		return err
	}
	// What its own bytes are, only the journal can say. A fix that it does not name was sealed by somebody who was killed here.
	said := d.journal.Event("sealed", map[string]any{"task": d.Task, "fix": d.Name, "state": stored.State, "verdict": stored.Verdict, "digest": recordfile.Digest(text)})
	if said != nil {
		said = fmt.Errorf("%s is sealed, but the journal could not be told: %w", d.Path(".json"), said)
	}
	return errors.Join(os.Remove(d.Path("/draft.json")), said)
}

// Close ends the draft; closing twice does nothing. Without Seal before it the healing counts as interrupted.
func (d *Draft) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	err := d.journal.Close()
	if d.alive != nil {
		// Closing the file would do it too, but not while a process that is just being started still has a copy of it.
		err = errors.Join(err, unix.Flock(int(d.alive.Fd()), unix.LOCK_UN))
	}
	for _, f := range []*os.File{d.transcript, d.alive} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	d.transcript = nil
	return err
}
