package redact

// Patterns with something in them that is not theirs: encoders break what they write into lines, at any character of a
// value's encoding, and programs put terminal escapes between any two characters.

// A thread follows one pattern beyond a line end or an escape. It goes straight on or dies.
type thread struct {
	node    int32
	line    int32 // characters since the last line end
	from    int64 // offset in the stream where the pattern begins
	end     lineEnd
	folded  bool   // there was a line end: only a pattern that wraps goes on
	escape  escape // the part of an escape that was read last
	skipped int16  // bytes of escapes since the last character
}

// A lineEnd says which part of a line end was the last byte.
type lineEnd uint8

const (
	none lineEnd = iota
	half         // \r
	full         // \n
)

// wrap begins a thread for each pattern that wraps and has, before the line end by at the offset at, at least early
// characters.
func (m *matcher) wrap(c *cursor, state int32, by byte, at int64) {
	for ; m.nodes[state].depth >= early; state = m.nodes[state].fail {
		if m.nodes[state].wraps {
			t := thread{node: state, from: at - int64(m.nodes[state].depth)}
			t.fold(by)
			c.threads = append(c.threads, t)
		}
	}
}

// fold notes the line end by.
func (t *thread) fold(by byte) {
	t.line, t.folded, t.end = 0, true, full
	if by == '\r' {
		t.end = half
	}
}

// advance lets all threads read one byte; end is the offset behind it.
func (m *matcher) advance(c *cursor, by byte, end int64, found func(sp span, name int32) bool) bool {
	alive := c.threads[:0]
	more := true
	for _, t := range c.threads {
		before := t.node
		if !m.reads(&t, by) {
			continue
		}
		n := &m.nodes[t.node]
		ends := n.match == n.depth && (n.wrapped || !t.folded)
		if more && t.node != before && ends {
			more = found(span{t.from, end}, n.name)
		}
		if n.wraps || n.child != 0 && !t.folded {
			alive = append(alive, t)
		}
	}
	c.threads = alive
	return more
}

// reads reports whether t goes on with by.
func (m *matcher) reads(t *thread, by byte) bool {
	next := int32(0)
	if t.escape == 0 && t.end != half {
		next = m.childOf(t.node, by)
	}
	switch {
	case t.escape != 0 || by == esc && next == 0 && t.end != half:
		t.escape = t.escape.next(by)
		t.skipped++
		return t.escape != broken && t.skipped < maxEscapes
	case t.end == half:
		t.end = full
		return by == '\n'
	case t.end == none && (by == '\n' || by == '\r') && (t.folded || next == 0):
		enough := t.line >= minLine
		if !t.folded {
			enough = m.nodes[t.node].depth >= early
		}
		t.fold(by)
		return enough && m.nodes[t.node].wraps
	}
	t.node, t.end, t.skipped = next, none, 0
	t.line++
	return next != 0 && (!t.folded || m.nodes[next].wraps || m.nodes[next].wrapped)
}
