// Columns: how wide text is on a terminal, and breaking it at a width.
package view

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// columns returns the width of harmless text. Terminals differ about a few characters, so the live view is drawn
// with the terminal's wrapping switched off.
func columns(text string) int {
	if plain(text) {
		return len(text)
	}
	return displaywidth.String(text)
}

// Wrap breaks one line at spaces so that no part is wider than width. A word that is wider gets a line of its own,
// uncut.
func Wrap(text string, width int) []string { return wrapWords(strings.Fields(text), width) }

// wrapWords breaks between words and never inside one.
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

// hung returns harmless text in lines after an indent. A word that does not fit there, like the long name of a task,
// is indented less, and loses its comma where only the comma does not fit.
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

// paragraph returns text from outside, harmless, with its own line ends, every line after indent and within the
// screen.
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

// paragraphIf returns an indented paragraph, or nothing where there is no text.
func (s *Screen) paragraphIf(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return s.paragraph(text, "  ")
}

// chop cuts harmless text into parts of at most width columns, between characters. It returns at least one part.
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
