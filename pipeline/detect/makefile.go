// The rules of a Makefile: targets, what each waits for, and its recipe. Conditionals are read as if all of them held,
// variables are not replaced, and includes are not followed.
package detect

import "strings"

// A target is a rule of a Makefile, justfile or Taskfile.
type target struct {
	name  string
	waits []string // targets that come first
	lines []string // its recipe
}

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
		if current = nil; inDefine || !ok || strings.ContainsAny(names, "=%") || strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":=") {
			continue
		}
		rest = strings.TrimPrefix(rest, ":")
		rest, inline, _ := strings.Cut(rest, ";")
		if strings.Contains(rest, "=") { // a variable of these targets
			continue
		}
		rest, _, _ = strings.Cut(rest, "|")
		for n := range strings.FieldsSeq(names) {
			if strings.HasPrefix(n, ".") { // .PHONY and its like
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
