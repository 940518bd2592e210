package checkfile

// What one command refers to, by the program it starts.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

var (
	shells       = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "pwsh", "powershell"}
	interpreters = lazily.Words(`
		python pypy node nodejs deno bun ruby perl php lua luajit Rscript tsx ts-node ts-node-esm babel-node jq
		awk gawk mawk nawk sed expect tclsh julia elixir escript osascript osh groovy scala kotlin java nu guile
		racket`)
	// testRunners run the files that they are given as tests, whatever those are called.
	testRunners = []string{
		"pytest", "py.test", "unittest", "nose2", "jest", "vitest", "mocha", "ava", "tap", "tape", "jasmine", "bats",
		"prove", "busted", "rspec", "phpunit", "shellspec", "cypress", "playwright",
		"karma", "behave", "robot", "stestr", "wtr", "uvu",
	}
	// linters are given the files that they check.
	linters = lazily.Words(`
		shellcheck shfmt yamllint actionlint zizmor hadolint markdownlint markdownlint-cli2 checkmake jsonlint
		json.tool check-jsonschema prettier jq yq xmllint eslint stylelint biome standard tslint oxlint flake8
		pylint ruff black isort mypy pyright pycodestyle pydocstyle pyflakes bandit vulture gofmt gofumpt
		golangci-lint staticcheck revive clang-tidy clang-format cppcheck cpplint codespell editorconfig-checker
		tsc vue-tsc codecov gitlab-ci-lint buildifier taplo py_compile compileall ajv jsonschema`)
	// checkTools are other programs whose settings are the check's.
	checkTools = []string{
		"tox", "nox", "coverage", "nyc", "c8", "ctest", "pre-commit", "lefthook", "nextest", "gotestsum",
		"cargo-nextest", "stryker", "semgrep", "trivy", "gitleaks", "commitlint", "cspell",
		"turbo", "nx", "depcheck", "knip", "size-limit", "slipcover", "diff-cover", "lychee",
	}
	settingFlags = lazily.Words(`
		-c --config --config-file --configuration --conf --rcfile --rcdir --settings --project -p --tsconfig
		--resolve-plugins-relative-to --ignore-path --ignore-file --setup-file --setupFiles --setupFilesAfterEnv
		--globalSetup --globalTeardown --testEnvironment --runner --reporter --rulesdir --confcutdir
		--append-config --config-path --opts -r --require --import --loader --experimental-loader --env-file
		--env-file-if-exists --preload --test-reporter --test-global-setup --suppressions-list --baseline
		--exclude-from --plugin --schemafile --schema --relaxng --dtdvalid --schematron --ruleset --rules --policy
		--ignorefile --allowlist --dictionary`)
	// preloads are the flags among them by which an interpreter runs a file before the program.
	preloads = []string{
		"-r", "--require", "--import", "--loader", "--experimental-loader", "--env-file", "--env-file-if-exists",
		"--preload", "--test-reporter", "--test-global-setup", "--config", "-c",
	}
	// buildFiles are the names that a build tool looks for.
	buildFiles = map[string][]string{
		"rake": {"Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"}, "mage": {"magefile.go"},
		"scons": {"SConstruct"},
		"gulp":  {"gulpfile.js", "gulpfile.mjs", "gulpfile.ts"}, "grunt": {"Gruntfile.js", "Gruntfile.cjs"},
		"invoke": {"tasks.py"}, "inv": {"tasks.py"}, "earthly": {"Earthfile"},
	}
	goFlags = []string{"exec", "toolexec", "vettool", "overlay", "modfile", "pgo"}
)

