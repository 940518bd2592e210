package review

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
)

var (
	function = lazyregexp.New(`^\s*(?:function\s+)?([\w.+-]+)\s*\(\s*\)\s*[{(]?`)
	alias    = lazyregexp.New(`^\s*alias\s+(?:-\w\s+)?([\w.+-]+)=`)
)

// programs reports what is found in place of a program that a check starts: program_shadowed.
func programs(e *edit) (found findings) {
	base := path.Base(e.path)
	became := executable(e.change.After) && !executable(e.change.Before)
	switch {
	case !e.exists():
	case strings.Contains("/"+e.path, "/node_modules/.bin/"):
		found.add(e, rules.ProgramShadowed, -1, true, "npm's scripts find %s here before any other", base)
	case slices.Contains(checkfile.Programs, base) && (became || link(e.change.After) && !link(e.change.Before)):
		found.add(e, rules.ProgramShadowed, -1, true, "can be executed and is named like the program %s", base)
	case slices.Contains(checkfile.Programs, base) && executable(e.change.After):
		found.add(e, rules.ProgramShadowed, -1, false, "is named like the program %s, and changed", base)
	}
	if e.opaque || e.class == testData || e.language != "shell" {
		return found
	}
	for _, j := range e.added {
		for _, re := range []func() *regexp.Regexp{function, alias} {
			m := re().FindStringSubmatch(e.after.code(j))
			if m != nil && !e.moved[j] && slices.Contains(checkfile.Programs, m[1]) {
				found.add(e, rules.ProgramShadowed, j, false, "%s is a function or an alias from here on", m[1])
			}
		}
	}
	return found
}
