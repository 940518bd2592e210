package lang

// shell is that of sh, bash and their like.
var shell = Language{
	Name:     "shell",
	Exts:     []string{".sh", ".bash", ".bats", ".zsh"},
	Also:     []string{".ksh", ".envrc", ".bashrc", ".profile", ".zshrc", ".bash_profile"},
	Programs: []string{"sh", "bash", "dash", "zsh", "ksh", "ash"},
	Syntax:   Syntax{Line: []string{"#"}, Blank: true, Quotes: `"'`, Bare: "'", Escape: true},
	Tests: TestNames{
		prefix: []string{"test-", "test_"}, suffix: []string{"-test", "_test", "-tests", "_tests"}, infix: []string{"test", "tests"},
	},
	TestsOf:   map[string]TestNames{".bats": {all: true}},
	BareWords: true,
}
