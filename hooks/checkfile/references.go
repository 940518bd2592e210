package checkfile

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

// references are what the check's commands refer to (class 4), directly and through the scripts that they lead to.
//
// Of the files that a command refers to, some are the check and some are what is checked. The second kind must stay
// as a fix left it, or no honest fix of a program could pass. How they are told apart, in this order:
//
//   - What drives is the check: a shell script that is started or sourced, a Makefile with what it includes and the
//     names that make prefers over it, a justfile, a Taskfile, the recipes and package scripts that these lead to,
//     whatever they are called.
//   - A source file that an interpreter or compiler is given (`node src/app.js`, `python main.py`, `go run
//     ./cmd/gen`) is the program under test, unless its own name speaks of checks (`check.py`, `tools/lint.mjs`,
//     `go run ./tools/lint`), it imports a library for tests, or it is the project's own test runner (runner.go), and
//     production does not import it.
//   - A shell script of which only the output decides (`./greet.sh | grep hello`, `test "$(./greet.sh)" = hello`)
//     is the program under test too, on the same condition. So is what a check script starts: `check.sh` runs
//     `./greet.sh`, and is restored without it. And so is what a linter is given: `shellcheck greet.sh`, `bash -n
//     greet.sh`, `yamllint deploy.yml`.
//   - A shell script that the check sources, and production too, is both, and so is one that a test is named after
//     (calc_test.sh sources calc.sh): shell_library.go decides about its changes.
//   - What a test runner is given is a test by its use; what its flags give as its settings is a setting; what diff
//     and cmp compare with, and data whose name speaks of tests, is expected. Other operands are what is checked.
type references struct {
	fileSet
	makefiles   map[string]bool // those of files that are Makefiles
	made        map[string]bool // those of files that are there only for being made by recipes
	subjects    map[string]bool // what linters are given; folders, with a slash at the end
	libraries   map[string]bool // shell scripts that the check and production source
	calls       map[string]bool // words of the check's commands → one may decide
	variables   map[string]bool // names of variables in the check's scripts
	testTargets map[string]bool // programs that CMake knows as tests
	mains       map[string]bool // Python sources that the check starts, and that are what is checked; their own tests are not
	examples    map[string]bool // those of mains whose own tests are the examples in their documentation
	doctests    bool            // something runs the examples in Python's documentation

	lists    map[string]bool // of the project's files
	texts    []string        // of the check's commands and shell scripts
	checkers []checker       // sources of the check that it starts, and their modules
}

// A finder finds references. Reading is bounded by the constants below; what lies beyond is not found.
type finder struct {
	references
	seen     *survey
	said     []MakeDatabase
	read     func(string) ([]byte, error)
	done     map[string]bool // scripts, goals and recipes that were followed
	reads    int             // files that were read
	looked   int             // commands that were looked at
	wanted   map[string]bool // files that are compared with and not there: the build makes them
	bare     map[string]bool // scripts that programs without an extension source; nil until it is asked
	node     []nodePackage   // nil until it is asked
	programs map[string]bool // compiled sources that were read → a test program

	functions   map[string]string // of the check's shell scripts → text; "" is not known
	runners     map[string]bool   // units that were read → a project's own test runner
	searched    map[string][]byte // texts of runners, and of what may name their data
	runnerReads int
}

const (
	maxReads    = 1_000   // files that are read
	maxReadSize = 1 << 20 // bytes; a larger file is not read
	maxDepth    = 12      // scripts that lead to scripts
	maxFollowed = 2_000   // scripts, goals and recipes in all
	maxLooked   = 100_000 // commands in all of them
	maxWord     = 4096    // bytes of a word that variables fill
)

// A site is the place of a command.
type site struct {
	dir    string // working directory
	from   string // the folder of the script that holds the command
	start  string // the directory in which that script began
	script string // that holds the command, "" for none
	inner  bool   // it is part of a script, which refers to what it starts only where that speaks of checks itself

	compares bool // a command beside it compares files
	depth    int
}

