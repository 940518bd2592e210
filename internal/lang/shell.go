package lang

// shell is that of sh, bash and their like.
var shell = Language{
	Name:     "shell",
	Exts:     []string{".sh", ".bash", ".bats"},
	Also:     []string{".zsh", ".ksh", ".envrc", ".bashrc", ".profile", ".zshrc", ".bash_profile"},
	Programs: []string{"sh", "bash", "dash", "zsh", "ksh", "ash"},
	Syntax:   Syntax{Line: []string{"#"}, Blank: true, Quotes: `"'`, Bare: "'", Escape: true},
}
