package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/digest"
)

// A Note is what an audit could not check, and why: no record mentions it, or it was left out of the record.
type Note struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// A Report is what an audit of one run's folder found. Paths are relative to that folder, slash-separated.
type Report struct {
	Faults []Fault
	Notes  []Note
	Files  map[string]bool // files that a record mentions and that were checked

	root *os.Root
}

// NewReport returns an empty report on the folder root. No link is followed out of it.
func NewReport(root *os.Root) *Report {
	return &Report{Faults: []Fault{}, Notes: []Note{}, Files: map[string]bool{}, root: root}
}

// Fault adds a fault.
func (r *Report) Fault(file, where, expected, found string) {
	r.Files[file] = true
	r.Faults = append(r.Faults, Fault{file, where, expected, found})
}

// Note adds a note.
func (r *Report) Note(file, format string, args ...any) {
	r.Notes = append(r.Notes, Note{file, fmt.Sprintf(format, args...)})
}

// Open opens a file of the record for reading. who is the record that mentions it. A file that is absent, or no
// regular file, is a fault, and the result is nil.
func (r *Report) Open(file, who string) *os.File {
	r.Files[file] = true
	fault := func(expected, found string) *os.File {
		r.Fault(file, who, expected, found)
		return nil
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if info, err := r.root.Lstat(dir); err == nil && !info.IsDir() {
			return fault("a file in a folder of ours", dir+" is not a folder")
		}
	}
	info, err := r.root.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault("a file", "none: it is gone")
	case err != nil:
		return fault("a file that can be read", err.Error())
	case !info.Mode().IsRegular():
		return fault("a regular file", info.Mode().Type().String())
	}
	f, err := r.root.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fault("a file that can be read", err.Error())
	}
	return f
}

// Read is Open for a file that is read whole, of at most limit bytes.
func (r *Report) Read(file, who string, limit int64) ([]byte, bool) {
	f := r.Open(file, who)
	if f == nil {
		return nil, false
	}
	defer func() { _ = f.Close() }() // opened for reading
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		r.Fault(file, who, "a file that can be read", err.Error())
		return nil, false
	case int64(len(b)) > limit:
		r.Fault(file, who, fmt.Sprintf("at most %d bytes", limit), "more")
		return nil, false
	}
	return b, true
}

// Digest checks a whole file against the digest and, where it is not negative, the size that somebody recorded.
func (r *Report) Digest(file, who string, size int64, want string) bool {
	f := r.Open(file, who)
	if f == nil {
		return false
	}
	defer func() { _ = f.Close() }() // opened for reading
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	got := digest.Text(sum.Sum(nil))
	switch {
	case err != nil:
		r.Fault(file, who, "a file that can be read", err.Error())
	case size >= 0 && n != size:
		r.Fault(file, who, fmt.Sprintf("%d bytes", size), fmt.Sprintf("%d bytes", n))
	case got != want:
		r.Fault(file, who, want, got)
	default:
		return true
	}
	return false
}

// Chain checks a journal and returns its valid lines. anchor is prev of Audit. end is where the journal must end; if
// it is nil, the end file beside the journal counts. Without an end file, must makes that a fault.
func (r *Report) Chain(file, who string, anchor *string, end *End, must bool) (Chain, bool) {
	var c Chain
	if end == nil {
		end = r.end(file, must)
	}
	f := r.Open(file, who)
	if f == nil {
		return c, false
	}
	defer func() { _ = f.Close() }() // opened for reading
	c, err := Audit(f, anchor, end)
	if err != nil {
		r.Fault(file, who, "a file that can be read", err.Error())
		return c, false
	}
	if c.Fault != nil {
		r.Fault(file, c.Fault.Where, c.Fault.Expected, c.Fault.Found)
		return c, false
	}
	if end == nil {
		if !must { // else it was said
			r.Note(file, "nothing records where it ends: a change of its last line, or lines that were cut off, would not be seen")
		}
	} else if more := int64(len(c.Lines)) - end.Lines; more > 0 {
		r.Note(file, "its last %d of %d lines came after the end that is recorded (a writer was killed, or is at work): that they are whole, and the last, is not known", more, len(c.Lines))
	}
	return c, true
}

// end reads the end file of a journal.
func (r *Report) end(file string, must bool) *End {
	name := file + EndSuffix
	if _, err := r.root.Lstat(name); errors.Is(err, fs.ErrNotExist) && !must {
		return nil
	}
	text, ok := r.Read(name, "end of "+path.Base(file), 1<<10)
	if !ok {
		return nil
	}
	e, err := ReadEnd(text)
	if err != nil {
		r.Fault(name, "whole file", `{"lines":…,"head":…}`, fmt.Sprintf("%q", bytes.TrimSpace(text)))
		return nil
	}
	return &e
}
