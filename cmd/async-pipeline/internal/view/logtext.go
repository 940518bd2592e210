// A log on a terminal: whole lines, made harmless.
package view

import (
	"bytes"
	"io"
)

// A LogText writes what a task printed to a screen, harmless, line by line. It belongs to one goroutine; Flush shows the
// rest of a line that has no end.
type LogText struct {
	s    *Screen
	held []byte
	open bool // a part of a long line stands on the screen without its end
}

// LogText is for a screen on a terminal; elsewhere a log is written as it is.
func (s *Screen) LogText() *LogText { return &LogText{s: s} }

func (l *LogText) Write(p []byte) (int, error) {
	l.held = append(l.held, p...)
	var b bytes.Buffer
	rest := l.held
	for {
		end, skip := lineEnd(rest)
		if end < 0 {
			break
		}
		b.WriteString(taskText(string(rest[:end]), l.s.Colour) + "\n")
		l.open = false
		rest = rest[end+skip:]
	}
	if len(rest) > longLine {
		n := wholePart(rest)
		b.WriteString(taskText(string(rest[:n]), l.s.Colour))
		l.open = true
		rest = rest[n:]
	}
	l.held = append(l.held[:0], rest...)
	if b.Len() > 0 {
		if _, err := l.s.W.Write(b.Bytes()); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Flush shows what is held back, and ends its line.
func (l *LogText) Flush() error {
	if len(l.held) == 0 && !l.open {
		return nil
	}
	text := taskText(string(bytes.TrimRight(l.held, "\r")), l.s.Colour) + "\n"
	l.held, l.open = l.held[:0], false
	_, err := io.WriteString(l.s.W, text)
	return err
}
