package lang

import (
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var rust = Language{
	Name:    "rust",
	Exts:    []string{".rs"},
	Syntax:  Syntax{Line: []string{"//"}, Blocks: slashStar, Long: `"`},
	Tests:   []string{"?*_test", "?*_tests", "tests"},
	SrcTest: true,
	Imports: func(_ *Language, ix *Index, p string, src []byte) (files []string, testing bool) {
		in := rustModules(p)
		for _, m := range rustMod().FindAllSubmatch(src, -1) {
			if len(m[1]) == 0 { // not only for tests
				files = append(files, ix.First(string(m[2])+".rs", in)...)
				files = append(files, ix.First(string(m[2])+"/mod.rs", in)...)
			}
		}
		return files, false
	},
}

// TestModules returns the files of the modules that the source at p has for tests only, as Rust names them.
func TestModules(ix *Index, p string, src []byte) (files []string) {
	if source(p) != &rust {
		return nil
	}
	in := rustModules(p)
	for _, m := range rustMod().FindAllSubmatch(src, -1) {
		if len(m[1]) > 0 {
			files = append(files, ix.First(string(m[2])+".rs", in)...)
			files = append(files, ix.First(string(m[2])+"/mod.rs", in)...)
		}
	}
	return files
}

// rustModules returns the folder of the modules that the source at p declares.
func rustModules(p string) string {
	dir := path.Dir(p)
	if stem := strings.TrimSuffix(path.Base(p), ".rs"); stem != "mod" && stem != "lib" && stem != "main" {
		return path.Join(dir, stem)
	}
	return dir
}

var rustMod = lazily.Regexp(`(?m)^[ \t]*(#\[cfg\([^\n]*\btest\b[^\n]*\)\]\s*)?(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;`)
