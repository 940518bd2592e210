// What other programs wrote, made harmless: control characters cannot move the cursor, and no character can hide or
// turn around the text beside it. Nothing is removed silently; what may not act is shown by name.
package view

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Harmless is text for one line: every control character, line ends included, and every invisible one is shown by name.
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

// clean shows what may not act; tabs may stay, and colours (SGR) are left out.
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

// bare is text without its escape sequences.
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

// plain says that there is nothing to do: the common case, kept quick.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// printable is how many bytes text begins with that are printable ASCII.
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

// unprintable sets the top bit of each of eight bytes that is not printable ASCII. The sums of one byte never reach the next.
func unprintable(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	seven := w &^ tops
	return (^(seven + 0x60*ones) | (seven + ones) | w) & tops
}

// hidden are characters that act on their neighbours or cannot be seen: C1 controls, bidi marks, zero widths, tags, line separators.
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

// sgr is the length of the colour sequence that text begins with, or 0.
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
