package record

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/digest"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// logLimit is how many bytes of output a log keeps.
const logLimit = 4 << 20

// cutMark is the line that a log begins with when something was left out before it.
const cutMark = "[async-pipeline: %d bytes left out here]\n"

// logEvery is how old <task>.log may be while a task goes on printing beyond logLimit.
const logEvery = time.Second

// A LogWriter takes a task's output, already redacted. It keeps the end of it on disk and nothing in memory. Up to
// logLimit bytes go straight into the log, which the first Write makes, or Finish. From then on that file is a ring
// without a name, written over in place (which costs a tenth of ever new files), and the log is made from it every
// logEvery and by Finish. A Write never fails, so that a full disk does not stop a task in the middle: Finish returns
// what was lost. It is safe for concurrent use.
type LogWriter struct {
	mu     sync.Mutex
	path   string
	rel    string        // path in run.json
	before func() string // the folder of the run before; empty: there is none
	f      *os.File      // nil before the first output, and when the log is closed
	done   bool          // the log is closed
	at     int64         // where the next byte goes in f
	ring   bool          // f is full and is written over from its beginning
	total  int64         // what the task printed
	kept   int64         // of a ring: bytes of output in the log as it was made last
	sum    hash.Hash     // of the log; what a ring writes over is not hashed: only Finish hashes the log that is made of it
	last   bool          // Finish is making the log
	lost   bool          // its digest is not known
	timer  *time.Timer
	err    error // of the first write that failed
}

// newLog returns the writer of the log of a task in the run of a folder; before returns that of the run before, if any.
func newLog(dir string, before func() string, task string) *LogWriter {
	l := &LogWriter{rel: "logs/" + filename.Of(task) + ".log", before: before}
	l.path = filepath.Join(dir, filepath.FromSlash(l.rel))
	return l
}

// make makes the log, and removes what an earlier writer of the same task left.
func (l *LogWriter) make() (err error) {
	if l.f, err = recordfile.Create(l.path, os.O_RDWR); errors.Is(err, fs.ErrExist) {
		if err = os.Remove(l.path); err == nil {
			l.f, err = recordfile.Create(l.path, os.O_RDWR)
		}
	}
	return writing(err, l.path)
}

// All writes all that a task printed; only Finish may follow. It is for what is known as a whole: where the log of the run
// before is the same, that file gets another name, which costs less than a new file.
func (l *LogWriter) All(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all(p)
}

func (l *LogWriter) all(p []byte) {
	if l.f != nil || l.done || len(p) > logLimit || !l.same(p) {
		l.write(p)
		return
	}
	l.hash(p)
	l.total, l.kept, l.done = l.total+int64(len(p)), int64(len(p)), true
}

// same gives the log of the run before another name, if p is all that it says.
func (l *LogWriter) same(p []byte) bool {
	before := l.before()
	return before != "" && recordfile.LinkSame(filepath.Join(before, filepath.FromSlash(l.rel)), l.path, p)
}

// Tail returns the last most bytes of what the task has printed so far, less when there is less. After Finish it is
// an error.
func (l *LogWriter) Tail(most int64) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil, fmt.Errorf("%s is closed", l.path)
	}
	if l.f == nil {
		return nil, nil
	}
	have := l.at // bytes of output in f
	if l.ring {
		have = logLimit
	}
	b := make([]byte, min(most, have))
	// In a ring the oldest byte is where the next one goes.
	wrap := max(0, int64(len(b))-l.at)
	if wrap > 0 {
		if _, err := l.f.ReadAt(b[:wrap], logLimit-wrap); err != nil {
			return nil, err
		}
	}
	_, err := l.f.ReadAt(b[wrap:], l.at-int64(len(b))+wrap)
	return b, err
}

func (l *LogWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(p)
	return len(p), nil
}

