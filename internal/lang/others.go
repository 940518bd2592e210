package lang

// Languages of which only the files, the comments and strings, and the names of tests are known.
var (
	dotnet = Language{Name: "dotnet", Exts: []string{".cs", ".fs", ".vb"}, Syntax: cLike,
		Tests: TestNames{camel: []string{"Test", "Tests"}, infix: []string{"test", "tests"}}}
	swift = Language{Name: "swift", Exts: []string{".swift"}, Syntax: cLike,
		Tests: TestNames{camel: []string{"Test", "Tests"}}}
	dart = Language{Name: "dart", Exts: []string{".dart"}, Syntax: cLike,
		Tests: TestNames{suffix: []string{"_test"}}}
	zig = Language{Name: "zig", Exts: []string{".zig"}, Syntax: cLike,
		Tests: TestNames{suffix: []string{"_test"}}}
	solidity = Language{Name: "solidity", Exts: []string{".sol"}, Syntax: cLike,
		Tests: TestNames{infix: []string{"t"}}}
	verilog = Language{Name: "verilog", Exts: []string{".v", ".sv"}, Syntax: cLike,
		Tests: TestNames{suffix: []string{"_test", "_tb"}}}
	elixir = Language{
		Name: "elixir", Exts: []string{".ex", ".exs"}, Syntax: hashLike,
		Tests:   TestNames{suffix: []string{"_test"}, exact: []string{"test_helper"}},
		TestsOf: map[string]TestNames{".ex": {}},
	}
	crystal = Language{Name: "crystal", Exts: []string{".cr"}, Syntax: hashLike,
		Tests: TestNames{suffix: []string{"_spec"}, exact: []string{"spec_helper"}}, TestFolders: specFolders}
	nim = Language{Name: "nim", Exts: []string{".nim"}, Syntax: hashLike,
		Tests: TestNames{prefix: []string{"test_"}}}
	r = Language{Name: "r", Exts: []string{".r"}, Syntax: hashLike,
		Tests: TestNames{prefix: []string{"test-", "test_"}, exact: []string{"testthat"}}}
	julia = Language{Name: "julia", Exts: []string{".jl"}, Syntax: hashLike,
		Tests: TestNames{prefix: []string{"test_"}, exact: []string{"runtests"}}}
	rego = Language{Name: "rego", Exts: []string{".rego"}, Syntax: hashLike,
		Tests: TestNames{suffix: []string{"_test"}}}
	coffee     = Language{Name: "coffee", Exts: []string{".coffee"}, Syntax: hashLike, TestFolders: specFolders}
	robot      = Language{Name: "robot", Exts: []string{".robot"}, Syntax: hashLike, Tests: TestNames{all: true}}
	gherkin    = Language{Name: "gherkin", Exts: []string{".feature"}, Syntax: hashLike, Tests: TestNames{all: true}}
	powershell = Language{Name: "powershell", Also: []string{".ps1"}, Syntax: hashLike,
		Tests: TestNames{infix: []string{"test", "tests"}}}
	lua = Language{
		Name: "lua", Exts: []string{".lua"}, Syntax: dashLike,
		Tests:       TestNames{suffix: []string{"_test", "_spec"}, infix: []string{"test", "tests"}},
		TestFolders: specFolders,
	}
	haskell = Language{Name: "haskell", Exts: []string{".hs"}, Syntax: dashLike,
		Tests: TestNames{camel: []string{"Test", "Tests", "Spec"}, exact: []string{"Spec"}}}
	ocaml = Language{Name: "ocaml", Exts: []string{".ml"}, Syntax: Syntax{Quotes: `"`},
		Tests: TestNames{prefix: []string{"test_"}, suffix: []string{"_test"}}}
	clojure = Language{Name: "clojure", Exts: []string{".clj", ".cljs", ".cljc"},
		Syntax: Syntax{Line: []string{";"}, Quotes: `"`}, Tests: TestNames{suffix: []string{"_test"}}}
	erlang = Language{Name: "erlang", Exts: []string{".erl"}, Syntax: Syntax{Line: []string{"%"}, Quotes: `"'`},
		Tests: TestNames{suffix: []string{"_SUITE", "_tests"}}}

	cLike       = Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`}
	hashLike    = Syntax{Line: []string{"#"}, Quotes: `"'`}
	dashLike    = Syntax{Line: []string{"--"}, Quotes: `"'`}
	specFolders = []string{"spec", "specs"}
)
