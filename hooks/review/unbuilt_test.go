package review

import (
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A source that is still there, and is built no longer.
func TestUnbuilt(t *testing.T) {
	t.Parallel()
	const src = "package a\n\nfunc F() int { return g() }\n"
	const cSrc = "static int g;\nint f(void)\n{\n\treturn g;\n}\n"
	for name, c := range map[string]struct {
		changes []patch.Change
		want    string
	}{
		"another name":              {[]patch.Change{change("a.go", src, absent), change("_a.go", absent, src)}, "dead_code _a.go:0!"},
		"a name of another system":  {[]patch.Change{change("a.go", src, absent), change("a_windows.go", absent, src)}, "dead_code a_windows.go:0!"},
		"a folder that Go skips":    {[]patch.Change{change("a.go", src, absent), change("_old/a.go", absent, "// Old.\n"+src)}, "dead_code _old/a.go:0!"},
		"no source":                 {[]patch.Change{change("a.py", "limit = 10\n", absent), change("a.py.off", absent, "limit = 10\n")}, "dead_code a.py.off:0!"},
		"a constraint":              {[]patch.Change{change("a.go", src, "//go:build ignore\n\n"+src)}, "dead_code a.go:1!"},
		"one of another system":     {[]patch.Change{change("a.go", src, "//go:build !unix\n\n"+src)}, "dead_code a.go:1!"},
		"one that holds":            {[]patch.Change{change("a.go", src, "//go:build linux || windows\n\n"+src)}, ""},
		"behind the package":        {[]patch.Change{change("a.go", src, src+"//go:build ignore\n")}, ""},
		"moved":                     {[]patch.Change{change("a.go", src, absent), change("b/a.go", absent, src)}, ""},
		"an empty one is gone":      {[]patch.Change{change("a/__init__.py", "\n", absent), change("notes.txt", absent, "some\n")}, ""},
		"a folder of data":          {[]patch.Change{change("p/a.go", src, absent), change("p/testdata/a.go", absent, src)}, "dead_code p/testdata/a.go:0!"},
		"new data":                  {[]patch.Change{change("p/testdata/a.go", absent, src)}, ""},
		"another module":            {[]patch.Change{change("p/a.go", src, absent), change("p/q/a.go", absent, src), change("p/q/go.mod", absent, "module q\n")}, "dead_code p/q/a.go:0!"},
		"a new module of its own":   {[]patch.Change{change("p/a.go", src, absent), change("p/b.go", absent, src), change("q/go.mod", absent, "module q\n")}, ""},
		"an empty one in its place": {[]patch.Change{change("a.go", src, absent), change("b.go", absent, "// Package a.\npackage a\n")}, "dead_code b.go:0!"},
		"a documentation":           {[]patch.Change{change("doc.go", absent, "// Package a.\npackage a\n")}, ""},
		"a documentation elsewhere": {[]patch.Change{change("a.go", src, absent), change("b/doc.go", absent, "// Package b.\npackage b\n")}, ""},
		"C in a condition":          {[]patch.Change{change("a.c", cSrc, "#ifdef FULL\n"+cSrc+"#endif\ntypedef int a_t;\n")}, "dead_code a.c:1!"},
		"C in a negated one":        {[]patch.Change{change("a.c", cSrc, "#include <stdio.h>\n#if !defined(FULL)\n"+cSrc+"#endif /* FULL */\n")}, "dead_code a.c:2!"},
		"C that is off":             {[]patch.Change{change("a.c", cSrc, "#if 0\n"+cSrc+"#endif\n")}, "dead_code a.c:1!"},
		"C of one system":           {[]patch.Change{change("a.c", cSrc, "#ifdef __linux__\n"+cSrc+"#endif\n")}, ""},
		"C with a guard":            {[]patch.Change{change("a.h", "int f(void);\nint g(void);\n", "#ifndef A_H\n#define A_H\nint f(void);\nint g(void);\n#endif\n")}, ""},
		"C with a new part":         {[]patch.Change{change("a.c", cSrc, cSrc+"#ifdef FULL\nint more;\nint even;\n#endif\n")}, ""},
		"C in part":                 {[]patch.Change{change("a.c", cSrc, "#ifdef FULL\nstatic int g;\n#endif\n"+strings.TrimPrefix(cSrc, "static int g;\n"))}, ""},
		"C with what is built":      {[]patch.Change{change("a.c", cSrc, "#ifdef FULL\n"+cSrc+"#endif\n"), change("config.mk", "CFLAGS =\n", "CFLAGS = -DFULL\n")}, ""},
		"gone":                      {[]patch.Change{change("a.go", src, absent)}, ""},
		"was not built before":      {[]patch.Change{change("a_windows.go", src, absent), change("_a.go", absent, src)}, ""},
		"a new file":                {[]patch.Change{change("a_windows.go", absent, src)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := slices.DeleteFunc(reportOf(c.changes...), func(f Finding) bool { return f.Rule != rules.DeadCode })
			if got := brief(found, true); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
