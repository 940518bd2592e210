package lang

import (
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var ruby = Language{
	Name:        "ruby",
	Exts:        []string{".rb"},
	Syntax:      Syntax{Line: []string{"#"}, Blank: true, Quotes: `"'`},
	Programs:    []string{"ruby"},
	Tests:       []string{"test_*", "?*_test", "?*_spec", "spec_helper", "test_helper", "rails_helper"},
	TestFolders: []string{"spec", "specs"},
	Imports: func(_ *Language, ix *Index, p string, src []byte) (files []string, testing bool) {
		for _, m := range rubyRequire().FindAllSubmatch(src, -1) {
			name := strings.TrimSuffix(string(m[2]), ".rb") + ".rb"
			dirs := []string{path.Dir(p)}
			if string(m[1]) != "require_relative" && !strings.HasPrefix(name, ".") {
				dirs = []string{
					".", "lib", "spec", "test", ix.sub, path.Join(ix.sub, "lib"),
					path.Join(ix.sub, "spec"), path.Join(ix.sub, "test"),
				}
			}
			files = append(files, ix.First(name, dirs...)...)
		}
		return files, false
	},
	TestLibrary: lazily.Regexp(`(?m)^[ \t]*require[ \t]+['"](?:minitest|rspec|test/unit)`),
}

var rubyRequire = lazily.Regexp(`(?m)^[ \t]*(require_relative|require|load)[ \t]*\(?[ \t]*['"]([^'"\n]+)['"]`)
