package review

import (
	"slices"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/lang"
)

// A side is the text of a file before or after the change; empty where it is absent.
type side struct {
	language string
	lines    []string // without their ends, but with the \r of CRLF
	kinds    []byte   // of all bytes of the text: lang.InCode, InString or InComment
	start    []int    // where each line begins
	masks    [3][]string
	joints   map[int]string // lines with literals that are put together as one: see folded
	depths   []int          // braces of C that are open behind each line, as far as they were counted

	comparands  map[int][]comparand      // by line
	constants   func() map[string]string // numbers by the names that they are given
	definitions func() map[string]int    // lines by the names of functions
}

// newSide cuts a text into lines and tells code, strings and comments apart.
func newSide(language, text string) *side {
	s := &side{language: language, joints: map[int]string{}, comparands: map[int][]comparand{}}
	s.constants, s.definitions = sync.OnceValue(s.readConstants), sync.OnceValue(s.readDefinitions)
	if text == "" {
		return s
	}
	s.kinds = lang.Mark(language, text)
	at := 0
	for line := range strings.Lines(text) {
		s.lines, s.start = append(s.lines, strings.TrimSuffix(line, "\n")), append(s.start, at)
		at += len(line)
	}
	return s
}

// code returns a line with strings and comments blanked, byte for byte.
func (s *side) code(i int) string { return s.masked(0, i, lang.InString, lang.InComment) }

// plain returns a line with comments blanked.
func (s *side) plain(i int) string { return s.masked(1, i, lang.InComment, lang.InComment) }

// notes returns a line with everything but comments blanked.
func (s *side) notes(i int) string { return s.masked(2, i, lang.InCode, lang.InString) }

func (s *side) masked(which, i int, a, b byte) string {
	if s.masks[which] == nil {
		s.masks[which] = make([]string, len(s.lines))
	}
	line := s.lines[i]
	if line == "" || s.masks[which][i] != "" {
		return s.masks[which][i]
	}
	kinds := s.kinds[s.start[i] : s.start[i]+len(line)]
	if !slices.Contains(kinds, a) && !slices.Contains(kinds, b) {
		s.masks[which][i] = line
		return line
	}
	out := []byte(line)
	for k, kind := range kinds {
		if kind == a || kind == b {
			out[k] = ' '
		}
	}
	s.masks[which][i] = string(out)
	return s.masks[which][i]
}

// trimmed returns a line without the blanks around it.
func (s *side) trimmed(i int) string { return strings.TrimSpace(s.lines[i]) }

// hasCode reports whether something between two bytes of a line is code: a string that only mentions it is not.
func (s *side) hasCode(line, from, to int) bool {
	for k := from; k < to; k++ {
		if c := s.lines[line][k]; c != ' ' && c != '\t' && s.codeAt(line, k) {
			return true
		}
	}
	return false
}

// codeAt reports whether the byte of a line is code.
func (s *side) codeAt(line, at int) bool { return s.kinds[s.start[line]+at] == lang.InCode }

// all returns the numbers of all lines.
func (s *side) all() []int {
	list := make([]int, len(s.lines))
	for i := range list {
		list[i] = i
	}
	return list
}