// findReferences follows the commands of a check.
func findReferences(t Tree, seen *survey, s Scope) references {
	n := &finder{
		seen: seen, said: s.Made, read: t.Read, done: map[string]bool{}, programs: map[string]bool{}, wanted: map[string]bool{},
		functions: map[string]string{}, runners: map[string]bool{}, searched: map[string][]byte{}, references: references{
			fileSet: fileSet{files: map[string]bool{}}, makefiles: map[string]bool{}, made: map[string]bool{}, subjects: map[string]bool{},
			libraries: map[string]bool{}, calls: map[string]bool{}, variables: map[string]bool{}, mains: map[string]bool{},
			testTargets: map[string]bool{}, examples: map[string]bool{}, lists: map[string]bool{},
		},
	}
	for _, run := range s.Runs {
		dir := path.Clean(run.Dir)
		list := []shelltext.Command{{Words: run.Argv}}
		if run.Argv != nil {
			n.texts = append(n.texts, strings.Join(run.Argv, " "))
		} else {
			n.texts = append(n.texts, run.Shell)
			list = shelltext.Commands(run.Shell)
			n.mentions(run.Shell)
		}
		n.commands(list, site{dir: dir, from: dir, start: dir})
	}
	n.globs = fewGlobs(n.globs)
	n.doctests = n.doctests || seen.doctests || n.doctestsBySettings()
	return n.references
}

// doctestsBySettings reports whether settings of pytest speak of doctests.
func (n *finder) doctestsBySettings() bool {
	return slices.ContainsFunc([]string{"pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "setup.cfg", "tox.ini"}, func(name string) bool {
		src, ok := n.readOnce(path.Join(n.seen.sub, name), "doctest")
		return ok && bytes.Contains(src, []byte("doctest"))
	})
}

// commands follows commands that run one after the other.
func (n *finder) commands(list []shelltext.Command, w site) {
	if w.depth > maxDepth || len(n.done) > maxFollowed {
		return
	}
	w.depth++
	w.compares = w.compares || slices.ContainsFunc(list, func(c shelltext.Command) bool {
		return len(c.Words) > 0 && slices.Contains([]string{"diff", "cmp", "comm", "[", "[[", "test"}, c.Words[0])
	})
	for _, c := range list {
		if n.looked++; n.looked > maxLooked {
			return
		}
		for _, word := range c.In {
			n.input(word, w)
		}
		c.Words = shelltext.Unwrap(c.Words)
		if len(c.Words) == 0 || c.Words[0] == "" {
			continue
		}
		n.called(c)
		if c.Words[0] == "cd" || c.Words[0] == "pushd" {
			w.dir = w.cd(c.Words[1:])
			continue
		}
		n.command(c, w)
	}
}

// cd returns the directory after `cd args`.
func (w site) cd(args []string) string {
	for _, arg := range args {
		switch {
		case strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "/"):
		case strings.HasPrefix(arg, string(shelltext.Unknown)): // cd "$(dirname "$0")/.."
			if rest := strings.TrimLeft(arg, string(shelltext.Unknown)); !strings.ContainsRune(rest,
				shelltext.Unknown) {
				return path.Join(w.from, rest)
			}
		case !strings.ContainsRune(arg, shelltext.Unknown):
			return path.Join(w.dir, arg)
		}
	}
	return w.dir
}

// resolve returns the path of the tree that a word means: that of the first file that is there, relative to where the
// command runs, where its script began, or where it is written; else where the file would be. It returns "" for what
// is no path of the tree.
func (n *finder) resolve(word string, w site) string {
	dirs := []string{w.dir, w.start, w.from, n.seen.sub}
	if strings.ContainsRune(word, shelltext.Unknown) {
		rest, ok := strings.CutPrefix(strings.TrimLeft(word, string(shelltext.Unknown)), "/")
		if !ok || strings.ContainsRune(rest, shelltext.Unknown) ||
			!strings.HasPrefix(word, string(shelltext.Unknown)) {
			return ""
		}
		word, dirs = rest, []string{w.from, w.dir, w.start, n.seen.sub}
	}
	if word == "" || word == "-" || strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~") ||
		strings.Contains(word, "://") || len(word) > maxWord {
		return ""
	}
	for _, dir := range dirs {
		if p := path.Join(dir, word); n.seen.Has(p) {
			return p
		}
	}
	if p := path.Join(dirs[0], word); p != "." && p != ".." && !strings.HasPrefix(p, "../") {
		return p
	}
	return ""
}

