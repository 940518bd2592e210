// A chain is an append-only file of JSON lines in which each line holds the hash of the one before.

package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A field is one member of a line, in the order in which it is written.
type field struct {
	name  string
	value any
}

// A Journal is fixes/events.jsonl. It is safe for concurrent use, and several may be open on one file.
type Journal struct {
	mu    sync.Mutex
	path  string
	clean func([]byte) []byte
	f     *os.File
}

// OpenJournal opens or makes the journal of the hooks of a run; the first line of a new one holds the digest of run.json.
func OpenJournal(runDir, runDigest string, clean func([]byte) []byte) (*Journal, error) {
	if clean == nil {
		clean = func(b []byte) []byte { return b }
	}
	dir := filepath.Join(runDir, "fixes")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "events.jsonl")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, clean: clean, f: f}
	first := []field{{"type", "opened"}, {"run", filepath.Base(runDir)}, {"run_digest", runDigest}}
	err = appendChain(f, clean, nil, func(lines int) []field {
		if lines > 0 {
			return nil
		}
		return first
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return j, nil
}

// Event appends a line {seq, at, type, …data, prev}.
func (j *Journal) Event(kind string, data map[string]any) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		return fmt.Errorf("%s: %w", j.path, os.ErrClosed)
	}
	line := []field{{"type", kind}}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if name != "seq" && name != "at" && name != "type" && name != "prev" {
			line = append(line, field{name, data[name]})
		}
	}
	if err := appendChain(j.f, j.clean, nil, func(int) []field { return line }); err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	return nil
}

// Close closes the journal; closing twice does nothing.
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

// appendChain adds one line under the file's lock. An incomplete last line, left by a crash, is cut off first. next is
// told how many lines there are and may say nil: nothing to add. anchor is what the first line holds as prev.
func appendChain(f *os.File, clean func([]byte) []byte, anchor *string, next func(lines int) []field) error {
	if err := hold(f); err != nil {
		return err
	}
	defer func() { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }() // closing the file would do it too
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	lines, whole := splitLines(text)
	fields := next(len(lines))
	if fields == nil {
		return nil
	}
	prev := anchor
	if n := len(lines); n > 0 {
		d := digest(lines[n-1])
		prev = &d
	}
	fields = slices.Concat([]field{{"seq", len(lines) + 1}, {"at", stamp(time.Now())}}, fields, []field{{"prev", prev}})
	line, err := encodeLine(fields)
	if err != nil {
		return err
	}
	if err := f.Truncate(int64(whole)); err != nil {
		return err
	}
	_, err = f.WriteAt(append(cleanJSON(line, clean), '\n'), int64(whole))
	return err
}

func encodeLine(fields []field) ([]byte, error) {
	var b bytes.Buffer
	for i, f := range fields {
		name, err := encodeJSON(f.name)
		if err != nil {
			return nil, err
		}
		value, err := encodeJSON(f.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		b.WriteByte("{,"[min(i, 1)])
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// splitLines gives the complete lines of text and how many bytes they take.
func splitLines(text []byte) (lines [][]byte, whole int) {
	whole = bytes.LastIndexByte(text, '\n') + 1
	for rest := text[:whole]; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		lines = append(lines, line)
		rest = after
	}
	return lines, whole
}

// checkChain says where a chain is broken.
func checkChain(lines [][]byte, anchor *string) error {
	prev := anchor
	for i, line := range lines {
		var head struct {
			Seq  int     `json:"seq"`
			Prev *string `json:"prev"`
		}
		if err := json.Unmarshal(line, &head); err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		same := prev == nil && head.Prev == nil || prev != nil && head.Prev != nil && *prev == *head.Prev
		if head.Seq != i+1 || !same {
			return fmt.Errorf("line %d does not follow from what stands before it: it was changed, or something before it was", i+1)
		}
		d := digest(line)
		prev = &d
	}
	return nil
}
