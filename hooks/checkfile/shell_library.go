package checkfile

// Libraries of shell functions that the check sources and production sources too, or that a test is named after:
// which of their changes are the program's.

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

// Such a library holds text of the check and the code under test in one file. They are told apart by how the check
// uses a function: where it only reads its output (`test "$(slug "$x")" = y`), the function is what is tested; where
// it calls it as a command of its own, the function may decide. So a change stays for the second half of verification
// when all of it is in functions of which the check's commands only read the output, in new functions that the check
// does not call, or in settings that the check does not read. Everything else, and a text that does not parse, is
// restored.

// called notes the words of a command of the check, and whether one may decide: not where only its output is read, and
// not where it is given to a function of the script that does not run what it is given.
func (n *finder) called(c shelltext.Command) {
	for i, word := range c.Words {
		if word != "" && len(word) <= 512 {
			kept := i > 0 && (c.Words[0] == "run" || n.onlyCompares(c.Words[0])) // bats keeps status and output for a later command
			n.calls[word] = n.calls[word] || !c.Asked && !kept
		}
	}
}

// onlyCompares reports whether a name is that of a function of the check's scripts that runs none of its arguments.
func (n *finder) onlyCompares(name string) bool {
	body, ok := n.functions[name]
	if !ok || body == "" {
		return false
	}
	return !slices.ContainsFunc(shelltext.Commands(body), func(c shelltext.Command) bool {
		if len(c.Words) == 0 {
			return false
		}
		_, function := n.functions[c.Words[0]]
		return function || !slices.Contains(comparing, c.Words[0])
	})
}

// comparing are programs and builtins that run none of their arguments.
var comparing = []string{
	"[", "[[", "test", "echo", "printf", "return", "exit", "local", "true", "false", ":", "shift", "diff", "cmp", "grep", "cat", "continue", "break",
}

// defines notes the functions of a script of the check. One that is defined twice counts as unknown.
func (n *finder) defines(src string) {
	functions, _, ok := shelltext.Functions(src)
	if !ok {
		return
	}
	for name, body := range functions {
		if old, again := n.functions[name]; again && old != body {
			body = ""
		}
		n.functions[name] = body
	}
}

var shellVariable = lazily.Regexp(`\$\{?[#!]?([A-Za-z_]\w*)`)

// mentions notes the variables in a text of the check.
func (n *finder) mentions(src string) {
	for _, m := range shellVariable().FindAllStringSubmatch(src, -1) {
		n.variables[m[1]] = true
	}
}

// sourcedBare reports whether a program without an extension sources p. The survey does not read those.
func (n *finder) sourcedBare(p string) bool {
	if n.bare == nil {
		n.bare = map[string]bool{}
		looked := 0
		for _, by := range slices.Sorted(maps.Keys(n.seen.Files())) {
			if path.Ext(by) != "" || n.files[by] || checkName(by) || foreign(by) || conventional(n.seen.Rel(by)) ||
				looked >= maxPrograms || n.kind(by) != drives {
				continue
			}
			looked++
			if src, err := n.read(by); err == nil && len(src) <= maxReadSize {
				for _, f := range lang.ShellImports(n.seen.Index, by, src) {
					n.bare[f] = true
				}
			}
		}
	}
	return n.bare[p]
}

// stays reports whether Restore leaves a change of a file that the check's commands refer to.
func (c *Checks) stays(change patch.Change, changes []patch.Change) bool {
	return c.OnlyBuilds(change, changes) || c.OnlyTested(change) || c.OnlyLists(change)
}

// OnlyTested reports whether a change of a library of shell functions touches only what is tested, nothing that may
// decide.
func (c *Checks) OnlyTested(change patch.Change) bool {
	if !c.refs.libraries[change.Path] || !edited(change) {
		return false
	}
	before, aroundBefore, okBefore := shelltext.Functions(string(change.Before.Data))
	after, aroundAfter, okAfter := shelltext.Functions(string(change.After.Data))
	if !okBefore || !okAfter || !c.sameAround(aroundBefore, aroundAfter) {
		return false
	}
	completes := completions(string(change.Before.Data))
	leads := c.leads(completes, before, after)
	all := maps.Clone(before)
	maps.Copy(all, after)
	for name := range all {
		old, was := before[name]
		now, is := after[name]
		_, called := c.refs.calls[name]
		switch {
		case was && is && old == now:
		case leads[name] && !completes[name], was != is && called, slices.Contains(Programs(), name),
			slices.Contains(deciders, name):
			return false
		case is && !c.harmless(old, now):
			return false
		}
	}
	return true
}