func (l *LogWriter) write(p []byte) {
	switch {
	case l.err != nil:
	case l.done:
		l.err = fmt.Errorf("%s is closed", l.path)
	case l.f == nil:
		l.err = l.make()
	}
	for len(p) > 0 && l.err == nil {
		if l.at == logLimit {
			if !l.ring {
				l.ring = true
				// The new log takes the name; what we hold open is from now on the ring.
				if l.err = l.publish(); l.err != nil {
					break
				}
			}
			l.at = 0
		}
		wrote, err := l.f.WriteAt(p[:min(int64(len(p)), logLimit-l.at)], l.at)
		if !l.ring {
			l.hash(p[:wrote])
		}
		l.at += int64(wrote)
		l.total += int64(wrote)
		l.err = writing(err, l.path)
		p = p[wrote:]
	}
	l.total += int64(len(p)) // what could not be written was printed too
	if l.ring && l.timer == nil && l.err == nil {
		l.timer = time.AfterFunc(logEvery, l.refresh)
	}
}

// refresh makes the log anew while the task runs.
func (l *LogWriter) refresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil {
		l.timer = nil
		_ = l.publish() // the one of Finish counts
	}
}

// Finish closes the log and returns its entry in run.json. With an error not all of the output could be kept; the
// Log is right all the same.
func (l *LogWriter) Finish() (Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.f == nil && !l.done { // nothing was written: an empty log is made all the same
		before := l.err
		l.err = nil
		l.all(nil)
		l.err = cmp.Or(before, l.err)
		l.lost = l.f == nil && !l.done
	}
	if l.f != nil {
		if l.ring && l.total > logLimit {
			l.sum, l.last = sha256.New(), true
			err := l.publish()
			if err != nil {
				l.sum, l.lost = nil, true // the log is the one of before
			}
			l.err = errors.Join(l.err, err)
		}
		if !l.ring {
			l.kept = l.at
		}
		l.err = errors.Join(l.err, writing(l.f.Close(), l.path))
		l.f = nil
	}
	l.done = true
	return Log{Path: l.rel, Bytes: l.kept, LeftOutBytes: l.total - l.kept, Digest: l.digest()}, l.err
}

// hash adds to the digest what is written into the log.
func (l *LogWriter) hash(p []byte) {
	if l.sum == nil {
		l.sum = sha256.New()
	}
	_, _ = l.sum.Write(p) // a hash never fails
}

// digest returns the digest of the log; nil where it is not known.
func (l *LogWriter) digest() *string {
	if l.lost {
		return nil
	}
	l.hash(nil)
	return new(digest.Text(l.sum.Sum(nil)))
}

// publish writes the log from the ring: a line with the number of missing bytes, if any, and the end of the output.
func (l *LogWriter) publish() error {
	out, err := os.CreateTemp(filepath.Dir(l.path), "."+filepath.Base(l.path)+".tmp*")
	if err != nil {
		return writing(err, l.path)
	}
	var to io.Writer = out
	if l.last {
		to = io.MultiWriter(out, l.sum)
	}
	kept := int64(logLimit)
	// The oldest byte is where the next one goes.
	in := bufio.NewReaderSize(io.MultiReader(
		io.NewSectionReader(l.f, l.at, logLimit-l.at),
		io.NewSectionReader(l.f, 0, l.at),
	), 64<<10)
	if kept < l.total {
		// It begins probably within a line; if the rest of that is short, it is left out too.
		head, _ := in.Peek(4096)
		if i := bytes.IndexByte(head, '\n'); i >= 0 {
			_, _ = in.Discard(i + 1)
			kept -= int64(i + 1)
		}
		_, err = fmt.Fprintf(to, cutMark, l.total-kept)
	}
	if err == nil {
		_, err = in.WriteTo(to)
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(out.Name(), l.path)
	}
	if err != nil {
		_ = os.Remove(out.Name())
		return writing(err, l.path)
	}
	l.kept = kept
	return nil
}

// A LogReader reads the log of a task from its beginning, also one that still grows, and one that is made anew
// while it is read. It belongs to one goroutine.
type LogReader struct {
	dir, name string
	at        int64 // how much of what the task printed was given, or is missing for ever
}

// ReadLog reads the log of a task of the run in runDir. There need not be one yet.
func ReadLog(runDir, task string) *LogReader {
	return &LogReader{dir: runDir, name: "logs/" + filename.Of(task) + ".log"}
}

