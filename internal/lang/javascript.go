package lang

// javascript is TypeScript too, and the components that hold them.
var javascript = Language{
	Name:     "web",
	Exts:     []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"},
	Programs: []string{"node", "deno", "bun", "tsx"},
	Syntax:   Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`, Template: true, Regexp: true},
}