// add adds p. A pattern includes new files that it matches.
func (n *finder) add(p string) {
	switch {
	case p == "" || n.seen.IsDir(p):
	case strings.ContainsAny(p, "*?[") && !n.seen.Has(p):
		if doublestar.ValidatePattern(p) && strings.Trim(path.Base(p), "*") != "" {
			n.globs = append(n.globs, p)
		}
	default:
		n.files[p] = true
	}
}

// readOnce returns the content of p, once for each purpose.
func (n *finder) readOnce(p, sense string) ([]byte, bool) {
	key := sense + "\x00" + p
	if n.done[key] || n.read == nil || !n.seen.Has(p) || n.reads >= maxReads || len(n.done) > maxFollowed {
		return nil, false
	}
	n.done[key] = true
	n.reads++
	src, err := n.read(p)
	return src, err == nil && len(src) <= maxReadSize
}

// Kinds of files, for what is started.
const (
	drives = iota + 1 // a shell script
	source            // of a language that programs are written in
	other             // settings, data, a binary, or no file
)

var shellExts = []string{".sh", ".bash", ".zsh", ".ksh", ".bats", ".fish", ".ps1", ".bat", ".cmd"}

// kind returns what p is when a command starts it. It reads the first line of a file without a known extension.
func (n *finder) kind(p string) int {
	ext := strings.ToLower(path.Ext(p))
	switch {
	case slices.Contains(shellExts, ext):
		return drives
	case lang.ByPath(p) != "" || slices.Contains(sources(), ext):
		return source
	}
	src, ok := n.readOnce(p, "kind "+p)
	if !ok || !bytes.HasPrefix(src, []byte("#!")) {
		return other
	}
	switch lang.Of(p, string(src)) {
	case "shell":
		return drives
	case "make":
		return other
	}
	return source
}

// started adds the file that a command starts, where it is part of the check.
func (n *finder) started(p string, c shelltext.Command, w site) {
	if p == "" {
		return
	}
	if w.script != "" && w.script != p && lang.SubjectOf(w.script) == lang.SubjectOf(p) {
		return // greet_test.sh tests greet.sh
	}
	kind := n.kind(p)
	switch {
	case kind == source && n.isCheck(p):
		n.settingsOf(p)
		n.testSource(p)
		n.followRunner(p)
		n.modulesOf(p, false)
		return
	case kind == source:
		n.mains[p] = true
		return
	case kind != source && (w.inner || kind == drives && c.Asked) && !checkName(p):
		return
	}
	n.add(p)
	if kind == drives || strings.ContainsAny(p, "*?[") {
		n.followScript(p, w)
	}
}

// followScript follows the shell script p, or those that a pattern matches.
func (n *finder) followScript(p string, w site) {
	if !n.seen.Has(p) && strings.ContainsAny(p, "*?[") && doublestar.ValidatePattern(p) {
		for _, f := range slices.Sorted(maps.Keys(n.seen.Files())) {
			if doublestar.MatchUnvalidated(p, f) && n.kind(f) == drives {
				n.followScript(f, w)
			}
		}
		return
	}
	if src, ok := n.readOnce(p, "script"); ok {
		w.from, w.script, w.inner = path.Dir(p), p, true
		n.texts = append(n.texts, string(src))
		n.mentions(string(src))
		n.defines(string(src))
		n.commands(shelltext.Commands(string(src)), w)
	}
}

