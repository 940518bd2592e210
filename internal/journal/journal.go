// Package journal is an append-only file of JSON lines in which each line carries the hash of the one before.
//
//	{"seq":1,"at":"2026-11-21T02:40:00.000Z",…,"prev":null}
//
// seq counts from 1. prev is "sha256:" and the hash, in hexadecimal, of the line before without its end; in the
// first line it is the digest of what the journal belongs to, or null. With the number of lines and the hash of the
// last one, stored elsewhere, a change or loss of a line can be found later. For a journal that is opened again and
// again (Open) they are in an End in a file beside it.
//
// A crash can leave an incomplete last line. Readers leave it out, and the next writer cuts it off. A journal that is
// damaged in another way is not written to.
package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Journal is a journal that is open for writing. It is safe for concurrent use. Several may be open on one file, in
// other processes, too: each line is written under the file's lock. A journal of Own is the only one of its file.
type Journal struct {
	path   string
	clean  func(value []byte) []byte
	follow func(line []byte)
	own    bool // opened by Own: the file is locked until Close
	tells  bool // the end file is correct, and must be updated

	mu    sync.Mutex // guards what follows
	f     *os.File   // nil when closed
	wrote bool       // a line, since it was opened
	w     lineWriter
	chain
}

// Open opens or makes a journal. prev is the prev of its first line. clean (may be nil) gets every value that may
// contain text, as JSON, and returns it without secrets; it must not keep the slice, and does not get seq, at, prev,
// and an event's type and task. follow (may be nil) gets each line that is written here, without its line end, one
// call at a time; it must not keep the slice.
func Open(path string, prev *string, clean func(value []byte) []byte, follow func(line []byte)) (*Journal, error) {
	j, err := openFile(path, clean, follow)
	if err != nil {
		return nil, err
	}
	if prev != nil {
		j.head = *prev
	}
	if err := j.alone(j.seeEnd); err != nil {
		return nil, errors.Join(err, j.f.Close())
	}
	return j, nil
}

// Own opens or makes a journal without prev that has no other writer before Close. The file is locked once, so that a
// line costs one system call. If the file is locked already, that is the error.
func Own(path string, clean func(value []byte) []byte, follow func(line []byte)) (*Journal, error) {
	j, err := openFile(path, clean, follow)
	if err != nil {
		return nil, err
	}
	if err = lock(j.f, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		err = errors.New("somebody else is writing it")
	}
	if err != nil {
		err = fmt.Errorf("locking %s: %w", path, err)
	} else {
		err = j.catchUp()
	}
	if err != nil {
		return nil, errors.Join(err, j.f.Close())
	}
	j.own = true
	return j, nil
}

func openFile(path string, clean func(value []byte) []byte, follow func(line []byte)) (*Journal, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: look who made it, then remove it", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	return &Journal{path: path, clean: clean, follow: follow, f: f, w: lineWriter{from: time.Now()}}, nil
}

// An Event is a line that says of what kind it is: {seq, at, type, task, …data by name, prev}.
type Event struct {
	Type   string         // run_started | task_started | task_retried | task_finished | task_skipped | run_finished …
	Task   string         // empty where none
	Fields []Field        // more fields, in this order; seq, at, type, task and prev are taken
	Data   map[string]any // more fields, sorted by name, behind Fields
}

// Append writes a line of fields: {seq, at, …fields, prev}. After an error nothing of the line is in the file.
func (j *Journal) Append(fields ...Field) error { return j.write(false, nil, fields) }

// Event writes a line. After an error nothing of the line is in the file.
func (j *Journal) Event(e Event) error { return j.event(false, e) }

// First is Event where the journal has no line yet; else it writes nothing.
func (j *Journal) First(e Event) error { return j.event(true, e) }

func (j *Journal) event(first bool, e Event) error {
	fields := e.Fields
	if len(e.Data) > 0 {
		fields = slices.Clone(fields)
		for _, name := range slices.Sorted(maps.Keys(e.Data)) {
			fields = append(fields, Field{name, e.Data[name]})
		}
	}
	for _, f := range fields {
		if f.Name == "type" || f.Name == "task" {
			return fmt.Errorf("event %s: %q is a field of every event", e.Type, f.Name)
		}
	}
	if err := j.write(first, &e, fields); err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	return nil
}

// write writes a line: seq and at, what an event is (as it is), the fields (cleaned), prev.
func (j *Journal) write(first bool, e *Event, fields []Field) error {
	for _, f := range fields {
		switch f.Name {
		case "seq", "at", "prev":
			return fmt.Errorf("%q is a field of every line", f.Name)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.alone(func() error {
		if first && j.seq > 0 {
			return nil
		}
		line, err := j.w.line(&j.chain, j.clean, e, fields)
		if err != nil {
			return err
		}
		if _, err := j.f.WriteAt(line, j.size); err != nil {
			_ = j.f.Truncate(j.size) // half a line would have to be cut off by the next writer
			return err
		}
		line = line[:len(line)-1]
		j.add(line)
		j.wrote = true
		if j.follow != nil {
			j.follow(line)
		}
		return nil
	})
}

// alone calls do under the file's lock, after reading what others have written meanwhile and cutting off what a crash
// has left of a line.
func (j *Journal) alone(do func() error) error {
	if j.f == nil {
		return fmt.Errorf("%s: %w", j.path, os.ErrClosed)
	}
	if j.own {
		return do()
	}
	if err := lock(j.f, unix.LOCK_EX); err != nil {
		return fmt.Errorf("locking %s: %w", j.path, err)
	}
	defer func() { _ = lock(j.f, unix.LOCK_UN) }() // closing the file would do it too
	if err := j.catchUp(); err != nil {
		return err
	}
	return do()
}

// catchUp reads what others have written, and cuts off what a crash has left of a line.
func (j *Journal) catchUp() error {
	info, err := j.f.Stat()
	if err != nil {
		return err
	}
	switch more := info.Size() - j.size; {
	case more < 0:
		return fmt.Errorf("%s is shorter than it was: somebody cut it", j.path)
	case more > 0:
		torn, err := j.read(io.NewSectionReader(j.f, j.size, more), nil)
		if err != nil {
			return fmt.Errorf("%s: %w", j.path, err)
		}
		if torn {
			return j.f.Truncate(j.size)
		}
	}
	return nil
}

func lock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// End returns the number of lines as far as they are known here, and the hash of the last one; nil for no line.
func (j *Journal) End() (lines int64, head *string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.end()
	return e.Lines, e.Head
}

// Sync brings what was written to the disk.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		return fmt.Errorf("%s: %w", j.path, os.ErrClosed)
	}
	return j.f.Sync()
}

// Close closes the file; closing twice does nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		return nil
	}
	err := j.leaveEnd()
	if j.own {
		// Closing the file would do it too, but not while a process that is just being started still has a copy of it.
		err = errors.Join(err, lock(j.f, unix.LOCK_UN))
	}
	err = errors.Join(err, j.f.Close())
	j.f = nil
	return err
}
