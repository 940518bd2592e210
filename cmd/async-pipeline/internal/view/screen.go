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

// aside is text that is not what a person came for.
func (s *Screen) aside(text string) string {
	var b strings.Builder
	for line := range strings.Lines(s.paragraph(text, "  ")) {
		b.WriteString(s.paint(dim, strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// Line writes one line.
func (s *Screen) Line(format string, args ...any) { s.put(fmt.Sprintf(format, args...) + "\n") }

// Problem says what went wrong: the first line after "async-pipeline: ", the others indented. Messages are not wrapped,
// so that they can be searched for and copied.
func (s *Screen) Problem(text string) { s.labelled(s.paint(red, "async-pipeline:"), text) }

// Misused is a Problem with the words that were typed. Nobody has to search for it, so every line of it is wrapped.
func (s *Screen) Misused(text string) {
	const label = "async-pipeline:"
	var lines []string
	for line := range strings.SplitSeq(label+" "+strings.TrimSpace(text), "\n") {
		lines = append(lines, Wrap(Harmless(line), s.wide()-2)...)
	}
	s.put(s.paint(red, label) + strings.TrimPrefix(strings.Join(lines, "\n  "), label) + "\n")
}

// Warning says what a person should know although it stops nothing.
func (s *Screen) Warning(text string) { s.labelled(s.paint(yellow, "warning:"), text) }

// Note says what was done besides what was asked for.
func (s *Screen) Note(text string) { s.labelled(s.paint(dim, "note:"), text) }

func (s *Screen) labelled(label, text string) {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(label + " " + Harmless(line) + "\n")
		label = " "
	}
	s.put(b.String())
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
