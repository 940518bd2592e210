package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/filename"
)

// A LogReader reads the log of a task from its beginning, also one that still grows, and one that is made anew while it is
// read. It belongs to one goroutine.
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
	if dir := filepath.Join(r.dir, "logs"); hasLink(dir) {
		return nil, isFolder(dir)
	}
	f, _, err := openFile(r.dir, r.name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
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

// Skip goes on to the last n lines of what the log holds now. A last line without an end counts.
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

// lastLines is where the last n lines between two places of a file begin.
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

// Next writes what was printed since the last Next. Where the beginning of it is no longer in the log, a line says how much
// is missing. No log yet is nothing new.
func (r *LogReader) Next(w io.Writer) error {
	buf := make([]byte, logChunk)
	for {
		more, err := r.part(w, buf)
		if err != nil || !more {
			return err
		}
	}
}

// part writes one piece; more says that there is probably another.
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

// Size is the size of the log, in bytes; fs.ErrNotExist where there is none.
func (r *LogReader) Size() (int64, error) {
	l, err := r.open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }() // opened for reading
	return l.info.Size(), nil
}
