package shelltext

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A wrapper is a program that runs the command after its own words.
type wrapper struct {
	own    int    // operands of its own, before the command
	valued string // flags whose value is the next word; "": see usual. A space: there is none
}

var wrappers = map[string]wrapper{
	"exec": {0, "-a"}, "command": {0, " "}, "builtin": {0, " "}, "nohup": {0, " "}, "setsid": {0, " "}, "chronic": {0, " "}, "busybox": {0, " "},
	"time": {0, "-f -o --format --output"}, "nice": {0, "-n --adjustment"}, "ionice": {0, "-c -n --class --classdata"}, "chrt": {1, "-T -P -D"},
	"env": {0, "-u --unset -C --chdir"}, "sudo": {0, "-u -g -h -p -C -r -t -U -D -R -T --user --group --host --prompt --chdir --chroot --role --type"}, "doas": {0, "-u -C"},
	"stdbuf": {0, "-i -o -e --input --output --error"}, "unbuffer": {0, " "},
	"xargs":   {0, "-n -I -P -L -s -d -E -a --max-args --max-procs --max-lines --max-chars --delimiter --arg-file"},
	"timeout": {1, "-k -s --kill-after --signal"}, "gtimeout": {1, "-k -s --kill-after --signal"}, "retry": {}, "faketime": {1, ""},
	"npx": {}, "bunx": {}, "pnpx": {}, "cross-env": {}, "cross-env-shell": {}, "dotenv": {}, "env-cmd": {}, "c8": {}, "nyc": {}, "bundle": {1, ""}, "direnv": {2, ""},
	"xvfb-run": {}, "dbus-run-session": {}, "valgrind": {}, "catchsegv": {}, "fakeroot": {0, "-l -s -i -b --lib --faked"}, "ssh-agent": {0, "-a -E -O -P -t"},
	"strace": {0, "-e -o -p -s -E -a -I -O -P -u -S -b -X -U"}, "ltrace": {0, "-e -o -p -s -u -a -A -l -n -x -F -D"},
	"flock": {1, "-w -E --timeout --wait --conflict-exit-code"}, "taskset": {1, " "}, "numactl": {0, "-C -N -m -p -i -l"}, "envdir": {1, " "},
	"unshare": {0, "-S -G -R -w -l --setuid --setgid --root --wd --map-user --map-group --map-users --map-groups --setgroups --monotonic --boottime"},
	"setarch": {0, " "}, "linux32": {0, " "}, "linux64": {0, " "}, "i386": {0, " "}, "x86_64": {0, " "}, "prlimit": {0, "-o --output"}, "choom": {0, "-n --adjust"},
	"chroot":  {1, "-u -g -G --userspec --groups"},
	"perf":    {1, "-e -o -r -F -c -m -C -G -x -D -I --event --output --repeat --freq --count --delay"}, // its own word is stat, record or trace
	"nsenter": {0, "-t -S -G -W --target --setuid --setgid --wdns"}, "uclampset": {0, "-m -M -p --pid"},
	"tini": {0, "-p -e"}, "dumb-init": {0, "-r --rewrite"}, "gdb": {0, "-x -ex -ix -iex -d -cd -p -c -s --command --directory --cd --pid --core --symbols"},
	"systemd-run": {0, "-p -u -E -M -H --property --unit --description --slice --setenv --uid --gid --nice --working-directory --service-type --machine --host"},
	"ip":          {3, "-n -netns -f -family"},                                        // its own words are netns, exec and the name of one
	"sg":          {1, " "}, "watch": {0, "-n -q -s --interval --equexit --shotsdir"}, // see shellTexts
	"runuser": {0, "-u -g -G --user --group --supp-group"},
	"setpriv": {0, "--ruid --euid --reuid --rgid --egid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig --ptracer --selinux-label --apparmor-profile --landlock-access --landlock-rule"},
}

// subcommands are wrappers by their first two words.
var subcommands = map[string][]string{
	"uv": {"run"}, "poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "rye": {"run"}, "hatch": {"run"},
	"pixi": {"run"}, "conda": {"run"}, "coverage": {"run"}, "npm": {"exec", "x"}, "pnpm": {"exec", "dlx"},
	"yarn": {"exec", "dlx"}, "bun": {"x"}, "mise": {"exec", "x"}, "asdf": {"exec"}, "volta": {"run"},
	"nix": {"develop"}, "devbox": {"run"},
}

// usual are flags of wrappers whose value is the next word.
var usual = []string{
	"-n", "-u", "-k", "-s", "-f", "-e", "-o", "-p", "--package", "--with", "--python", "--extra", "--group",
	"--suppressions", "--rcfile", "--source", "--env-file", "--signal", "--kill-after", "-I", "-P", "-L", "-C",
}

// folderFlags are the flags of wrappers that run the command in another folder.
var folderFlags = map[string][]string{
	"env": {"-C", "--chdir"}, "sudo": {"-D", "--chdir"}, "unshare": {"-w", "--wd"}, "systemd-run": {"--working-directory"},
}

// Unwrap returns the words from the command that others lead to: make of "env X=1 timeout 30 make", jest of "npx
// jest".
func Unwrap(list []string) []string {
	for len(list) > 0 {
		inner, _, ok := unwrap(list)
		if !ok {
			return list
		}
		list = inner
	}
	return nil
}

