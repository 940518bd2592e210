package review

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	goSystemImport = lazily.Regexp(`(?:^\s*|\bimport\s+)(\w+|\.)\s+"(?:syscall|golang\.org/x/sys/unix)"`)
	goTrueProgram  = lazily.Regexp(`\.Exec\(\s*"(?:/usr)?/bin/true"`)
	goNativeExit   = lazily.Regexp(`\bC\.(?:_exit|_Exit|exit|quick_exit)\(`)
	goMain         = lazily.Regexp(`^func main\(\)`)
	goPackageMain  = lazily.Regexp(`(?m)^package main\b`)

	goInit = lazily.Regexp(`^func init\(\)|^var\b`)
	goExit = lazily.Regexp(`\b(?:os|syscall)\.Exit\(\s*0\s*\)`)
	pyExit = lazily.Regexp(`\b(?:sys\.exit|os\._exit|exit|quit)\s*\(\s*0?\s*\)` +
		`|\braise\s+SystemExit\b(?:\s*\(\s*0?\s*\))?\s*$`)
	pyAnyExit = lazily.Regexp(`(?m)^\s*(?:sys\.exit|exit|quit)\s*\(|__main__`)
	webExit   = lazily.Regexp(`^process\.(?:exit\s*\(\s*0?\s*\)|exitCode\s*=\s*0)` +
		`|^setImmediate\(.*process\.exit\(0?\)|^setTimeout\(.*process\.exit\(0?\)`)
	webHandler = lazily.Regexp(`\bprocess\.(?:on|once|addListener|prependListener)\s*\(\s*['"](?:exit|beforeExit` +
		`|SIG(?:` + rules.FailureSignals + `))['"]`)
	webSuccess = lazily.Regexp(`\bprocess\.exitCode\s*=\s*0|\bprocess\.(?:exit|reallyExit)\s*\(\s*0?\s*\)`)
	pyGuard    = lazily.Regexp(`^\s*(?:(?:async\s+)?def|class)\s|__main__`)
	pyAtExit   = lazily.Regexp(`\batexit\.register\b`)
	pySignal   = lazily.Regexp(`\bsignal\s*\(\s*(?:signal\.)?SIG(?:` + rules.FailureSignals + `)\b`)
	pySuccess  = lazily.Regexp(`\b(?:os\._exit|sys\.exit|exit|quit)\s*\(\s*0?\s*\)`)
	pyHardExit = lazily.Regexp(`\bos\._exit\s*\(\s*0\s*\)`)
)

// exitsOnLoad reports ends with success that come while a module is loaded, or in what runs at every end:
// exit_swallowed. No test can fail then. A file that was a script before (it ends itself already, begins with #!
// or asks for __main__) may end as it likes.
func exitsOnLoad(e *edit) (found findings) {
	if e.isNew() || !e.exists() || e.class != none || lang.Tooling(e.path) {
		return nil
	}
	add := func(j int) { found.add(e, rules.ExitSwallowed, j, true, endsOnLoad, e.after.trimmed(j)) }
	script := strings.HasPrefix(text(e.change.Before), "#!")
	switch e.language {
	case "go":
		for _, j := range e.fresh {
			if goExit().MatchString(e.after.code(j)) && goInit().MatchString(e.goDeclaration(j)) {
				add(j)
			}
		}
	case "py":
		if script || pyAnyExit().MatchString(text(e.change.Before)) || strings.HasSuffix(e.path, "__main__.py") {
			return nil
		}
		adds := func(re *regexp.Regexp) bool {
			return slices.ContainsFunc(e.added, func(j int) bool { return re.MatchString(e.after.code(j)) })
		}
		atExit, onSignal := adds(pyAtExit()), adds(pySignal())
		for _, j := range e.fresh {
			code := e.after.code(j)
			if atExit && pyHardExit().MatchString(code) || onSignal && pySuccess().MatchString(code) ||
				pyExit().MatchString(code) && e.topLevel(j) {
				add(j)
			}
		}
	case "web":
		if script {
			return nil
		}
		ended := webExit().MatchString(text(e.change.Before))
		for _, j := range e.fresh {
			code := e.after.code(j)
			if webExit().MatchString(code) && !ended {
				add(j)
			}
			if !webSuccess().MatchString(code) {
				continue
			}
			for k := j; k >= max(0, j-4); k-- {
				if webHandler().MatchString(e.after.plain(k)) {
					add(j)
					break
				}
			}
		}
	}
	return found
}

// endsOnLoad is the detail of an end with success that no test can notice.
const endsOnLoad = "ends with success while it is loaded, or at every end: %s"

// maxUp is the number of lines above a line in which its declaration is searched.
const maxUp = 3000

// topLevel reports whether a line of Python runs when the module is imported: it is in no def, class or guard.
func (e *edit) topLevel(j int) bool {
	in := indent(e.after.code(j))
	for k := j - 1; k >= max(0, j-maxUp) && in > 0; k-- {
		code := e.after.plain(k)
		if strings.TrimSpace(e.after.code(k)) == "" || indent(code) >= in {
			continue
		}
		in = indent(code)
		if pyGuard().MatchString(code) {
			return false
		}
	}
	return in == 0
}

