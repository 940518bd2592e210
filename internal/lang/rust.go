package lang

import (
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
)

var rust = Language{
	Name:    "rust",
	Exts:    []string{".rs"},
	Syntax:  Syntax{Line: []string{"//"}, Blocks: slashStar, Long: `"`},
	Tests:   []string{"?*_test", "?*_tests", "tests"},
	SrcTest: true,
	Imports: func(_ *Language, ix *Index, p string, src []byte) (files []string, testing bool) {
		in := path.Dir(p)
		if stem := strings.TrimSuffix(path.Base(p), ".rs"); stem != "mod" && stem != "lib" && stem != "main" {
			in = path.Join(in, stem)
		}
		for _, m := range rustMod().FindAllSubmatch(src, -1) {
			if len(m[1]) == 0 { // not only for tests
				files = append(files, ix.First(string(m[2])+".rs", in)...)
				files = append(files, ix.First(string(m[2])+"/mod.rs", in)...)
			}
		}
		return files, false
	},
}

var rustMod = lazyregexp.New(`(?m)^[ \t]*(#\[cfg\([^\n]*\btest\b[^\n]*\)\]\s*)?(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;`)
