package lang

import (
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var php = Language{
	Name:        "php",
	Exts:        []string{".php", ".phpt"},
	Syntax:      Syntax{Line: []string{"//", "#"}, Blocks: slashStar, Quotes: `"'`},
	Tests:       []string{"?*Test", "?*TestCase", "?*Cest", "?*Spec", "*.phpt"},
	TestFolders: []string{"spec", "specs"},
	Imports: func(l *Language, ix *Index, p string, src []byte) (files []string, testing bool) {
		for _, m := range phpRequire().FindAllSubmatch(src, -1) {
			files = append(files, ix.First(strings.TrimPrefix(string(m[1]), "/"), path.Dir(p), ".", ix.sub)...)
		}
		for _, m := range phpUse().FindAllSubmatch(src, -1) {
			segments := strings.Split(strings.Trim(string(m[1]), `\`), `\`)
			if n := len(segments); n > 1 {
				files = append(files, ix.ofPackage(l, path.Join(segments[n-2:]...))...)
			}
		}
		return files, false
	},
}

var (
	phpUse     = lazily.Regexp(`(?m)^[ \t]*use[ \t]+([\w\\]+)`)
	phpRequire = lazily.Regexp(`\b(?:require|include)(?:_once)?\b[^;'"\n]*['"]([^'"\n]+)['"]`)
)
