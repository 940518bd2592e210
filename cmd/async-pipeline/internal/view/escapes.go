// What a task prints for a terminal and not for a reader: escape sequences, and what of them is shown.
package view

import "bytes"

// mostEscape is how long an escape sequence may be, in bytes. What is longer, or has no end on its line, is shown as text: a
// sequence that never ends hides nothing.
const mostEscape = 4 << 10

// An escaped is what the escape sequence is that a text begins with.
type escaped struct {
	n      int  // its bytes; 0: the text begins with none
	unsure bool // the text ends before it does
}

// escape finds the sequence that text begins with (ECMA-48, and xterm's OSC ended by BEL).
func escape(text []byte) escaped {
	if len(text) == 0 || text[0] != 0x1b {
		return escaped{}
	}
	if len(text) == 1 {
		return escaped{unsure: true}
	}
	switch c := text[1]; {
	case c == '[':
		return ends(text, 2, ranges{0x30, 0x3f}, ranges{0x20, 0x2f}, ranges{0x40, 0x7e})
	case c == ']', c == 'P', c == 'X', c == '^', c == '_': // OSC, DCS, SOS, PM, APC
		return terminated(text, c == ']')
	case c >= 0x20 && c <= 0x2f: // a character set, and the like
		return ends(text, 1, ranges{0x20, 0x2f}, ranges{}, ranges{0x30, 0x7e})
	case c >= 0x30 && c <= 0x7e:
		return escaped{n: 2}
	}
	return escaped{}
}

// ranges are bytes from first to last.
type ranges struct{ first, last byte }

func (r ranges) has(c byte) bool { return c >= r.first && c <= r.last }

// ends finds the end of a sequence: from at any of two kinds of bytes, one after the other, then one of final.
func ends(text []byte, at int, some, more, final ranges) escaped {
	text = text[:min(len(text), mostEscape+1)]
	for at < len(text) && some.has(text[at]) {
		at++
	}
	for at < len(text) && more.has(text[at]) {
		at++
	}
	switch {
	case at == len(text):
		return escaped{unsure: at <= mostEscape}
	case final.has(text[at]):
		return escaped{n: at + 1}
	}
	return escaped{}
}

// terminated finds the end of a sequence that holds text: ESC \, or BEL where that ends it too. Control characters are no part of
// such text: one shows that the end was lost.
func terminated(text []byte, bell bool) escaped {
	text = text[:min(len(text), mostEscape+1)]
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c == 0x07 && bell:
			return escaped{n: i + 1}
		case c == 0x1b && i+1 == len(text):
			return escaped{unsure: i < mostEscape}
		case c == 0x1b && text[i+1] == '\\':
			return escaped{n: i + 2}
		case c < 0x20:
			return escaped{}
		}
	}
	return escaped{unsure: len(text) <= mostEscape}
}

// taskText is a line, or a part of one, that a task printed: harmless, without what was meant for a terminal. Colours may stay.
func taskText(line string, colours bool) string {
	if plain(line) {
		return line
	}
	return string(appendTaskText(nil, []byte(line), colours))
}

// appendTaskText adds what is printed of text to out. Its end is the end of a line, or where wholePart has cut it.
func appendTaskText(out, text []byte, colours bool) []byte {
	coloured := false
	for {
		i := bytes.IndexAny(text, "\x1b\x0e\x0f")
		if i < 0 {
			break
		}
		out = appendClean(out, text[:i], true)
		text = text[i:]
		n := 1 // SO and SI change the character set
		if text[0] == 0x1b {
			n = escape(text).n
			switch {
			case n == 0:
				out = append(out, "^["...)
				n = 1
			case colours && sgr(text) == n:
				out = append(out, text[:n]...)
				coloured = true
			}
		}
		text = text[n:]
	}
	if out = appendClean(out, text, true); coloured {
		out = append(out, "\x1b[0m"...)
	}
	return out
}

// wholeEscapes is how much of text there is before a sequence whose end is still to come.
func wholeEscapes(text []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], 0x1b)
		if i < 0 {
			return len(text)
		}
		at += i
		e := escape(text[at:])
		if e.unsure {
			return at
		}
		at += max(e.n, 1)
	}
}
