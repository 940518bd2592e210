package review

// program_shadowed: what is found in place of a program that a check starts.

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

var (
	function  = late.Regexp(`^\s*(?:function\s+)?([\w.+-]+)\s*\(\s*\)\s*[{(]?`)
	alias     = late.Regexp(`^\s*alias\s+(?:-\w\s+)?([\w.+-]+)=`)
	pathWords = []pattern{
		pat(onPlain, false, "", `\bos\.Setenv\(\s*"PATH"|\bprocess\.env(?:\.PATH\b|\[['"]PATH['"]\])\s*=[^=]|\bos\.environ\[['"]PATH['"]\]\s*\+?=|\bputenv\s*\(\s*"PATH|\bENV\[['"]PATH['"]\]\s*=`, "PATH"),
		pat(onPlain, false, "", `(?:^|[\s;&|"'{(])(?:export\s+|env\s+)?PATH\s*[:?+]?=\s*\S+`, "PATH"),
		pat(onPlain, false, "", `\b(?:BASH_ENV|LD_PRELOAD|LD_LIBRARY_PATH|DYLD_INSERT_LIBRARIES|GOFLAGS|NODE_OPTIONS|PYTHONSTARTUP|RUBYOPT|PERL5OPT|JAVA_TOOL_OPTIONS)["']?\s*[:?+]?[=:]\s*\S+`, "BASH_ENV", "LD_", "DYLD_", "GOFLAGS", "NODE_OPTIONS", "PYTHONSTARTUP", "RUBYOPT", "PERL5OPT", "JAVA_TOOL"),
	}
)

func (r *report) programs(e *edit) {
	base := path.Base(e.path)
	became := executable(e.change.After) && !executable(e.change.Before)
	switch {
	case !e.exists():
	case strings.Contains("/"+e.path, "/node_modules/.bin/"):
		r.add(e, ProgramShadowed, -1, true, "npm's scripts find %s here before any other", base)
	case slices.Contains(checkfile.Programs, base) && (became || link(e.change.After) && !link(e.change.Before)):
		r.add(e, ProgramShadowed, -1, true, "can be executed and is named like the program %s", base)
	case slices.Contains(checkfile.Programs, base) && executable(e.change.After):
		r.add(e, ProgramShadowed, -1, false, "is named like the program %s, and changed", base)
	}
	if e.opaque || e.class == 3 {
		return
	}
	switch e.language {
	case "shell":
		for _, j := range e.added {
			if e.moved[j] {
				continue
			}
			for _, re := range []func() *regexp.Regexp{function, alias} {
				if m := re().FindStringSubmatch(e.after.code(j)); m != nil && slices.Contains(checkfile.Programs, m[1]) {
					r.add(e, ProgramShadowed, j, false, "%s is a function or an alias from here on", m[1])
				}
			}
		}
		fallthrough
	case "make", "yaml", "docker", "ini", "toml", "json":
		if e.class == 0 && e.isNew() {
			return
		}
		fallthrough
	default:
		if e.language == "" || e.class == 0 && lang.IsCode(e.language) && e.language != "shell" && lang.Tooling(e.path) {
			return
		}
		words := pathWords
		if lang.IsCode(e.language) && e.language != "shell" {
			words = pathWords[:1] // what only stands in strings is handed to somebody else
		}
		r.fresh(e, words, false, func(j int, _ *pattern, match string) {
			r.add(e, ProgramShadowed, j, false, "where programs are looked up, or what they load: %s", strings.TrimLeft(match, `;&|"'{( `))
		})
	}
}
