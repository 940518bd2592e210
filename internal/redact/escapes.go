package redact

// Terminal escapes (ECMA-48) between the characters of a value: colours, as grep --color and compilers write them, and
// hyperlinks.

import "bytes"

const (
	esc = 0x1b
	// maxEscapes bounds the bytes of escapes between two characters of a value, so that an unfinished one does not hold
	// a stream.
	maxEscapes = 1 << 10
)

// An escape says which part of an escape was the last byte; 0 is none.
type escape uint8

const (
	begun   escape = iota + 1 // ESC
	named                     // ESC and what announces a final byte, such as the ( of ESC ( B
	control                   // ESC [ and its parameters
	command                   // ESC ] or another that ends with BEL or ESC \, and its text
	broken                    // no escape at all
)

// next returns e after one more byte.
func (e escape) next(by byte) escape {
	switch {
	case by == esc && (e == 0 || e == command):
		return begun // the ESC \ at the end of a text is an escape by itself
	case e == command:
		if by == '\a' {
			return 0
		}
		if by < ' ' {
			return broken
		}
		return command
	case by < ' ' || by > '~':
		return broken
	case e == control:
		if by >= '@' {
			return 0
		}
		return control
	case by < '0':
		return named
	case e == begun && by == '[':
		return control
	case e == begun && bytes.IndexByte([]byte("]PX^_"), by) >= 0:
		return command
	}
	return 0
}

// nextEscape returns the offset ≥ from of the first ESC in b, or len(b).
func nextEscape(b []byte, from int) int {
	if i := bytes.IndexByte(b[from:], esc); i >= 0 {
		return from + i
	}
	return len(b)
}

// escape begins a thread for each pattern that has begun before the ESC at the offset at.
func (m *matcher) escape(c *cursor, state int32, at int64) {
	for ; state != 0; state = m.nodes[state].fail {
		if n := &m.nodes[state]; n.child != 0 {
			c.threads = append(c.threads, thread{node: state, from: at - int64(n.depth), escape: begun, skipped: 1})
		}
	}
}
