package lang

var python = Language{
	Name:     "py",
	Exts:     []string{".py", ".pyi"},
	Also:     []string{".pth", ".pyx"},
	Programs: []string{"python", "pypy"},
	Syntax:   Syntax{Line: []string{"#"}, Quotes: `"'`, Triple: true},
}
