package review

// exit_swallowed in Go: a process that ends itself by a system call, past os.Exit, which go test watches.

import (
	"path"
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

var (
	goSystemImport = late.Regexp(`(?:^\s*|\bimport\s+)(\w+|\.)\s+"(?:syscall|golang\.org/x/sys/unix)"`)
	goTrueProgram  = late.Regexp(`\.Exec\(\s*"(?:/usr)?/bin/true"`)
	goNativeExit   = late.Regexp(`\bC\.(?:_exit|_Exit|exit|quick_exit)\(`)
	goMain         = late.Regexp(`^func main\(\)`)
	goPackageMain  = late.Regexp(`(?m)^package main\b`)

	// asmEnds are what an assembly function of Go ends the process by: any system call of its own, or the runtime's.
	asmEnds = []pattern{
		pat(onRaw, true, "a system call of its own", `^[^/]*(?:\bSYSCALL\b|\bSVC\b|\bINT\s+\$(?:0x80|128)\b|\bBYTE\s+\$0x0[fF]\b|(?:runtime|syscall|unix)·\w*(?:[eE]xit|[sS]yscall)\w*)`),
	}
)

// goSystem is what ends a process with success by a system call, by every name that a file has for the packages.
func goSystem(s *side) *regexp.Regexp {
	names, bare := []string{"syscall", "unix"}, ""
	for i := range s.lines {
		if !strings.Contains(s.lines[i], `sys`) {
			continue
		}
		switch m := goSystemImport().FindStringSubmatch(s.plain(i)); {
		case m == nil || m[1] == "_" || m[1] == "import":
		case m[1] == ".":
			bare = `|^\s*|[^\w.]`
		default:
			names = append(names, m[1])
		}
	}
	from := `(?:\b(?:` + quoted(names) + `)\.` + bare + `)`
	return regexp.MustCompile(from + `(?:Exit(?:$|[^\w(]|\(\s*(?:0\b|[^\d\s]|$))|(?:Raw)?Syscall(?:6|NoError)?\(\s*(?:[\w.]*SYS_EXIT(?:_GROUP)?\b|(?:60|231|93|94|0x3[cC]|0x[eE]7|0x5[dDeE])\s*,))`)
}

// goEnds looks for such ends in production code; package main's main may end as it likes.
func (r *report) goEnds(e *edit) {
	if !e.exists() || e.class > 0 {
		return
	}
	if ext := path.Ext(e.path); ext == ".s" || ext == ".S" {
		r.fresh(e, asmEnds, false, func(j int, p *pattern, match string) { r.add(e, ExitSwallowed, j, p.caps, "%s", p.says(match)) })
		return
	}
	if e.language != "go" {
		return
	}
	var system *regexp.Regexp
	for _, j := range e.added {
		if e.moved[j] || !containsAny(e.after.lines[j], []string{"xit", "yscall", "Exec("}) {
			continue
		}
		if system == nil {
			system = goSystem(e.after)
		}
		code := e.after.code(j)
		if !system.MatchString(code) && !goNativeExit().MatchString(code) && !goTrueProgram().MatchString(e.after.plain(j)) || e.inGoMain(j) {
			continue
		}
		r.add(e, ExitSwallowed, j, true, "ends the process past os.Exit: %s", strings.TrimSpace(e.after.lines[j]))
	}
}

// inGoMain says whether line j stands in the main of package main.
func (e *edit) inGoMain(j int) bool {
	for k := j; k >= max(0, j-maxUp); k-- {
		if code := e.after.code(k); code != "" && !strings.ContainsRune("\t })", rune(code[0])) {
			return goMain().MatchString(code) && goPackageMain().MatchString(text(e.change.After))
		}
	}
	return false
}
