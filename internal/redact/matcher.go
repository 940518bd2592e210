package redact

import "slices"

// A matcher finds patterns in a stream of bytes: an Aho-Corasick automaton, and in front of it a table that jumps over
// text in which no pattern can begin (the shifts of Wu and Manber over pairs of bytes). It never changes. Line ends
// within a pattern that wraps, and terminal escapes within any, are followed beside the automaton: see thread.
type matcher struct {
	nodes []node
	names []string
	words *words     // values that are searched for beside the automaton; nil: none
	root  [256]int32 // the children of the root
	min   int        // bytes of the shortest pattern, at most maxJump

	// shift of a pair of bytes: how far the window of min bytes that ends with the pair may jump; 0 means that it may
	// be the beginning of a pattern.
	shift [1 << 16]uint8
	// starts tells of a pair whether a pattern begins with it (first), and has it after one or two others.
	starts [1 << 16]uint8
}

// A node is a state: the text that led to it is the longest end of the stream that begins a pattern.
type node struct {
	fail    int32 // the state of the next shorter such end
	child   int32 // first child, 0 for none (the root is nobody's child)
	sibling int32
	depth   int32 // bytes of that text
	match   int32 // bytes of the longest pattern that this text ends with, 0 for none
	name    int32 // of that pattern
	by      byte  // the byte that leads here
	wraps   bool  // a pattern that wraps goes on from here
	wrapped bool  // a pattern that wraps ends here
}

// A pattern describes one text of the set.
type pattern struct {
	name  string // of the value it comes from
	wraps bool
}

const (
	first = 1 << iota
	second
	third
)

// maxJump bounds the jumps, in bytes: in so much text a pattern that wraps has one line end at most.
const maxJump = early + minLine

// A span is a place to remove: from ≤ offset < to.
type span struct{ from, to int64 }

func compile(patterns map[string]pattern) *matcher {
	m := &matcher{nodes: make([]node, 1), min: 1 << 30}
	keys := make([]string, 0, len(patterns))
	for p := range patterns {
		keys = append(keys, p)
		m.min = min(m.min, len(p))
	}
	m.min = min(m.min, maxJump)
	slices.Sort(keys) // so that the automaton does not depend on the order of the map
	for i, p := range keys {
		m.names = append(m.names, patterns[p].name)
		m.insert(p, int32(i), patterns[p].wraps)
	}
	m.link()
	m.jumps(keys, patterns)
	return m
}

func (m *matcher) insert(p string, name int32, wraps bool) {
	at := int32(0)
	for i := range len(p) {
		m.nodes[at].wraps = m.nodes[at].wraps || wraps
		next := m.childOf(at, p[i])
		if next == 0 {
			next = int32(len(m.nodes))
			m.nodes = append(m.nodes, node{depth: int32(i) + 1, by: p[i], sibling: m.nodes[at].child})
			m.nodes[at].child = next
		}
		at = next
	}
	m.nodes[at].match, m.nodes[at].name = m.nodes[at].depth, name
	m.nodes[at].wrapped = wraps
}

func (m *matcher) childOf(at int32, b byte) int32 {
	for c := m.nodes[at].child; c != 0; c = m.nodes[c].sibling {
		if m.nodes[c].by == b {
			return c
		}
	}
	return 0
}

// link sets the fail states, nearest to the root first, and copies matches from them.
func (m *matcher) link() {
	var queue []int32
	for c := m.nodes[0].child; c != 0; c = m.nodes[c].sibling {
		m.root[m.nodes[c].by] = c
		queue = append(queue, c)
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		n := &m.nodes[at]
		if n.match == 0 {
			n.match, n.name = m.nodes[n.fail].match, m.nodes[n.fail].name
		}
		for c := n.child; c != 0; c = m.nodes[c].sibling {
			m.nodes[c].fail = m.step(n.fail, m.nodes[c].by)
			queue = append(queue, c)
		}
	}
}

// step returns the state after one more byte.
func (m *matcher) step(at int32, b byte) int32 {
	for at != 0 {
		if c := m.childOf(at, b); c != 0 {
			return c
		}
		at = m.nodes[at].fail
	}
	return m.root[b]
}

func (m *matcher) jumps(keys []string, patterns map[string]pattern) {
	for i := range m.shift {
		m.shift[i] = uint8(m.min - 1)
	}
	for _, p := range keys {
		m.starts[pair(p[0], p[1])] |= first
		m.starts[pair(p[2], p[3])] |= second
		m.starts[pair(p[4], p[5])] |= third
		for i := 1; i < m.min; i++ {
			m.near(p[i-1], p[i], i)
		}
		if patterns[p].wraps {
			m.wrappedJumps(p)
		}
	}
}

