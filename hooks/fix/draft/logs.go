package draft

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

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

// maxRaw is how much of what an attempt's program prints is kept, in bytes.
const maxRaw = 64 << 20

// Raw opens attempt-<n>.raw.jsonl. What is beyond 64 MiB is left out; a last line tells how much.
func (d *Draft) Raw(attempt int) (io.WriteCloser, error) {
	f, err := create(d.path(d.of(attempt, ".raw.jsonl")))
	if err != nil {
		return nil, err
	}
	return d.stream(&headWriter{f: f, left: maxRaw}), nil
}

// Log opens the log of a check, of which the tail is kept. rel is its path relative to the run's folder.
func (d *Draft) Log(name string) (w io.WriteCloser, rel string, err error) {
	suffix := "/" + filename.Of(name) + ".log"
	f, err := create(d.path(suffix))
	if err != nil {
		return nil, "", err
	}
	return d.stream(&tailWriter{f: f}), d.rel(suffix), nil
}

// HookLog opens the log of the n-th on_fail "run" of a task, which has no draft: fixes/<task>.hook-<n>.log, bounded
// as that of Log.
func HookLog(runDir, task string, n int, clean func([]byte) []byte) (w io.WriteCloser, rel string, err error) {
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
	return newStream(&tailWriter{f: f}, nil, orNothing(clean)), rel, nil
}

func (d *Draft) stream(to io.WriteCloser) io.WriteCloser { return newStream(to, d.Secrets, d.clean) }

// KeepFile stores a file that an attempt left and that its patch cannot hold, without secrets. rel is its path
// relative to the run's folder.
func (d *Draft) KeepFile(attempt int, path string, r io.Reader) (rel string, err error) {
	suffix := d.of(attempt, ".files/"+filename.Of(string(d.Secrets.Bytes([]byte(path)))))
	if err := recordfile.MakeFolder(filepath.Dir(d.path(suffix))); err != nil {
		return "", err
	}
	f, err := create(d.path(suffix))
	if err != nil {
		return "", err
	}
	w := d.stream(f)
	_, err = io.Copy(w, r)
	return d.rel(suffix), errors.Join(err, w.Close())
}

// create makes a file of the record that is written in parts.
func create(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	return f, advice.Writing(err, path)
}

// A stream removes secrets, first those of a set wherever a write was cut, then line by line, and passes the rest
// on. It is safe for concurrent use: a program's two outputs may share it.
type stream struct {
	mu     sync.Mutex
	in     io.Writer
	set    io.WriteCloser // nil without a set
	lines  *lineCleaner
	to     io.WriteCloser
	closed bool
}

func newStream(to io.WriteCloser, secrets *redact.Set, clean func([]byte) []byte) *stream {
	s := &stream{to: to, lines: &lineCleaner{w: to, clean: clean}}
	s.in = s.lines
	if secrets != nil {
		s.set = secrets.Writer(s.lines)
		s.in = s.set
	}
	return s
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, os.ErrClosed
	}
	return s.in.Write(p)
}

// Close writes what was held back and closes the file; closing twice does nothing.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if s.set != nil {
		err = s.set.Close()
	}
	return errors.Join(err, s.lines.flush(), s.to.Close())
}

// longLine is where a line without an end is cut, in bytes.
const longLine = 1 << 20

// A lineCleaner cleans a stream line by line, so that a value split over two writes is found.
type lineCleaner struct {
	w     io.Writer
	clean func([]byte) []byte
	held  []byte
}

func (c *lineCleaner) Write(p []byte) (int, error) {
	c.held = append(c.held, p...)
	end := bytes.LastIndexByte(c.held, '\n') + 1
	if end == 0 && len(c.held) > longLine {
		end = len(c.held)
	}
	if end == 0 {
		return len(p), nil
	}
	lines := c.held[:end]
	_, err := c.w.Write(c.clean(bytes.Clone(lines)))
	c.held = append(c.held[:0], c.held[end:]...)
	return len(p), err
}