// command adds what c refers to. Its first word is the program.
func (n *finder) command(c shelltext.Command, w site) {
	prog, args := c.Words[0], c.Words[1:]
	base := strings.TrimSuffix(path.Base(prog), ".exe")
	switch kind := strings.TrimRight(base, "0123456789."); {
	case strings.Contains(prog, "/") && !strings.HasPrefix(prog, "/") && !strings.Contains(prog, "node_modules/"):
		n.started(n.resolve(prog, w), c, w)
		n.operands(args, w, n.input)
	case prog == string(shelltext.Unknown) && len(args) == 0:
		n.followTests(w) // for t in $tests; do "$t"; done
	case base == "." || base == "source" || base == "load" && strings.HasSuffix(w.script, ".bats"):
		if len(args) > 0 {
			n.source(args[0], w)
		}
	case base == "find" && slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(shells, arg) }),
		base == "run-parts":
		n.followTests(w)
	case slices.Contains(shells, base):
		n.shell(c, w)
	case base == "eval":
		n.commands(shelltext.Commands(strings.Join(args, " ")), w)
	case base == "make" || base == "gmake" || base == "bmake" || base == "mingw32-make":
		n.make(args, w)
	case base == "just":
		n.just(args, w)
	case base == "task" || base == "go-task":
		n.task(args, w)
	case base == "npm" || base == "pnpm" || base == "yarn" || base == "bun" && len(args) > 0 &&
		path.Ext(args[0]) == "" && args[0] != "test":
		n.packageScript(args, w)
	case base == "go":
		n.goCommand(c, w)
	case base == "diff" || base == "cmp" || base == "comm":
		n.operands(args, w, n.expected)
	case strings.HasSuffix(base, "sum") && (slices.Contains(args, "-c") || slices.Contains(args, "--check")):
		n.operands(args, w, n.expected)
	case base == "grep" || base == "egrep" || base == "fgrep" || base == "rg":
		n.patterns(args, w)
		n.operands(args, w, n.input)
	case base == "find" && w.compares:
		for _, arg := range args {
			if strings.HasPrefix(arg, "-") || arg == "!" || arg == "(" {
				break
			}
			if p := n.resolve(arg, w); p != "" && n.seen.onlyData(p) {
				n.files[p+"/"] = true
			}
		}
	case base == "cmake" || base == "ctest":
		n.settings(args, w, []string{"-P", "-S", "--script"})
		n.cmakeTests(w)
	case base == "ninja" || base == "meson":
		n.cmakeTests(w)
		n.mesonTests(w)
	case buildFiles[base] != nil:
		n.either(w, buildFiles[base]...)
	case slices.Contains(interpreters(), kind) && kind != "jq":
		n.interpret(c, kind, w)
	default:
		n.tool(base, args, w)
	}
}

// tool adds what the arguments of a program refer to that is known by its name, or unknown.
func (n *finder) tool(base string, args []string, w site) {
	switch {
	case slices.Contains(testRunners, base):
		n.settings(args, w, settingFlags())
		for _, arg := range args {
			if glob, ok := strings.CutPrefix(arg, "--doctest-glob="); ok {
				n.globs = append(n.globs, path.Join(literal(w.dir), "**", glob))
			}
			n.doctests = n.doctests || strings.HasPrefix(arg, "--doctest")
		}
		n.operands(args, w, n.tests)
		if base == "bats" || base == "shellspec" || base == "prove" {
			n.followTests(w)
		}
	case slices.Contains(linters(), base):
		n.settings(args, w, settingFlags())
		if base == "ajv" {
			n.settings(args, w, []string{"-s", "-r", "-m"})
		}
		n.operands(args, w, n.subject)
		if base == "actionlint" || base == "zizmor" {
			n.subjects[path.Join(n.seen.sub, ".github/workflows")+"/"] = true
			n.subjects[".github/workflows/"] = true
		}
	case slices.Contains(checkTools, base):
		n.settings(args, w, settingFlags())
	case slices.ContainsFunc(args, isCompiled):
		n.compiles(args, w)
	default:
		n.operands(args, w, n.input)
	}
}

// operands calls do with every word that is no flag.
func (n *finder) operands(args []string, w site, do func(word string, w site)) {
	for _, arg := range args {
		if arg != "" && !strings.HasPrefix(arg, "-") {
			do(arg, w)
		}
	}
}

// parseFlags calls set with each flag of args and returns the other words. The value of a flag in valued is joined to
// it by "=", or is the next word; without a value it is left out.
func parseFlags(args, valued []string, set func(flag, value string)) (operands []string) {
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		takes := slices.Contains(valued, flag)
		if takes && !joined && i+1 < len(args) {
			i++
			value = args[i]
		}
		switch {
		case takes && value == "":
		case strings.HasPrefix(flag, "-"):
			set(flag, value)
		default:
			operands = append(operands, args[i])
		}
	}
	return operands
}

// source adds what a script reads as its own text. bats leaves the end of a name away.
func (n *finder) source(word string, w site) {
	p := n.resolve(word, w)
	for _, end := range []string{".bash", ".sh"} {
		if q := n.resolve(word+end, w); !n.seen.Has(p) && n.seen.Has(q) {
			p = q
		}
	}
	if p == "" && word == string(shelltext.Unknown) {
		n.followTests(w)
	}
	n.sourced(p, w)
}

// subject notes what a linter is given.
func (n *finder) subject(word string, w site) {
	p := n.resolve(word, w)
	switch {
	case p == "" || p == ".":
	case n.seen.IsDir(p):
		n.subjects[p+"/"] = true
	case n.seen.Has(p):
		n.subjects[p] = true
	}
}

