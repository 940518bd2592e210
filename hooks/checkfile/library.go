package checkfile

// A library of shell functions that the check sources and production sources too, or that a test is named after: which changes
// of it are the program's.

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Such a library is the check's own text and the code at fault in one file. What tells the two apart is how the check uses a
// function: where it only asks for its output (`test "$(slug "$x")" = y`), the function is what is tried; where it calls it as a
// command of its own, the function may decide. So a change stays for the second half of verification when all of it lies in
// functions that no command of the check leads to but to ask for their output, in new ones that the check does not name, or
// in settings that the check does not read. Everything else, and what cannot be split for sure, is put back.

// How the check's commands name a function.
const (
	asksFor = 1 << iota // only its output decides
	decided             // it stands as a command, or as an argument of one
)

// called notes which names the check's own commands use, and how.
func (n *namer) called(c simple) {
	for i, word := range c.words {
		switch {
		case word == "" || len(word) > 512:
		case c.asked:
			n.calls[word] |= asksFor
		case i > 0 && c.words[0] == "run": // of bats: it keeps status and output for a later command
			n.calls[word] |= asksFor
		default:
			n.calls[word] |= decided
		}
	}
}

var shellVariable = late.Regexp(`\$\{?[#!]?([A-Za-z_]\w*)`)

// mentions notes which variables a text of the check names.
func (n *namer) mentions(src string) {
	for _, m := range shellVariable().FindAllStringSubmatch(src, -1) {
		n.variables[m[1]] = true
	}
}

// sourcedBare says whether a program whose name has no extension sources p: the survey reads only those that have one.
func (n *namer) sourcedBare(p string) bool {
	if n.bare == nil {
		n.bare = map[string]bool{}
		looked := 0
		for _, by := range slices.Sorted(maps.Keys(n.seen.Files())) {
			if path.Ext(by) != "" || n.files[by] || checkName(by) || foreign(by) || conventional(n.seen.Rel(by)) || looked >= maxPrograms || n.kind(by) != drives {
				continue
			}
			looked++
			if src, err := n.read(by); err == nil && len(src) <= maxNamedFile {
				for _, f := range n.seen.shellUses(path.Dir(by), src) {
					n.bare[f] = true
				}
			}
		}
	}
	return n.bare[p]
}

// shellUses are the files that a shell script in dir sources.
func (s *survey) shellUses(dir string, src []byte) (files []string) {
	for _, c := range shellCommands(string(src)) {
		c.words = unwrap(c.words)
		if len(c.words) < 2 || c.words[0] != "." && c.words[0] != "source" && c.words[0] != "load" {
			continue
		}
		name := strings.TrimLeft(c.words[1], string(unknown)+"/")
		if name == "" || strings.ContainsRune(name, unknown) {
			continue
		}
		for _, end := range []string{"", ".bash", ".sh"} {
			files = append(files, s.First(name+end, dir, ".", s.sub)...)
		}
	}
	return files
}

// stays says whether the second half of verification has a change although it is one of a file that the command names.
func (c *Checks) stays(change patch.Change) bool { return c.OnlyBuilds(change) || c.OnlyTried(change) }

// onlyTried says whether a change of a shared library leaves all of it as it was that may decide.
func (c *Checks) OnlyTried(change patch.Change) bool {
	b, a := change.Before, change.After
	if !c.libraries[change.Path] || b == nil || a == nil || b.Mode != a.Mode || b.Mode&fs.ModeType != 0 || len(b.Data)+len(a.Data) > maxMakefile {
		return false
	}
	before, after := splitLibrary(string(b.Data)), splitLibrary(string(a.Data))
	if !before.sure || !after.sure || !c.sameAround(before.around, after.around) {
		return false
	}
	leads := c.leads(before, after)
	names := set(slices.Concat(slices.Collect(maps.Keys(before.functions)), slices.Collect(maps.Keys(after.functions))))
	for _, name := range names {
		old, was := before.functions[name]
		now, is := after.functions[name]
		switch {
		case was && is && old == now:
		case leads[name], was != is && c.calls[name] > 0, slices.Contains(Programs, name), slices.Contains(deciders, name):
			return false
		case is && !c.harmless(old, now):
			return false
		}
	}
	return true
}

// leads are the names that a command of the check leads to: what decides, and what that calls.
func (c *Checks) leads(sides ...library) map[string]bool {
	found := map[string]bool{}
	var work []string
	reach := func(name string) {
		if !found[name] {
			found[name] = true
			work = append(work, name)
		}
	}
	for name, how := range c.calls {
		if how&decided != 0 {
			reach(name)
		}
	}
	for len(work) > 0 {
		name := work[len(work)-1]
		work = work[:len(work)-1]
		for _, side := range sides {
			for _, command := range shellCommands(side.functions[name]) {
				for _, word := range command.words {
					reach(word)
				}
			}
		}
	}
	return found
}

// deciders are builtins that change how the shell goes on, or what its words mean.
var deciders = []string{
	"exit", "trap", "exec", "eval", "kill", "set", "shopt", "alias", "unalias", "unset", "enable", "hash", ".", "source", "export", "readonly", "builtin", "command", "return", "wait", "test", "[", "[[", "echo",
	"printf", "read", "cd", "true", "false", ":", "break", "continue", "shift", "ulimit", "umask", "pkill", "killall",
}

var innerFunction = late.Regexp(`[\w.:-]\s*\(\s*\)|\bfunction\s`)