// goSystem matches what ends a process with success by a system call, by every name that a file has for the packages.
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
	return regexp.MustCompile(from + `(?:Exit(?:$|[^\w(]|\(\s*(?:0\b|[^\d\s]|$))|(?:Raw)?Syscall(?:6` +
		`|NoError)?\(\s*(?:[\w.]*SYS_EXIT(?:_GROUP)?\b|(?:60|231|93|94|0x3[cC]|0x[eE]7|0x5[dDeE])\s*,))`)
}

// goSystemExits reports processes of Go that end themselves by a system call, past os.Exit, which go test watches:
// exit_swallowed. The main of package main may end as it likes.
func goSystemExits(e *edit) (found findings) {
	if !e.exists() || e.class != none || e.language != "go" {
		return nil
	}
	isMain := goPackageMain().MatchString(text(e.change.After))
	var system *regexp.Regexp
	for _, j := range e.fresh {
		if !containsAny(e.after.lines[j], []string{"xit", "yscall", "Exec("}) {
			continue
		}
		if system == nil {
			system = goSystem(e.after)
		}
		code := e.after.code(j)
		ends := system.MatchString(code) || goNativeExit().MatchString(code) ||
			goTrueProgram().MatchString(e.after.plain(j))
		if ends && (!isMain || !goMain().MatchString(e.goDeclaration(j))) {
			found.add(e, rules.ExitSwallowed, j, true, "ends the process past os.Exit: %s", e.after.trimmed(j))
		}
	}
	return found
}

// goDeclaration returns the first line of the declaration of Go that line j is in, "" where it is too far away.
func (e *edit) goDeclaration(j int) string {
	for k := j; k >= max(0, j-maxUp); k-- {
		if code := e.after.code(k); code != "" && !strings.ContainsRune("\t })", rune(code[0])) {
			return code
		}
	}
	return ""
}

var (
	cEnds = lazily.Regexp(`\b(exit|_exit|_Exit|quick_exit|v?errx?|pthread_exit|thrd_exit)\s*\(\s*([^,;]*)[,;]?`)
	// cFails matches what a process is given that ends with a failure, or with what it was told.
	cFails = lazily.Regexp(`^(?:\(int\)\s*)?(?:[1-9]\d*|-\s*\d+|0[xX]0*[1-9a-fA-F]\w*|EXIT_FAILURE|EX_[A-NP-Z]\w*|E[A-Z0-9]+|\w*(?i:code|status|err\w*|rc|ret\w*))\s*\)?$`)
	// cNoCall matches what is in front of a name that is declared, defined or a member, but for words.
	cNoCall = lazily.Regexp(`(?:\.|->|::|\*)\s*$|\b(?:void|int|noreturn|_Noreturn|bool|auto)\s+$|^\s*#`)
	// cMayExit matches what a file has that may end the process: a program, help, a signal.
	cMayExit = lazily.Regexp(`(?i)\bmain\s*\(|\busage|getopt|\bhelp|\bversion\s*\(|\bargv\b|\bdaemon|\bsignal\b|\bsigaction\b|\bquit\b`)
	cExits   = lazily.Regexp(`\b_?[eE]xit\s*\(`)
	cFork    = lazily.Regexp(`\b(?:v?fork|_Fork|clone3?)\s*\(`)
	// cWaits matches what is done with the child of a fork, and how it ended.
	cWaits = lazily.Regexp(`\bwait(?:pid|id|3|4)?\s*\(|\bW(?:IF)?(?:EXIT|SIGNAL|TERMSIG|STOP)\w*`)
	// cPlain matches a constant, or one name.
	cPlain = lazily.Regexp(`^\w*\s*\)*$`)
	// cThread matches what has threads of its own, which may end.
	cThread = lazily.Regexp(`\bpthread_create\b|\bthrd_create\b|\bvoid\s*\*\s*\w+\s*\(\s*void\s*\*`)
)

// cLibraryExits reports an end with success, or with what only running it tells, in a file of C that never ended the
// process and is no program: exit_swallowed. The test that called it ends as if all was well. The end of a thread is
// that of the program where it is the first. A child may end as it likes, but not what forked it and knows how it ended.
func cLibraryExits(e *edit) (found findings) {
	before, after := text(e.change.Before), text(e.change.After)
	if e.language != "c" || !e.production() || !e.exists() || strings.HasPrefix(path.Base(e.path), "main.") {
		return nil
	}
	threads := cThread().MatchString(after)
	program := cExits().MatchString(before) || cFork().MatchString(before) || cMayExit().MatchString(after)
	forks := cFork().MatchString(after)
	for _, j := range e.fresh {
		code := e.after.code(j)
		m := cEnds().FindStringSubmatch(code)
		if m == nil || cNoCall().MatchString(code[:strings.Index(code, m[0])]) {
			continue
		}
		given := strings.TrimSpace(m[2])
		thread := strings.HasPrefix(m[1], "pthread") || strings.HasPrefix(m[1], "thrd")
		switch {
		case thread && threads, program && !thread:
		case !thread && forks && (!e.waits(j) || cNumber().MatchString(strings.TrimRight(given, " )"))):
		case !thread && !forks && (cFails().MatchString(given) || e.isNew() && cPlain().MatchString(given)):
		default:
			found.add(e, rules.ExitSwallowed, j, true, "a library ends the process: %s", e.after.trimmed(j))
		}
	}
	return found
}

// waits reports whether line j of C, or one shortly above it, waits for a child.
func (e *edit) waits(j int) bool {
	for k := max(0, j-askedAbove); k <= j; k++ {
		if cWaits().MatchString(e.after.code(k)) {
			return true
		}
	}
	return false
}
