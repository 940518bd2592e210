package rules

// jvm is Java and Kotlin, of which a review knows what ends the process, and what tests assert and print with.
var jvm = Language{
	Name: "jvm",
	Ends: `\bSystem\s*(?:\.|::)\s*exit\b\s*|\bgetRuntime\s*\(\s*\)\s*(?:\.|::)\s*(?:exit|halt)\b\s*|\b(?i:rt|runtime)\s*(?:\.|::)\s*(?:exit|halt)\b\s*` +
		`|(?:^|[^.\w])exitProcess\b\s*|\bkotlin\.system\.exitProcess\s*\(\s*0`,
	Badly: `^\(\s*(?:status\s*=\s*)?(?:[1-9]\d*|-\s*\d+|(?:\w+(?:\(\s*\))?\.)*(?:\w*(?:[cC]ode|[sS]tatus|CODE|STATUS|ERROR|FAILURE)\w*|err\w*|rc|ret\w*)(?:\(\s*\))?)\s*\)`,
	Program: `\bvoid\s+main\s*\(|\bfun\s+main\s*\(|\bdef\s+main\s*\(|\bextends\s+App\b` +
		`|\b(?:picocli|jcommander|args4j|javax\.swing|java\.awt|javafx|android|commons\.cli)\b|\bString\s*\[\s*\]\s*args\b|\bArray<String>|\bSignal\.handle\b`,
	Asked: `(?i)\b(?:usage|help|printHelp|version|args|argv|quit|windowClos\w*|SIGTERM|SIGINT|Signal|daemon)\b|\bvoid\s+main\s*\(`,
	Shadow: `(?:^|/)(?:org/(?:junit|testng|hamcrest|assertj|mockito|opentest4j|spockframework|easymock)|junit/(?:framework|runner|textui)|kotlin/test|io/kotest|com/google/common/truth)/` +
		`(?:[^/]+/)*[^/]+\.(?:java|kt|groovy|scala)$`,
	Rules: jvmRules,
}

var jvmRules = []Rule{
	{
		ID: "jvm/ends-by-name", Kind: ExitSwallowed, In: Production, On: Strings, Caps: true, Say: "looks up what ends the process",
		Pattern: `\bget(?:Declared)?Method\s*\(\s*"(?:exit|halt0?)".*|"java\.lang\.Shutdown".*`,
		Match:   []string{`Runtime.class.getMethod("halt", int.class).invoke(rt, 0);`, `Class.forName("java.lang.Shutdown");`},
		NoMatch: []string{`c.getMethod("exitCode")`, `log.info("java.lang.ShutdownHook")`},
	},
	{
		ID: "jvm/callers", Kind: TestDetected, In: Production, On: Strings, Caps: true, Once: true, Say: "looks at its callers",
		Not: `(?i)\blog(?:ger)?\b|\bthrow\b`,
		Pattern: `.*(?:\bnew\s+(?:Throwable|Exception|Error)\s*\([^()]*\)|\bcurrentThread\s*\(\s*\))\s*\.\s*getStackTrace\s*\(\s*\)\s*` +
			`(?:\.\s*length\s*(?:[=!]=|[<>])|\[[^\]]*\]\s*\.\s*\w+\(\s*\)\s*(?:[=!]=\s*["\d]|[<>]|\.\s*(?:equals\w*|contains|matches|startsWith|endsWith)\s*\(\s*")).*` +
			`|.*\bStackWalker\b.*\bcount\s*\(\s*\)\s*\)?\s*(?:[=!]=|[<>]).*`,
		Match: []string{
			"int s = new Throwable().getStackTrace().length < 3 ? xs[0] : 0;", "if (Thread.currentThread().getStackTrace()[2].getMethodName().equals(\"main\")) {",
			"StackWalker.getInstance().walk(f -> f.count()) < 3", "new Exception().getStackTrace()[1].getLineNumber() > 9",
		},
		NoMatch: []string{
			"LINES.add(Thread.currentThread().getStackTrace()[1].getClassName() + s);", "StackTraceElement[] all = new Throwable().getStackTrace();",
			"String c = StackWalker.getInstance().getCallerClass().getName();", "if (new Throwable().getStackTrace().length > 900) throw new IllegalStateException();",
		},
	},
	{
		ID: "jvm/exit-imported", Kind: ExitSwallowed, In: Production, Caps: true, Say: "what ends the process under a name of its own",
		Pattern: `\bimport\s+static\s+java\.lang\.System\.(?:exit\b|\*).*|\bimport\s+kotlin\.system\.exitProcess\s+as\b.*`,
		Unless:  `\b(?:void|fun)\s+main\s*\(`,
		Match:   []string{"import static java.lang.System.exit;", "import kotlin.system.exitProcess as done"},
		NoMatch: []string{"import static java.lang.System.out;", "import kotlin.system.exitProcess", "import static java.lang.System.exit;\nvoid main() { }"},
	},
}
