package lang

import (
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// c is C++ and Objective-C too.
var c = Language{
	Name:   "c",
	Exts:   []string{".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".m", ".mm"},
	Syntax: Syntax{Line: []string{"//"}, Blocks: slashStar, Quotes: `"'`},
	Tests:  []string{"test_*", "?*_test", "?*_tests", "?*_unittest", "?*_unittests", "?*Test", "?*Tests"},
	Imports: func(_ *Language, ix *Index, p string, src []byte) (files []string, testing bool) {
		for _, m := range include().FindAllSubmatch(src, -1) {
			files = append(files, ix.First(string(m[1]), path.Dir(p), ".", ix.sub, "include", "src",
				path.Join(ix.sub, "include"), path.Join(ix.sub, "src"))...)
		}
		return files, false
	},
	TestLibrary: lazily.Regexp(`(?m)^[ \t]*#[ \t]*include[ \t]+["<](?:gtest/|gmock/|catch2?/|doctest|cmocka|check\.h|unity\.h|boost/test)`),
	Unit:        func(p string) string { return strings.TrimSuffix(p, path.Ext(p)) + ".c" }, // a source and its header
}

var include = lazily.Regexp(`(?m)^[ \t]*#[ \t]*(?:include|import)[ \t]+["<]([^">\n]+)[">]`)
