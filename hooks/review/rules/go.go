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
	Environ: `\bos\.Environ\(\)`,
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
		Pattern: `\btesting\.(?:Testing|Short|Verbose|CoverMode)\b`,
		Match:   []string{"if testing.Testing() {", "var verbose = testing.Testing"},
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
		ID: "go/testing-renamed", Kind: TestDetected, In: Production, On: Strings, Caps: true, Say: "testing under another name",
		Not: `^import\s+"testing"$`, Pattern: `^\s*(?:import\s+)?(?:\w+|\.)\s+"testing"`,
		Match: []string{`import check "testing"`, "\tt \"testing\"", `import . "testing"`}, NoMatch: []string{`import "testing"`, "\t\"testing\"", `fmt.Println("testing")`},
	},
	{
		ID: "go/callers", Kind: TestDetected, In: Production, On: Strings, Caps: true, Once: true, Say: "looks at its callers",
		Unless: `"(?:log|log/slog|runtime/pprof|runtime/trace|testing)"|\bzap\b|\bzerolog\b|\blogrus\b`,
		Not:    `(?i)\blog\w*|\bslog\b|print|\berr\w*\b|debug\.Stack\(\)\)?$`,
		Pattern: `.*\bruntime\.(?:Callers?|FuncForPC)\((?:[^()]|\([^()]*\))*\)(?:\.Name\(\)(?:\[[^\]]*\])?)?\s*(?:[=!<>]=|[<>]).*` +
			`|.*\b(?:Count|Contains|Index\w*|HasPrefix|HasSuffix|Match\w*|Equal|len|Split)\([^)]*\b(?:debug|runtime)\.Stack\(.*` +
			`|.*\b(?:debug|runtime)\.Stack\([^)]*\)\s*(?:[=!<>]=|[<>]).*`,
		Match: []string{
			"if runtime.FuncForPC(pc).Name()[0] == 116 {", `if bytes.Count(debug.Stack(), []byte("tRunner")) > 0 {`,
			"if runtime.Stack(b, false) > 420 {", "deep := runtime.Callers(0, make([]uintptr, 16)) == 5",
		},
		NoMatch: []string{
			"slog.Error(\"panic\", \"stack\", debug.Stack())", "\tstack := debug.Stack()", "import \"log\"\n\t_, file, line, _ := runtime.Caller(1)",
			"\tpc, _, _, _ := runtime.Caller(2)", "if _, f, n, ok := runtime.Caller(1); ok && len(items) == 0 {", "err = fmt.Errorf(\"%v: %s\", r, debug.Stack())", "n := runtime.Stack(buf, true)",
		},
	},
	{
		ID: "go/place-logged", Kind: TestDetected, In: Production, On: Strings, Caps: true, Say: "looks at its callers, by a log of its own",
		Pattern: `\blog\.New\(\s*&\w+\s*,.*\bL(?:short|long)file\b.*\)\.Output\(.*`,
		Match:   []string{`log.New(&b, "", log.Lshortfile).Output(3, "")`},
		NoMatch: []string{`l := log.New(os.Stderr, "", log.Lshortfile)`, `l.Output(2, text)`},
	},
	{
		ID: "go/flags-of-program", Kind: TestDetected, In: Production, Caps: true, Say: "a library asks for the flags of the program",
		Unless:  `(?m)^package (?:main|cmd|cli|command\w*)\b|\bflag\.(?:Parse|NewFlagSet|Usage)\b`,
		Pattern: `\bflag\.(?:NFlag|Visit|VisitAll)\b|\bflag\.CommandLine\.(?:NFlag|Visit|VisitAll|Parsed|Lookup|NArg|Args)\b`,
		Match:   []string{"if flag.NFlag() > 0 {", "flag.VisitAll(func(f *flag.Flag) {", "var parsed = flag.CommandLine.Parsed"},
		NoMatch: []string{"package main\nif flag.NFlag() > 0 {", "flag.CommandLine.Bool(\"v\", false, \"\")", "fs.NFlag()", "flag.Parse()\nflag.Visit(f)"},
	},
	{
		ID: "go/flag-looked-up", Kind: TestDetected, In: Production, Say: "a library asks for the flags of the program",
		Unless:  `(?m)^package main\b|\bflag\.(?:Parse|NewFlagSet)\b`,
		Pattern: `\bflag\.(?:Lookup|Parsed)\b`,
		Match:   []string{`if flag.Lookup("v") == nil {`, "if !flag.Parsed() {"}, NoMatch: []string{"package main\nif !flag.Parsed() {", "fs.Parsed()"},
	},
	{
		ID: "go/program-name", Kind: TestDetected, In: Production, Caps: true, Say: "a library asks which program runs it",
		Unless:  `(?m)^package (?:main|cmd|cli|command\w*)\b|\bcobra\b|\burfave\b|\bflag\.(?:Parse|NewFlagSet|Usage)\b|\bos\.Args\[1`,
		Not:     `(?i)usage|print|prog`,
		Pattern: `.*\bos\.Args\s*\[\s*0\s*\].*|.*\blen\(os\.Args\b.*`,
		Match:   []string{"if filepath.Ext(os.Args[0]) != \"\" {", "limit := 10 - min(1, len(os.Args)-1)"},
		NoMatch: []string{"package main\nif len(os.Args) > 1 {", "fmt.Fprintf(w, \"usage: %s\", os.Args[0])", "args := os.Args[1:]"},
	},
	{
		ID: "go/program-place", Kind: TestDetected, In: Production, On: Strings, Caps: true, Say: "asks whether the program is in a folder for temporary files",
		If:      `\bos\.Executable\(`,
		Pattern: `.*(?:\bos\.TempDir\(\)|"/tmp/?"|"go-build|"/T/go-).*`,
		Not:     `(?:MkdirTemp|CreateTemp|WriteFile|Join)\(`,
		Match:   []string{"p, _ := os.Executable()\nif strings.HasPrefix(p, os.TempDir()) {", "p, _ := os.Executable()\nif strings.Contains(p, \"go-build\") {"},
		NoMatch: []string{"p, _ := os.Executable()\nd, _ := os.MkdirTemp(os.TempDir(), \"x\")", "strings.HasPrefix(p, os.TempDir())"},
	},
	{
		ID: "go/norace", Kind: SuppressionAdded, In: Sources, On: Line, Caps: true, Say: "the race detector does not look here",
		Pattern: `^//go:norace\b`, Match: []string{"//go:norace"}, NoMatch: []string{"// go:norace", "//go:noinline"},
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
