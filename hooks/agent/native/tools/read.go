package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// maxStream is how much of a file is read to find and count its lines, in bytes.
const maxStream = 256 << 20

var toolRead = declared{
	name: "read", effect: Reads, verb: "reads", noun: "file",
	says: "Shows a file, or some of its lines: at most 2,000 lines and 32 KiB at a time. The first line says which " +
		"lines these are; what follows is the text as it stands.",
	fields: []field{
		{name: "path", must: true, says: "the file, or output:N for an output that was shown in part"},
		{name: "from", kind: aCount, says: "the first line, counted from 1"},
		{name: "lines", kind: aCount, says: "how many lines"},
	},
	do: func(ctx context.Context, w *Toolset, a args) Outcome {
		win := newWindow(a.counts["from"], a.counts["lines"])
		if n, ok := outputID(a.texts["path"]); ok {
			return w.readOutput(n, win)
		}
		at, err := w.find(a.texts["path"])
		return onFile(at, err, func() Outcome { return w.readFile(ctx, at, win) })
	},
}

func (w *Toolset) readFile(ctx context.Context, at string, win *window) Outcome {
	f, info, err := w.open(at)
	if err != nil {
		return failed("%v", err)
	}
	defer f.Close()
	if info.Size() > maxStream {
		return failed("%s has %s: read shows files of up to %s, search one of up to %s. A command that is allowed may "+
			"show a part of it.", w.shown(at), english.Size(info.Size()), english.Size(maxStream),
			english.Size(maxWhole))
	}
	sum := sha256.New()
	shown := w.r.Secrets.Writer(win) // before lines are cut: a half of a secret is not known for one
	all := io.MultiWriter(sum, shown)
	first, utf := true, true
	buf := make([]byte, 64<<10)
	var left []byte // of a character between two pieces
	for {
		if ctx.Err() != nil {
			return failed("read was ended: the turn is ending")
		}
		n, err := io.ReadFull(f, buf)
		piece := buf[:n]
		if first && binary(piece) {
			return failed("%s is binary, %s: it cannot be shown", w.shown(at), english.Size(info.Size()))
		}
		first = false
		_, _ = all.Write(piece) // neither a sum nor a window fails
		if utf {
			left, utf = checkUTF8(append(left, piece...))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return failed("%s: %s", w.shown(at), why(err))
		}
	}
	_ = shown.Close()
	beyond := win.from > win.at && win.at > 0
	if !beyond { // else nothing of it was shown
		w.know(at, state(sum.Sum(nil)))
	}
	text := win.show()
	head, rest, more := strings.Cut(text, "\n")
	if !utf || len(left) > 0 {
		head += " (not UTF-8: what cannot be shown stands as \uFFFD)"
	}
	head = fmt.Sprintf("%s: %s", w.shown(at), head)
	if more {
		head += "\n" + rest
	}
	return Outcome{Text: head, Code: failedIf(beyond)}
}

// checkUTF8 reports whether b is UTF-8 as far as it goes, and returns an incomplete rune at its end.
func checkUTF8(b []byte) (left []byte, ok bool) {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if tail := b[len(b)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return append([]byte{}, tail...), utf8.Valid(b[:len(b)-back])
			}
			break
		}
	}
	return nil, utf8.Valid(b)
}

const (
	maxLines = 2000
	maxBytes = 32 << 10
	maxLine  = 8 << 10 // of one line
)

// A window keeps the lines from..from+lines-1 of what is written to it, bounded, and counts all lines: the file may be
// larger than memory.
type window struct {
	from, lines int
	out         strings.Builder
	at          int // the line that is being written, from 1; 0 before the first
	last        int // the last line that was taken
	full        bool
	line        int // bytes of the line at, so far
	cut         int // bytes of the line at that were left out
	open        bool
}

func newWindow(from, lines int) *window {
	if lines < 1 || lines > maxLines {
		lines = maxLines
	}
	return &window{from: max(from, 1), lines: lines}
}

func (w *window) Write(p []byte) (int, error) {
	n := len(p)
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
