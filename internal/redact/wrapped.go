package redact

// Patterns with line ends in them: encoders break what they write into lines, at any character of a value's encoding.

// A thread follows one pattern beyond a line end. It goes straight on or dies.
type thread struct {
	node int32
	from int64 // offset in the stream where the pattern begins
	line int32 // characters since the last line end
	end  lineEnd
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
		if !m.nodes[state].wraps {
			continue
		}
		end := full
		if by == '\r' {
			end = half
		}
		c.threads = append(c.threads, thread{node: state, from: at - int64(m.nodes[state].depth), end: end})
	}
}

// advance lets all threads read one byte; end is the offset behind it.
func (m *matcher) advance(c *cursor, by byte, end int64, found func(sp span, name int32) bool) bool {
	alive := c.threads[:0]
	more := true
	for _, t := range c.threads {
		if !m.reads(&t, by) {
			continue
		}
		n := &m.nodes[t.node]
		if more && t.end == none && n.wrapped {
			more = found(span{t.from, end}, n.name)
		}
		if n.wraps {
			alive = append(alive, t)
		}
	}
	c.threads = alive
	return more
}

// reads says whether t goes on with by.
func (m *matcher) reads(t *thread, by byte) bool {
	switch {
	case t.end == half:
		t.end = full
		return by == '\n'
	case t.end == none && (by == '\n' || by == '\r'):
		if t.line < minLine {
			return false
		}
		t.line, t.end = 0, full
		if by == '\r' {
			t.end = half
		}
		return m.nodes[t.node].wraps
	}
	next := m.childOf(t.node, by)
	t.node, t.end = next, none
	t.line++
	return next != 0 && (m.nodes[next].wraps || m.nodes[next].wrapped)
}

// wrappedJumps notes the pairs of p as they stand when there is a line end in it.
func (m *matcher) wrappedJumps(p string) {
	for i := early; i < min(m.min, len(p)); i++ { // a line end before p[i]
		m.near(p[i-1], '\n', i)
		m.near('\n', p[i], i+1)
		m.near(p[i-1], '\r', i)
		m.near('\r', '\n', i+1)
		m.near('\n', p[i], i+2)
		if i > early { // one somewhere before both
			m.near(p[i-1], p[i], i+1)
			m.near(p[i-1], p[i], i+2)
		}
	}
}
