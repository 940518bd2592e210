// A reader of as much of a Makefile as is asked for here: the targets that are named in it, what each waits for, and the
// programs its recipe begins lines with. Conditionals are read as if all of them held; variables are not replaced, includes
// not followed.
package detect

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// A target is a rule of a Makefile, justfile or Taskfile.
type target struct {
	name  string
	waits []string // targets that come first
	lines []string // its recipe
}

var makeName = late.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func readMakefile(text string) []target {
	var all []target
	index := map[string]int{}
	var current []string // the targets whose recipe follows
	inDefine := false
	for raw := range strings.Lines(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", " ")) {
		raw = strings.TrimRight(raw, "\n")
		if recipe, ok := strings.CutPrefix(raw, "\t"); ok {
			for _, n := range current {
				all[index[n]].lines = append(all[index[n]].lines, recipe)
			}
			continue
		}
		raw, _, _ = strings.Cut(raw, "#")
		words := strings.Fields(raw)
		switch {
		case len(words) == 0:
			continue
		case words[0] == "define":
			inDefine = true
		case words[0] == "endef":
			inDefine = false
		}
		names, rest, ok := strings.Cut(raw, ":")
		if current = nil; inDefine || !ok || strings.ContainsAny(names, "=$(%") || strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":=") {
			continue
		}
		rest = strings.TrimPrefix(rest, ":")
		rest, inline, _ := strings.Cut(rest, ";")
		if strings.Contains(rest, "=") { // a variable of these targets
			continue
		}
		rest, _, _ = strings.Cut(rest, "|")
		for n := range strings.FieldsSeq(names) {
			if !makeName().MatchString(n) { // .PHONY and its like, files in folders
				continue
			}
			if _, known := index[n]; !known {
				index[n] = len(all)
				all = append(all, target{name: n})
			}
			i := index[n]
			all[i].waits = append(all[i].waits, strings.Fields(rest)...)
			if inline != "" {
				all[i].lines = append(all[i].lines, inline)
			}
			current = append(current, n)
		}
	}
	return all
}

// ofShell are words that begin a line and are no programs.
var ofShell = []string{
	"cd", "echo", "test", "if", "for", "while", "case", "exit", "true", "false", "printf", "set", "export", "command", "type", "source", "eval",
	"exec", "trap", "read", "wait", "ulimit", "umask", "unset", "then", "else", "elif", "fi", "do", "done", "esac", "ifeq", "ifneq", "ifdef", "ifndef", "else", "endif",
}

var plainProgram = late.Regexp(`^[a-z][a-z0-9_.-]*$`)

// programs lists the programs that a target's recipe, and what it waits for, begin their lines with.
func programs(all []target, name string) []string {
	var found []string
	left := map[string]*target{}
	for i, t := range all {
		left[t.name] = &all[i]
	}
	queue := []string{name}
	for len(queue) > 0 && len(found) < 20 {
		t := left[queue[0]]
		delete(left, queue[0])
		queue = queue[1:]
		if t == nil { // seen, or a file
			continue
		}
		queue = append(queue, t.waits...)
		for _, l := range t.lines {
			if p := programOf(l); p != "" && !slices.Contains(found, p) {
				found = append(found, p)
			}
		}
	}
	return found
}

// programOf is the program that a line of a recipe begins with, or "".
func programOf(recipe string) string {
	for word := range strings.FieldsSeq(strings.TrimLeft(recipe, "@-+ \t")) {
		switch {
		case strings.Contains(word, "="): // NAME=value in front of the program
		case plainProgram().MatchString(word) && !slices.Contains(ofShell, word):
			return word
		default:
			return ""
		}
	}
	return ""
}
