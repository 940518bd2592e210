package files

import (
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		patterns  string
		yes, no   string
		intention string
	}{
		{"**", "a .a a/b a/.b", "", "everything, also hidden"},
		{"src/**", "src/a src/a/b src", "srcs/a a", "a folder"},
		{"src/**/*.go", "src/a.go src/b/a.go", "src/a.c a.go srcx/a.go", "a suffix in a folder"},
		{"**/*.go", "a.go b/a.go .go", "a.c", "a suffix"},
		{"** !**/*.md keep.md", "a keep.md", "b.md c/d.md", "the last that matches decides"},
		{"a/*.{c,h}", "a/x.c a/x.h", "a/b/x.c a/x.o", "braces"},
		{"a.txt", "a.txt", "b/a.txt aXtxt", "a name"},
		{`a\*`, "a*", "ab", "an escaped star"},
	} {
		all := ParseAll(strings.Fields(c.patterns))
		for _, p := range strings.Fields(c.yes) {
			if !Matches(all, p) {
				t.Errorf("%s: %s does not match %s", c.intention, c.patterns, p)
			}
		}
		for _, p := range strings.Fields(c.no) {
			if Matches(all, p) {
				t.Errorf("%s: %s matches %s", c.intention, c.patterns, p)
			}
		}
	}
}
