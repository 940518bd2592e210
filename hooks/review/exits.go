package review

// exit_swallowed: a command or process that can fail and no longer says so.
//
// What caps is what no honest program does: to hide the end of a test runner, to end with success while a module is loaded, to turn every end into
// success. Everything else (`|| true` after a grep that may find nothing, os.Exit(0) in a command) is common, and at most reported.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

// command is what may stand in front of a command: what tests or checks has to be one, and not a word of another (rm -rf .jest-cache || true).
const command = `(?:[\w.]+=\S*\s+)*(?:(?:npx|exec|time|nice|env|sudo|poetry\s+run|uv\s+run|pipenv\s+run|bundle\s+exec|timeout\s+\S+)\s+)*(?:[\w.$(){}-]*/)*`

// begins is where a command begins.
const begins = `(?:^\s*[@+-]*|[;&|({"'\x60]|\b(?:then|do|else|if|!)\s|\b(?:run|script|command|cmd)["']?\s*:\s*|-\s)\s*`

// checker are commands that test or check.
const checker = `(?:(?:go|\$[({]?GO[)}]?)\s+(?:test|vet|build)|(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:test|lint|check|typecheck)\b|npx\s+(?:jest|vitest|mocha|tsc|eslint)|jest|vitest|mocha|node\s+--test|tsc|eslint|pytest|py\.test|python[\d.]*\s+-m\s+(?:unittest|pytest)|tox|nox|mypy|ruff\s+check|flake8|cargo\s+(?:nex)?(?:test|clippy|check)|make\s+(?:-\S+\s+)*(?:test|check|lint)\w*|ctest|mvn\b.*\b(?:test|verify)|gradlew?\b.*\b(?:test|check)|rspec|rake\s+(?:test|spec)|bundle\s+exec\s+(?:rspec|rake)|phpunit|bats|golangci-lint|staticcheck|shellcheck|dotnet\s+test|deno\s+test)\b`

