// Package journal is an append-only file of JSON lines in which each line carries the hash of the one before.
//
//	{"seq":1,"at":"2026-11-21T02:40:00.000Z",…,"prev":null}
//
// seq counts from 1. prev is "sha256:" and the hash, in hexadecimal, of the line before without its end; in the first
// line it is the digest of what the journal belongs to, or null. Whoever keeps the number of lines and the hash of the
// last one elsewhere knows later that no line was changed or left out.
//
// A crash can leave an incomplete last line: readers leave it out, and whoever writes next cuts it off. A journal that
// is damaged in another way is not written to.
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

// A Journal is one that is open for writing. It is safe for concurrent use, and several may be open on one file, in
// other processes too: each line is written under the file's lock.
type Journal struct {
	path   string
	clean  func(value []byte) []byte
	follow func(line []byte)

	mu sync.Mutex // guards what follows
	f  *os.File   // nil when closed
	chain
}

// Open opens or makes a journal. prev is what its first line carries as prev. clean (may be nil) is given every value
// as JSON, and gives it as JSON without secrets; it is not asked about seq, at, prev, and an event's type and task.
// follow (may be nil) is told each line, without its line end, after it was written here, one call at a time; it must
// not keep the slice.
func Open(path string, prev *string, clean func(value []byte) []byte, follow func(line []byte)) (*Journal, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: look who made it, then remove it", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, clean: clean, follow: follow, f: f}
	if prev != nil {
		j.head = *prev
	}
	if err := j.alone(func() error { return nil }); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// An Event is a line that says of what kind it is: {seq, at, type, task, …data by name, prev}.
type Event struct {
	Type string         // run_started | task_started | task_finished | task_skipped | run_finished …
	Task string         // empty where none
	Data map[string]any // more fields; seq, at, type, task and prev are taken
}

// Append writes a line of fields: {seq, at, …fields, prev}. After an error nothing of the line is in the file.
func (j *Journal) Append(fields ...Field) error { return j.write(false, nil, fields) }

// Event writes a line. After an error nothing of the line is in the file.
func (j *Journal) Event(e Event) error { return j.event(false, e) }

// First is Event where the journal has no line yet; else it writes nothing.
func (j *Journal) First(e Event) error { return j.event(true, e) }

func (j *Journal) event(first bool, e Event) error {
	asIs := []Field{{"type", e.Type}}
	if e.Task != "" {
		asIs = append(asIs, Field{"task", e.Task})
	}
	var fields []Field
	for _, name := range slices.Sorted(maps.Keys(e.Data)) {
		if name == "type" || name == "task" {
			return fmt.Errorf("event %s: %q is a field of every event", e.Type, name)
		}
		fields = append(fields, Field{name, e.Data[name]})
	}
	if err := j.write(first, asIs, fields); err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	return nil
}

func (j *Journal) write(first bool, asIs, fields []Field) error {
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
		line, err := j.line(asIs, fields)
		if err != nil {
			return err
		}
		if _, err := j.f.WriteAt(append(line, '\n'), j.size); err != nil {
			_ = j.f.Truncate(j.size) // half a line would have to be cut off by the next writer
			return err
		}
		j.add(line)
		if j.follow != nil {
			j.follow(line)
		}
		return nil
	})
}

// line is the next line: seq and at, what is written as it is, what is cleaned, prev.
func (j *Journal) line(asIs, fields []Field) ([]byte, error) {
	all := slices.Concat([]Field{{"seq", j.seq + 1}, {"at", stamp(time.Now())}}, asIs)
	for _, f := range fields {
		value, err := encode(f.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if j.clean != nil {
			value = j.clean(value)
		}
		all = append(all, Field{f.Name, raw(value)})
	}
	return Object(append(all, Field{"prev", known(j.head)}))
}

// alone calls do under the file's lock, after reading what others have written meanwhile and cutting off what a crash
// has left of a line.
func (j *Journal) alone(do func() error) error {
	if j.f == nil {
		return fmt.Errorf("%s: %w", j.path, os.ErrClosed)
	}
	fd := int(j.f.Fd())
	for {
		err := unix.Flock(fd, unix.LOCK_EX)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("locking %s: %w", j.path, err)
		}
	}
	defer func() { _ = unix.Flock(fd, unix.LOCK_UN) }() // closing the file would do it too
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
			if err := j.f.Truncate(j.size); err != nil {
				return err
			}
		}
	}
	return do()
}

// End is the number of lines as far as they are known here, and the hash of the last one; nil for no line.
func (j *Journal) End() (lines int64, head *string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.seq == 0 {
		return 0, nil
	}
	return j.seq, known(j.head)
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
	err := j.f.Close()
	j.f = nil
	return err
}