// tests adds what a test runner is given.
func (n *finder) tests(word string, w site) {
	word, _, _ = strings.Cut(word, "::")
	p := n.resolve(word, w)
	if !n.seen.Has(p) && path.Ext(word) != ".py" { // python -m unittest app.checks.Case
		for _, end := range []string{"", path.Ext(word)} {
			if q := n.resolve(strings.ReplaceAll(strings.TrimSuffix(word, end), ".", "/")+".py", w); n.seen.Has(q) {
				p = q
			}
		}
	}
	if strings.ContainsAny(p, "*?[") || n.seen.Has(p) && !n.imported(p) {
		n.testSource(p)
	}
}

// settings adds the values of flags that are files, or look like one.
func (n *finder) settings(args []string, w site, flags []string) {
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case !slices.Contains(flags, flag):
			continue
		case joined:
		case i+1 < len(args):
			value = args[i+1]
		default:
			continue
		}
		if p := n.resolve(value, w); p != "" && (n.seen.Has(p) || path.Ext(p) != "" || path.Base(p)[0] == '.') &&
			!n.imported(p) {
			n.add(p)
		}
	}
}

// shell follows `sh -e x.sh` and `sh -c "text"`.
func (n *finder) shell(c shelltext.Command, w site) {
	args := c.Words[1:]
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
		case arg == "-o" || arg == "+o" || arg == "-O" || arg == "--rcfile" || arg == "--init-file":
			if i++; i < len(args) && strings.HasPrefix(arg, "--") {
				n.sourced(n.resolve(args[i], w), w)
			}
		case strings.HasPrefix(arg, "--") || strings.HasPrefix(arg, "+"):
		case strings.HasPrefix(arg, "-") && strings.Contains(arg, "c") && i+1 < len(args):
			n.commands(shelltext.Commands(args[i+1]), w)
			return
		case strings.HasPrefix(arg, "-") && strings.Contains(arg, "n"):
			n.operands(args[i+1:], w, n.subject)
			return
		case strings.HasPrefix(arg, "-"):
			if strings.HasSuffix(arg, "o") {
				i++ // -euo pipefail
			}
		default:
			switch p := n.resolve(arg, w); {
			case p == "" && strings.ContainsRune(arg, shelltext.Unknown):
				n.followTests(w)
			case p != "" && n.kind(p) == other: // whatever it is called, it is read as a script
				n.add(p)
				n.followScript(p, w)
			default:
				n.started(p, c, w)
			}
			n.operands(args[i+1:], w, n.input)
			return
		}
	}
	n.followTests(w) // find tests | xargs sh
}

// goCommand follows `go run ./tools/lint` and `go test -exec ./wrap.sh`.
func (n *finder) goCommand(c shelltext.Command, w site) {
	args := c.Words[1:]
	if len(args) > 2 && args[0] == "-C" {
		w.dir, args = path.Join(w.dir, args[1]), args[2:]
	}
	for i, arg := range args {
		flag, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || !slices.Contains(goFlags, flag) {
			continue
		}
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		if word, _, _ := strings.Cut(value, " "); strings.Contains(word, "/") || strings.Contains(word, ".") {
			n.add(n.resolve(word, w))
		}
	}
	if len(args) == 0 || args[0] != "run" {
		return
	}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		if strings.HasPrefix(arg, "-") {
			if !strings.Contains(arg, "=") && slices.Contains([]string{
				"-exec", "-tags", "-mod", "-modfile", "-ldflags", "-gcflags", "-overlay", "-p", "-C",
			}, arg) {
				i++
			}
			continue
		}
		p := n.resolve(arg, w)
		switch {
		case path.Ext(arg) == ".go":
			if p != "" && n.isCheck(p) {
				n.files[p] = true
				n.settingsOf(p)
				n.followRunner(p)
			}
			continue // there may be more files
		case n.seen.IsDir(p) && p != n.seen.sub && p != "." && n.isCheck(lang.GoPackage(p)):
			n.globs = append(n.globs, lang.GoPackage(literal(p)))
			n.settingsOf(lang.GoPackage(p))
			n.followRunner(lang.GoPackage(p))
		}
		n.operands(args[i+1:], w, n.input)
		return
	}
}

// either adds a file that a program looks for from the working directory upwards, under all of its names, and returns
// the one that is there.
func (n *finder) either(w site, names ...string) (found string) {
	for dir := w.dir; ; dir = path.Dir(dir) {
		for _, name := range names {
			if p := path.Join(dir, name); n.seen.Has(p) {
				for _, name := range names {
					n.files[path.Join(dir, name)] = true
				}
				return p
			}
		}
		if dir == "." || dir == "/" {
			break
		}
	}
	for _, name := range names {
		n.files[path.Join(w.dir, name)] = true
	}
	return ""
}
