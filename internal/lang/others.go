package lang

// Languages whose tests are known and for which a review has no rules of their own.
var (
	ruby = Language{Name: "ruby", Exts: []string{".rb"}, Programs: []string{"ruby"}, Syntax: Syntax{Line: []string{"#"}, Blank: true, Quotes: `"'`}}
	jvm  = Language{
		Name: "jvm", Exts: []string{".java", ".kt", ".scala", ".groovy"}, Also: []string{".kts", ".gradle"},
		Syntax: Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`, Triple: true},
	}
	php     = Language{Name: "php", Exts: []string{".php"}, Syntax: Syntax{Line: []string{"//", "#"}, Blocks: slashStar, Quotes: `"'`}}
	rust    = Language{Name: "rust", Exts: []string{".rs"}, Syntax: Syntax{Line: []string{"//"}, Blocks: slashStar, Long: `"`}}
	csharp  = Language{Name: "csharp", Exts: []string{".cs"}, Syntax: cLike}
	swift   = Language{Name: "swift", Exts: []string{".swift"}, Syntax: cLike}
	dart    = Language{Name: "dart", Exts: []string{".dart"}, Syntax: cLike}
	elixir  = Language{Name: "elixir", Exts: []string{".ex", ".exs"}, Syntax: hashLike}
	r       = Language{Name: "r", Exts: []string{".r"}, Syntax: hashLike}
	julia   = Language{Name: "julia", Exts: []string{".jl"}, Syntax: hashLike}
	lua     = Language{Name: "lua", Exts: []string{".lua"}, Syntax: Syntax{Line: []string{"--"}, Quotes: `"'`}}
	haskell = Language{Name: "haskell", Exts: []string{".hs"}, Syntax: Syntax{Line: []string{"--"}, Quotes: `"'`}}
	clojure = Language{Name: "clojure", Exts: []string{".clj"}, Syntax: Syntax{Line: []string{";"}, Quotes: `"`}}
	erlang  = Language{Name: "erlang", Exts: []string{".erl"}, Syntax: Syntax{Line: []string{"%"}, Quotes: `"'`}}

	cLike    = Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`}
	hashLike = Syntax{Line: []string{"#"}, Quotes: `"'`}
)
