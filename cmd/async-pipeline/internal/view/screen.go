// Package view is what a person sees: plain lines, with colour where there is a terminal, and a live view in it. It decides
// nothing and reads nothing; what comes from outside (logs, agents, paths) is made harmless before it is shown.
package view

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Width is the number of columns that lines of our own stay within where nobody knows the terminal's.
const Width = 80

// Text in longer lines is hard to read, and in shorter ones it is only torn apart.
const (
	widest    = 100
	narrowest = 30
)

// A Screen is where a person reads. It belongs to one goroutine at a time; every call is one Write.
type Screen struct {
	W       io.Writer
	Colour  bool
	Columns int    // of the terminal; 0 where there is none or it does not say
	Base    string // absolute folder that paths are shown relative to; empty shows them as they are
}

// wide is the number of columns that lines of our own stay within.
func (s *Screen) wide() int {
	if s.Columns <= 0 {
		return Width
	}
	return min(max(s.Columns, narrowest), widest)
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

// paint gives text in a colour, or as it is where there is none.
func (s *Screen) paint(sgr, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// put writes text as it is. A screen that cannot be written to is its owner's concern, not the caller's.
func (s *Screen) put(text string) { _, _ = io.WriteString(s.W, text) }

// heading is a heading and what belongs to it, on the next line where there is no room on the same.
func (s *Screen) heading(text, more string) string {
	between := " "
	if columns(text)+1+columns(more) > s.wide() {
		between = "\n  "
	}
	return s.paint(bold, text) + between + more + "\n"
}

// title is a heading that may need more than one line.
func (s *Screen) title(text string) string {
	return s.headed(bold, text)
}

// headed is a heading in a colour, in as many lines as it needs.
func (s *Screen) headed(sgr, text string) string {
	lines := Wrap(text, s.wide()-2)
	for i, line := range lines {
		lines[i] = s.paint(sgr, line)
	}
	return strings.Join(lines, "\n  ") + "\n"
}

// named is text and a path, which goes below where there is no room beside it: a path is never torn apart.
func (s *Screen) named(indent, text, path string) string {
	path = s.Path(path)
	if columns(indent)+columns(text)+1+columns(path) <= s.wide() {
		return indent + text + " " + path + "\n"
	}
	return s.paragraph(text, indent) + indent + "  " + path + "\n"
}

// about is a path with what is to be said of it in brackets.
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

// aside is text that is not what a person came for.
func (s *Screen) aside(text string) string {
	return s.painted(dim, s.paragraph(text, "  "))
}

// painted is each of some lines in a colour.
func (s *Screen) painted(sgr, lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		b.WriteString(s.paint(sgr, strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// coloured is a paragraph in a colour.
func (s *Screen) coloured(sgr, text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(s.paragraph(text, indent)) {
		b.WriteString(indent + s.paint(sgr, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), indent)) + "\n")
	}
	return b.String()
}

// Line writes one line.
func (s *Screen) Line(format string, args ...any) { s.put(fmt.Sprintf(format, args...) + "\n") }

// Problem shows what went wrong: the first line after "async-pipeline: ", the others indented. It is not wrapped, so that it can be
// searched for and copied.
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

// wrapped writes text behind a label, every line of it wrapped. A command that ends a line has a line of its own, whole.
func (s *Screen) wrapped(sgr, label, text string) {
	var lines []string
	for line := range strings.SplitSeq(label+" "+strings.TrimSpace(text), "\n") {
		line = Harmless(line)
		room := s.wide() - 2
		at := max(strings.LastIndex(line, ": async-pipeline "), strings.LastIndex(line, " git apply "))
		if columns(line) <= room || at < 0 || strings.ContainsAny(line[at+2:], ";,()") {
			lines = append(lines, Wrap(line, room)...)
			continue
		}
		at = strings.IndexByte(line[at:], ' ') + at
		lines = append(append(lines, Wrap(line[:at], room)...), line[at+1:])
	}
	s.put(s.paint(sgr, label) + strings.TrimPrefix(strings.Join(lines, "\n  "), label) + "\n")
}

// Path is path as it is shown: relative to Base where it lies below.
func (s *Screen) Path(path string) string {
	if s.Base != "" && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(s.Base, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
	}
	return Harmless(path)
}
