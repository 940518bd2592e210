// What other programs wrote, made harmless: control characters cannot move the cursor, and no character can hide or
// turn around the text beside it. Nothing is removed silently; what may not act is shown by name.
package view

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Harmless returns text for one line: every control character, line ends included, and every invisible one is shown
// by name.
func Harmless(text string) string {
	return clean(strings.ReplaceAll(text, "\x1b", "^["), false)
}

// harmlessLines keeps line ends and tabs.
func harmlessLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = clean(lines[i], true)
	}
	return strings.Join(lines, "\n")
}

// clean shows control characters by name; tabs may stay, and colours (SGR) are left out.
func clean(text string, tabs bool) string {
	if plain(text) {
		return text
	}
	return string(appendClean(nil, []byte(text), tabs))
}

// appendClean adds clean text to out. All that tasks print comes by here.
func appendClean(out, text []byte, tabs bool) []byte {
	for {
		n := printable(text)
		out = append(out, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			return out
		}
		if c := text[0]; c < utf8.RuneSelf {
			n = 1
			switch k := sgr(text); {
			case k > 0:
				n = k
			case c == '\t' && tabs:
				out = append(out, '\t')
			default:
				out = append(out, '^', c^0x40)
			}
			text = text[n:]
			continue
		}
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			out = utf8.AppendRune(out, utf8.RuneError)
		case hidden(r):
			out = fmt.Appendf(out, "<U+%04X>", r)
		default:
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
}

// bare returns text without its escape sequences.
func bare(text string) string {
	if !strings.ContainsRune(text, 0x1b) {
		return text
	}
	var b strings.Builder
	for g := (displaywidth.Options{ControlSequences: true}).StringGraphemes(text); g.Next(); {
		if v := g.Value(); v[0] != 0x1b {
			b.WriteString(v)
		}
	}
	return b.String()
}

// plain reports whether text is only printable ASCII: the common case, kept quick.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// printable returns how many bytes at the beginning of text are printable ASCII.
func printable(text []byte) int {
	rest := text
	for len(rest) >= 16 { // two words at a time: all that tasks print comes by here
		low, high := unprintable(binary.LittleEndian.Uint64(rest)), unprintable(binary.LittleEndian.Uint64(rest[8:]))
		if low|high != 0 {
			n := len(text) - len(rest)
			if low == 0 {
				n, low = n+8, high
			}
			return n + bits.TrailingZeros64(low)/8
		}
		rest = rest[16:]
	}
	for i, c := range rest {
		if c < 0x20 || c >= 0x7f {
			return len(text) - len(rest) + i
		}
	}
	return len(text)
}

// unprintable sets the top bit of each of eight bytes that is not printable ASCII. The sums of one byte never reach
// the next.
func unprintable(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	seven := w &^ tops
	return (^(seven + 0x60*ones) | (seven + ones) | w) & tops
}

// hidden reports whether a character acts on its neighbours or cannot be seen: C1 controls, bidi marks, zero widths,
// tags, line separators.
func hidden(r rune) bool {
	if r > 0xffff {
		return unicode.Is(unicode.Cf, r)
	}
	return hiddenBelow()[r>>6]&(1<<(r&63)) != 0
}

// hiddenBelow is a bit for each character up to U+FFFF: looking through the tables for each would be most of the work.
var hiddenBelow = sync.OnceValue(func() *[1 << 10]uint64 {
	var set [1 << 10]uint64
	add := func(r uint16) { set[r>>6] |= 1 << (r & 63) }
	for _, table := range []*unicode.RangeTable{unicode.Cf, unicode.Cc} {
		for _, r := range table.R16 {
			for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
				add(uint16(c))
			}
		}
	}
	for _, r := range []uint16{0x2028, 0x2029, 0x3164, 0xffa0, 0x115f, 0x1160} {
		add(r)
	}
	return &set
})

// sgr returns the length of the colour sequence that text begins with, or 0.
func sgr(text []byte) int {
	if len(text) < 3 || text[0] != 0x1b || text[1] != '[' {
		return 0
	}
	for i := 2; i < len(text) && i < 40; i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case (c < '0' || c > '9') && c != ';' && c != ':':
			return 0
		}
	}
	return 0
}

// What a task prints for a terminal and not for a reader: escape sequences, and what of them is shown.

// mostEscape is how long an escape sequence may be, in bytes. What is longer, or has no end on its line, is shown
// as text: a sequence that never ends hides nothing.
const mostEscape = 4 << 10

// An escaped describes the escape sequence that a text begins with.
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

// terminated finds the end of a sequence that contains text: ESC \, or BEL where that ends it too. Control
// characters are no part of such text: one shows that the end was lost.
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

// taskText returns a line, or a part of one, that a task printed: harmless, without what was meant for a terminal.
// Colours may stay.
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

// wholeEscapes returns how much of text comes before a sequence whose end is missing.
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
