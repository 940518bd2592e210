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
	"env": {"-C", "--chdir"}, "sudo": {"-D", "--chdir"}, "unshare": {"-w", "--wd"},
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
	a := args[0]
	if base != "env" {
		return nil, false
	}
	if text, ok := strings.CutPrefix(a, "--split-string="); ok {
		return append(strings.Fields(text), args[1:]...), true
	}
	if text, ok := strings.CutPrefix(a, "-S"); ok && text != "" {
		return append(strings.Fields(text), args[1:]...), true
	}
	short := strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "S")
	if (short || a == "--split-string") && len(args) > 1 {
		return append(strings.Fields(args[1]), args[2:]...), true
	}
	return nil, false
}

// isMachine reports whether setarch knows a word as an architecture.
func isMachine(word string) bool {
	return slices.Contains([]string{"linux32", "linux64", "uname26", "x86_64", "aarch64", "arm64", "riscv64"}, word) ||
		slices.ContainsFunc([]string{"i386", "i486", "i586", "i686", "arm", "ppc", "s390", "sparc", "mips"}, func(p string) bool { return strings.HasPrefix(word, p) })
}