// near notes that a pattern has this pair at offsets end-1 and end.
func (m *matcher) near(a, b byte, end int) {
	if end < m.min {
		k := pair(a, b)
		m.shift[k] = min(m.shift[k], uint8(m.min-1-end))
	}
}

func pair(a, b byte) int { return int(a) | int(b)<<8 }

// candidate returns the first offset ≥ i at which a pattern may begin, or the first at which fewer than min bytes
// are left.
func (m *matcher) candidate(b []byte, i int) int {
	end := i + m.min - 1
	for end < len(b) {
		if jump := m.shift[pair(b[end-1], b[end])]; jump > 0 {
			end += int(jump)
			continue
		}
		if at := end - m.min + 1; m.begins(b[at : at+minPart]) {
			return at
		}
		end++
	}
	return max(i, len(b)-m.min+1, 0)
}

// begins reports whether a pattern may begin with the minPart bytes of b.
func (m *matcher) begins(b []byte) bool {
	return m.starts[pair(b[0], b[1])]&first != 0 && m.starts[pair(b[2], b[3])]&second != 0 && m.starts[pair(b[4], b[5])]&third != 0
}

// A cursor is a place in a stream: the state there, and the patterns that had a line end or an escape in them.
type cursor struct {
	state   int32
	threads []thread
}

// held returns how many bytes before end, the offset of the cursor, can still become a value.
func (m *matcher) held(c *cursor, end int64) int {
	n := int64(m.nodes[c.state].depth)
	for _, t := range c.threads {
		n = max(n, end-t.from)
	}
	return int(n)
}

// scan reads b, whose first byte has the offset base, from the cursor on, tells found of each place where a pattern
// ends (the longest there, and those with line ends), in the order of the ends, and moves the cursor to the end of
// b. A found that says false ends it.
func (m *matcher) scan(c *cursor, b []byte, base int64, found func(sp span, name int32) bool) {
	state := c.state
	begin := -1              // where the automaton was started last
	stop := nextEscape(b, 0) // the table knows no escapes: it is not asked beyond this offset
	for i := 0; i < len(b); {
		if state == 0 && len(c.threads) == 0 {
			i = m.candidate(b[:stop], i)
			begin = i
			if i == len(b) {
				break
			}
		}
		by := b[i]
		if len(c.threads) > 0 && !m.advance(c, by, base+int64(i)+1, found) {
			return
		}
		switch by {
		case '\n', '\r':
			m.wrap(c, state, by, base+int64(i))
		case esc:
			m.escape(c, state, base+int64(i))
			stop = nextEscape(b, i+1)
		}
		state = m.step(state, by)
		i++
		n := &m.nodes[state]
		if n.match > 0 {
			end := base + int64(i)
			if !found(span{end - int64(n.match), end}, n.name) {
				return
			}
		}
		// One byte in common with a pattern says little: the table decides faster than the automaton.
		if n.depth == 1 && i-1 > begin && stop-i+1 >= m.min && len(c.threads) == 0 {
			state, i = 0, i-1
		}
	}
	// Nothing longer can come of a text that no pattern goes on from: only its shorter ends matter.
	for state != 0 && m.nodes[state].child == 0 {
		state = m.nodes[state].fail
	}
	c.state = state
}

// all lists the spans of b, joined where they overlap, in order.
func (m *matcher) all(b []byte) []span {
	var spans []span
	m.scan(&cursor{}, b, 0, func(sp span, _ int32) bool {
		spans = join(spans, sp)
		return true
	})
	beside := func(sp span, _ string) bool {
		spans = insert(spans, sp)
		return true
	}
	m.words.scan(&wordCursor{}, b, 0, true, beside)
	m.dumps(&dumpCursor{}, b, 0, true, beside)
	return spans
}

func (m *matcher) find(b []byte) (name string, ok bool) {
	m.scan(&cursor{}, b, 0, func(_ span, n int32) bool {
		name, ok = m.names[n], true
		return false
	})
	beside := func(_ span, n string) bool {
		name, ok = n, true
		return false
	}
	if !ok {
		m.words.scan(&wordCursor{}, b, 0, true, beside)
	}
	if !ok {
		m.dumps(&dumpCursor{}, b, 0, true, beside)
	}
	return name, ok
}

// join adds sp, which ends after all of spans, to spans, which are in order and do not overlap.
func join(spans []span, sp span) []span {
	for len(spans) > 0 {
		last := &spans[len(spans)-1]
		if last.to <= sp.from {
			break
		}
		sp.from = min(sp.from, last.from)
		spans = spans[:len(spans)-1]
	}
	return append(spans, sp)
}

// wrappedJumps records the pairs of p with a line end in it.
func (m *matcher) wrappedJumps(p string) {
	for _, k := range []int{ // the pairs after early characters
		pair('\n', p[4]), pair('\r', '\n'), pair(p[4], '\n'), pair(p[4], '\r'),
	} {
		m.starts[k] |= third
	}
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
