// Writing the hunks of a unified diff.

package patch

import (
	"strconv"
	"strings"
)

// context is the number of equal lines around a difference.
const context = 3

const noNewline = "\\ No newline at end of file"

// A block is a stretch of differing lines: old[i:iEnd] became new[j:jEnd]. One of the two may be empty.
type block struct{ i, iEnd, j, jEnd int }

func (s *script) blocks() []block {
	var list []block
	i, j := 0, 0
	for i < len(s.old) || j < len(s.new) {
		b := block{i: i, j: j}
		for i < len(s.old) && s.removed[i] {
			i++
		}
		for j < len(s.new) && s.written[j] {
			j++
		}
		if b.iEnd, b.jEnd = i, j; i > b.i || j > b.j {
			list = append(list, b)
			continue
		}
		i, j = i+1, j+1
	}
	return list
}

// hunks writes the blocks, those less than two contexts apart together.
func (w *writer) hunks(s *script) {
	blocks := s.blocks()
	for len(blocks) > 0 {
		n := 1
		for n < len(blocks) && blocks[n].i-blocks[n-1].iEnd <= 2*context {
			n++
		}
		w.hunk(s, blocks[:n])
		blocks = blocks[n:]
	}
}

func (w *writer) hunk(s *script, blocks []block) {
	first, last := blocks[0], blocks[len(blocks)-1]
	lead := min(context, first.i)
	trail := min(context, len(s.old)-last.iEnd)
	w.line("@@ -", span(first.i-lead, last.iEnd+trail), " +", span(first.j-lead, last.jEnd+trail), " @@")
	at := first.i - lead
	for _, b := range blocks {
		w.lines(' ', s.old[at:b.i])
		w.lines('-', s.old[b.i:b.iEnd])
		w.lines('+', s.new[b.j:b.jEnd])
		at = b.iEnd
	}
	w.lines(' ', s.old[at:at+trail])
}

// span writes the lines [from, to), counted from 0, as a hunk's header has them.
func span(from, to int) string {
	switch to - from {
	case 0:
		return strconv.Itoa(from) + ",0" // the line before
	case 1:
		return strconv.Itoa(from + 1)
	}
	return strconv.Itoa(from+1) + "," + strconv.Itoa(to-from)
}

func (w *writer) lines(op byte, lines []string) {
	for _, l := range lines {
		w.WriteByte(op)
		w.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			w.line("")
			w.line(noNewline)
		}
	}
}
