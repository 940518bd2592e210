// Package policy decides which commands an agent of ours may run: the task's own, and what a pattern allows; nothing else.
//
// A * lets an agent choose what a program works on, never what is run: a program to start, code, settings that name either, or
// a file outside of the working directory to write are allowed only where the pattern writes them out, flag and value both.
// What lies in the working directory may be run by a program that is allowed, for that is what the agent works on. The table of
// what programs make of their arguments is knowledge, not proof: it is what was meant, and what is written down; the sandbox is
// what holds.
//
// Pure: it reads no file and starts nothing.
package policy

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// OwnCommand is the Grant of the failed task's own command.
const OwnCommand = "the task's own command"

// A Policy is what may be run. The zero Policy allows nothing.
type Policy struct {
	Own   []string   // the failed task's own command, word for word; nil: it has none that is a list of words
	Allow [][]string // patterns, see Check
	// Planted says where a program named without a slash would be found, if an agent can write there; else nothing. It is lent,
	// because it looks at files; nil: not asked.
	Planted func(name string) string
}

// A Decision says whether a command may be run.
type Decision struct {
	Allowed bool
	Grant   string // where allowed: the pattern, as it can be read, or OwnCommand
	Reason  string // where refused: why, and what would be allowed
}

// Decide looks at the words of a command. The first pattern that allows it is the grant; where several refuse it for a reason
// of their own, the first reason is told.
func (p Policy) Decide(argv []string) Decision {
	switch {
	case len(argv) == 0 || argv[0] == "":
		return Decision{Reason: "the command is empty: its first word must name a program"}
	case slices.ContainsFunc(argv, func(s string) bool { return strings.ContainsRune(s, 0) }):
		return Decision{Reason: "the command holds a NUL byte: no program can be given one"}
	case len(p.Own) > 0 && slices.Equal(p.Own, argv):
		return Decision{Allowed: true, Grant: OwnCommand}
	}
	why := ""
	for _, pattern := range p.Allow {
		words, ok := match(pattern, argv)
		if !ok {
			continue
		}
		j := judging{}
		reason := j.command(words)
		for _, name := range append([]string{argv[0]}, j.started...) {
			if reason == "" {
				reason = p.planted(name)
			}
		}
		if reason == "" {
			return Decision{Allowed: true, Grant: Show(pattern)}
		}
		if why == "" {
			why = reason
		}
	}
	if why == "" {
		why = p.unknown(argv)
	}
	return Decision{Reason: why}
}

func (p Policy) planted(name string) string {
	if strings.Contains(name, "/") || p.Planted == nil {
		return ""
	}
	if at := p.Planted(name); at != "" {
		return name + " would be found at " + at + ", where the agent can write"
	}
	return ""
}

// unknown says how far the patterns go along with a command that none of them matches.
func (p Policy) unknown(argv []string) string {
	for _, pattern := range p.Allow {
		if len(pattern) > 0 && sameProgram(pattern[0], argv[0]) {
			return Show(argv[:1]) + " is allowed, but not with these arguments"
		}
	}
	if len(p.Own) > 0 && p.Own[0] == argv[0] {
		return Show(argv[:1]) + " is allowed only as it stands in the task's own command"
	}
	if base := path.Base(argv[0]); base != argv[0] {
		for _, pattern := range p.Allow {
			if len(pattern) > 0 && sameProgram(pattern[0], base) {
				return Show(argv[:1]) + " is named by its path, and only " + base + " is allowed: a program named by its path must stand so in the pattern"
			}
		}
	}
	return Show(argv[:1]) + " is not allowed"
}

// Allowed lists what may be run, as it can be read, the task's own command first.
func (p Policy) Allowed() []string {
	var all []string
	if len(p.Own) > 0 {
		all = append(all, Show(p.Own)+" ("+OwnCommand+")")
	}
	for _, pattern := range p.Allow {
		all = append(all, Show(pattern))
	}
	return all
}

// Show is a command or a pattern on one line; a word that could be misread stands in quotes.
func Show(words []string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w
		if w == "" || !utf8.ValidString(w) || strings.ContainsFunc(w, func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || !strconv.IsPrint(r) }) {
			all[i] = strconv.Quote(w)
		}
	}
	return strings.Join(all, " ")
}
