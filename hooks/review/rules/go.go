package rules

var golang = Language{
	Name:    "go",
	Test:    `^func (?:\([^)]*\) )?((?:Test|Fuzz|Example)(?:[^a-z(]\w*)?)\(`,
	NotTest: `^TestMain$`,
	Assert: `\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:require|assert|must|qt|is)\.\w+\(` +
		`|\b\w+\((?:t|tb|b|f)[,)]`,
	Strong: `\b(?:assert|require)\.(?:Equal|Exactly|JSONEq|ElementsMatch|EqualError|ErrorIs|InDelta|Len` +
		`|Contains)\w*\(`,
	Weak:    `\b(?:assert|require)\.(?:NotNil|NotEmpty|NotZero|NoError|True|NotPanics|IsType|NotEqual)\w*\(`,
	Lists:   `(?:\[\x00?\]|map\[[\w.*]+\])[\w.*\[\]]*\{[\x00,:\s]*\}`,
	Catches: `\brecover\(\)`,
	Asks:    `\bflag\.(?:VisitAll|CommandLine)\b|\bdebug\.ReadBuildInfo\(|\bos\.Getppid\(`,
	Rules:   goRules,
}

var goRules = []Rule{
	{
		ID: "go/skip", Kind: TestSkipped, In: OldTests, Pattern: `\.Skip(?:f|Now)?\(`,
		Match:   []string{"\tt.Skip(\"flaky\")", "s.T().SkipNow()"},
		NoMatch: []string{`t.Errorf("t.Skip(")`, "x.SkipList()"},
	},
	{
		ID: "go/build-tag", Kind: TestSkipped, In: OldTests, On: Line, Say: "a build tag", File: "_test.go",
		Pattern: `^//(?:go:build| ?\+build)\s.*`,
		Match:   []string{"//go:build ignore", "// +build never"}, NoMatch: []string{"// go: build it"},
	},
	{
		ID: "go/if-false", Kind: AssertionRemoved, In: OldTests, Say: "is true whatever the code does",
		Pattern: `\bif\s+(?:false\b|.*&&\s*false\b)`,
		Match:   []string{"if false && f(3) != 9 {", "if got != 4 && false {"}, NoMatch: []string{"if falsely {"},
	},
	{
		ID: "go/assert-constant", Kind: AssertionRemoved, In: OldTests, Say: "is true whatever the code does",
		Pattern: `\b(?:assert|require)\.(?:True\(\s*\w+\s*,\s*true|False\(\s*\w+\s*,\s*false` +
			`|Nil\(\s*\w+\s*,\s*nil)\s*[,)]`,
		Match: []string{"assert.True(t, true)", `require.Nil(t, nil, "x")`}, NoMatch: []string{"assert.True(t, ok)"},
	},
	{
		ID: "go/exit-in-test", Kind: ExitSwallowed, In: Tests, Pattern: `\bos\.Exit\(0\)|\bsyscall\.Exit\(0\)`,
		Match: []string{"os.Exit(0)"}, NoMatch: []string{"os.Exit(m.Run())"},
	},
	{
		ID: "go/testing", Kind: TestDetected, In: Production, Caps: true,
		Pattern: `\btesting\.(?:Testing|Short|Verbose|CoverMode)\(\)`,
		Match:   []string{"if testing.Testing() {"},
		NoMatch: []string{"testing.Benchmark(f)", `s := "testing.Testing()"`},
	},
	{
		ID: "go/test-flag", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bflag\.Lookup\(\s*"test\.`,
		Match:   []string{`flag.Lookup("test.v") != nil`}, NoMatch: []string{`flag.Lookup("verbose")`},
	},
	{
		ID: "go/test-argument", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bos\.Args\b.*(?:"-?-?test\.|"--?test"|\.test"|/_test/|\.test\.exe")|\bos\.Args\[0\][^&|;]*"tests?"`,
		Match:   []string{`strings.HasSuffix(os.Args[0], ".test")`, `strings.Contains(os.Args[0], "test")`}, NoMatch: []string{`os.Args[1] == "test"`},
	},
	{
		ID: "go/test-program", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bos\.Executable\(\).*\.test"`,
		Match:   []string{`if p, _ := os.Executable(); strings.HasSuffix(p, ".test") {`},
		NoMatch: []string{"os.Executable()"},
	},
	{
		ID: "go/test-frame", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\b(?:HasSuffix|Contains|HasPrefix|EqualFold)\([^)]*"testing\.(?:tRunner|\(\*[MT]\)|Main)`,
		Match:   []string{`strings.Contains(frame.Function, "testing.tRunner")`},
		NoMatch: []string{`strings.Contains(name, "testing")`},
	},
	{
		ID: "go/ci", Kind: TestDetected, In: Production, On: Strings,
		Pattern: `\bos\.(?:Getenv|LookupEnv)\(\s*"(?:CI|GITHUB_ACTIONS|GITLAB_CI|` + modeNames + `)"`,
		Match:   []string{`os.Getenv("CI") == ""`, `os.LookupEnv("TEST_MODE")`},
		NoMatch: []string{`os.Getenv("HOME")`},
	},
	{
		ID: "go/linkname", Kind: LibraryShadowed, In: Production, On: Line, Caps: true,
		Pattern: `^//go:linkname\s+\S+\s+(?:testing|os|runtime|syscall)\.\S+`,
		Match:   []string{"//go:linkname exit os.runtime_beforeExit"},
		NoMatch: []string{"//go:linkname now time.now"},
	},
	{
		ID: "go/suppression", Kind: SuppressionAdded, In: Sources, On: Comments,
		Pattern: `//\s*nolint\b\S*|#nosec\b|//lint:(?:ignore|file-ignore)\b|//\s*coverage:ignore|//\s*revive:disable`,
		Match:   []string{"x := f() //nolint:errcheck", "f() // #nosec"}, NoMatch: []string{`s := "//nolint"`},
	},
	{
		ID: "go/network", Kind: NewNetwork, In: Production,
		Pattern: `\bhttp\.(?:Get|Post|PostForm|Head|NewRequest\w*|ListenAndServe\w*|Serve|DefaultClient` +
			`|Client\{)|\bnet\.(?:Dial\w*|Listen\w*|Lookup\w+|Dialer\{)|\b(?:rpc|smtp|tls|grpc|websocket` +
			`|ssh)\.(?:Dial\w*|NewClient|SendMail|Listen)\b`,
		Match: []string{"http.Get(u)", `net.Dial("tcp", a)`}, NoMatch: []string{"http.StatusOK"},
	},
	{
		ID: "go/process", Kind: NewProcess, In: Production,
		Pattern: `\bexec\.Command(?:Context)?\s*\(|\bos\.StartProcess\s*\(|\bsyscall\.(?:Exec|ForkExec` +
			`|StartProcess)\s*\(|\bunix\.Exec\s*\(|\bplugin\.Open\s*\(`,
		Match: []string{`exec.Command("true").Run()`}, NoMatch: []string{"re.exec.Commands", `s := "exec.Command("`},
	},
	{
		ID: "go/stub", Kind: Placeholder, In: Sources, On: Strings,
		Pattern: `\bpanic\(\s*"(?:TODO|not implemented|unimplemented)`,
		Match:   []string{`panic("not implemented")`}, NoMatch: []string{`panic("no rows")`},
	},
}

// assembly is the one that Go functions can be written in.
var assembly = Language{Name: "assembly", Rules: []Rule{
	{
		ID: "assembly/system-call", Kind: ExitSwallowed, In: Production, Caps: true, Say: "a system call of its own",
		Pattern: `^[^/]*(?:\bSYSCALL\b|\bSVC\b|\bINT\s+\$(?:0x80|128)\b|\bBYTE\s+\$0x0[fF]\b|(?:runtime|syscall` +
			`|unix)·\w*(?:[eE]xit|[sS]yscall)\w*)`,
		Match:   []string{"\tSYSCALL", "\tJMP syscall·Exit(SB)"},
		NoMatch: []string{"// SYSCALL", "\tCALL runtime·memmove(SB)"},
	},
}}