// unwrap returns the command after the first wrapper of list, and the folder in which that runs it, "" for its own. ok is
// false where list begins with none.
func unwrap(list []string) (inner []string, dir string, ok bool) {
	base, rest := path.Base(list[0]), list[1:]
	w, wraps := wrappers[base]
	switch {
	case wraps && (base == "c8" || base == "nyc") && len(rest) > 0 && (rest[0] == "report" || rest[0] == "check-coverage"):
		return nil, "", false
	case base == "runuser" && !slices.ContainsFunc(rest, func(a string) bool { return a == "-u" || strings.HasPrefix(a, "--user") }):
		return nil, "", false // it starts a shell
	case base == "ip" && (len(rest) < 2 || !slices.Contains(rest, "netns") || !slices.Contains(rest, "exec")):
		return nil, "", false
	case base == "start-stop-daemon":
		inner = daemon(rest)
		return inner, "", len(inner) > 0
	case wraps:
	case len(rest) > 0 && slices.Contains(subcommands[base], rest[0]):
		rest = rest[1:]
	default:
		return nil, "", false
	}
	valued := usual
	if w.valued != "" {
		valued = strings.Fields(w.valued)
	}
	python := base == "coverage"
	for len(rest) > 0 {
		a := rest[0]
		name, value, set := strings.Cut(a, "=")
		if text, ok := splits(base, rest); ok {
			rest = text
			continue
		}
		switch takes := slices.Contains(valued, a) && len(rest) > 1; {
		case slices.Contains(folderFlags[base], a) && takes:
			dir = rest[1]
		case slices.Contains(folderFlags[base], name) && set:
			dir = value
		}
		switch {
		case a == "--":
			rest = rest[1:]
			if w.own == 0 {
				break
			}
			continue
		case python && a == "-m":
			return append([]string{"python"}, rest...), dir, true
		case slices.Contains(valued, a) && len(rest) > 1:
			rest = rest[2:]
			continue
		case strings.HasPrefix(a, "-"), set && syntax.ValidName(name), base == "setarch" && isMachine(a):
			rest = rest[1:]
			continue
		case w.own > 0:
			w.own--
			rest = rest[1:]
			continue
		}
		break
	}
	if python && len(rest) > 0 {
		rest = append([]string{"python"}, rest...)
	}
	return rest, dir, true
}

// splits returns the arguments of env that begin with -S, with the text of that as words.
func splits(base string, args []string) ([]string, bool) {
	if base != "env" {
		return nil, false
	}
	a, rest := args[0], args[1:]
	bare := a == "--split-string" || strings.HasPrefix(a, "-") && strings.Trim(a[1:], "iv0") == "S"
	if bare && len(rest) > 0 {
		a, rest = "-S"+rest[0], rest[1:]
	}
	words, ok := SplitString(a)
	return append(words, rest...), ok
}

// SplitString returns the words that env makes of one argument with -S and a text. ok is false for other arguments.
func SplitString(arg string) (words []string, ok bool) {
	text, ok := strings.CutPrefix(arg, "--split-string=")
	if !ok {
		flags, rest, found := strings.Cut(arg, "S")
		if flags, ok = strings.CutPrefix(flags, "-"); !ok || !found || strings.Trim(flags, "iv0") != "" {
			return nil, false
		}
		text = rest
	}
	return splitString(text), true
}

// splitString splits the text of env -S as coreutils does. The value of ${NAME} is not known.
func splitString(text string) (words []string) {
	var word strings.Builder
	begun, quote := false, byte(0)
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		begun = false
		word.Reset()
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == quote:
			quote = 0
			continue
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
			continue
		case c == '\\' && i+1 < len(text) && (quote != '\'' || text[i+1] == '\'' || text[i+1] == '\\'):
			i++
			c = text[i]
			if n := strings.IndexByte("_fnrtv", c); n >= 0 {
				c = " \f\n\r\t\v"[n]
			}
			if text[i] == 'c' { // the rest is ignored
				end()
				return words
			}
			if text[i] == '_' && quote == 0 {
				end()
				continue
			}
		case quote == 0 && strings.IndexByte(" \f\n\r\t\v", c) >= 0:
			end()
			continue
		case quote == 0 && !begun && c == '#': // a comment
			return words
		case quote != '\'' && c == '$':
			begun = true
			word.WriteRune(Unknown)
			if n := strings.IndexByte(text[i:], '}'); n > 0 {
				i += n
			}
			continue
		}
		begun = true
		word.WriteByte(c)
	}
	end()
	return words
}

// daemon returns the command that the arguments of start-stop-daemon name: a program, and what comes after --.
func daemon(args []string) []string {
	program := ""
	for i, a := range args {
		name, value, set := strings.Cut(a, "=")
		short := len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsAny(a[len(a)-1:], "xa")
		switch {
		case a == "--" && program != "":
			return append([]string{program}, args[i+1:]...)
		case set && (name == "--exec" || name == "--startas"):
			program = value
		case (short || a == "--exec" || a == "--startas") && i+1 < len(args):
			program = args[i+1]
		}
	}
	if program == "" {
		return nil
	}
	return []string{program}
}

// isMachine reports whether setarch knows a word as an architecture.
func isMachine(word string) bool {
	return slices.Contains([]string{"linux32", "linux64", "uname26", "x86_64", "aarch64", "arm64", "riscv64"}, word) ||
		slices.ContainsFunc([]string{"i386", "i486", "i586", "i686", "arm", "ppc", "s390", "sparc", "mips"}, func(p string) bool { return strings.HasPrefix(word, p) })
}
