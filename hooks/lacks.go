package hooks

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// What a copy lacks, as its check's output tells, and the attribute that would give it. It is a guess, said as one.

// mostLacks is how many names of one sort are said at most.
const mostLacks = 4

// lacks names what the copy was not given and what its output speaks of: ignored files, secrets, variables.
func (h *healing) lacks(output []byte) string {
	text := failedtask.CleanTail(string(output), h.base.Top, 64<<10)
	var all strings.Builder
	var ignored, kept []string
	for _, o := range h.base.Omitted {
		switch {
		case o.Why == "secret" || o.Why == "ignored" && strings.HasPrefix(path.Base(o.Path), ".env"):
			kept = append(kept, o.Path)
		case o.Why == "ignored" || o.Why == "oversize":
			ignored = append(ignored, o.Path)
		}
	}
	if few := h.named(text, ignored); len(few) > 0 {
		all.WriteString("; the copy has no " + english.List(few, mostLacks) + ", which git ignores: " + h.include(few))
	}
	if few := h.named(text, kept); len(few) > 0 {
		all.WriteString("; the copy has no " + english.List(few, mostLacks) + ", which may hold secrets: " + h.include(few) + " gives it to the copy, dotenv its variables to the task")
	}
	all.WriteString(h.withheld(text))
	if few := h.unpassed(text); len(few) > 0 {
		are := "is"
		if len(few) > 1 {
			are = "are"
		}
		all.WriteString("; " + english.List(few, mostLacks) + " " + are + " set in your shell but not passed: pass_env = [" + strings.Join(english.Quoted(few[:min(len(few), mostLacks)]), ", ") + "]")
	}
	return all.String()
}

// include is the attribute that gives paths to a copy: what lies outside of the pipeline's folder it cannot name.
func (h *healing) include(paths []string) string {
	var globs []string
	for _, p := range paths {
		if h.base.Sub != "." && h.base.Sub != "" {
			below, ok := strings.CutPrefix(p, h.base.Sub+"/")
			if !ok {
				continue
			}
			p = below
		}
		globs = append(globs, p)
	}
	if len(globs) == 0 {
		return "no attribute can name what lies outside of the folder of PIPELINE.hcl"
	}
	return "scratch { include = [" + strings.Join(english.Quoted(globs[:min(len(globs), 8)]), ", ") + "] }"
}

// named are those of paths that a text speaks of: the path itself, from the top or from the pipeline's folder, something
// below it, a module or program that is called so. A path of one or two letters says nothing.
func (h *healing) named(text string, paths []string) []string {
	var found []string
	missing := missingNames(text)
	for _, p := range paths {
		base := path.Base(p)
		stem := strings.TrimSuffix(base, path.Ext(base))
		called := func(name string) bool {
			return name == base || name == stem || strings.HasPrefix(name, base+"/") || stem != "" && strings.HasPrefix(name, stem+".")
		}
		below := strings.TrimPrefix(p, h.base.Sub+"/")
		if len(p) > 2 && speaksOf(text, p) || len(below) > 2 && speaksOf(text, below) || slices.ContainsFunc(missing, called) {
			found = append(found, p)
		}
	}
	return found
}

// speaksOf says whether a path stands in text as a whole, or the beginning of a longer one; with folders before it, if any.
func speaksOf(text, p string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], p)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(p)
		before := begin == 0 || !inName(text[begin-1]) && text[begin-1] != '-'
		after := end == len(text) || !inName(text[end]) && text[end] != '-' || text[end] == '.' && (end+1 == len(text) || !inName(text[end+1]))
		if before && after {
			return true
		}
		from = end
	}
}

// inName says whether a byte is part of a file's name.
func inName(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

// missingNames are the modules and programs that an output says are not there: `Cannot find module './gen/x'`, `No module
// named 'gen.x'`, `sh: 1: mytool: not found`, `mytool: command not found`, `exec: "mytool": executable file not found`.
func missingNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, said := range []string{"annot find module ", "o module named ", "annot find package ", "annot resolve ", "exec: ", "Can't resolve "} {
			if _, rest, ok := strings.Cut(line, said); ok {
				names = append(names, firstName(rest))
			}
		}
		for _, said := range []string{": not found", ": command not found"} {
			if before, ok := strings.CutSuffix(line, said); ok {
				names = append(names, firstName(before[strings.LastIndexByte(before, ' ')+1:]))
			}
		}
		if len(names) > 100 {
			break
		}
	}
	return names
}

// firstName is the name that text begins with, without quotes and "./".
func firstName(text string) string {
	text = strings.TrimLeft(text, "'\"`‘“")
	if end := strings.IndexAny(text, "'\"`’” :;,"); end >= 0 {
		text = text[:end]
	}
	for strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") {
		_, text, _ = strings.Cut(text, "/")
	}
	return text
}

// withheld names the secrets that the copy's check did not get: those that its output speaks of, else all of them.
func (h *healing) withheld(text string) string {
	if h.hook.PassSecrets {
		return ""
	}
	var names, spoken []string
	for _, v := range h.task.Env {
		if len(v.Secrets) == 0 {
			continue
		}
		names = append(names, v.Name)
		if speaksOf(text, v.Name) {
			spoken = append(spoken, v.Name)
		}
	}
	if len(spoken) > 0 {
		names = spoken
	}
	if len(names) == 0 {
		return ""
	}
	return "; the copy was not given " + strings.Join(names, ", ") + " (pass_secrets = true gives secrets to checks)"
}

// unpassed are the variables that the output speaks of, that the person's environment has, and that nothing gives the task.
func (h *healing) unpassed(text string) []string {
	var names []string
	for _, kv := range h.e.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if len(name) < 4 || !strings.Contains(name, "_") || strings.ToUpper(name) != name || value == "" || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "ASYNC_PIPELINE_") {
			continue // short names and single words stand in output for other reasons
		}
		if slices.ContainsFunc(h.task.Env, func(v pipeline.EnvVar) bool { return v.Name == name }) || letsThrough(h.task.PassEnv, name) || letsThrough(h.e.Config.PassEnv, name) {
			continue
		}
		if speaksOf(text, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// letsThrough says whether pass_env lets a name through; a * is allowed at the end.
func letsThrough(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, many := strings.CutSuffix(p, "*")
		return p == name || many && strings.HasPrefix(name, prefix)
	})
}

// hinted adds what the run found its task to lack, where the failure is the same in a copy: no agent can give a variable.
func (h *healing) hinted() {
	if h.ended.Hint != nil && *h.ended.Hint != "" {
		h.note(fmt.Sprintf("perhaps not the code: %s", *h.ended.Hint))
	}
}
