// Columns: how wide text is on a terminal, and breaking it at a width.
package view

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// columns is the width of harmless text. Terminals differ about a few characters; what must not be wider than it thinks is
// drawn with the terminal's own wrapping switched off.
func columns(text string) int {
	if plain(text) {
		return len(text)
	}
	return displaywidth.String(text)
}

// Wrap breaks one line at spaces so that no part is wider than width; a word that is wider stands alone, uncut.
func Wrap(text string, width int) []string { return wrapWords(strings.Fields(text), width) }

// wrapWords breaks between words; what is one word is not torn apart.
func wrapWords(words []string, width int) []string {
	lines := []string{""}
	for _, word := range words {
		switch line := &lines[len(lines)-1]; {
		case *line == "":
			*line = word
		case columns(*line)+1+columns(word) > width:
			lines = append(lines, word)
		default:
			*line += " " + word
		}
	}
	return lines
}

// hanging returns text in lines behind a lead; the lines below the first begin where its text does.
func (s *Screen) hanging(lead, text string) string {
	n := columns(bare(lead))
	return lead + strings.Join(Wrap(Harmless(text), s.wide()-n), "\n"+strings.Repeat(" ", n)) + "\n"
}

// hung is harmless text in lines after an indent. A word that has no room there, like the long name of a task, stands further left,
// without the comma if that alone has none: the line's end says as much.
func (s *Screen) hung(text string, indent int) []string {
	room := max(s.wide()-indent, 20)
	lines := Wrap(text, room)
	for i, line := range lines {
		left := indent
		if columns(line) > room {
			left = min(indent, 2)
		}
		if left+columns(line) > s.wide() {
			line = strings.TrimSuffix(line, ",")
		}
		lines[i] = strings.Repeat(" ", left) + line
	}
	return lines
}

// paragraph is text from outside, harmless, its own line ends kept, every line after indent and within the screen.
func (s *Screen) paragraph(text, indent string) string {
	var b strings.Builder
	room := s.wide() - columns(indent)
	for line := range strings.SplitSeq(strings.TrimSpace(harmlessLines(text)), "\n") {
		line = strings.TrimRight(untab(line), " ")
		if columns(line) <= room {
			b.WriteString(strings.TrimRight(indent+line, " ") + "\n") // as it was written: code keeps its columns
			continue
		}
		lead := line[:min(len(line)-len(strings.TrimLeft(line, " ")), 8)]
		for _, part := range Wrap(line, room-len(lead)) {
			b.WriteString(strings.TrimRight(indent+lead+part, " ") + "\n")
		}
	}
	return b.String()
}

// paragraphIf is paragraph, or nothing where there is no text.
func (s *Screen) paragraphIf(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return s.paragraph(text, "  ")
}

// chop cuts harmless text hard into parts of at most width columns; at least one part, and no character is torn apart.
func chop(text string, width int) []string {
	var parts []string
	start, at, n := 0, 0, 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		w := g.Width()
		if n+w > width && at > start {
			parts = append(parts, text[start:at])
			start, n = at, 0
		}
		n += w
		at += len(g.Value())
	}
	return append(parts, text[start:])
}

// cut shortens to width columns, ending in … where something was left out.
func cut(text string, width int) string {
	if columns(text) <= width {
		return text
	}
	if width < 2 {
		return strings.Repeat("…", max(width, 0))
	}
	if first := chop(text, width-1)[0]; columns(first) < width {
		return first + "…"
	}
	return "…" // one wide character has no room
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
	for i, part := range strings.Split(text, "\t") {
		if i > 0 {
			k := 4 - n%4
			b.WriteString(strings.Repeat(" ", k))
			n += k
		}
		b.WriteString(part)
		n += columns(part)
	}
	return b.String()
}
