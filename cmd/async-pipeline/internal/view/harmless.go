// What other programs wrote, made harmless: control characters cannot move the cursor, and no character can hide or
// turn around the text beside it. Nothing is removed silently; what may not act is shown by name.
package view

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Harmless is text for one line: every control character, line ends included, and every invisible one is shown by name.
func Harmless(text string) string {
	return clean(strings.ReplaceAll(text, "\x1b", "^["), false, false)
}

// HarmlessLines keeps line ends and tabs.
func HarmlessLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = clean(lines[i], true, false)
	}
	return strings.Join(lines, "\n")
}

// clean shows what may not act; tabs and colours (SGR) may stay. Text with a colour in it ends with a reset.
func clean(text string, tabs, colours bool) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	coloured := false
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\x1b' && sgr(text[i:]) > 0:
			n = sgr(text[i:])
			if colours {
				b.WriteString(text[i : i+n])
				coloured = true
			}
		case r == '\t' && tabs:
			b.WriteByte('\t')
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case r < 0x20 || r == 0x7f:
			b.WriteByte('^')
			b.WriteByte(byte(r) ^ 0x40)
		case hidden(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	if coloured {
		b.WriteString("\x1b[0m")
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

// hidden are characters that act on their neighbours or cannot be seen: C1 controls, bidi marks, zero widths, tags, line separators.
func hidden(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Cc, r) || r == 0x2028 || r == 0x2029 ||
		r == 0x3164 || r == 0xffa0 || r == 0x115f || r == 0x1160
}

// sgr is the length of the colour sequence that text begins with, or 0.
func sgr(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
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
