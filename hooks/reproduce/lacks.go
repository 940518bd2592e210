package reproduce

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// What a copy lacks, as the output of the check tells, and the attribute that would give it. It is a guess.

// mostLacks is how many names of one sort are listed.
const mostLacks = 4

// lacks names what the copy was not given and the output speaks of: ignored files, secrets, variables.
func (q *Request) lacks(output []byte, base *scratch.Base) string {
	text := failedtask.CleanTail(string(output), base.Top, 64<<10)
	var all strings.Builder
	var ignored, kept, excluded []string
	for _, o := range base.Omitted {
		switch {
		case o.Why == "secret" || o.Why == "ignored" && strings.HasPrefix(path.Base(o.Path), ".env"):
			kept = append(kept, o.Path)
		case o.Why == "excluded":
			excluded = append(excluded, o.Path)
		case o.Why == "ignored" || o.Why == "oversize":
			ignored = append(ignored, o.Path)
		}
	}
	if few := named(text, ignored, base.Sub); len(few) > 0 {
		all.WriteString("; the copy has no " + english.List(few, mostLacks) + ", which git ignores: " +
			include(few, base.Sub))
	}
	if few := named(text, excluded, base.Sub); len(few) > 0 {
		all.WriteString("; the copy has no " + english.List(few, mostLacks) + ", which scratch { exclude } leaves out")
	}
	if few := named(text, kept, base.Sub); len(few) > 0 {
		all.WriteString("; the copy has no " + english.List(few, mostLacks) + ", which may hold secrets: " +
			include(few, base.Sub) + " gives it to the copy, dotenv its variables to the task")
	}
	all.WriteString(q.withheld(text))
	if few := q.unpassed(text); len(few) > 0 {
		are := "is"
		if len(few) > 1 {
			are = "are"
		}
		all.WriteString("; " + english.List(few, mostLacks) + " " + are +
			" set in your shell but not passed: pass_env = [" +
			strings.Join(english.Quoted(few[:min(len(few), mostLacks)]), ", ") + "]")
	}
	return all.String()
}

// include returns the attribute that gives paths to a copy. It cannot name what is outside of the pipeline's folder,
// sub.
func include(paths []string, sub string) string {
	var globs []string
	for _, p := range paths {
		if sub != "." && sub != "" {
			below, ok := strings.CutPrefix(p, sub+"/")
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

// named returns those of paths that a text speaks of: the path itself, from the top or from the pipeline's folder
// sub, something below it, a module or program of that name. A path of one or two letters is too common to count.
func named(text string, paths []string, sub string) []string {
	var found []string
	missing := missingNames(text)
	for _, p := range paths {
		base := path.Base(p)
		stem := strings.TrimSuffix(base, path.Ext(base))
		called := func(name string) bool {
			return name == base || name == stem || strings.HasPrefix(name, base+"/") ||
				stem != "" && strings.HasPrefix(name, stem+".")
		}
		below := strings.TrimPrefix(p, sub+"/")
		if len(p) > 2 && speaksOf(text, p) || len(below) > 2 && speaksOf(text, below) ||
			slices.ContainsFunc(missing, called) {
			found = append(found, p)
		}
	}
	return found
}

// speaksOf reports whether text holds a path, or a longer one that begins or ends with it.
func speaksOf(text, p string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], p)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(p)
		before := begin == 0 || !inName(text[begin-1]) && text[begin-1] != '-'
		after := end == len(text) || !inName(text[end]) && text[end] != '-' ||
			text[end] == '.' && (end+1 == len(text) || !inName(text[end+1]))
		if before && after {
			return true
		}
		from = end
	}
}

// inName reports whether a byte is part of a file's name.
func inName(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

// missingNames returns the modules and programs that an output says are not there: `Cannot find module './gen/x'`,
// `No module named 'gen.x'`, `sh: 1: mytool: not found`, `mytool: command not found`, `exec: "mytool": executable
// file not found`.
func missingNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, said := range []string{
			"annot find module ", "o module named ", "annot find package ", "annot resolve ",
			"exec: ", "Can't resolve ",
		} {
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

// firstName returns the name that text begins with, without quotes and "./".
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

// withheld names the secrets that the check in the copy did not get: those that its output speaks of, else all of
// them.
func (q *Request) withheld(text string) string {
	if q.Homes.Box.Secrets {
		return ""
	}
	var names, spoken []string
	for _, v := range q.Failure.Task.Env {
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

// unpassed returns the variables that the output speaks of, that the person's environment has, and that the task is
// not given.
func (q *Request) unpassed(text string) []string {
	var names []string
	for _, kv := range q.Homes.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if len(name) < 4 || !strings.Contains(name, "_") || strings.ToUpper(name) != name || value == "" ||
			strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "ASYNC_PIPELINE_") {
			continue // short names and single words stand in output for other reasons
		}
		if slices.ContainsFunc(q.Failure.Task.Env, func(v pipeline.EnvVar) bool { return v.Name == name }) ||
			homes.Passes(q.Failure.Task.PassEnv, name) || homes.Passes(q.Failure.Config.PassEnv, name) {
			continue
		}
		if speaksOf(text, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
