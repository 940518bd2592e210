package redact

// Dumps: values in what xxd, hexdump and od print. The lines are turned back into the bytes that they show, and these
// are searched as a stream of their own.

import (
	"bytes"
	"math"
	"slices"
)

// maxDumpLine is the length of the longest line of a dump, in bytes.
const maxDumpLine = 4 << 10

// A dumpCursor is a place in a stream: what a dump before it has shown. Nothing is kept of other text.
type dumpCursor struct {
	shown [readings]shown
	lines []span // those in which a value may have begun, without their line ends
	text  []byte // the stream from the first of lines on, or from the unfinished line
	read  int    // bytes of text that are not the unfinished line
	skip  bool   // the unfinished line is no line of a dump
	live  bool   // the line before it is one
	line  dumpLine
}

// A shown is the stream of bytes that consecutive lines show in one reading.
type shown struct {
	at     cursor
	end    int64   // bytes of the stream
	places []int64 // of the last of them: where in the dump each is
}

// dumps reads b, whose first byte has the offset base, from the cursor on, tells found of each place where a dump shows
// a value: from its first byte to the end of the line, each further line, and the last one up to its end too, because
// there may be a column that shows the same bytes again. It moves the cursor to the end of b. A found that says false
// ends it. dumps returns how many bytes before the end may still show a value. The stream ends with b if last.
func (m *matcher) dumps(c *dumpCursor, b []byte, base int64, last bool, found func(sp span, name string) bool) (held int) {
	if len(m.names) == 0 {
		return 0
	}
	end := base + int64(len(b))
	if len(c.text) > 0 {
		c.text = append(c.text, b...)
		b = c.text
	}
	base = end - int64(len(b))
	pos := c.read
	for pos < len(b) {
		line := b[pos:]
		may := !c.skip && mayDump(line)
		n := bytes.IndexByte(line, '\n')
		if n >= 0 {
			line = line[:n]
		}
		may = may && len(line) <= maxDumpLine
		if may && n < 0 && !last {
			break
		}
		if !may {
			c.reset()
		} else if !c.whole(m, line, base+int64(pos), found) {
			return 0
		}
		c.skip = n < 0
		pos = min(pos+len(line)+1, len(b))
	}
	from := c.needed(m, b[pos:], base+int64(pos))
	keep := pos
	if len(c.lines) > 0 {
		keep = int(c.lines[0].from - base)
	}
	c.text, c.read = append(c.text[:0], b[keep:]...), pos-keep
	return int(max(0, end-from))
}

// again reads what is kept anew, with the automaton of more values; end is the offset of the cursor.
func (m *matcher) again(c *dumpCursor, end int64, found func(sp span, name string) bool) {
	text := c.text
	*c = dumpCursor{skip: c.skip}
	m.dumps(c, text, end-int64(len(text)), false, found)
}

// whole reads a line that is complete.
func (c *dumpCursor) whole(m *matcher, line []byte, from int64, found func(sp span, name string) bool) bool {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if !c.line.parse(line, true) {
		c.reset()
		return true
	}
	c.live = true
	c.lines = append(c.lines, span{from, from + int64(len(line))})
	more, first := true, int64(math.MaxInt64)
	for i := range c.shown {
		s, r := &c.shown[i], &c.line.readings[i]
		if !r.ok {
			s.reset()
			continue
		}
		s.add(m, r, from, func(sp span, name int32) bool {
			for _, l := range c.lines { // the value ends in the last of them
				if more && l.to > sp.from {
					more = found(span{max(l.from, sp.from), l.to}, m.names[name])
				}
			}
			return more
		})
		s.forget(m)
		first = min(first, s.first())
	}
	c.lines = slices.DeleteFunc(c.lines, func(l span) bool { return l.to <= first })
	return more
}

// needed returns the offset in the stream from which on a value may be shown, when the unfinished line is as given.
func (c *dumpCursor) needed(m *matcher, line []byte, from int64) int64 {
	first := int64(math.MaxInt64)
	if len(line) == 0 {
		for i := range c.shown {
			first = min(first, c.shown[i].first())
		}
		return first
	}
	if !c.line.parse(bytes.TrimSuffix(line, []byte("\r")), false) {
		return first
	}
	for i := range c.shown {
		r := &c.line.readings[i]
		if !r.ok {
			continue
		}
		if r.rest >= 0 {
			first = min(first, from+int64(r.rest))
		}
		s := c.shown[i] // a copy: the line is read again when it is complete
		s.at.threads, s.places = slices.Clone(s.at.threads), slices.Clip(s.places)
		s.add(m, r, from, func(sp span, _ int32) bool {
			first = min(first, sp.from)
			return true
		})
		s.forget(m)
		first = min(first, s.first())
	}
	return first
}

func (c *dumpCursor) reset() {
	if !c.live {
		return
	}
	for i := range c.shown {
		c.shown[i].reset()
	}
	c.lines, c.live = nil, false
}

func (s *shown) reset() { *s = shown{places: s.places[:0]} }

// add reads the bytes of one line, which begins at the offset from. It tells found where in the dump the first byte of
// a value is, and the last one.
func (s *shown) add(m *matcher, r *reading, from int64, found func(sp span, name int32) bool) {
	for _, p := range r.places {
		s.places = append(s.places, from+int64(p))
	}
	begin := s.end + int64(len(r.bytes)-len(s.places)) // of places
	m.scan(&s.at, r.bytes, s.end, func(sp span, name int32) bool {
		return found(span{s.places[sp.from-begin], s.places[sp.to-1-begin]}, name)
	})
	s.end += int64(len(r.bytes))
}

// forget forgets the places of bytes that cannot become a value.
func (s *shown) forget(m *matcher) {
	s.places = append(s.places[:0], s.places[len(s.places)-m.held(&s.at, s.end):]...)
}

// first returns where in the dump the first byte is that can still become a value.
func (s *shown) first() int64 {
	if len(s.places) == 0 {
		return math.MaxInt64
	}
	return s.places[0]
}
