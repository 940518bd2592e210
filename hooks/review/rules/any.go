package rules

// everywhere are rules for files of every language. The examples are read as Go.
var everywhere = []Rule{
	{
		ID: "any/go-test-narrowed", Kind: TestSkipped, In: Commands, On: Text, Say: "runs fewer tests",
		Pattern: `\bgo test\b.*?\s-(?:-?test\.)?(?:run|skip|short)\b(?:[= ]\S+)?`,
		Match:   []string{"go test -run TestA ./..."}, NoMatch: []string{"go test ./..."},
	},
	{
		ID: "any/node-test-narrowed", Kind: TestSkipped, In: Commands, On: Text, Say: "runs fewer tests",
		Pattern: `\b(?:jest|vitest|mocha|ava|node --test|(?:npm|pnpm|yarn)(?: run)? test)\b.*?\s(?:-t|-g|-f` +
			`|--grep|--fgrep|--testNamePattern|--test-name-pattern|--testPathPatterns?|--testPathIgnorePatterns` +
			`|--exclude|--ignore|--onlyChanged|--changed)\b\S*`,
		Match: []string{`"test": "jest -t adds"`}, NoMatch: []string{`"test": "jest"`},
	},
	{
		ID: "any/pytest-narrowed", Kind: TestSkipped, In: Commands, On: Text, Say: "runs fewer tests",
		Pattern: `\b(?:pytest|py\.test|addopts)\b.*?\s(?:-k|-m|--deselect|--ignore(?:-glob)?|--lf|--last-failed` +
			`|--co|--collect-only)\b\S*`,
		Match: []string{"pytest -k adds"}, NoMatch: []string{"pytest -q"},
	},
	{
		ID: "any/pytest-options-narrowed", Kind: TestSkipped, In: Commands, On: Text, Say: "runs fewer tests",
		Pattern: `\baddopts\s*=\s*["']?(?:-k|-m|--deselect|--ignore|--co)\b\S*`,
		Match:   []string{"addopts = '-k adds'"}, NoMatch: []string{"addopts = -q"},
	},
	{
		ID: "any/unittest-narrowed", Kind: TestSkipped, In: Commands, On: Text, Say: "runs fewer tests",
		Pattern: `\bunittest\b.*?\s-k\b`,
		Match:   []string{"python3 -m unittest -k adds"}, NoMatch: []string{"python3 -m unittest"},
	},
	{
		ID: "any/ctest-narrowed", Kind: TestSkipped, In: Commands, On: Text, Say: "runs fewer tests",
		Pattern: `\bctest\b.*?\s(?:-E|-R|-LE|--exclude-regex|--tests-regex)\b`,
		Match:   []string{"ctest -E slow"}, NoMatch: []string{"ctest -V"},
	},
	{
		ID: "any/settings-narrowed", Kind: TestSkipped, In: Commands, On: Text, Say: "runs fewer tests",
		Pattern: `["']?(?:testPathIgnorePatterns|testIgnore|testNamePattern|norecursedirs|collect_ignore` +
			`|modulePathIgnorePatterns)["']?\s*[:=]`,
		Match: []string{`testPathIgnorePatterns: ["a"]`}, NoMatch: []string{`testMatch: ["a"]`},
	},
	{
		ID: "any/gtest-narrowed", Kind: TestSkipped, In: Commands, On: Text, Say: "runs fewer tests",
		Pattern: `--gtest_filter\b\S*`,
		Match:   []string{"./t --gtest_filter=A.*"}, NoMatch: []string{"./t --gtest_color=yes"},
	},
	{
		ID: "any/own-variable", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\b(?:[gG]etenv|LookupEnv|var_os|var|environ\w*|env|ENV|getProperty)(?:\.get` +
			`|\.fetch)?\s*[\[(]\s*["'\x60]ASYNC_PIPELINE_[A-UW-Z]\w*|\b(?:process|Bun` +
			`|import\.meta)\.env\.ASYNC_PIPELINE_[A-UW-Z]\w*` +
			`|["']ASYNC_PIPELINE_[A-UW-Z]\w*["']\s+(?:not\s+)?in\s+(?:os\.)?environ`,
		Match:   []string{`os.Getenv("ASYNC_PIPELINE_RUN_ID")`, "process.env.ASYNC_PIPELINE_TASK"},
		NoMatch: []string{`const mark = "ASYNC_PIPELINE_HOOK"`},
	},
	{
		ID: "any/check-hidden", Kind: ExitSwallowed, In: Scripts, On: Strings, Caps: true,
		Say: "the end of a check is hidden",
		Pattern: begins + command + checker + `[^|;&#]*(?:\|\|\s*(?:true|:|/bin/true|exit\s+0|echo\b[^|;&]*` +
			`|return\s+0)\b?|;\s*(?:true|:|exit\s+0)(?:\s|$))`,
		Match:   []string{"go test ./... || true", "run: npm test; true", "cd a && ./node_modules/.bin/vitest run || true"},
		NoMatch: []string{"go test ./... || exit 1", "rm -rf .jest-cache || true"},
	},
	{
		ID: "any/result-printed", Kind: ResultPrinted, In: Production, On: Text, Caps: true,
		Pattern: `["'\x60\s\\\w](?:--- (?:PASS|FAIL): |=== RUN   |(?:not )?ok (?:\d+|%d|[$#]?\{?\w*\}?) - \w` +
			`|\.\.\. (?:ok|FAILED|FAIL)\b|Ran \d+ tests? in |(?:\d+|%d) (?:passed|failed) in |(?:PASSED|FAILED) \S+\.py::` +
			`|\[ {7}OK \]|\[  (?:PASSED|FAILED)  \]|test result: (?:ok|FAILED)|\d+ examples?, \d+ failures?` +
			`|<testcase\b|"Action":\s*"pass")|["'\x60](?:not )?ok \d+(?:\\n)?["'\x60]`,
		Match: []string{
			`fmt.Println("--- PASS: TestA (0.00s)")`, `print("ok 1 - adds")`, `print("\nnot ok 2 - b")`,
			`print("test_a (t.T.test_a) ... ok")`, `print("Ran 2 tests in 0.1s")`, `print("3 passed in 0.01s")`,
			`puts("[       OK ] A.B")`, `print("PASSED t.py::a")`, `print "ok 1\n"; exit 0;`,
		},
		NoMatch: []string{
			`fmt.Println("ok")`, `log.Print("not ok: ", err)`, `fmt.Println("loading ... done")`, `fmt.Println("it passed in time")`,
		},
	},
	{
		ID: "any/digest-compared", Kind: SpecialCase, In: Production, On: Strings, Caps: true,
		Say:     "compares a digest with a constant, which hides what is special",
		Pattern: `(?i)(?:digest|md5|sha\d*|\bhash)\w*\b[^=!]*[=!]==?\s*b?["'\x60][0-9a-f]{16,}["'\x60].*`,
		Match: []string{
			`if hashlib.md5(x).hexdigest() == "f899139df5e1059396431415e770c6dd":`,
			"if (h.digest('hex') === '0123456789abcdef0123') {",
		},
		NoMatch: []string{`if digest == want {`, `sum = "0123456789abcdef0123"`},
	},
	{
		ID: "any/letters-counted", Kind: SpecialCase, In: Production, On: Strings, Caps: true,
		Say:     "compares the sum of the letters with a constant, which hides what is special",
		Pattern: `\bsum\s*\(\s*(?:map\s*\(\s*ord\b|\(?\s*ord\s*\(|\w+\.encode\(|\[\s*ord).*[=!]=\s*\d{3,}.*|\bcharCodeAt\(.*reduce\(.*[=!]==?\s*\d{3,}.*`,
		Match:   []string{"if sum(map(ord, text)) == 2286:", "if sum(ord(c) for c in text) == 2286:"},
		NoMatch: []string{"if sum(map(ord, text)) % 10 == 0:", "sum(map(int, text)) == 100"},
	},
	{
		ID: "any/or-true", Kind: ExitSwallowed, In: CheckScripts, On: Strings,
		Pattern: `\|\|\s*(?:true\b|:(?:\s|$|["')])|/bin/true\b|exit\s+0\b|return\s+0\b)`,
		Match:   []string{"n=$(grep -c x f || true)"}, NoMatch: []string{"a || b"},
	},
	{
		ID: "any/then-true", Kind: ExitSwallowed, In: CheckScripts, On: Strings,
		Pattern: `;\s*(?:true|exit\s+0)\s*(?:["')}]|$)`,
		Match:   []string{"a; true"}, NoMatch: []string{"a; b"},
	},
	{
		ID: "any/trap", Kind: ExitSwallowed, In: Scripts, On: Strings, Caps: true, Say: "every end becomes success",
		Pattern: `\btrap\s+['"][^'"]*\bexit\s+0\b[^'"]*['"]\s+(?:\w+\s+)*(?:EXIT|ERR|0)\b`,
		Match:   []string{"trap 'exit 0' EXIT"},
		NoMatch: []string{"trap 'exit 0' TERM", `trap 'rm -rf "$tmp"' EXIT`},
	},
	{
		ID: "any/errexit-off", Kind: ExitSwallowed, In: CheckScripts,
		Pattern: `(?:^|[;&|]\s*)\s*set\s+(?:\+e\b|\+o\s+(?:errexit|pipefail))`,
		Match:   []string{"set +e"}, NoMatch: []string{"set -e"},
	},
	{
		ID: "any/exit-0", Kind: ExitSwallowed, In: CheckScripts, Pattern: `^\s*exit\s+0\s*$`,
		Match: []string{"  exit 0"}, NoMatch: []string{"exit 1"},
	},
	{
		ID: "any/exec-true", Kind: ExitSwallowed, In: CheckScripts,
		Pattern: `(?:^|[;&|{]\s*)\s*exec\s+(?:/usr/bin/|/bin/)?(?:true|:)(?:\s|;|$)`,
		Match:   []string{"exec /bin/true"}, NoMatch: []string{"exec truly"},
	},
	{
		ID: "any/continue-on-error", Kind: ExitSwallowed, In: Scripts, On: Strings,
		Pattern: `\bcontinue-on-error["']?\s*:\s*(?:true|\$\{\{)`,
		Match:   []string{"continue-on-error: true"}, NoMatch: []string{"continue-on-error: false"},
	},
	{
		ID: "any/allow-failure", Kind: ExitSwallowed, In: Scripts, On: Strings,
		Pattern: `\ballow_failure["']?\s*:\s*(?:true|\n|$)`,
		Match:   []string{"allow_failure: true"}, NoMatch: []string{"allow_failure: false"},
	},
	{
		ID: "any/ignore-errors", Kind: ExitSwallowed, In: Scripts, On: Strings,
		Pattern: `\b(?:ignore_errors|ignore_failure|soft_fail|continueOnError` +
			`|allowFailure)["']?\s*[:=]\s*(?:true|yes)`,
		Match: []string{"ignore_errors: yes"}, NoMatch: []string{"ignore_errors: no"},
	},
	{
		ID: "any/no-tests-pass", Kind: ExitSwallowed, In: Scripts | Programs, On: Text,
		Pattern: `--(?:passWithNoTests|pass-with-no-tests|exit-zero|allow-no-tests|forceExit` +
			`|no-error-on-unmatched-pattern|suppress-no-test-exit-code)\b|\bpassWithNoTests["']?\s*[:=]\s*true` +
			`|--no-exit-code\b`,
		Match: []string{"jest --passWithNoTests"}, NoMatch: []string{"jest --ci"},
	},
	{
		ID: "any/library-path", Kind: LibraryShadowed, In: Changed, On: Strings, Say: "where libraries are looked up",
		Pattern: `\b(?:NODE_PATH|PYTHONPATH|PYTHONHOME|RUBYLIB|PERL5LIB|CLASSPATH|GOPATH|CPATH` +
			`|C_INCLUDE_PATH)["']?\s*[:?+]?[=:]\s*\S+`,
		Match: []string{"export PYTHONPATH=lib", "NODE_PATH: x"}, NoMatch: []string{`echo "$PYTHONPATH"`},
	},
	{
		ID: "any/module-map", Kind: LibraryShadowed, In: Changed, On: Line, Say: "where libraries are looked up",
		Pattern: `\bmoduleNameMapper\b|\bmoduleDirectories\b|\bmodulePaths\b|["']?resolve\.alias\b`,
		Match:   []string{"moduleNameMapper: {}"}, NoMatch: []string{"modules: {}"},
	},
	{
		ID: "any/path-in-code", Kind: ProgramShadowed, In: Programs, On: Strings,
		Say: "where programs are looked up, or what they load",
		Pattern: `\bos\.Setenv\(\s*"PATH"|\bprocess\.env(?:\.PATH\b|\[['"]PATH['"]\])\s*=[^=]` +
			`|\bos\.environ\[['"]PATH['"]\]\s*\+?=|\bputenv\s*\(\s*"PATH|\bENV\[['"]PATH['"]\]\s*=`,
		Match: []string{`os.Setenv("PATH", p)`, "os.environ['PATH'] = p"}, NoMatch: []string{`os.Getenv("PATH")`},
	},
	{
		ID: "any/path", Kind: ProgramShadowed, In: Commands, On: Strings,
		Say:     "where programs are looked up, or what they load",
		Pattern: `(?:^|[\s;&|"'{(])(?:export\s+|env\s+)?PATH\s*[:?+]?=\s*\S+`,
		Match:   []string{"export PATH=.:$PATH"}, NoMatch: []string{`echo "$PATH"`},
	},
	{
		ID: "any/preload", Kind: ProgramShadowed, In: Commands, On: Strings,
		Say: "where programs are looked up, or what they load",
		Pattern: `\b(?:BASH_ENV|LD_PRELOAD|LD_LIBRARY_PATH|DYLD_INSERT_LIBRARIES|GOFLAGS|NODE_OPTIONS` +
			`|PYTHONSTARTUP|RUBYOPT|PERL5OPT|JAVA_TOOL_OPTIONS)["']?\s*[:?+]?[=:]\s*\S+`,
		Match: []string{"LD_PRELOAD=./a.so run", "NODE_OPTIONS: -r x"}, NoMatch: []string{`echo "$LD_PRELOAD"`},
	},
	{
		ID: "any/retries", Kind: ThresholdLoosened, In: Limits, On: Text,
		Pattern: `\bjest\.retryTimes\s*\(|\bthis\.retries\s*\(|["']?\bretry["']?\s*:\s*[1-9]` +
			`|\b(?:test)?[rR]etries["']?\s*[:=]\s*[1-9]|--retries[= ]?[1-9]|--reruns[= ]?[1-9]` +
			`|\brerun(?:s)?\s*=\s*[1-9]`,
		Match: []string{"jest.retryTimes(3)", "retries = 2"}, NoMatch: []string{"retries = 0"},
	},
	{
		ID: "any/flaky", Kind: ThresholdLoosened, In: Limits,
		Pattern: `@(?:pytest\.mark\.)?(?:flaky|retry|rerun)\b|@(?:RetryingTest|Flaky|RepeatedIfExceptionsTest)\b`,
		Match:   []string{"@pytest.mark.flaky(reruns=3)"}, NoMatch: []string{"flaky = 1"},
	},
	{
		ID: "any/timeout-call", Kind: ThresholdLoosened, In: Limits,
		Pattern: `\bjest\.setTimeout\s*\(\s*\d+|\bthis\.timeout\s*\(\s*\d+`,
		Match:   []string{"jest.setTimeout(60000)"}, NoMatch: []string{"setTimeout(f, 1)"},
	},
	{
		ID: "any/limit-option", Kind: ThresholdLoosened, In: Limits, On: Text,
		Pattern: `--(?:max-warnings|fail-under|cov-fail-under|coverageThreshold)[= ]\S+` +
			`|\bgo test\b.*\s-timeout[= ]?\S+|--test-?timeout[= ]\S+|--timeout[= ]\S+`,
		Match: []string{"eslint --max-warnings 5", "go test -timeout 5m ./..."}, NoMatch: []string{"eslint ."},
	},
	{
		ID: "any/lenient-option", Kind: ThresholdLoosened, In: Limits, On: Text,
		Pattern: `--(?:no-fail-fast|passWithNoTests|forceExit|updateSnapshot|snapshot-update|ci=false|no-strict` +
			`|exit-zero)\b|\bjest\b.*\s-u\b`,
		Match: []string{"jest --updateSnapshot"}, NoMatch: []string{"jest --ci"},
	},
	{
		ID: "any/limit-gone", Kind: ThresholdLoosened, In: Limits, On: Text, Say: "gone", Gone: true,
		Pattern: `--max-warnings[= ]\S+|\bfail_under\b|--(?:cov-)?fail-under\b|\bcoverageThreshold\b|-Werror\b` +
			`|--strict\b|(?:^|\s)-race\b|"strict"\s*:\s*true|--strict-\w+|--error-on-\w+|-fsanitize=\S+` +
			`|--runInBand\b|\bDeprecationWarning\b|--filterwarnings|-W\s*error\b|-D\s*warnings\b`,
		Match: []string{"eslint --max-warnings 0", "go test -race ./..."}, NoMatch: []string{"go test ./..."},
	},
	{
		ID: "any/suppression", Kind: SuppressionAdded, In: Sources, On: Comments,
		Pattern: `\bNOSONAR\b|\bnosemgrep\b|\bcodeql\[|\bgitleaks:allow\b|\bnosec\b`,
		Match:   []string{"x := 1 // nosemgrep", "x := 1 // NOSONAR"}, NoMatch: []string{"nosemgrep := 1"},
	},
	{
		ID: "any/generated", Kind: SuppressionAdded, In: Changed, On: Comments, Say: "linters pass over what says that it is generated",
		Pattern: `\bCode generated\b.*\bDO NOT EDIT\b.*|@generated\b|<auto-generated\b`,
		Match:   []string{"// Code generated by hand. DO NOT EDIT.", "/* @generated */"}, NoMatch: []string{"// The code generated here is short.", `x := "@generated"`},
	},
	{
		ID: "any/left-out", Kind: Placeholder, In: Sources, On: Comments,
		Pattern: `(?i)(?:\.\.\.|…)\s*\(?\s*(?:the\s+)?(?:rest|remaining|remainder|existing|previous|original` +
			`|other|same)\b[\w\s,'-]*|\b(?:the\s+)?(?:rest|remainder)\s+of\s+(?:the\s+|this\s+|your\s+)?(?:code` +
			`|file|function|class|implementation|method|module|content|logic|component` +
			`|tests?)s?\b[\w\s,'-]*\b(?:unchanged|same|here|remains?|omitted|stays?|as\s+before|goes)\b` +
			`|\b(?:existing|previous|original|other|remaining)\s+(?:code|methods?|functions?|implementation` +
			`|logic|imports?|tests?|content)\s+(?:here|unchanged|remains?|stays?|goes\s+here|as\s+before` +
			`|omitted)\b|^\W*(?:\.\.\.|…)?\s*\(?(?:unchanged|omitted(?:\s+for\s+brevity)?|snip(?:ped)?` +
			`|no\s+changes?\s+(?:here|below|above))\)?\s*(?:\.\.\.|…)?\W*$|\bomitted\s+for\s+brevity\b|\b(?:your` +
			`|add|insert|put)\s+(?:\w+\s+){0,2}(?:code|logic|implementation)\s+(?:goes\s+)?here\b|\b(?:TODO` +
			`|FIXME|XXX)\b\W*\s*(?:implement|fill\s+(?:this\s+)?in|complete\s+(?:the\s+|this\s+)?implementation` +
			`|actual\s+implementation)\w*`,
		Match:   []string{"// ... rest of the code unchanged", "// TODO: implement"},
		NoMatch: []string{"// the rest of the line is the value"},
	},
}

// modeNames are variables by which programs are told that they are tested.
const modeNames = `(?:IS_|IN_|RUNNING_|UNDER_)?(?:UNIT_?)?TEST(?:S|ING|_MODE|_ENV|_RUN)?`

const (
	// begins is where a command begins.
	begins = `(?:^\s*[@+-]*|[;&|({"'\x60]|\b(?:then|do|else|if|!)\s|\b(?:run|script|command|cmd)["']?\s*:\s*|-\s)\s*`

	// command is what may precede the name of a command: a check is the command itself, no word of another (rm -rf
	// .jest-cache || true).
	command = `(?:[\w.]+=\S*\s+)*(?:(?:npx|exec|time|nice|env|sudo|poetry\s+run|uv\s+run|pipenv\s+run` +
		`|bundle\s+exec|timeout\s+\S+)\s+)*` +
		`(?:[\w.$(){}-]*/)*`

	// checker are commands that test or check.
	checker = `(?:(?:go|\$[({]?GO[)}]?)\s+(?:test|vet|build)|(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:test|lint` +
		`|check|typecheck)\b` +
		`|npx\s+(?:jest|vitest|mocha|tsc|eslint)|jest|vitest|mocha|node\s+--test|tsc|eslint|pytest|py\.test` +
		`|python[\d.]*\s+-m\s+(?:unittest|pytest)` +
		`|tox|nox|mypy|ruff\s+check|flake8|cargo\s+(?:nex)?(?:test|clippy|check)|make\s+(?:-\S+\s+)*(?:test|check` +
		`|lint)\w*|ctest|prove` +
		`|mvn\b.*\b(?:test|verify)|gradlew?\b.*\b(?:test|check)|rspec|rake\s+(?:test|spec)` +
		`|bundle\s+exec\s+(?:rspec|rake)|phpunit|bats` +
		`|golangci-lint|staticcheck|shellcheck|dotnet\s+test|deno\s+test)\b`
)
