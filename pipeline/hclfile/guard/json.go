package guard

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// prepended are the characters that the parser's scanner joins with the one behind them, even a quote: what it takes
// for one text is two for everybody else. (Unicode 15, Grapheme_Cluster_Break=Prepend)
var prepended = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0600, 0x0605, 1}, {0x06dd, 0x06dd, 1}, {0x070f, 0x070f, 1}, {0x0890, 0x0891, 1}, {0x08e2, 0x08e2, 1}, {0x0d4e, 0x0d4e, 1},
	},
	R32: []unicode.Range32{
		{0x110bd, 0x110bd, 1},
		{0x110cd, 0x110cd, 1},
		{0x111c2, 0x111c3, 1},
		{0x1193f, 0x1193f, 1},
		{0x11941, 0x11941, 1},
		{0x11a3a, 0x11a3a, 1},
		{0x11a84, 0x11a89, 1},
		{0x11d46, 0x11d46, 1},
		{0x11f02, 0x11f02, 1},
	},
}

// tooMuchJSON finds the first byte of JSON that nests deeper, or is part of a longer number, than the parser can
// follow. It ends texts where the parser's scanner does, whether they are complete or not.
func tooMuchJSON(src []byte) (at int, what string, ok bool) {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			end, ok := textEnd(src, i)
			if !ok {
				return end, "a quote or a backslash cannot follow this character", false
			}
			i = end - 1
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return i, fmt.Sprintf("this is nested deeper than %d levels of lists and objects", maxDepth), false
			}
		case c == ']' || c == '}':
			depth--
		case c >= '0' && c <= '9':
			end := i
			for end < len(src) && strings.IndexByte("0123456789.eE+-", src[end]) >= 0 {
				end++
			}
			if !smallNumber(src[i:end]) {
				return i, "this number is too long", false
			}
			i = end - 1
		}
	}
	return 0, "", true
}

// textEnd returns the byte behind a text that begins at a quote, or the place of a character that hides a quote.
func textEnd(src []byte, i int) (int, bool) {
	escaped := false
	for i++; i < len(src); i++ {
		c := src[i]
		switch {
		case c < ' ': // the scanner leaves an open text here
			return i, true
		case c == '"' && !escaped:
			return i + 1, true
		case c >= utf8.RuneSelf:
			if r, n := utf8.DecodeRune(src[i:]); unicode.Is(prepended, r) && i+n < len(src) && (src[i+n] == '"' || src[i+n] == '\\') {
				return i, false
			}
		}
		escaped = c == '\\' && !escaped
	}
	return i, true
}
