package tools

// Some lines of a text, taken while it streams by: a file may be larger than memory.

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

const (
	maxLines = 2000
	maxBytes = 32 << 10
	maxLine  = 8 << 10 // of one line
)

// A window keeps the lines from..from+lines-1 of what is written to it, bounded, and counts all lines.
type window struct {
	from, lines int
	out         strings.Builder
	at          int // the line that is being written, from 1; 0 before the first
	last        int // the last line that was taken
	full        bool
	line        int // bytes of the line at, so far
	cut         int // bytes of the line at that were left out
	open        bool
	total       int64
}

func newWindow(from, lines int) *window {
	if lines < 1 || lines > maxLines {
		lines = maxLines
	}
	return &window{from: max(from, 1), lines: lines}
}

func (w *window) Write(p []byte) (int, error) {
	n := len(p)
	w.total += int64(n)
	for len(p) > 0 {
		if !w.open {
			w.begin()
		}
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			w.take(p)
			break
		}
		w.take(p[:i])
		w.end()
		p = p[i+1:]
	}
	return n, nil
}

func (w *window) begin() {
	w.at++
	w.open, w.line, w.cut = true, 0, 0
	if w.wanted() && w.out.Len() >= maxBytes {
		w.full = true
	}
	if w.wanted() {
		w.last = w.at
	}
}

// wanted reports whether the present line is shown.
func (w *window) wanted() bool { return !w.full && w.at >= w.from && w.at < w.from+w.lines }

func (w *window) take(p []byte) {
	if !w.wanted() {
		return
	}
	room := max(min(maxLine-w.line, maxBytes-w.out.Len()), 0)
	if len(p) > room {
		w.cut += len(p) - room
		p = p[:room]
	}
	w.line += len(p)
	w.out.Write(p)
}

func (w *window) end() {
	if w.wanted() {
		if w.cut > 0 {
			fmt.Fprintf(&w.out, " … %d bytes of this line are left out", w.cut)
		}
		w.out.WriteByte('\n')
	}
	w.open = false
}

// show returns the lines that were kept, below a line that describes them.
func (w *window) show() string {
	unended := w.open
	if unended {
		w.end()
	}
	switch {
	case w.at == 0:
		return "it is empty"
	case w.from > w.at:
		return fmt.Sprintf("it has only %s", english.Count(w.at, "line"))
	}
	head := fmt.Sprintf("lines %d–%d of %d", w.from, w.last, w.at)
	if w.last < w.at {
		head += fmt.Sprintf(" (go on with from: %d)", w.last+1)
	} else if unended {
		head += " (the last one has no line end)"
	}
	return head + "\n" + w.out.String()
}
