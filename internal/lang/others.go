package lang

// others are languages of which only the files, the comments and strings, and the names of tests are known.
var others = []*Language{
	{
		Name: "dotnet", Exts: []string{".cs", ".fs", ".vb"}, Syntax: cLike,
		Tests: []string{"?*Test", "?*Tests", "?*.test", "?*.tests"},
	},
	{Name: "swift", Exts: []string{".swift"}, Syntax: cLike, Tests: []string{"?*Test", "?*Tests"}},
	{Name: "dart", Exts: []string{".dart"}, Syntax: cLike, Tests: []string{"?*_test"}},
	{Name: "zig", Exts: []string{".zig"}, Syntax: cLike, Tests: []string{"?*_test"}},
	{Name: "solidity", Exts: []string{".sol"}, Syntax: cLike, Tests: []string{"?*.t"}},
	{Name: "verilog", Exts: []string{".v", ".sv"}, Syntax: cLike, Tests: []string{"?*_test", "?*_tb"}},
	{
		Name: "elixir", Exts: []string{".ex", ".exs"}, Syntax: hashLike,
		Tests: []string{"?*_test.exs", "test_helper.exs"},
	},
	{
		Name: "crystal", Exts: []string{".cr"}, Syntax: hashLike,
		Tests: []string{"?*_spec", "spec_helper"}, TestFolders: specFolders,
	},
	{Name: "nim", Exts: []string{".nim"}, Syntax: hashLike, Tests: []string{"test_*"}},
	{Name: "r", Exts: []string{".r"}, Syntax: hashLike, Tests: []string{"test-*", "test_*", "testthat"}},
	{Name: "julia", Exts: []string{".jl"}, Syntax: hashLike, Tests: []string{"test_*", "runtests"}},
	{Name: "rego", Exts: []string{".rego"}, Syntax: hashLike, Tests: []string{"?*_test"}},
	{Name: "coffee", Exts: []string{".coffee"}, Syntax: hashLike, TestFolders: specFolders},
	{Name: "robot", Exts: []string{".robot"}, Syntax: hashLike, Tests: []string{"*"}},
	{Name: "gherkin", Exts: []string{".feature"}, Syntax: hashLike, Tests: []string{"*"}},
	{Name: "powershell", Also: []string{".ps1"}, Syntax: hashLike, Tests: []string{"?*.test", "?*.tests"}},
	{
		Name: "lua", Exts: []string{".lua"}, Syntax: dashLike,
		Tests: []string{"?*_test", "?*_spec", "?*.test", "?*.tests"}, TestFolders: specFolders,
	},
	{
		Name: "haskell", Exts: []string{".hs"}, Syntax: dashLike,
		Tests: []string{"?*Test", "?*Tests", "?*Spec", "Spec"},
	},
	{Name: "ocaml", Exts: []string{".ml"}, Syntax: Syntax{Quotes: `"`}, Tests: []string{"test_*", "?*_test"}},
	{
		Name: "clojure", Exts: []string{".clj", ".cljs", ".cljc"}, Syntax: Syntax{Line: []string{";"}, Quotes: `"`},
		Tests: []string{"?*_test"},
	},
	{
		Name: "erlang", Exts: []string{".erl"}, Syntax: Syntax{Line: []string{"%"}, Quotes: `"'`},
		Tests: []string{"?*_SUITE", "?*_tests"},
	},
}

var (
	cLike       = Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`}
	hashLike    = Syntax{Line: []string{"#"}, Quotes: `"'`}
	dashLike    = Syntax{Line: []string{"--"}, Quotes: `"'`}
	specFolders = []string{"spec", "specs"}
)
