// The targets of Makefiles, justfiles and Taskfiles: what each waits for, and its recipe.
package detect

import (
	"strings"

	yamllib "go.yaml.in/yaml/v4"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// A target is a rule of a Makefile, justfile or Taskfile.
type target struct {
	name  string
	waits []string // targets that come first
	lines []string // its recipe
}

// readMakefile lists the rules of a Makefile. Conditionals are read as if all of them held, variables are not
// replaced, and includes are not followed.
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
		if current = nil; inDefine || !ok || strings.ContainsAny(names, "=%") || strings.HasPrefix(rest, "=") ||
			strings.HasPrefix(rest, ":=") {
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

// justRecipe is the head of a recipe: a name, parameters, a colon that is not :=, what it waits for.
var justRecipe = lazily.Regexp(`^@?([A-Za-z][A-Za-z0-9_-]*)((?:\s+[^:\s]+)*)\s*:(?:([^=].*)|$)`)

// readJustfile lists the recipes that can be called without an argument, without private ones and those of modules.
func readJustfile(text string) []target {
	var all []target
	private, inside := false, false
	for raw := range strings.Lines(text) {
		raw = strings.TrimRight(raw, "\r\n")
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		if strings.HasPrefix(raw, " ") || strings.HasPrefix(raw, "\t") {
			if strings.HasPrefix(strings.TrimSpace(raw), "#!") { // the recipe is a script of another language
				inside = false
			}
			if inside {
				all[len(all)-1].lines = append(all[len(all)-1].lines, strings.TrimSpace(raw))
			}
			continue
		}
		inside = false
		if strings.HasPrefix(raw, "[") {
			private = private || strings.Contains(raw, "private")
			continue
		}
		m := justRecipe().FindStringSubmatch(raw)
		if m == nil {
			continue
		}
		wanting := false
		for param := range strings.FieldsSeq(m[2]) {
			wanting = wanting || !strings.Contains(param, "=") && !strings.HasPrefix(param, "*")
		}
		if !private && !wanting {
			waits, _, _ := strings.Cut(m[3], "#")
			all = append(all, target{name: m[1], waits: strings.Fields(waits)})
			inside = true
		}
		private = false
	}
	return all
}

// taskName is the name of a task, without colons.
var taskName = lazily.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// readTaskfile lists the tasks of a Taskfile.yml; internal ones and patterns are left out.
func (d *detector) readTaskfile(f *folder, name string) []target {
	tasks := d.readYAML(f, name, "tasks")
	if tasks == nil || tasks.Kind != yamllib.MappingNode {
		return nil
	}
	var all []target
	for i := 0; i+1 < len(tasks.Content); i += 2 {
		name, task := tasks.Content[i].Value, tasks.Content[i+1]
		if internal := yamlValue(task, "internal"); internal != nil && internal.Value == "true" {
			continue
		}
		if !taskName().MatchString(strings.ReplaceAll(name, ":", "-")) {
			continue
		}
		lines := append(yamlTexts(yamlValue(task, "cmds")), yamlTexts(yamlValue(task, "cmd"))...)
		if task.Kind != yamllib.MappingNode { // name: command, or a list of them
			lines = yamlTexts(task)
		}
		all = append(all, target{name, yamlTexts(yamlValue(task, "deps")), lines})
	}
	return all
}
