// Names as they are drawn: one line, nothing that is invisible or acts, and how wide that is.
package diagram

import (
	"fmt"
	"strings"
	"unicode"
)

// label returns a name in which every character is visible: a control character is ^X, an invisible one <U+XXXX>.
func label(name string) string {
	if !strings.ContainsFunc(name, acts) && strings.ToValidUTF8(name, "") == name {
		return name
	}
	var b strings.Builder
	for _, r := range name { // a byte that is no UTF-8 comes as U+FFFD
		switch {
		case r < 0x20 || r == 0x7f:
			b.WriteByte('^')
			b.WriteByte(byte(r) ^ 0x40)
		case acts(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// acts are the characters that change their neighbours or cannot be seen: controls, bidi marks, zero widths, tags,
// line separators, blanks that look like letters, and what XML cannot contain.
func acts(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) ||
		r == 0x3164 || r == 0xffa0 || r == 0x115f || r == 0x1160 || r == 0xfffe || r == 0xffff
}

// columns returns how many columns of a fixed-width font a label takes: an estimate, as fonts and terminals differ.
func columns(label string) int {
	n := 0
	for _, r := range label {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
			r >= 0xf900 && r <= 0xfaff,
			r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
			r >= 0x1f300 && r <= 0x1f64f,
			r >= 0x1f680 && r <= 0x1f6ff, r >= 0x1f900 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
			n += 2
		default:
			n++
		}
	}
	return n
}

// shorten leaves out the middle of a label that is wider than most columns: its ends distinguish the instances of a
// task.
func shorten(label string, most int) string {
	if columns(label) <= most {
		return label
	}
	runes := []rune(label)
	head, tail := 0, len(runes)
	for left := most / 2; left >= columns(string(runes[head])); head++ {
		left -= columns(string(runes[head]))
	}
	for left := (most - 1) / 2; left >= columns(string(runes[tail-1])); tail-- {
		left -= columns(string(runes[tail-1]))
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}
