package shelltext

// In which folders commands run.

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxFolders is in how many folders a command may run before nothing is known.
const maxFolders = 8

// folders follows cd and the like. What depends on what only the shell will know has no folders.
type folders struct {
	at    []string   // where the next command may run
	last  []string   // where cd - leads
	stack [][]string // of pushd
}

// ends has the folders in which the shell may be when a command passed, and when it failed. A cd that fails is none of
// these: it stays where it is, and mostly ends the text.
type ends struct{ passed, failed []string }

// of returns the ends of a statement by those of its command.
func (e ends) of(s *syntax.Stmt, begun []string) ends {
	switch {
	case s.Background:
		return ends{begun, begun}
	case s.Negated:
		return ends{e.failed, e.passed}
	}
	return e
}

// union returns what is in a or b, or nothing where that is too much. Nothing stands for what is not known: it is dropped
// where the other side is known.
func union(a, b []string) []string {
	all := slices.Clip(a)
	for _, dir := range b {
		if !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	if len(all) > maxFolders {
		return nil
	}
	return all
}

// moves returns where the shell is after a simple command.
func (f *folders) moves(words []string) ends {
	for len(words) > 1 && (words[0] == "command" || words[0] == "builtin") {
		words = words[1:]
	}
	if len(words) == 0 {
		return ends{f.at, f.at}
	}
	var to []string
	switch words[0] {
	case "exit":
		return ends{}
	case "cd", "chdir":
		to = f.into(words[1:])
	case "pushd":
		f.stack = append(f.stack, f.at)
		to = f.into(words[1:])
	case "popd":
		if n := len(f.stack); n > 0 && len(words) == 1 {
			to, f.stack = f.stack[n-1], f.stack[:n-1]
		}
	default:
		return ends{f.at, f.at}
	}
	f.last = f.at
	return ends{passed: to}
}

// into returns where cd leads with these arguments.
func (f *folders) into(args []string) []string {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		args = args[1:]
	}
	switch {
	case len(args) != 1:
		return nil
	case args[0] == "-":
		return f.last
	}
	return below(f.at, args[0])
}

// below returns dir as it is named in each of the folders at, or nothing where only the shell knows it. The result is as the
// shell has it: .. leaves a link to a folder to where the link is.
func below(at []string, dir string) (all []string) {
	switch {
	case strings.ContainsRune(dir, Unknown), strings.ContainsAny(dir, "*?["), strings.HasPrefix(dir, "~"):
		return nil
	case strings.HasPrefix(dir, start):
		return []string{path.Clean("./" + strings.TrimPrefix(dir, start))}
	case path.IsAbs(dir):
		return []string{path.Clean(dir)}
	}
	for _, in := range at {
		all = union(all, []string{path.Join(in, dir)})
	}
	return all
}

// start replaces the folder where the text begins in a word. It is a character of Unicode's private use area.
const start = "\uE001"

// here returns the folder of the next command as an absolute path.
func (r *reader) here() string {
	switch {
	case r.runs == nil || len(r.at) != 1:
		return string(Unknown)
	case path.IsAbs(r.at[0]):
		return r.at[0]
	case r.at[0] == ".":
		return start
	}
	return start + "/" + r.at[0]
}
