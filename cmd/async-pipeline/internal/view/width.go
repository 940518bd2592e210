// Columns: how wide text is on a terminal, and breaking it at a width.
package view

import (
	"strings"
	"unicode"
)

// columns is the width of harmless text.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

// runeColumns knows the wide blocks (East Asian, emoji) and combining marks; it is an estimate, as terminals differ.
func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1f64f,
		r >= 0x1f900 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// wrap breaks one line at spaces so that no part is wider than width; a word that is wider stands alone, uncut.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// paragraph is text from outside, harmless, its own line ends kept, every line after indent and within Width.
func paragraph(text, indent string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(HarmlessLines(text)), "\n") {
		line = strings.TrimRight(untab(line), " ")
		if columns(line) <= Width-columns(indent) {
			b.WriteString(strings.TrimRight(indent+line, " ") + "\n") // as it was written: code keeps its columns
			continue
		}
		lead := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if len(lead) > 8 {
			lead = lead[:8]
		}
		for _, part := range wrap(line, Width-columns(indent)-len(lead)) {
			b.WriteString(strings.TrimRight(indent+lead+part, " ") + "\n")
		}
	}
	return b.String()
}

// paragraphIf is paragraph, or nothing where there is no text.
func paragraphIf(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return paragraph(text, "  ")
}

// chop cuts harmless text hard into parts of at most width columns; at least one part.
func chop(text string, width int) []string {
	var parts []string
	start, n := 0, 0
	for i, r := range text {
		w := runeColumns(r)
		if n+w > width {
			parts = append(parts, text[start:i])
			start, n = i, 0
		}
		n += w
	}
	return append(parts, text[start:])
}

// cut shortens to width columns, ending in … where something was left out.
func cut(text string, width int) string {
	if columns(text) <= width {
		return text
	}
	return chop(text, width-1)[0] + "…"
}

// pad fills with spaces up to width columns.
func pad(text string, width int) string {
	if n := columns(text); n < width {
		return text + strings.Repeat(" ", width-n)
	}
	return text
}

// untab replaces tabs by spaces up to the next multiple of four.
func untab(text string) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	n := 0
	for _, r := range text {
		if r != '\t' {
			b.WriteRune(r)
			n += runeColumns(r)
			continue
		}
		k := 4 - n%4
		b.WriteString(strings.Repeat(" ", k))
		n += k
	}
	return b.String()
}
