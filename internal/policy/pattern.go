package policy

// Patterns of commands: how they match, and which of them can be used.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// rest is the last word of a pattern that stands for any number of further words, also none.
const rest = "**"

// Check says what is wrong with the first faulty pattern. Its error names the pattern.
func Check(patterns [][]string) error {
	for _, p := range patterns {
		if _, err := CheckPattern(p); err != nil {
			return fmt.Errorf("pattern %s: %w", Show(p), err)
		}
	}
	return nil
}

// CheckPattern says what is wrong with a pattern, and at which of its words; -1 is the pattern as a whole.
//
// Word stands for word. In a word * stands for anything but a slash and ** for anything; a last word ** stands for any number
// of further words. The first word is the program and is written out. One that is named by its path is named so in the pattern.
func CheckPattern(pattern []string) (at int, err error) {
	if at, err := shape(pattern); err != nil {
		return at, err
	}
	words := make([]word, len(pattern))
	for i, w := range pattern {
		words[i] = asWord(w, w, i)
	}
	j := judging{load: true}
	if reason := j.command(words); reason != "" {
		return j.at, errors.New(reason)
	}
	return 0, nil
}

// shape is what CheckPattern says of any program.
func shape(pattern []string) (at int, err error) {
	if len(pattern) == 0 {
		return -1, errors.New("it is empty: its first word must name a program")
	}
	for i, w := range pattern {
		switch {
		case w == "" && i == 0:
			return i, errors.New("its first word is empty: it must name a program")
		case strings.ContainsRune(w, 0):
			return i, errors.New("it holds a NUL byte: no program can be given one")
		case i == 0 && strings.Contains(w, "*") && !strings.Contains(w, "/"):
			return i, errors.New("its first word must name a program: a * there would allow any")
		case i == 0 && strings.Contains(w, rest):
			return i, errors.New("its first word must name a program: ** there would allow any in all folders")
		case w == rest && i < len(pattern)-1:
			return i, errors.New("** must be its last word: it stands for any number of further words")
		}
	}
	return 0, nil
}

// match says whether a pattern matches a command, and what it makes of each word.
func match(pattern, argv []string) (all []word, ok bool) {
	if _, err := shape(pattern); err != nil {
		return nil, false
	}
	fixed := pattern
	if more := pattern[len(pattern)-1] == rest; more {
		fixed = pattern[:len(pattern)-1]
	} else if len(argv) != len(pattern) {
		return nil, false
	}
	if len(argv) < len(fixed) || !sameProgram(fixed[0], argv[0]) {
		return nil, false
	}
	all = make([]word, len(argv))
	for i, text := range argv {
		if i >= len(fixed) {
			all[i] = word{text: text, wild: true, at: len(pattern) - 1}
			continue
		}
		if i > 0 && !glob(fixed[i], text) {
			return nil, false
		}
		all[i] = asWord(fixed[i], text, i)
	}
	return all, true
}

// asWord is a word of a command that the word of a pattern at a place matches.
func asWord(pattern, text string, at int) word {
	spelled, _, wild := strings.Cut(pattern, "*")
	return word{text: text, wild: wild, spelled: spelled, at: at}
}

// sameProgram says whether the first word of a pattern names the program. go is not ./go: the agent can make that one. A path is
// taken as written but for a ./ in front, and may not climb behind a *.
func sameProgram(pattern, name string) bool {
	if strings.Contains(pattern, "/") != strings.Contains(name, "/") {
		return false
	}
	if strings.Contains(pattern, "*") && slices.Contains(strings.Split(name, "/"), "..") {
		return false
	}
	return glob(strings.TrimPrefix(pattern, "./"), strings.TrimPrefix(name, "./"))
}

// glob matches one word. at is the set of places of the pattern that the part of s read so far leads to, so that no pattern
// takes longer than its length times that of s.
func glob(pattern, s string) bool {
	at := make([]bool, len(pattern)+1)
	next := make([]bool, len(pattern)+1)
	at[0] = true
	skipStars(pattern, at)
	for i := range len(s) {
		clear(next)
		for j := range len(pattern) {
			switch {
			case !at[j]:
			case pattern[j] != '*':
				next[j+1] = next[j+1] || pattern[j] == s[i]
			case s[i] != '/' || twice(pattern, j):
				next[j] = true
			}
		}
		skipStars(pattern, next)
		at, next = next, at
	}
	return at[len(pattern)]
}

// skipStars adds the places behind stars, which may stand for nothing.
func skipStars(pattern string, at []bool) {
	for j := range len(pattern) {
		if at[j] && pattern[j] == '*' {
			at[j+1] = true
		}
	}
}

// twice says whether the star at j is one of several in a row.
func twice(pattern string, j int) bool {
	return j > 0 && pattern[j-1] == '*' || j+1 < len(pattern) && pattern[j+1] == '*'
}
