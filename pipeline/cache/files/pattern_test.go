package files

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
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
		{".", "a b/c", "", "the root by its name"},
		{"src", "src src/a src/b/c", "srcs srcs/a a/src", "a folder by its name"},
		{"** !vendor", "a vendors/a", "vendor vendor/a", "all but a folder"},
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

// What inputs and outputs both match is an input where the inputs say no more than that.
func TestOnPurpose(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		inputs, outputs, name string
		want                  bool
	}{
		{"src/**", "src/**", "src/a", true},
		{"**", "**", "src/a", true},
		{"go.sum", "go.sum", "go.sum", true},
		{"dist/part.js", "dist/**", "dist/part.js", true},
		{"dist/in/*", "dist/**", "dist/in/a", true},
		{"src/*.go", "src/**", "src/a.go", true},
		{"src/*.go", "src/*.go", "src/a.go", true},
		{"**", "dist/**", "dist/a", false},
		{"*", "a", "a", false},
		{"src/**", "src/*.gen.go", "src/a.gen.go", false},
		{"src/**", "src/gen/**", "src/gen/a", false},
		{"dist/**", "dist/*.js|dist/**", "dist/a.js", false}, // *.js is a part of it
		{"src/**|!src/a", "src/**", "src/b", true},
		{"lib/**", "src/**", "src/a", false},
		{"src", "src/a.gen.go", "src/a.gen.go", false},
		{"src", "src", "src/a", true},
		{"src/in", "src", "src/in/a", true},
	} {
		in, out := ParseAll(strings.Split(tt.inputs, "|")), ParseAll(strings.Split(tt.outputs, "|"))
		if got := OnPurpose(in, out, tt.name); got != tt.want {
			t.Errorf("%s, %s, %s: %v", tt.inputs, tt.outputs, tt.name, got)
		}
	}
}

// What a pattern matches is found by a walk: each folder on the way to it is wanted. Folders that are too deep are not.
func TestReaches(t *testing.T) {
	t.Parallel()
	names := func(of ...string) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(of), 1, 4).Draw(t, "names"), "/")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		text := names("a", "b", "*", "a*", "?", "**", "{a,b}", "{a/b,b}", "[ab]", `\*`).Draw(t, "pattern")
		name := names("a", "b", "ab", "*").Draw(t, "name")
		p := Parse(text)
		if !p.match(name) {
			return
		}
		x := newIndex([]Pattern{p})
		if !x.wants(name, false) {
			t.Fatalf("%s does not want %s", text, name)
		}
		for dir := Parent(name); dir != ""; dir = Parent(dir) {
			if !x.wants(dir, true) || !p.MayMatchIn(dir) || p.Folder != "" && !x.names(dir, true) {
				t.Fatalf("%s does not want %s on the way to %s", text, dir, name)
			}
		}
	})
	for _, c := range [][2]string{{"*.go", "lib"}, {"src/*/*.c", "src/a/b"}, {"a?", "ab/c"}, {"src/*", "src/a/b"}} {
		p := Parse(c[0])
		x := newIndex([]Pattern{p})
		if x.wants(c[1], true) || p.MayMatchIn(c[1]) {
			t.Errorf("%s wants %s", c[0], c[1])
		}
	}
}