var completion = lazily.Regexp(`(?m)^[ \t]*complete\s[^\n]*-F\s+(\w+)`)

// completions returns the functions by which a file completes commands of bash: its shell calls them, and so they are the
// product of the file, whoever else does.
func completions(src string) map[string]bool {
	names := map[string]bool{}
	for _, m := range completion().FindAllStringSubmatch(src, -1) {
		names[m[1]] = true
	}
	return names
}

// leads returns the names that may decide: those that the check's commands call, and what these functions call. Those of
// tested may not.
func (c *Checks) leads(tested map[string]bool, sides ...map[string]string) map[string]bool {
	found := map[string]bool{}
	var work []string
	for name, decides := range c.refs.calls {
		if decides && !tested[name] {
			work = append(work, name)
		}
	}
	for len(work) > 0 {
		name := work[len(work)-1]
		work = work[:len(work)-1]
		if found[name] {
			continue
		}
		found[name] = true
		for _, side := range sides {
			for _, command := range shelltext.Commands(side[name]) {
				work = append(work, command.Words...)
			}
		}
	}
	return found
}

// deciders are builtins that change how the shell goes on, or what its words mean. Those before "builtin" are not
// harmless in a function.
var deciders = []string{
	"exit", "trap", "exec", "eval", "kill", "set", "shopt", "alias", "unalias", "unset", "enable", "hash", ".",
	"source", "export", "readonly", "builtin", "command", "return", "wait", "test", "[", "[[", "echo",
	"printf", "read", "cd", "true", "false", ":", "break", "continue", "shift", "ulimit", "umask", "pkill", "killall",
}

var innerFunction = lazily.Regexp(`[\w.:-]\s*\(\s*\)|\bfunction\s`)

// harmless reports whether the new text of a function does not end, trap or set more of the shell than the old one.
// It matters where a check reads output by way of a file: then the function runs in the check's own shell.
func (c *Checks) harmless(old, now string) bool {
	if len(innerFunction().FindAllString(now, -1)) > len(innerFunction().FindAllString(old, -1)) {
		return false
	}
	if strings.Contains(now, "$'") {
		return false // bash and other shells end this string at different places
	}
	count := func(text string) map[string]int {
		has := map[string]int{}
		for _, command := range shelltext.Commands(text) {
			for name := range command.Sets {
				if len(command.Words) == 0 && c.refs.variables[name] && name != "COMPREPLY" { // which completions give
					has[name+"="]++
				}
			}
			words := shelltext.Unwrap(command.Words)
			if len(words) > 0 && words[0] != "[[" { // in sh, || ends what bash reads as a test: its words are commands
				words = words[:1]
			}
			for _, word := range words {
				if slices.Contains(deciders[:slices.Index(deciders, "builtin")], word) {
					has[word]++
				}
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

var assignment = lazily.Regexp(`^([A-Za-z_]\w*)=("[^"$\x60\\]*"|'[^']*'|[\w./:@%+,-]*)[ \t]*$`)

// sameAround reports whether the lines around functions differ in nothing but values of variables that the check does
// not read.
func (c *Checks) sameAround(before, after []string) bool {
	if len(before) != len(after) {
		return false
	}
	for i, line := range before {
		if line == after[i] {
			continue
		}
		old, now := assignment().FindStringSubmatch(line), assignment().FindStringSubmatch(after[i])
		if old == nil || now == nil || old[1] != now[1] || c.refs.variables[old[1]] || steers(old[1]) {
			return false
		}
	}
	return true
}

// steers reports whether shells or programs read a variable by themselves.
func steers(name string) bool { return steering().MatchString(name) }

var steering = lazily.Regexp(`PATH|^(?:IFS|ENV|BASH_ENV|GLOBIGNORE|SHELLOPTS|BASHOPTS|PS4|POSIXLY_CORRECT|HOME|TMPDIR|SHELL|PWD|` +
	`LANG|LC_.*|LD_.*|DYLD_.*|.*OPTS|.*OPTIONS|.*FLAGS)$`)

// Programs are those that checks start. PATH may find a new executable file of such a name. Names that projects give
// their own scripts (test, rake, bundle, setup) are left out.
var Programs = lazily.Words(`
	go gofmt node npm npx pnpm yarn bun deno python python2 python3 pip pip3 pytest py.test tox uv poetry
	make gmake ninja cmake ctest cc gcc g++ c++ clang clang++ ld ar sh bash dash zsh env git cargo rustc
	java javac mvn gradle ruby php perl jest vitest mocha tsc eslint mypy ruff flake8 golangci-lint
	staticcheck grep diff cmp sed awk cat true false timeout tee sort bats shellcheck`)
