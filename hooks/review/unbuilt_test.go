package review

import (
	"slices"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A source that is still there, and is built no longer.
func TestUnbuilt(t *testing.T) {
	t.Parallel()
	const src = "package a\n\nfunc F() int { return g() }\n"
	for name, c := range map[string]struct {
		changes []patch.Change
		want    string
	}{
		"another name":             {[]patch.Change{change("a.go", src, absent), change("_a.go", absent, src)}, "dead_code _a.go:0!"},
		"a name of another system": {[]patch.Change{change("a.go", src, absent), change("a_windows.go", absent, src)}, "dead_code a_windows.go:0!"},
		"a folder that Go skips":   {[]patch.Change{change("a.go", src, absent), change("_old/a.go", absent, "// Old.\n"+src)}, "dead_code _old/a.go:0!"},
		"no source":                {[]patch.Change{change("a.py", "limit = 10\n", absent), change("a.py.off", absent, "limit = 10\n")}, "dead_code a.py.off:0!"},
		"a constraint":             {[]patch.Change{change("a.go", src, "//go:build ignore\n\n"+src)}, "dead_code a.go:1!"},
		"one of another system":    {[]patch.Change{change("a.go", src, "//go:build !unix\n\n"+src)}, "dead_code a.go:1!"},
		"one that holds":           {[]patch.Change{change("a.go", src, "//go:build linux || windows\n\n"+src)}, ""},
		"behind the package":       {[]patch.Change{change("a.go", src, src+"//go:build ignore\n")}, ""},
		"moved":                    {[]patch.Change{change("a.go", src, absent), change("b/a.go", absent, src)}, ""},
		"an empty one is gone":     {[]patch.Change{change("a/__init__.py", "\n", absent), change("notes.txt", absent, "some\n")}, ""},
		"gone":                     {[]patch.Change{change("a.go", src, absent)}, ""},
		"was not built before":     {[]patch.Change{change("a_windows.go", src, absent), change("_a.go", absent, src)}, ""},
		"a new file":               {[]patch.Change{change("a_windows.go", absent, src)}, ""},
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
