package lang

var golang = Language{
	Name:   "go",
	Exts:   []string{".go"},
	Syntax: Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`, Long: "`", Bare: "`"},
}

// gomod is the language of go.mod and go.work.
var gomod = Language{Name: "gomod", Files: []string{"go.mod", "go.work"}, Settings: true, Syntax: Syntax{Line: []string{"//"}}}

// assembly is that of Go and of the C compilers.
var assembly = Language{Name: "assembly", Also: []string{".s"}, Syntax: Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"`}}