// logChunk is how much of a log is read at a time, in bytes.
const logChunk = 256 << 10

// A logFile is an open log and where in the task's output it begins.
type logFile struct {
	*os.File
	info os.FileInfo
	head int64 // length of the line that marks a cut
	left int64 // bytes of output before the first one in the file
}

// open opens the log; fs.ErrNotExist where there is none. A log that is a link out of the run's folder is an error.
func (r *LogReader) open() (*logFile, error) {
	if err := recordfile.NoLinks(filepath.Join(r.dir, "logs")); err != nil {
		return nil, err
	}
	f, _, err := openFile(r.dir, r.name)
	switch {
	case unixat.IsNotExist(err):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.dir, err)
	}
	l := &logFile{File: f}
	if l.info, err = f.Stat(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// Only a log that is full begins so; in any other the task itself printed that line.
	if l.info.Size() < logLimit-4096 {
		return l, nil
	}
	first := make([]byte, 80)
	n, err := f.ReadAt(first, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	end := bytes.IndexByte(first[:n], '\n') + 1
	if _, err := fmt.Sscanf(string(first[:end]), cutMark, &l.left); err == nil && l.left > 0 {
		l.head = int64(end)
	} else {
		l.left = 0
	}
	return l, nil
}

// Skip goes on to the last n lines that are in the log now. A last line without an end counts.
func (r *LogReader) Skip(n int) error {
	l, err := r.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // opened for reading
	size := l.info.Size()
	from, err := lastLines(l, l.head, size, n)
	r.at = max(r.at, l.left+from-l.head)
	return err
}

// lastLines returns where the last n lines between two places of a file begin.
func lastLines(f io.ReaderAt, begin, end int64, n int) (int64, error) {
	if n <= 0 {
		return end, nil
	}
	buf := make([]byte, 64<<10)
	seen := 0
	for at := end; at > begin; {
		from := max(at-int64(len(buf)), begin)
		part := buf[:at-from]
		if _, err := f.ReadAt(part, from); err != nil && !errors.Is(err, io.EOF) {
			return end, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] != '\n' || from+int64(i) == end-1 {
				continue
			}
			if seen++; seen == n {
				return from + int64(i) + 1, nil
			}
		}
		at = from
	}
	return begin, nil
}

// Next writes what was printed since the last Next. Where the beginning of it is no longer in the log, it writes a
// line with the number of missing bytes. A log that does not exist yet is empty.
func (r *LogReader) Next(w io.Writer) error {
	buf := make([]byte, logChunk)
	for {
		more, err := r.part(w, buf)
		if err != nil || !more {
			return err
		}
	}
}

// part writes one piece. more reports whether there is probably another.
func (r *LogReader) part(w io.Writer, buf []byte) (more bool, err error) {
	l, err := r.open()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = l.Close() }() // opened for reading
	at, missing := r.at, int64(0)
	if size := l.info.Size(); l.head+at-l.left > size {
		at = l.left // the log was begun anew
	}
	if at < l.left {
		at, missing = l.left, l.left-at
	}
	n, err := l.ReadAt(buf, l.head+at-l.left)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	// A log that is full is written over in place once another has taken its name: what was read may be of any time.
	now, err := os.Lstat(filepath.Join(r.dir, filepath.FromSlash(r.name)))
	if err != nil || !os.SameFile(now, l.info) {
		return err == nil, nil //nolint:nilerr // it is gone, and with it what could be read
	}
	if missing > 0 {
		if _, err := fmt.Fprintf(w, cutMark, missing); err != nil {
			return false, err
		}
	}
	if n > 0 {
		if _, err := w.Write(buf[:n]); err != nil {
			return false, err
		}
	}
	r.at = at + int64(n)
	return n == len(buf), nil
}

// Size returns the size of the log in bytes; fs.ErrNotExist where there is none.
func (r *LogReader) Size() (int64, error) {
	l, err := r.open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }() // opened for reading
	return l.info.Size(), nil
}