// followTests follows every shell script that is a test by its name: the command starts one, and only the shell will
// know which.
func (n *finder) followTests(w site) {
	if n.done["any test"] {
		return
	}
	n.done["any test"] = true
	for _, p := range slices.Sorted(maps.Keys(n.seen.Files())) {
		in := n.seen.Rel(p)
		if !foreign(p) && slices.Contains(shellExts, strings.ToLower(path.Ext(p))) &&
			(lang.TestName(in) || lang.TestFolder(in) || checkName(in)) {
			n.followScript(p, w)
		}
	}
}

// completes reports whether a shell loads p to complete commands.
func (n *finder) completes(p string) bool {
	src, err := n.read(p)
	return err == nil && len(src) <= maxReadSize && len(completions(string(src))) > 0
}

// sourced adds a script that another one reads as its own text. One that production sources too, or that the other is
// named after, is a library of both: what is tested, and part of what tests it. So is one that completes commands.
func (n *finder) sourced(p string, w site) {
	if p == "" || p == w.script {
		return
	}
	n.add(p)
	if tested := w.script != "" && lang.SubjectOf(w.script) == lang.SubjectOf(p); !tested && !n.imported(p) &&
		!n.sourcedBare(p) && !n.completes(p) {
		n.followScript(p, w)
		return
	}
	n.libraries[p] = true
	if src, ok := n.readOnce(p, "library"); ok {
		w.script = p
		for _, f := range lang.ShellImports(n.seen.Index, p, src) {
			n.sourced(f, w)
		}
	}
}

// isCheck reports whether a source that is started is part of the check.
func (n *finder) isCheck(p string) bool {
	if n.imported(p) {
		return false
	}
	if u := n.seen.units[n.key(p)]; u != nil && u.testing {
		return true
	}
	return checkName(p) || n.isRunner(p)
}

// imported reports whether production uses p. A user that a command refers to itself, or that is called a check, is
// none.
func (n *finder) imported(p string) bool {
	u := n.seen.units[n.key(p)]
	return u != nil && slices.ContainsFunc(u.users, func(by *unit) bool {
		return by.production() && !by.runs && (!n.files[by.key] || n.libraries[by.key]) &&
			!checkName(by.key)
	})
}

// key returns the name of the unit of p in the survey.
func (n *finder) key(p string) string {
	if path.Ext(p) == ".go" {
		return lang.GoPackage(path.Dir(p))
	}
	return p
}

var (
	checkWords = lazily.Words(`
		test tests testing runtests check checks checker verify validate lint linter smoke e2e spec specs
		selftest selfcheck ci qa acceptance regression conformance precommit presubmit suite`)
	folderWords = []string{
		"test", "tests", "testing", "check", "checks", "lint", "linter", "smoke", "e2e", "spec", "specs", "selftest",
		"selfcheck", "acceptance", "regression", "conformance",
	}
	mainWords = []string{"main", "__main__", "index", "run", "mod", "cli"}
	madeWords = []string{"gen", "generated", "doc", "docs", "api", "schema", "openapi", "lock", "dist", "build"}
)

// checkName reports whether the name of a file speaks of checks, or, for a main program, that of its folder.
func checkName(p string) bool {
	stem := strings.TrimSuffix(path.Base(p), path.Ext(p))
	if lang.HasWord(stem, checkWords()) || lang.TestName(p) {
		return true
	}
	dir := path.Base(path.Dir(p))
	driver := slices.Contains(shellExts, path.Ext(p)) || path.Ext(p) == ""
	return (driver || p == lang.GoPackage(path.Dir(p)) || slices.Contains(mainWords, strings.ToLower(stem))) &&
		lang.HasWord(dir, folderWords)
}

// expectName reports whether the name of a file speaks of what goes into a test or is expected from it.
func expectName(p string) bool {
	return lang.HasWord(path.Base(p), dataWords) || lang.HasWord(path.Base(p), []string{"exp", "in", "out"})
}
