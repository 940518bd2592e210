// Audit: whether a run's folder still holds what its verdict says.

package record

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// Audit adds to a report what is not as run.json says: the journal line by line, the graph, every log. run.json itself can
// only be held against its journal: what its own bytes were, only a fix of the run says.
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
	}
}

// auditJournal holds events.jsonl against its anchor, and the verdict against what it tells.
func (s *Sealed) auditJournal(r *journal.Report) {
	const file = "events.jsonl"
	if s.Journal == nil {
		if _, _, err := openFile(s.Dir, file); !errors.Is(err, fs.ErrNotExist) {
			r.Fault("run.json", "journal", "the end of events.jsonl", "null")
		}
		return
	}
	if c, ok := r.Chain(file, "journal of run.json", nil, &journal.End{Lines: s.Journal.Lines, Head: s.Journal.Head}, true); ok {
		if int64(len(c.Lines)) > s.Journal.Lines {
			r.Fault(file, fmt.Sprintf("line %d", s.Journal.Lines+1), "nothing: the verdict was sealed", "a line")
			return
		}
		if err := s.agrees(filepath.Join(s.Dir, file), c.Lines); err != nil {
			r.Fault("run.json", "what events.jsonl tells", "the same", err.Error())
		}
	}
}

// auditLog holds the log of one task against what run.json says of it.
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
			r.Open(l.Path, who) // which says what is wrong
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
