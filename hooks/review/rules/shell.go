package rules

var shell = Language{
	Name: "shell",
	Test: `^\s*(?:@test\s+(?:'([^']*)'|"([^"]*)")|(?:function\s+)?(test_?\w+)\s*\(\s*\))`,
	Assert: `(?:^|[;&|(]|\b(?:if|then|do|elif|while|!))\s*(?:!\s*)?(?:test\s|\[\[?\s|e?grep\s|diff\s|cmp\s` +
		`|assert\w*\s|\(\()` +
		`|\b(?:exit|return)\s+[1-9]|\|\|\s*(?:fail|die|exit|false)`,
	Asks:    `\$\{?BASH_SOURCE\[[1-9]|\$\{?PPID\b|\bcaller\b|(?:\bcase|\[\[?|\btest)\s+"?\$\{?0\b`,
	Environ: `(?:^|[|;&(\s])(?:env|printenv|export\s+-p|set|declare\s+-x?p)\s*\||\bcompgen\s+-[ve]\b|\$\{!\w+[@*]\}`,
	Rules: []Rule{
		{
			ID: "shell/skip", Kind: TestSkipped, In: OldTests, Pattern: `^\s*skip(?:\s|$)`,
			Match: []string{"  skip"}, NoMatch: []string{"skipped=1"},
		},
		{
			ID: "shell/runner-variable", Kind: TestDetected, In: Production, On: Line, Caps: true,
			Pattern: `\$\{?(?:PYTEST_\w+|JEST_WORKER_ID|VITEST\w*|BATS_\w+|NODE_TEST_CONTEXT|GO_TEST\w*)\b`,
			Match:   []string{`if [ -n "$BATS_TEST_NAME" ]; then exit; fi`}, NoMatch: []string{`echo "$BATS"`},
		},
		{
			ID: "shell/ci", Kind: TestDetected, In: Production, On: Line,
			Pattern: `(?:\[|\btest\b|\bcase\b)[^#]*\$\{?(?:CI|GITHUB_ACTIONS|` + modeNames + `)\b`,
			Match:   []string{`if [ -n "$CI" ]; then`}, NoMatch: []string{`echo "$CI"`},
		},
		{
			ID: "shell/own-variable", Kind: TestDetected, In: Production, On: Line, Caps: true,
			Pattern: `\$\{?ASYNC_PIPELINE_[A-UW-Z]\w*`,
			Match:   []string{`echo "$ASYNC_PIPELINE_TASK"`}, NoMatch: []string{`echo "$ASYNC_PIPELINE_VAR_X"`},
		},
		{
			ID: "shell/asks-process", Kind: TestDetected, In: Production, On: Line, Caps: true,
			Pattern: `\bps\s[^|]*\|.*\bgrep\b.*\b(?:bats|shunit2?|shellspec|prove|pytest|tests?)\b` +
				`|\bdeclare\s+-[fF]\s+(?:run|skip|bats_\w+|assert\w*)\b|\b(?:type|command\s+-v)\s+(?:bats_\w+|assert_\w+)\b`,
			Match:   []string{"ps -o args= -p $PPID | grep -q bats", "declare -F run >/dev/null"},
			NoMatch: []string{"ps aux | grep -q nginx", "declare -F main", "command -v git"},
		},
		{
			ID: "shell/asks-parent", Kind: TestDetected, In: Production, On: Line, Caps: true, Say: "asks who started it",
			Pattern: `/proc/\$\{?PPID\}?/(?:cmdline|comm|exe|stat|status|environ|cwd)\b.*|\bps\b[^|;&]*\$\{?PPID\b.*|/proc/(?:self|\$\$)/fd/[012]\b.*`,
			Match:   []string{`tr "\0" " " </proc/$PPID/cmdline | grep -q t.sh`, "ps -o comm= -p $PPID", "readlink /proc/self/fd/1"},
			NoMatch: []string{`kill "$PPID"`, "cat /proc/self/cgroup", "exec 3>/dev/fd/1", "cat /proc/self/mountinfo"},
		},
		{
			ID: "shell/exec-true", Kind: ExitSwallowed, In: Production, Caps: true,
			Pattern: `(?:^|[;&|{(]|\b(?:then|else|do)\s)\s*exec\s+(?:(?:/usr)?/bin/)?(?:true|:)\s*(?:$|[;&|})])`,
			Match:   []string{"  exec true", "[ -n \"$1\" ] && exec /bin/true"}, NoMatch: []string{"exec truecrypt", "exec 3>&1"},
		},
		{
			ID: "shell/suppression", Kind: SuppressionAdded, In: Sources, On: Comments,
			Pattern: `\bshellcheck\s+disable\b`,
			Match:   []string{"# shellcheck disable=SC2086"}, NoMatch: []string{`echo "shellcheck disable"`},
		},
		{
			ID: "shell/network", Kind: NewNetwork, In: Production,
			Pattern: `(?:^|[;&|(]|\b(?:if|then|do|else|while|!|sudo|exec)\s)\s*(?:curl|wget|nc|ncat|netcat|socat` +
				`|ssh|scp|rsync|telnet|ftp)\s|/dev/(?:tcp|udp)/`,
			Match: []string{"curl -s http://x"}, NoMatch: []string{`echo "needs curl"`},
		},
	},
}

