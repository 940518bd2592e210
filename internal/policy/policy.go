// Package policy decides which commands our own agent may run: the task's own, and those that a pattern of allow
// matches.
//
// A pattern is about words, and knows nothing of what a program does with its arguments. A program that is allowed may
// start others, write files and run code; and the code that it works on is the agent's to change. So allow states
// what is meant, and makes it possible to read later what was run; the sandbox is the boundary.
//
// The package reads no file and starts nothing.
package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// OwnCommand is the Grant of the failed task's own command.
const OwnCommand = "the task's own command"

// A Policy is what may be run. The zero Policy allows nothing.
type Policy struct {
	Own   []string   // the failed task's own command, word for word; nil: it is not known as a list of words
	Allow [][]string // patterns, see CheckPattern
	// Planted returns where a program named without a slash would be found if an agent can write there, else an empty
	// string. nil means that this is not checked.
	Planted func(name string) string
}

// A Decision is the answer to whether a command may be run.
type Decision struct {
	Allowed bool
	Grant   string // if allowed: the pattern in readable form, or OwnCommand
	Reason  string // if refused: why
}

// Decide decides about a command. The first pattern that matches it is the grant.
func (p Policy) Decide(argv []string) Decision {
	switch {
	case len(argv) == 0 || argv[0] == "":
		return Decision{Reason: "the command is empty: its first word must name a program"}
	case slices.ContainsFunc(argv, func(s string) bool { return strings.ContainsRune(s, 0) }):
		return Decision{Reason: "the command contains a NUL byte, which no program can be given"}
	case len(p.Own) > 0 && slices.Equal(p.Own, argv):
		return Decision{Allowed: true, Grant: OwnCommand}
	}
	i := slices.IndexFunc(p.Allow, func(pattern []string) bool { return match(pattern, argv) })
	if i < 0 {
		return Decision{Reason: p.unmatched(argv)}
	}
	if name := argv[0]; !strings.Contains(name, "/") && p.Planted != nil {
		if at := p.Planted(name); at != "" {
			return Decision{Reason: name + " would be found at " + at + ", where the agent can write"}
		}
	}
	return Decision{Allowed: true, Grant: Show(p.Allow[i])}
}

// unmatched returns why no pattern matches a command.
func (p Policy) unmatched(argv []string) string {
	allowed := func(name string) bool {
		return slices.ContainsFunc(p.Allow, func(pattern []string) bool {
			return len(pattern) > 0 && sameProgram(pattern[0], name)
		})
	}
	shown, base := Show(argv[:1]), path.Base(argv[0])
	switch {
	case allowed(argv[0]):
		return shown + " is allowed, but not with these arguments"
	case len(p.Own) > 0 && p.Own[0] == argv[0]:
		return shown + " is allowed only as it stands in the task's own command"
	case base != argv[0] && allowed(base):
		return "only " + base + " is allowed, found on the PATH: a program that is named by its path must be so in the " +
			"pattern"
	}
	return shown + " is not allowed"
}

// Allowed lists what may be run in readable form, the task's own command first.
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

// Show returns a command or a pattern on one line. A word that could be misread is quoted.
func Show(words []string) string {
	unclear := func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || !strconv.IsPrint(r) }
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w
		if w == "" || !utf8.ValidString(w) || strings.ContainsFunc(w, unclear) {
			all[i] = strconv.Quote(w)
		}
	}
	return strings.Join(all, " ")
}

// Lookup returns the path at which the sandbox finds a program that is named without a slash, or an empty string: it
// searches the folders of searched (a PATH), relative ones seen from dir, both as the command sees them. runnable
// reports whether a path is a program.
func Lookup(name, dir, searched string, runnable func(path string) bool) string {
	if name == "" || strings.Contains(name, "/") {
		return ""
	}
	for _, folder := range filepath.SplitList(searched) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if at := filepath.Join(folder, name); runnable(at) {
			return at
		}
	}
	return ""
}
