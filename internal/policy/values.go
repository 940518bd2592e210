package policy

// What can be said of a word by itself: whether it is a plain value, a plain script, a path that leads outside.

import (
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// assignment says whether a word before = can be the name of a variable.
func assignment(name string) bool { return compiled(`^[A-Za-z_]\w*$`).MatchString(name) }

// tame says whether NAME=VALUE cannot become part of a command that was not meant: a number or a yes or no; where the pattern
// writes out NAME= also any value that a shell would take for one word.
func tame(w word, value string) bool {
	if strings.Contains(w.spelled, "=") && compiled(`^[\w.,:/@%+-]*$`).MatchString(value) {
		return true
	}
	return compiled(`^(?:\d*|y|n|yes|no|on|off|true|false)$`).MatchString(value)
}

// plainName says whether a value is a name, and no path, address or code.
func plainName(value string) bool { return compiled(`^[A-Za-z0-9][\w-]*$`).MatchString(value) }

// plainScript says whether a script of sed's only prints, deletes, quits, or replaces with /: e runs a command, w writes.
// A / within brackets ends an expression for some seds and not for others: it is none of these.
func plainScript(value string) bool {
	const (
		atoms   = `(?:[^/\\\n\[]|\\[^\n]|\[\^?\]?[^\]/\\\n\[]*\])*`
		address = `(?:\d+|\$|/` + atoms + `/)`
		command = `\s*(?:` + address + `(?:,(?:` + address + `|\+\d+))?)?\s*!?\s*(?:[pdq=]|s/` + atoms + `/(?:[^/\\\n\[]|\\[^\n]|\[|\])*/[gp\d]*)?\s*`
	)
	return compiled(`^` + command + `(?:;` + command + `)*$`).MatchString(value)
}

// outside says whether a path does not lie below the working directory, as an address does not. Nothing is lost by writing to
// /dev/null.
func outside(p string) bool {
	clean := path.Clean(p)
	return clean != "/dev/null" && (path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(p, "://"))
}

// shown is an argument in a reason; a long one is cut.
func shown(arg string) string {
	const most = 60
	if len(arg) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(arg[cut]) {
			cut--
		}
		arg = arg[:cut] + "…"
	}
	return Show([]string{arg})
}

var exprs sync.Map // *regexp.Regexp by its text

// compiled compiles an expression when it is first asked for.
func compiled(expr string) *regexp.Regexp {
	if r, ok := exprs.Load(expr); ok {
		return r.(*regexp.Regexp)
	}
	r := regexp.MustCompile(expr)
	exprs.Store(expr, r)
	return r
}
