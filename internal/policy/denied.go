package policy

// Arguments that start another program, or take code from the command line. A pattern gives them only where it writes them out:
// what * and ** let through never has them.

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A danger is what to look for among the arguments of a program.
type danger struct {
	flags  []string // the whole flag, as --name or -name; with = or the next word as its value
	either bool     // one dash or two are the same (Go's flag package)
	short  bool     // long flags may be cut short (getopt_long, parse-options, nopt)
	words  []string // arguments that are no flags
	expr   string   // what an argument may not match besides
	output []string // flags that name a file to write: it must lie below the working directory
	until  string   // what stands behind it is for another program, which the policy does not know
}

var dangers = map[string]danger{
	"go": {
		flags: []string{"-exec", "-toolexec", "-overlay", "-modfile", "-vettool", "-pkgdir", "-w"}, either: true, // -w: go env keeps GOFLAGS
		expr: `-extld\b`, until: "-args",
		output: []string{
			"-o", "-C", "-outputdir", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-trace", "-debug-actiongraph", "-debug-trace",
			"-test.outputdir", "-test.coverprofile", "-test.cpuprofile", "-test.memprofile", "-test.blockprofile", "-test.mutexprofile", "-test.trace",
			"-test.gocoverdir", "-test.testlogfile", "-test.fuzzcachedir",
		},
	},
	"git": {
		flags: []string{
			"--config-env", "--exec-path", "--git-dir", "--work-tree", "--upload-pack", "--receive-pack", "--exec", "--ext-diff", "--textconv",
			"--open-files-in-pager", "--extcmd", "--config", "--template",
		},
		short: true, output: []string{"-o", "--output", "--output-directory"}, words: []string{"config", "clone", "filter-branch", "difftool", "mergetool", "bisect", "foreach", "instaweb", "daemon", "credential", "remote-ext"},
		expr: `^(?:-c.*=|-x|-O|!|alias\.|ext::)`,
	},
	"node":    {flags: []string{"--eval", "--print"}, expr: `^-[cipe]*[ep]`},
	"deno":    {words: []string{"eval", "repl"}, flags: []string{"--unsafely-ignore-certificate-errors"}},
	"bun":     {flags: []string{"--eval", "--print", "-e", "-p"}, words: []string{"x", "exec", "create", "c"}},
	"python":  {expr: `^-[bBdEhiIOPqRsStuvVx3]*c`},
	"ruby":    {expr: `^-[acdhlnpsSvwyUxi0-9]*e`},
	"perl":    {expr: `^-[acdfghlnpstTuUvVwWXSi0-9]*[eEMm]`},
	"php":     {flags: []string{"--run", "--process-begin", "--process-code", "--process-end", "--define"}, expr: `^-[acehilmnqsvwHCS]*[rBRdE]`},
	"lua":     {expr: `^-[ivEW]*e`},
	"rscript": {expr: `^-e`},
	"npm": {
		flags: []string{"-c", "--call", "--script-shell", "--shell", "--node-options", "--userconfig", "--globalconfig", "--editor", "--viewer", "--git"},
		short: true, words: []string{"exec", "x", "explore", "edit", "init", "innit", "create", "config", "c", "set"},
	},
	"npx":   {flags: []string{"-c", "--call", "--shell", "--script-shell", "--node-options", "--node-arg", "-n"}, short: true},
	"pnpm":  {flags: []string{"-c", "--shell-mode", "--script-shell", "--node-options", "--shell-emulator"}, words: []string{"exec", "dlx", "create", "config", "c", "set"}, short: true},
	"yarn":  {flags: []string{"--script-shell", "--node-options", "--use-yarnrc"}, words: []string{"exec", "dlx", "node", "create", "config"}},
	"uv":    {words: []string{"run", "tool"}},
	"make":  {flags: []string{"--eval", "--file", "--makefile"}, short: true, expr: `^-[bBdeikLmnpqrRsStvw]*[Ef]|^\.?(?:SHELL|SHELLFLAGS|MAKE|MAKEFLAGS|MAKEFILES|GNUMAKEFLAGS)\s*[:+?]*=|!=|\$[({]|` + "`"},
	"cargo": {flags: []string{"--config"}, expr: `(?:^|\s)(?:linker|runner|rustc-wrapper)=`},
	"cc":    {flags: []string{"-wrapper", "-specs", "--specs"}, expr: `^(?:-fplugin|-B|@|-fpass-plugin)`, output: []string{"-o"}},
	"java":  {expr: `^(?:-javaagent|-agentlib|-agentpath|-XX:On(?:Error|OutOfMemoryError)|@)`},
	"gradle": {
		flags: []string{"-I", "--init-script", "--settings-file", "-c", "--gradle-user-home", "-g", "--project-cache-dir"},
	},
	"find":  {flags: []string{"-exec", "-execdir", "-ok", "-okdir"}},
	"fd":    {flags: []string{"--exec", "--exec-batch"}, expr: `^-[A-Za-z]*[xX]`},
	"rg":    {flags: []string{"--pre", "--hostname-bin"}},
	"tar":   {flags: []string{"--checkpoint-action", "--to-command", "--use-compress-program", "--rsh-command", "--info-script", "--new-volume-script"}, short: true, expr: `^-[A-Za-z]*[IF]`},
	"sort":  {flags: []string{"--compress-program"}, short: true, output: []string{"-o", "--output"}},
	"rsync": {flags: []string{"--rsh", "--rsync-path"}, short: true, expr: `^-[A-Za-z]*e`},
	"zip":   {flags: []string{"-TT", "--unzip-command"}},
}

