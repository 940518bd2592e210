package lang

// c is C++ and Objective-C too.
var c = Language{
	Name:   "c",
	Exts:   []string{".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".m", ".mm"},
	Syntax: Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`},
}
