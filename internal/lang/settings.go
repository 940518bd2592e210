package lang

// Languages that configure programs, or list what to run.
var (
	makefile = Language{
		Name: "make", Exts: []string{".mk", ".mak"},
		Files: []string{"makefile", "gnumakefile", "bsdmakefile", "makefile.*"}, Programs: []string{"make"},
		Settings: true,
		Syntax:   Syntax{Line: []string{"#"}, Blank: true},
	}
	docker = Language{
		Name: "docker", Files: []string{"dockerfile", "dockerfile.*", "containerfile"}, Settings: true,
		Syntax: Syntax{Line: []string{"#"}, Blank: true},
	}
	yaml = Language{
		Name: "yaml", Exts: []string{".yml", ".yaml"}, Settings: true,
		Syntax: Syntax{Line: []string{"#"}, Blank: true},
	}
	json = Language{
		Name: "json", Exts: []string{".json", ".jsonc", ".json5"}, Settings: true,
		Tests: []string{"?*.tftest"},
	}
	toml = Language{
		Name: "toml", Exts: []string{".toml"}, Settings: true,
		Syntax: Syntax{Line: []string{"#"}, Quotes: `"'`},
	}
	ini = Language{
		Name: "ini", Exts: []string{".ini", ".cfg", ".conf", ".properties"}, Files: []string{".env*", ".npmrc"},
		Settings: true,
		Syntax:   Syntax{Line: []string{"#", ";"}, Blank: true},
	}
	hcl = Language{
		Name: "hcl", Exts: []string{".hcl", ".tf"}, Settings: true,
		Syntax: Syntax{Line: []string{"#", "//"}, Blocks: slashStar, Quotes: `"`},
		Tests:  []string{"?*.tftest"},
	}
)
