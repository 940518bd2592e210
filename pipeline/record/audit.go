package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// Audit adds to a report what differs from run.json: the journal line by line, the graph, every log and receipt. run.json
// itself is only compared with its journal; the digest of its bytes is in the fixes of the run.
func (s *Sealed) Audit(r *journal.Report) {
	r.Files["run.json"] = true
	s.auditJournal(r)
	switch {
	case s.GraphDigest != nil:
		r.Digest("graph.json", "graph_digest of run.json", -1, *s.GraphDigest)
	default:
		r.Note("graph.json", "run.json has no digest of it (it was made by an earlier version): not checked")
	}
	for i := range s.Tasks {
		s.auditLog(r, &s.Tasks[i])
		s.auditAgent(r, &s.Tasks[i])
		if t := &s.Tasks[i]; t.ReceiptDigest != nil {
			r.Digest(receiptFile(t.Name), fmt.Sprintf("receipt_digest of task %q in run.json", t.Name), -1, *t.ReceiptDigest)
		}
	}
}

// auditJournal compares events.jsonl with its anchor, and the verdict with the events.
func (s *Sealed) auditJournal(r *journal.Report) {
	const file = "events.jsonl"
	if s.Journal == nil {
		if _, _, err := openFile(s.Dir, file); !errors.Is(err, fs.ErrNotExist) {
			r.Fault("run.json", "journal", "the end of events.jsonl", "null")
		}
		return
	}
	if c, ok := r.Chain(file, "journal of run.json", nil,
		&journal.End{Lines: s.Journal.Lines, Head: s.Journal.Head}, true); ok {
		if int64(len(c.Lines)) > s.Journal.Lines {
			r.Fault(file, fmt.Sprintf("line %d", s.Journal.Lines+1), "nothing: the verdict was sealed", "a line")
			return
		}
		if err := s.agrees(c.Lines); err != nil {
			r.Fault("run.json", "what events.jsonl tells", "the same", err.Error())
		}
	}
}

// auditLog compares the log of one task with run.json.
func (s *Sealed) auditLog(r *journal.Report, t *Task) {
	l := t.Log
	if l == nil {
		return
	}
	who := fmt.Sprintf("log of task %q in run.json", t.Name)
	if !filepath.IsLocal(filepath.FromSlash(l.Path)) || filepath.Dir(filepath.FromSlash(l.Path)) != "logs" {
		r.Fault("run.json", who, "a path below logs", l.Path)
		return
	}
	switch {
	case l.Digest != nil && l.LeftOutBytes == 0:
		r.Digest(l.Path, who, l.Bytes, *l.Digest)
	case l.Digest != nil:
		r.Digest(l.Path, who, -1, *l.Digest)
	default:
		f, size, err := openFile(s.Dir, l.Path)
		if err != nil {
			r.Open(l.Path, who) // it reports what is wrong
			return
		}
		_ = f.Close() // opened for reading
		r.Files[l.Path] = true
		if l.LeftOutBytes == 0 && size != l.Bytes {
			r.Fault(l.Path, who, fmt.Sprintf("%d bytes", l.Bytes), fmt.Sprintf("%d bytes", size))
			return
		}
		r.Note(l.Path, "run.json has no digest of it: only its size was checked")
	}
}

// Check returns an error where the journal beside the verdict is not the one that the verdict was made from: a line
// was changed, added or removed, or the two disagree. Unlike Audit it reads no more than fits into the memory.
func (s *Sealed) Check() error {
	path := filepath.Join(s.Dir, "events.jsonl")
	b, err := readFile(s.Dir, "events.jsonl", recordfile.MaxJSON)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.Journal == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is gone: it was removed", path)
	case err != nil:
		return err
	}
	lines, torn, err := journal.Read(bytes.NewReader(b), nil)
	const changed = "one of the two was changed after the verdict"
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case s.Journal == nil:
		return fmt.Errorf("%s is there, and run.json knows of no journal: run.json was changed", path)
	case torn || int64(len(lines)) != s.Journal.Lines:
		return fmt.Errorf("%s has %d whole lines, and run.json says %d: %s", path, len(lines),
			s.Journal.Lines, changed)
	case len(lines) > 0 && (s.Journal.Head == nil || recordfile.Digest(lines[len(lines)-1]) != *s.Journal.Head):
		return fmt.Errorf("%s does not end with the line that run.json names: %s", path, changed)
	}
	return s.agrees(lines)
}

// agrees returns an error where the verdict is not what the lines of the journal say.
func (s *Sealed) agrees(lines [][]byte) error {
	story := &Story{dir: s.Dir, Started: map[string]Time{}, Ended: map[string]Task{}}
	for _, line := range lines {
		if err := story.take(line); err != nil {
			return err
		}
	}
	differs := func(what, is, was string) error {
		const text = "run.json in %s says that %s is %s, and events.jsonl says %s: one of the two was changed after the verdict"
		return fmt.Errorf(text, s.Dir, what, is, was)
	}
	if v := story.verdict; v != nil && (v.Status != s.Status || v.ExitCode != s.ExitCode) {
		return differs("the run", fmt.Sprintf("%s (exit %d)", s.Status, s.ExitCode),
			fmt.Sprintf("%s (exit %d)", v.Status, v.ExitCode))
	}
	for i := range s.Tasks {
		name := s.Tasks[i].Name
		if t, ok := story.Ended[name]; ok && t.Status != s.Tasks[i].Status {
			return differs(fmt.Sprintf("task %q", name), s.Tasks[i].Status, t.Status)
		}
		delete(story.Ended, name)
	}
	for name := range story.Ended {
		return differs(fmt.Sprintf("task %q", name), "not in the run", story.Ended[name].Status)
	}
	return nil
}