// others are further names of the same.
var others = map[string]string{
	"nodejs": "node", "pypy": "python", "luajit": "lua", "Rscript": "rscript", "gmake": "make", "gcc": "cc", "g++": "cc", "c++": "cc", "clang": "cc",
	"clang++": "cc", "gradlew": "gradle", "fdfind": "fd", "bsdtar": "tar", "gtar": "tar", "gfind": "find", "gsort": "sort", "yarnpkg": "yarn",
}

func dangerOf(program string) (danger, bool) {
	for _, name := range []string{path.Base(program), versionless(path.Base(program))} {
		if same := others[name]; same != "" {
			name = same
		}
		if d, ok := dangers[name]; ok {
			return d, true
		}
	}
	return danger{}, false
}

// dangerous says why a command that a pattern matches is refused all the same. wild are the words that the pattern did not
// write out.
func dangerous(argv []string, wild []bool) string {
	name := path.Base(argv[0])
	if kind := carrier(argv[0]); kind != "" && slices.Contains(wild, true) {
		return name + " " + kind + ": only a pattern that writes out every word allows it"
	}
	d, ok := dangerOf(argv[0])
	if !ok {
		return ""
	}
	// Where the pattern names the subcommand, a word behind it is none; git has such below its subcommands.
	words := d.words
	if name != "git" && len(argv) > 1 && !wild[1] && !strings.HasPrefix(argv[1], "-") {
		words = nil
	}
	for i, arg := range argv {
		if i == 0 {
			continue
		}
		if d.until != "" && arg == d.until {
			break
		}
		if !wild[i] {
			// A flag that is written out may take a value that is not.
			if i+1 < len(argv) && wild[i+1] && d.writes(arg) && outside(argv[i+1]) {
				return arg + " of " + name + " would write outside of the working directory"
			}
			continue
		}
		next := ""
		if i+1 < len(argv) {
			next = argv[i+1]
		}
		if d.writes(arg) && outside(next) || d.writesTo(arg) {
			return arg + " of " + name + " would write outside of the working directory"
		}
		if d.refuses(arg, words) || name == "git" && arg == "-c" && (strings.Contains(next, "=") || flagsOnly(argv[1:i])) {
			return Show([]string{arg}) + " of " + name + " can start another program: only a pattern that writes it out allows it"
		}
	}
	return ""
}

// flagsOnly says that no subcommand was named yet, which is where -c sets a configuration.
func flagsOnly(args []string) bool {
	return !slices.ContainsFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
}

// refuses says whether an argument is one of those listed, or of words.
func (d danger) refuses(arg string, words []string) bool {
	if slices.Contains(words, arg) {
		return true
	}
	if d.expr != "" && compiled(d.expr).MatchString(arg) {
		return true
	}
	if !strings.HasPrefix(arg, "-") {
		return false
	}
	flag, _, _ := strings.Cut(arg, "=")
	if d.either && strings.HasPrefix(flag, "--") {
		flag = flag[1:]
	}
	return slices.ContainsFunc(d.flags, func(f string) bool {
		return f == flag || d.short && len(flag) > len("--") && strings.HasPrefix(f, "--") && strings.HasPrefix(f, flag)
	})
}

// writes says whether a flag names, with the next word, a file to write.
func (d danger) writes(arg string) bool {
	if d.either && strings.HasPrefix(arg, "--") {
		arg = arg[1:]
	}
	return slices.Contains(d.output, arg)
}

// writesTo says whether an argument is a flag and a file outside in one word: -o=/x, -o/x.
func (d danger) writesTo(arg string) bool {
	if d.either && strings.HasPrefix(arg, "--") {
		arg = arg[1:]
	}
	return slices.ContainsFunc(d.output, func(f string) bool {
		value, ok := strings.CutPrefix(arg, f)
		return ok && value != "" && outside(strings.TrimPrefix(value, "="))
	})
}

// outside says whether a path does not lie below the working directory. Nothing is lost by writing to /dev/null.
func outside(p string) bool {
	clean := path.Clean(p)
	return clean != "/dev/null" && (path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../"))
}

var (
	exprs   = map[string]*regexp.Regexp{}
	exprsMu sync.Mutex
)

// compiled compiles an expression of the table when it is first asked for.
func compiled(expr string) *regexp.Regexp {
	exprsMu.Lock()
	defer exprsMu.Unlock()
	if exprs[expr] == nil {
		exprs[expr] = regexp.MustCompile(expr)
	}
	return exprs[expr]
}