// harmless says whether a function's new text ends, traps and sets nothing of the shell that it did not before: where a check
// asks for output by way of a file, it runs in the check's own shell.
func (c *Checks) harmless(old, now string) bool {
	if len(innerFunction().FindAllString(now, -1)) > len(innerFunction().FindAllString(old, -1)) {
		return false
	}
	count := func(text string) map[string]int {
		has := map[string]int{}
		for _, command := range shellCommands(text) {
			for name := range command.sets {
				if len(command.words) == 0 && c.variables[name] {
					has[name+"="]++
				}
			}
			if words := unwrap(command.words); len(words) > 0 && slices.Contains(deciders[:slices.Index(deciders, "builtin")], words[0]) {
				has[words[0]]++
			}
		}
		return has
	}
	had := count(old)
	for name, n := range count(now) {
		if n > had[name] {
			return false
		}
	}
	return true
}

// A library is a shell text as functions and what stands around them.
type library struct {
	functions map[string]string
	around    []string // lines, without comments and blank ones
	sure      bool     // each function ends where it seems to
}

var (
	functionOpens = late.Regexp(`^(?:function[ \t]+([\w.:-]+)(?:[ \t]*\([ \t]*\))?|([\w.:-]+)[ \t]*\([ \t]*\))[ \t]*\{[ \t]*(.*)$`)
	quotedBrace   = late.Regexp(`(?m)(?:^|[\s;&|()])(?:['"\\]+[{}]['"\\]*|[{}]['"\\]+)(?:$|[\s;&|()])`)
	assignment    = late.Regexp(`^([A-Za-z_]\w*)=("[^"$\x60\\]*"|'[^']*'|[\w./:@%+,-]*)[ \t]*(?:#.*)?$`)
)

// splitLibrary takes functions whose first line begins, and whose last line is, where a line begins.
func splitLibrary(src string) library {
	l := library{functions: map[string]string{}, sure: true}
	name, body := "", []string(nil)
	for line := range strings.Lines(src) {
		line = strings.TrimRight(line, " \t\r\n")
		m := functionOpens().FindStringSubmatch(line)
		switch {
		case name != "" && line == "}":
			l.take(name, strings.Join(body, "\n"))
			name, body = "", nil
		case name != "":
			body = append(body, line)
		case line == "" || strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "#!"):
		case m == nil:
			l.around = append(l.around, line)
		case m[3] == "" || strings.HasPrefix(m[3], "#"):
			name = m[1] + m[2]
		case strings.HasSuffix(m[3], "}"):
			l.take(m[1]+m[2], strings.TrimSuffix(m[3], "}"))
		default:
			l.around = append(l.around, line)
		}
	}
	if name != "" {
		l.sure = false
	}
	return l
}

// take notes a function. One that is there twice, or whose brackets do not fit, is none that can be told from what is around it.
func (l *library) take(name, body string) {
	_, twice := l.functions[name]
	l.functions[name] = body
	depth := 0
	for _, c := range shellCommands(body) {
		for i, word := range c.words {
			switch {
			case word == "{":
				depth++
			case word == "}" && i == 0:
				depth--
			}
			if word != "{" && !slices.Contains(keywords, word) || depth < 0 {
				break
			}
		}
		if depth < 0 {
			break
		}
	}
	l.sure = l.sure && !twice && depth == 0 && !quotedBrace().MatchString(body)
}

var keywords = []string{"if", "then", "elif", "else", "while", "until", "do", "!", "time"}

// sameAround says whether what stands around functions differs in nothing but the values of settings that the check does not read.
func (c *Checks) sameAround(before, after []string) bool {
	if len(before) != len(after) {
		return false
	}
	for i, line := range before {
		if line == after[i] {
			continue
		}
		old, now := assignment().FindStringSubmatch(line), assignment().FindStringSubmatch(after[i])
		if old == nil || now == nil || old[1] != now[1] || c.variables[old[1]] || steers(old[1]) {
			return false
		}
	}
	return true
}

// steers says whether a variable is one that shells and programs read by themselves.
func steers(name string) bool {
	return steering().MatchString(name)
}

var steering = late.Regexp(`PATH|^(?:IFS|ENV|BASH_ENV|GLOBIGNORE|SHELLOPTS|BASHOPTS|PS4|POSIXLY_CORRECT|HOME|TMPDIR|SHELL|PWD|LANG|LC_.*|LD_.*|DYLD_.*|.*OPTS|.*OPTIONS|.*FLAGS)$`)

// programs that checks start. A new executable file of such a name is one that PATH may find. Names that projects give their own scripts (test, rake,
// bundle, setup) are not here.
var Programs = []string{
	"go", "gofmt", "node", "npm", "npx", "pnpm", "yarn", "bun", "deno", "python", "python2", "python3", "pip", "pip3", "pytest", "py.test", "tox", "uv", "poetry",
	"make", "gmake", "ninja", "cmake", "ctest", "cc", "gcc", "g++", "c++", "clang", "clang++", "ld", "ar", "sh", "bash", "dash", "zsh", "env", "git", "cargo", "rustc",
	"java", "javac", "mvn", "gradle", "ruby", "php", "perl", "jest", "vitest", "mocha", "tsc", "eslint", "mypy", "ruff", "flake8", "golangci-lint", "staticcheck",
	"grep", "diff", "cmp", "sed", "awk", "cat", "true", "false", "timeout", "tee", "sort", "bats", "shellcheck",
}
