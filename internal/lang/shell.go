package lang

import (
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

// shell is that of sh, bash and their like.
var shell = Language{
	Name:     "shell",
	Exts:     []string{".sh", ".bash", ".bats", ".zsh"},
	Also:     []string{".ksh", ".envrc", ".bashrc", ".profile", ".zshrc", ".bash_profile"},
	Programs: []string{"sh", "bash", "dash", "zsh", "ksh", "ash"},
	Syntax:   Syntax{Line: []string{"#"}, Blank: true, Quotes: `"'`, Bare: "'", Escape: true},
	Tests:    []string{"test-*", "test_*", "?*-test", "?*_test", "?*-tests", "?*_tests", "?*.test", "?*.tests", "*.bats"},
	Imports: func(_ *Language, ix *Index, p string, src []byte) (files []string, testing bool) {
		return ShellImports(ix, p, src), false
	},
	BareWords: true,
}

// ShellImports returns the files that the shell script at p, whatever its name, reads as its own text. bats leaves
// the end of their names away.
func ShellImports(ix *Index, p string, src []byte) (files []string) {
	for _, c := range shelltext.Commands(string(src)) {
		words := shelltext.Unwrap(c.Words)
		if len(words) < 2 || words[0] != "." && words[0] != "source" && words[0] != "load" {
			continue
		}
		name := strings.TrimLeft(words[1], string(shelltext.Unknown)+"/")
		if name == "" || strings.ContainsRune(name, shelltext.Unknown) {
			continue
		}
		for _, end := range []string{"", ".bash", ".sh"} {
			files = append(files, ix.First(name+end, path.Dir(p), ".", ix.sub)...)
		}
	}
	return files
}
