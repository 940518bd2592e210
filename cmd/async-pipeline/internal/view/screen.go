// Package view writes the text of every screen: plain lines, with colour where there is a terminal, and a live view
// in a terminal. It decides nothing and reads nothing. What comes from outside (logs, agents, paths) is made
// harmless before it is shown.
package view

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// Width is the number of columns of our own lines where the terminal's is not known.
const Width = 80

// Longer lines are hard to read, and shorter ones break too often.
const (
	widest    = 100
	narrowest = 30
	longest   = 120 // of a headline where there is no terminal: it is one line, which can be searched for
)

// A Screen is where a person reads. It belongs to one goroutine at a time; every call is one Write.
type Screen struct {
	W       io.Writer
	Colour  bool
	Columns int    // of the terminal; 0 where there is none or it does not say
	Base    string // absolute folder that paths are shown relative to; empty shows them as they are
}

// wide returns the number of columns that our own lines stay within.
func (s *Screen) wide() int {
	if s.Columns <= 0 {
		return Width
	}
	return min(max(s.Columns, narrowest), widest)
}

// headRoom returns the number of columns that a headline, a name and what happened, stays within on one line.
func (s *Screen) headRoom() int {
	if s.Columns <= 0 {
		return longest
	}
	return s.wide()
}

// Colours, as SGR parameters.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint returns text in a colour, or as it is on a screen without colour.
func (s *Screen) paint(sgr, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// put writes text as it is. Whoever owns the screen deals with errors of its writer.
func (s *Screen) put(text string) { _, _ = io.WriteString(s.W, text) }

// heading returns a heading and a text behind it, or on the next line where both do not fit on one.
func (s *Screen) heading(text, more string) string {
	between := " "
	if columns(text)+1+columns(more) > s.wide() {
		between = "\n  "
	}
	return s.paint(bold, text) + between + more + "\n"
}

// title returns a heading that may need more than one line.
func (s *Screen) title(text string) string {
	return s.headed(bold, text)
}

// headed returns a heading in a colour, in as many lines as it needs.
func (s *Screen) headed(sgr, text string) string {
	lines := Wrap(text, s.wide()-2)
	for i, line := range lines {
		lines[i] = s.paint(sgr, line)
	}
	return strings.Join(lines, "\n  ") + "\n"
}

// named returns text and a path behind it, or below it where both do not fit on one line: a path is never broken.
func (s *Screen) named(indent, text, path string) string {
	path = s.Path(path)
	if columns(indent)+columns(text)+1+columns(path) <= s.wide() {
		return indent + text + " " + path + "\n"
	}
	return s.paragraph(text, indent) + indent + "  " + path + "\n"
}

// about returns a path with a remark in brackets.
func (s *Screen) about(path, more string) string {
	path = Harmless(path)
	switch {
	case more == "":
		return "  " + path + "\n"
	case 2+columns(path)+3+columns(more) <= s.wide():
		return "  " + path + " (" + more + ")\n"
	}
	return "  " + path + "\n" + s.paragraph("("+more+")", "    ")
}

// aside returns a paragraph of less important text.
func (s *Screen) aside(text string) string {
	return s.painted(dim, s.paragraph(text, "  "))
}

// painted returns lines, each in a colour.
func (s *Screen) painted(sgr, lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		b.WriteString(s.paint(sgr, strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// coloured returns a paragraph in a colour.
func (s *Screen) coloured(sgr, text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(s.paragraph(text, indent)) {
		b.WriteString(indent + s.paint(sgr, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), indent)) + "\n")
	}
	return b.String()
}

// Line writes one line.
func (s *Screen) Line(format string, args ...any) { s.put(fmt.Sprintf(format, args...) + "\n") }

// Problem shows what went wrong: the first line after "async-pipeline: ", the others indented. It is not wrapped, so
// that it can be searched for and copied.
func (s *Screen) Problem(text string) { s.labelled(s.paint(red, "async-pipeline:"), text) }

// Refused is a Problem that a person reads and decides by: it is wrapped.
func (s *Screen) Refused(text string) { s.wrapped(red, "async-pipeline:", text) }

// Warning shows what a person should know although it stops nothing.
func (s *Screen) Warning(text string) { s.wrapped(yellow, "warning:", text) }

// Notice is a Note that is read while work goes on: it is wrapped.
func (s *Screen) Notice(text string) { s.wrapped(dim, "note:", text) }

// Note shows what was done besides what was asked for.
func (s *Screen) Note(text string) { s.labelled(s.paint(dim, "note:"), text) }

func (s *Screen) labelled(label, text string) {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(label + " " + Harmless(line) + "\n")
		label = " "
	}
	s.put(b.String())
}

// commandIn finds commands, from the colon or the space in front of them. The path of this program may be in quotes.
var commandIn = lazily.Regexp(`: ('[^']*/async-pipeline'|\S*async-pipeline|sudo) | git apply `)

// wrapped writes text behind a label, every line of it wrapped. A command that ends a line has a line of its own,
// whole.
func (s *Screen) wrapped(sgr, label, text string) {
	var lines []string
	for line := range strings.SplitSeq(label+" "+strings.TrimSpace(text), "\n") {
		line = Harmless(line)
		room := s.wide() - 2
		at := -1
		for _, found := range commandIn().FindAllStringIndex(line, -1) {
			at = found[0]
		}
		if columns(line) <= room || at < 0 || strings.ContainsAny(line[at+2:], ";,()") {
			lines = append(lines, Wrap(line, room)...)
			continue
		}
		at = strings.IndexByte(line[at:], ' ') + at
		lines = append(append(lines, Wrap(line[:at], room)...), line[at+1:])
	}
	s.put(s.paint(sgr, label) + strings.TrimPrefix(strings.Join(lines, "\n  "), label) + "\n")
}

// Path returns a path as it is shown: relative to Base where it is below Base.
func (s *Screen) Path(path string) string {
	if s.Base != "" && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(s.Base, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
	}
	return Harmless(path)
}
