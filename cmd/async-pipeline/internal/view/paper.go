// What a terminal shows of a live view, and the bytes that turn it into what it is to show.
//
// bubbletea is not used for this. It asks the terminal what it can do, and without raw mode (which takes ^C and ^Z from the
// terminal) the answer is typed into the person's next command line; lines that are to scroll by go through it one message
// and one repaint each; and a terminal that stands still stops its event loop with everybody who sends to it.
//
// The cursor is never hidden and always stands in the first column of the line below, and no mode outlasts the write that
// sets it: a program that is killed at any moment leaves nothing to restore.
package view

import (
	"bytes"
	"fmt"
	"slices"
)

// Control sequences. A terminal that does not know one ignores it.
const (
	beginUpdate = "\x1b[?2026h" // synchronized output: the frame appears at once
	endUpdate   = "\x1b[?2026l"
	noWrap      = "\x1b[?7l" // a line that is wider than we think is cut by the terminal, and stays one line
	wrapAgain   = "\x1b[?7h"
	eraseBelow  = "\x1b[J"
	eraseRight  = "\x1b[K"
)

// A paper is what the terminal shows below what has scrolled by. The zero paper shows nothing.
type paper struct {
	lines   []string
	columns int // of the terminal when they were drawn
}

// frame gives what lets scroll go by above and shows lines below, in one write; nothing when that is how it is already.
func (p *paper) frame(scroll []byte, lines []string, columns int) []byte {
	same := columns == p.columns || len(p.lines) == 0
	if len(scroll) == 0 && same && slices.Equal(lines, p.lines) {
		return nil
	}
	var b bytes.Buffer
	b.WriteString(beginUpdate + "\r")
	if up := p.rows(columns); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	anew := len(scroll) > 0 || !same
	if anew {
		b.WriteString(eraseBelow)
	}
	for line := range bytes.Lines(scroll) {
		b.Write(bytes.TrimSuffix(line, []byte("\n")))
		b.WriteString("\r\n")
	}
	b.WriteString(noWrap)
	for i, line := range lines {
		if anew || i >= len(p.lines) || p.lines[i] != line {
			b.WriteString(line + eraseRight)
		}
		b.WriteString("\r\n")
	}
	b.WriteString(eraseBelow + wrapAgain + endUpdate)
	p.lines, p.columns = lines, columns
	return b.Bytes()
}

// rows is how many rows the lines take up now. A terminal that was made narrower has broken them in two (most do; one that
// cuts them off instead loses a line or two of what has scrolled by).
func (p *paper) rows(now int) int {
	n := 0
	for _, line := range p.lines {
		n++
		if now > 0 && now < p.columns {
			n += max(columns(bare(line))-1, 0) / now
		}
	}
	return n
}
