package policy

// Patterns of commands: which of them can be used, and what they match.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// rest is the last word of a pattern that stands for any number of further words, also none.
const rest = "**"

// Check returns what is wrong with the first faulty pattern. Its error names the pattern.
func Check(patterns [][]string) error {
	for _, p := range patterns {
		if _, err := CheckPattern(p); err != nil {
			return fmt.Errorf("pattern %s: %w", Show(p), err)
		}
	}
	return nil
}

// CheckPattern returns what is wrong with a pattern, and the index of the faulty word; -1 is the pattern as a whole.
//
// A pattern matches word by word. In a word * stands for anything but a slash and ** for anything; ** as the last
// word stands for any number of further words. The first word names the program and is not open: a program on the
// PATH is written without a *, one that is named by its path is named so in the pattern.
func CheckPattern(pattern []string) (at int, err error) {
	if len(pattern) == 0 {
		return -1, errors.New("it is empty: its first word must name a program")
	}
	for i, w := range pattern {
		switch {
		case w == "" && i == 0:
			return i, errors.New("its first word is empty: it must name a program")
		case strings.ContainsRune(w, 0):
			return i, errors.New("it contains a NUL byte, which no program can be given")
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

// match reports whether a pattern matches a command. One with a fault matches nothing.
func match(pattern, argv []string) bool {
	if _, err := CheckPattern(pattern); err != nil {
		return false
	}
	fixed, open := pattern, pattern[len(pattern)-1] == rest
	if open {
		fixed = pattern[:len(pattern)-1]
	}
	if len(argv) < len(fixed) || len(argv) > len(fixed) && !open || !sameProgram(fixed[0], argv[0]) {
		return false
	}
	for i := 1; i < len(fixed); i++ {
		if !glob(fixed[i], argv[i]) {
			return false
		}
	}
	return true
}

// sameProgram reports whether the first word of a pattern names the program. go is not ./go, because the agent can
// write that one. A path is compared as it is written, apart from a ./ in front; where the pattern has a *, the path
// may not hold "..".
func sameProgram(pattern, name string) bool {
	if strings.Contains(pattern, "/") != strings.Contains(name, "/") {
		return false
	}
	if strings.Contains(pattern, "*") && slices.Contains(strings.Split(name, "/"), "..") {
		return false
	}
	return glob(strings.TrimPrefix(pattern, "./"), strings.TrimPrefix(name, "./"))
}

// glob reports whether a pattern matches a word. at is the set of positions in the pattern that the bytes read so far
// lead to, so that the time is bounded by the length of the pattern times that of s.
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

// skipStars adds the positions behind stars, which may match nothing.
func skipStars(pattern string, at []bool) {
	for j := range len(pattern) {
		if at[j] && pattern[j] == '*' {
			at[j+1] = true
		}
	}
}

// twice reports whether the star at j is one of several in a row.
func twice(pattern string, j int) bool {
	return j > 0 && pattern[j-1] == '*' || j+1 < len(pattern) && pattern[j+1] == '*'
}