var makefile = Language{Name: "make", Rules: []Rule{
	{
		ID: "make/check-hidden", Kind: ExitSwallowed, In: Scripts, On: Strings, Caps: true,
		Say: "the end of a check is hidden", Pattern: `^\t\s*[@+]*-[@+]*\s*` + command + checker,
		Match: []string{"\t-go test ./..."}, NoMatch: []string{"\tgo test ./..."},
	},
	{
		ID: "make/failure-hidden", Kind: ExitSwallowed, In: CheckScripts, On: Strings,
		Pattern: `^\t\s*[@+]*-[@+]*\s*\w.*`,
		Match:   []string{"\t-sh check.sh"}, NoMatch: []string{"\t./check.sh -v"},
	},
	{
		ID: "make/ignore", Kind: ExitSwallowed, In: Scripts, On: Strings, Caps: true,
		Say: "errors of every command are ignored", Pattern: `^\.IGNORE\s*:\s*(?:$|\S.*)`,
		Match: []string{".IGNORE:"}, NoMatch: []string{"IGNORED: x"},
	},
	{
		ID: "make/shell-replaced", Kind: ExitSwallowed, In: Scripts, On: Strings, Caps: true,
		Say:     "the shell of every command is one that never fails",
		Pattern: `^\s*(?:override\s+)?(?:\.SHELLFLAGS|SHELL)\s*[:?+]?=\s*\S*(?:/true|/echo|\btrue)\b.*`,
		Match:   []string{"SHELL = /bin/true"}, NoMatch: []string{"SHELL = /bin/bash"},
	},
	{
		ID: "make/flags", Kind: ExitSwallowed, In: Scripts, On: Strings, Caps: true,
		Say: "errors of every command are ignored",
		Pattern: `^\s*(?:override\s+)?MAKEFLAGS\s*[:?+]?=.*(?:\s|=)-?-?(?:i\b|ignore-errors|n\b|dry-run|k\b` +
			`|keep-going).*`,
		Match: []string{"MAKEFLAGS += -i"}, NoMatch: []string{"MAKEFLAGS += --no-print-directory"},
	},
}}

var yaml = Language{Name: "yaml", Rules: []Rule{
	{
		ID: "yaml/suppression", Kind: SuppressionAdded, In: Sources, On: Comments,
		Pattern: `\b(?:yamllint|ansible-lint|noqa)\b.*`,
		Match:   []string{"a: b # yamllint disable"}, NoMatch: []string{"a: yamllint"},
	},
}}
