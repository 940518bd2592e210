package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// An Event is one line of a journal.
type Event struct {
	Type string         // run_started | task_started | task_finished | task_skipped | run_finished …
	Task string         // empty where none
	Data map[string]any // more fields; seq, at, type, task and prev are taken
}

// A Journal is an append-only file of JSON lines in which each line carries the hash of the one before ("prev"). It is
// safe for concurrent use in one process; between processes a lock must see to it that one writes at a time.
type Journal struct {
	mu     sync.Mutex
	path   string
	f      *os.File
	clean  cleaner
	follow func([]byte)
	seq    int64  // of the last line
	head   string // digest of the last line, empty for none
	size   int64
}

// OpenJournal opens or makes one; an incomplete last line (a crash) is cut off first. A journal that is damaged in
// another way is not written to. clean (may be nil) takes secrets out of every string; follow (may be nil) is told each
// line, without its line end, after it was written, one call at a time; it must not keep the slice.
func OpenJournal(path string, clean func([]byte) []byte, follow func([]byte)) (*Journal, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: look who made it, then remove it", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, advise(err, path)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, advise(err, path)
	}
	j := &Journal{path: path, f: f, clean: clean, follow: follow}
	var torn bool
	j.seq, j.head, j.size, torn, err = readJournal(f)
	if err == nil && torn {
		err = advise(f.Truncate(j.size), path)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return j, nil
}

// CheckJournal reads a journal and gives what an Anchor of it holds. A line that does not follow from the one before,
// or an incomplete last line, is an error that names the line.
func CheckJournal(r io.Reader) (Anchor, error) {
	seq, head, _, torn, err := readJournal(r)
	if err == nil && torn {
		err = fmt.Errorf("line %d is not complete", seq+1)
	}
	return Anchor{Lines: seq, Head: known(head)}, err
}

// readJournal follows the chain to its end. size is the bytes of the complete lines; torn says that more follows.
func readJournal(r io.Reader) (seq int64, head string, size int64, torn bool, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return seq, head, size, len(line) > 0, nil
		}
		if err != nil {
			return seq, head, size, false, err
		}
		size += int64(len(line))
		line = line[:len(line)-1]
		var l struct {
			Seq  int64   `json:"seq"`
			Prev *string `json:"prev"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return seq, head, size, false, fmt.Errorf("line %d is damaged: %w", seq+1, err)
		}
		if l.Seq != seq+1 || head != "" && (l.Prev == nil || *l.Prev != head) || head == "" && l.Prev != nil {
			return seq, head, size, false, fmt.Errorf("line %d does not follow from what stands before it: it was changed, or something before it was", seq+1)
		}
		seq, head = l.Seq, digest(line)
	}
}

// Append writes one line. After an error nothing of the line is in the file.
func (j *Journal) Append(e Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		return fmt.Errorf("%s is closed", j.path)
	}
	line, err := j.line(e)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	if _, err := j.f.Write(append(line, '\n')); err != nil {
		_ = j.f.Truncate(j.size) // half a line would spoil the next one
		return advise(err, j.path)
	}
	j.seq++
	j.head = digest(line)
	j.size += int64(len(line)) + 1
	if j.follow != nil {
		j.follow(line)
	}
	return nil
}

// line is e in the order of the format: seq, at, type, task, the event's own fields by name, prev.
func (j *Journal) line(e Event) ([]byte, error) {
	var b bytes.Buffer
	at, err := Time{time.Now()}.MarshalJSON()
	if err != nil {
		return nil, err
	}
	kind, err := encode(e.Type)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, `{"seq":%d,"at":%s,"type":%s`, j.seq+1, at, kind)
	if e.Task != "" {
		task, err := encode(e.Task)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, `,"task":%s`, task)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Data)) {
		switch name {
		case "seq", "at", "type", "task", "prev":
			return nil, fmt.Errorf("%q is a field of every line", name)
		}
		key, err := encode(name)
		if err != nil {
			return nil, err
		}
		value, err := j.clean.value(e.Data[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&b, ",%s:%s", key, value)
	}
	if j.head == "" {
		b.WriteString(`,"prev":null}`)
	} else {
		fmt.Fprintf(&b, `,"prev":%q}`, j.head)
	}
	return b.Bytes(), nil
}

// anchor is the end of the journal as it is now.
func (j *Journal) anchor() *Anchor {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &Anchor{Lines: j.seq, Head: known(j.head)}
}

// Close closes the file. A second Close does nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		return nil
	}
	f := j.f
	j.f = nil
	return advise(f.Close(), j.path)
}

// known is s, or nil for the empty string.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
