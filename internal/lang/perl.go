package lang

var perl = Language{
	Name:        "perl",
	Exts:        []string{".pl", ".pm", ".t"},
	Programs:    []string{"perl"},
	Syntax:      Syntax{Line: []string{"#"}, Quotes: `"'`},
	TestsOf:     map[string]TestNames{".t": {all: true}},
	TestFolders: []string{"t"},
}