var (
	scriptSwallows = []pattern{
		pat(onPlain, true, "the end of a check is hidden", begins+command+checker+`[^|;&#]*(?:\|\|\s*(?:true|:|/bin/true|exit\s+0|echo\b[^|;&]*|return\s+0)\b?|;\s*(?:true|:|exit\s+0)(?:\s|$))`, "||", ";"),
		pat(onPlain, false, "", `\|\|\s*(?:true\b|:(?:\s|$|["')])|/bin/true\b|exit\s+0\b|return\s+0\b)`, "||"),
		pat(onPlain, false, "", `;\s*(?:true|exit\s+0)\s*(?:["')}]|$)`, ";"),
		pat(onPlain, true, "every end becomes success", `\btrap\s+['"][^'"]*\bexit\s+0\b[^'"]*['"]\s+(?:\w+\s+)*(?:EXIT|ERR|0)\b`, "trap"),
		pat(onCode, false, "", `(?:^|[;&|]\s*)\s*set\s+(?:\+e\b|\+o\s+(?:errexit|pipefail))`, "set"),
		pat(onCode, false, "", `^\s*exit\s+0\s*$`, "exit"),
		pat(onCode, false, "", `(?:^|[;&|{]\s*)\s*exec\s+(?:/usr/bin/|/bin/)?(?:true|:)(?:\s|;|$)`, "exec"),
	}
	settings = []pattern{
		pat(onPlain, false, "", `\bcontinue-on-error["']?\s*:\s*(?:true|\$\{\{)`, "continue-on-error"),
		pat(onPlain, false, "", `\ballow_failure["']?\s*:\s*(?:true|\n|$)`, "allow_failure"),
		pat(onPlain, false, "", `\b(?:ignore_errors|ignore_failure|soft_fail|continueOnError|allowFailure)["']?\s*[:=]\s*(?:true|yes)`, "ignore_", "soft_fail", "continueOnError", "allowFailure"),
		pat(onText, false, "", `--(?:passWithNoTests|pass-with-no-tests|exit-zero|allow-no-tests|forceExit|no-error-on-unmatched-pattern|suppress-no-test-exit-code)\b|\bpassWithNoTests["']?\s*[:=]\s*true|--no-exit-code\b`, "--", "passWithNoTests"),
	}
	makeSwallows = []pattern{
		pat(onPlain, true, "the end of a check is hidden", `^\t\s*[@+]*-[@+]*\s*`+command+checker, "-"),
		pat(onPlain, false, "", `^\t\s*[@+]*-[@+]*\s*\w.*`, "-"),
		pat(onPlain, true, "errors of every command are ignored", `^\.IGNORE\s*:\s*(?:$|\S.*)`, ".IGNORE"),
		pat(onPlain, true, "the shell of every command is one that never fails", `^\s*(?:override\s+)?(?:\.SHELLFLAGS|SHELL)\s*[:?+]?=\s*\S*(?:/true|/echo|\btrue)\b.*`, "SHELL"),
		pat(onPlain, true, "errors of every command are ignored", `^\s*(?:override\s+)?MAKEFLAGS\s*[:?+]?=.*(?:\s|=)-?-?(?:i\b|ignore-errors|n\b|dry-run|k\b|keep-going).*`, "MAKEFLAGS"),
	}
	codeSwallows = map[string][]pattern{
		"web": {
			pat(onPlain, true, "every end becomes success", `\bprocess\.(?:on|once|addListener|prependListener)\s*\(\s*['"](?:exit|beforeExit)['"].*(?:exitCode\s*=\s*0|process\.(?:exit|reallyExit)\s*\(\s*0?\s*\)).*`, "process."),
			pat(onCode, true, "", `\bprocess\.(?:exit|reallyExit)\s*=[^=]|\bprocess\.reallyExit\s*\(\s*0`, "xit"),
			pat(onCode, true, "", `\bObject\.defineProperty\s*\(\s*process\s*,.*`, "defineProperty"),
		},
		"py": {
			pat(onCode, true, "every end becomes success", `\batexit\.register\s*\(\s*(?:lambda\s*:\s*)?os\._exit\b.*|\batexit\.register\s*\(\s*os\._exit\s*,\s*0`, "atexit"),
			pat(onPlain, true, "every end becomes success", `\bsession\.exitstatus\s*=\s*0|\bdef\s+pytest_sessionfinish\b.*`, "session"),
			pat(onCode, true, "", `\b(?:sys\.exit|os\._exit|builtins\.exit)\s*=[^=]`, "exit"),
			pat(onPlain, true, "ends the process past Python", `\b(?:ctypes|CDLL|PyDLL|cdll|pythonapi)\b.*\b(?:_?[eE]xit|quick_exit|Py_Exit)\b.*`, "xit"),
			pat(onCode, false, "", `\bos\._exit\s*\(\s*0\s*\)`, "_exit"),
			pat(onCode, false, "", `^\s*except\s*(?:\(?\s*(?:BaseException|SystemExit|AssertionError)\b[^:]*)?:\s*(?:pass|\.\.\.)?\s*$`, "except"),
		},
		"c": {
			pat(onCode, true, "every end becomes success", `\batexit\s*\(\s*\[[^]]*\].*\b_?[eE]xit\s*\(\s*(?:0|EXIT_SUCCESS)\s*\).*`, "atexit"),
			pat(onPlain, true, "", `\bexec[lv]\w*\s*\(\s*"(?:/usr)?/bin/true".*`, "/bin/true"),
			pat(onCode, false, "", `\b(?:_exit|_Exit|quick_exit)\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)`, "xit"),
		},
		"rust": {
			pat(onCode, false, "", `\bpanic::set_hook\b`, "set_hook"),
		},
	}
	// pyNativeEnds are calls of a C library, in a file that loads one.
	pyNativeEnds = []pattern{
		pat(onPlain, true, "", `(?:[\w)\]]+\.(?:_exit|_Exit|quick_exit|exit|Py_Exit)\b|\bgetattr\s*\([^,]*,\s*['"](?:_?[eE]xit|quick_exit)['"]|\w\.syscall\s*\(\s*(?:60|231|93|94)\b).*`, "xit", "syscall"),
	}
	// inChecks are ends that are ordinary in a program, and worth a look in a test.
	inChecks = map[string][]pattern{
		"go":   {pat(onCode, false, "", `\bos\.Exit\(0\)|\bsyscall\.Exit\(0\)`, "Exit(0)")},
		"web":  {pat(onCode, false, "", `\bprocess\.exit\s*\(\s*0?\s*\)|\bprocess\.exitCode\s*=\s*0`, "process.exit")},
		"py":   {pat(onCode, false, "", `\b(?:sys\.exit|exit|quit|raise\s+SystemExit)\s*\(\s*0?\s*\)`, "xit", "quit")},
		"rust": {pat(onCode, false, "", `\bprocess::exit\s*\(\s*0\s*\)`, "exit")},
		"c":    {pat(onCode, false, "", `\bexit\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)`, "exit")},
		"jvm":  {pat(onCode, false, "", `\bSystem\.exit\s*\(\s*0\s*\)|\bRuntime\.getRuntime\(\)\.halt\s*\(\s*0`, "exit", "halt")},
		"ruby": {pat(onCode, false, "", `\bexit!?\s*(?:\(?\s*(?:0|true)\s*\)?)`, "exit")},
	}
)

func (r *report) exits(e *edit) {
	r.goEnds(e)
	note := func(j int, p *pattern, match string) { r.add(e, ExitSwallowed, j, p.caps, "%s", p.says(match)) }
	switch e.language {
	case "shell", "make", "docker", "yaml", "json", "toml", "ini", "hcl":
		r.fresh(e, scriptSwallows, false, func(j int, p *pattern, match string) {
			if e.class == 0 && !p.caps {
				return // an ordinary line of an ordinary script: grep … || true, set +e
			}
			note(j, p, match)
		})
		r.fresh(e, settings, false, note)
		if e.language == "make" {
			r.fresh(e, makeSwallows, false, func(j int, p *pattern, match string) {
				if p.caps || e.class > 0 {
					note(j, p, match)
				}
			})
		}
		return
	}
	if !lang.IsCode(e.language) || lang.Tooling(e.path) && e.class == 0 {
		return
	}
	r.fresh(e, settings[3:], false, note)
	if e.language == "py" && strings.Contains(text(e.change.After), "ctypes") {
		r.fresh(e, pyNativeEnds, false, func(j int, p *pattern, match string) {
			if !strings.HasPrefix(match, "os.") && !strings.HasPrefix(match, "sys.") {
				note(j, p, match)
			}
		})
	}
	r.fresh(e, codeSwallows[e.language], false, func(j int, p *pattern, match string) {
		if !p.caps && e.language == "py" && strings.Contains(match, "except") && !r.emptyHandler(e, j) {
			return
		}
		note(j, p, match)
	})
	if e.class > 0 {
		r.fresh(e, inChecks[e.language], false, note)
	} else {
		r.loaded(e)
	}
}

