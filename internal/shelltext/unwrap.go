package shelltext

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrappers are programs that run the command after them: name → how many operands of their own come before it.
var wrappers = map[string]int{
	"exec": 0, "command": 0, "builtin": 0, "time": 0, "nohup": 0, "nice": 0, "ionice": 0, "setsid": 0,
	"env": 0, "sudo": 0, "doas": 0, "stdbuf": 0, "unbuffer": 0, "xargs": 0, "timeout": 1, "gtimeout": 1, "retry": 0,
	"npx": 0, "bunx": 0, "pnpx": 0, "cross-env": 0, "cross-env-shell": 0, "dotenv": 0, "env-cmd": 0,
	"xvfb-run": 0, "dbus-run-session": 0, "faketime": 1, "strace": 0, "ltrace": 0, "valgrind": 0, "catchsegv": 0,
	"c8": 0, "nyc": 0, "bundle": 1, "direnv": 2, "chronic": 0, "busybox": 0, "flock": 1, "taskset": 1,
}

// subcommands are wrappers by their first two words.
var subcommands = map[string][]string{
	"uv": {"run"}, "poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "rye": {"run"}, "hatch": {"run"},
	"pixi": {"run"}, "conda": {"run"}, "coverage": {"run"}, "npm": {"exec", "x"}, "pnpm": {"exec", "dlx"},
	"yarn": {"exec", "dlx"}, "bun": {"x"}, "mise": {"exec", "x"}, "asdf": {"exec"}, "volta": {"run"},
	"nix": {"develop"}, "devbox": {"run"},
}

// valued are the flags of wrappers whose value is the next word.
var valued = []string{
	"-n", "-u", "-k", "-s", "-f", "-e", "-o", "-p", "--package", "--with", "--python", "--extra", "--group",
	"--suppressions", "--rcfile", "--source", "--env-file", "--signal", "--kill-after", "-I", "-P", "-L", "-C",
}

// Unwrap returns the words from the command that others lead to: make of "env X=1 timeout 30 make", jest of "npx
// jest".
func Unwrap(list []string) []string {
	for len(list) > 0 {
		base := path.Base(list[0])
		own, wraps := wrappers[base]
		rest := list[1:]
		switch {
		case wraps && (base == "c8" || base == "nyc") && len(rest) > 0 &&
			(rest[0] == "report" || rest[0] == "check-coverage"):
			return list
		case wraps:
		case len(rest) > 0 && slices.Contains(subcommands[base], rest[0]):
			rest = rest[1:]
		default:
			return list
		}
		python := base == "coverage"
		for len(rest) > 0 {
			name, _, set := strings.Cut(rest[0], "=")
			switch {
			case rest[0] == "--":
				rest = rest[1:]
			case python && rest[0] == "-m":
				return append([]string{"python"}, rest...)
			case slices.Contains(valued, rest[0]) && len(rest) > 1:
				rest = rest[2:]
				continue
			case strings.HasPrefix(rest[0], "-"), set && syntax.ValidName(name):
				rest = rest[1:]
				continue
			case own > 0:
				own--
				rest = rest[1:]
				continue
			}
			break
		}
		if list = rest; python && len(list) > 0 {
			return append([]string{"python"}, list...)
		}
	}
	return nil
}
