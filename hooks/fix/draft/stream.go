// Bounded, redacted streams into the record.

package draft

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// create makes a file of the record that is written bit by bit.
func create(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	return f, advice.Writing(err, path)
}

// A stream takes secrets out (values of the set wherever a write was cut, then clean line by line) and passes on to a
// bounded writer. Safe for concurrent use: a program's two outputs may share it.
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

// A headWriter keeps the beginning and says at the end how many bytes did not fit.
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

// A tailWriter writes as it happens while the log is short; beyond maxLog it keeps the tail in memory, and writes it
// at the end behind a line that says how much is missing.
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