// flush writes what was held back.
func (c *lineCleaner) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.w.Write(c.clean(bytes.Clone(c.held)))
	c.held = nil
	return err
}

// A headWriter keeps the beginning, and writes at the end how many bytes were left out.
type headWriter struct {
	f       *os.File
	left    int64
	leftOut int64
}

func (w *headWriter) Write(p []byte) (int, error) {
	if w.leftOut > 0 || int64(len(p)) > w.left { // whole writes only: they end with a line
		w.leftOut += int64(len(p))
		return len(p), nil
	}
	w.left -= int64(len(p))
	return w.f.Write(p)
}

func (w *headWriter) Close() error {
	var err error
	if w.leftOut > 0 {
		_, err = fmt.Fprintf(w.f, "{\"left_out_bytes\":%d}\n", w.leftOut)
	}
	return errors.Join(err, w.f.Close())
}

// maxLog is how much of a log is kept, in bytes.
const maxLog = 1 << 20

// A tailWriter writes at once while the log is short. Beyond maxLog it keeps the tail in memory, and writes it at
// the end below a line that tells how much was left out.
type tailWriter struct {
	f       *os.File
	written int64 // in the file, while nothing is left out
	tail    []byte
	leftOut int64
}

func (w *tailWriter) Write(p []byte) (int, error) {
	if w.tail == nil && w.written+int64(len(p)) <= maxLog {
		n, err := w.f.Write(p)
		w.written += int64(n)
		return n, err
	}
	if w.tail == nil {
		w.tail = make([]byte, w.written, 2*maxLog)
		if _, err := w.f.ReadAt(w.tail, 0); err != nil {
			return 0, err
		}
	}
	w.tail = append(w.tail, p...)
	if len(w.tail) > 2*maxLog {
		w.cut()
	}
	return len(p), nil
}

// cut drops what is before the last maxLog bytes.
func (w *tailWriter) cut() {
	if over := len(w.tail) - maxLog; over > 0 {
		w.leftOut += int64(over)
		w.tail = append(w.tail[:0], w.tail[over:]...)
	}
}

func (w *tailWriter) Close() error {
	if w.tail == nil {
		return w.f.Close()
	}
	w.cut()
	err := w.f.Truncate(0)
	if err == nil {
		_, err = w.f.WriteAt(fmt.Appendf(nil, "[%d bytes left out]\n%s", w.leftOut, w.tail), 0)
	}
	return errors.Join(err, w.f.Close())
}

// Transcript appends a line {seq, at, attempt, type, …data} to the transcript. A line that cannot be written whole
// leaves nothing.
func (d *Draft) Transcript(attempt int, kind string, data map[string]any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.transcript == nil {
		return fmt.Errorf("transcript of %s: %w", d.Name, os.ErrClosed)
	}
	fields := []journal.Field{
		{Name: "seq", Value: d.lines + 1}, {Name: "at", Value: timestamp.Now()}, {
			Name:  "attempt",
			Value: attempt,
		}, {Name: "type", Value: kind},
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if !slices.ContainsFunc(fields, func(f journal.Field) bool { return f.Name == name }) {
			value, err := recordfile.JSON(data[name])
			if err != nil {
				return fmt.Errorf("transcript of %s: %s: %w", d.Name, name, err)
			}
			fields = append(fields, journal.Field{Name: name, Value: json.RawMessage(redact.FreeJSON(value, d.clean))})
		}
	}
	line, err := journal.Object(fields)
	if err != nil {
		return fmt.Errorf("transcript of %s: %w", d.Name, err)
	}
	size, err := d.transcript.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := d.transcript.Write(append(line, '\n')); err != nil {
		return errors.Join(err, d.transcript.Truncate(size)) // the next line would stand behind half of this one
	}
	d.lines++
	if sum := fix.PromptDigest(line); kind == "prompt" && sum != "" {
		d.prompts = append(d.prompts, fix.PromptRef{Attempt: attempt, Digest: sum})
	}
	return nil
}