// emptyHandler: except AssertionError: pass.
func (r *report) emptyHandler(e *edit, j int) bool {
	code := strings.TrimSpace(e.after.code(j))
	if !strings.HasSuffix(code, ":") {
		return true
	}
	for k := j + 1; k < len(e.after.lines); k++ {
		if next := strings.TrimSpace(e.after.code(k)); next != "" {
			return next == "pass" || next == "..." || next == "return"
		}
	}
	return false
}

var (
	goInit     = late.Regexp(`^func init\(\)|^var\b`)
	goExit     = late.Regexp(`\b(?:os|syscall)\.Exit\(\s*0\s*\)`)
	pyExit     = late.Regexp(`\b(?:sys\.exit|os\._exit|exit|quit)\s*\(\s*0?\s*\)|\braise\s+SystemExit\b(?:\s*\(\s*0?\s*\))?\s*$`)
	pyAnyExit  = late.Regexp(`(?m)^\s*(?:sys\.exit|exit|quit)\s*\(|__main__`)
	webExit    = late.Regexp(`^process\.(?:exit\s*\(\s*0?\s*\)|exitCode\s*=\s*0)|^setImmediate\(.*process\.exit\(0?\)|^setTimeout\(.*process\.exit\(0?\)`)
	webHandler = late.Regexp(`\bprocess\.(?:on|once|addListener|prependListener)\s*\(\s*['"](?:exit|beforeExit)['"]`)
	webSuccess = late.Regexp(`\bprocess\.exitCode\s*=\s*0|\bprocess\.(?:exit|reallyExit)\s*\(\s*0?\s*\)`)
	pyAtExit   = late.Regexp(`\batexit\.register\b`)
	pyHardExit = late.Regexp(`\bos\._exit\s*\(\s*0\s*\)`)
)

// loaded looks for ends with success that come while a module is loaded, or in what runs at every end: no test can fail then. A file that was a script
// before (it ends itself already, begins with #! or asks for __main__) may end as it likes.
func (r *report) loaded(e *edit) {
	if e.isNew() || !e.exists() {
		return
	}
	add := func(j int) {
		if !e.moved[j] {
			r.add(e, ExitSwallowed, j, true, "ends with success while it is loaded, or at every end: %s", strings.TrimSpace(e.after.lines[j]))
		}
	}
	script := strings.HasPrefix(e.before.lines0(), "#!")
	switch e.language {
	case "go":
		for _, j := range e.added {
			if !goExit().MatchString(e.after.code(j)) {
				continue
			}
			for k := j; k >= max(0, j-maxUp); k-- {
				if code := e.after.code(k); code != "" && code[0] != '\t' && code[0] != ' ' && code[0] != '}' && code[0] != ')' {
					if goInit().MatchString(code) {
						add(j)
					}
					break
				}
			}
		}
	case "py":
		if script || pyAnyExit().MatchString(text(e.change.Before)) || strings.HasSuffix(e.path, "__main__.py") {
			return
		}
		handler := false
		for _, j := range e.added {
			handler = handler || pyAtExit().MatchString(e.after.code(j))
		}
		for _, j := range e.added {
			code := e.after.code(j)
			if handler && pyHardExit().MatchString(code) || pyExit().MatchString(code) && e.topLevel(j) {
				add(j)
			}
		}
	case "web":
		if script {
			return
		}
		for _, j := range e.added {
			code := e.after.code(j)
			if webExit().MatchString(code) && !webExit().MatchString(text(e.change.Before)) {
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
}

// maxUp is how many lines up the beginning of what is around a line is looked for.
const maxUp = 3000

// topLevel says whether a line of Python runs when the module is imported: under no def and no class, and no guard.
func (e *edit) topLevel(j int) bool {
	in := indent(e.after.code(j))
	for k := j - 1; k >= max(0, j-maxUp) && in > 0; k-- {
		code := e.after.plain(k)
		if strings.TrimSpace(e.after.code(k)) == "" || indent(code) >= in {
			continue
		}
		in = indent(code)
		word := strings.TrimSpace(code)
		if strings.HasPrefix(word, "def ") || strings.HasPrefix(word, "async def ") || strings.HasPrefix(word, "class ") || strings.Contains(word, "__main__") {
			return false
		}
	}
	return in == 0
}

func (s *side) lines0() string {
	if len(s.lines) == 0 {
		return ""
	}
	return s.lines[0]
}
