package review

import (
	"fmt"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// The time of a report grows with a patch, not with its square: of a file of 1 MiB each of these took minutes.
func TestReportIsLinear(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the race detector, with which CI runs -short, makes it take minutes")
	}
	const n = 1 << 15
	fill := func(unit string) string { return strings.Repeat(unit, n/len(unit)) }
	numbered := func(unit string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, unit, i)
		}
		return b.String()
	}
	for _, row := range []struct{ path, before, after, want string }{
		{"a.js", "a = 1\n", "a = [" + numbered(`"s%d",`) + "]\n", "hidden_text:1"},
		{"a.js", "a = 1\n", fill("(/["), "hidden_text:1"},
		{"a.c", "int a;\n", fill("int a = exit(0);\n"), "exit_swallowed:1"},
		{"a.c", "int a;\n", fill("pthread_exit(0);\n"), "exit_swallowed:1"},
		{"a.c", "int a;\n", numbered("#if A%d\n#endif\n"), "special_case:0"},
		{"a.py", "a = 1\n", numbered("__eq__ = lambda a, b: abs(a - b) < a%d\n"), ""},
		{"a.rs", fill("fn eq(&self, o: &A) -> bool { a }\n"), fill("fn eq(&self, o: &A) -> bool { a || b }\n"), "assertion_removed:1"},
		{"A.java", fill("boolean equals(Object o) {\n"), fill("boolean equals(Object o) {\n a();\n"), ""},
	} {
		c := checkfile.NewChecks(files{row.path: row.before}.tree(), checkfile.Scope{})
		found := Report(c, []patch.Change{change(row.path, row.before, row.after)})
		got := ""
		if len(found) > 0 {
			got = fmt.Sprintf("%s:%d", found[0].Rule, found[0].Line)
		}
		if got != row.want {
			t.Errorf("%s, %.40q: %q, want %q", row.path, row.after, got, row.want)
		}
	}
}

// What production had is read once, however much of a patch is compared with it.
func TestProductionIsReadOnce(t *testing.T) {
	t.Parallel()
	f := files{"a.py": "a = 1\n", "b.py": "b = 1\n", "test_a.py": "def test_a():\n    assert f('foo')\n"}
	tree, reads := f.tree(), 0
	inner := tree.Read
	tree.Read = func(p string) ([]byte, error) { reads++; return inner(p) }
	c := checkfile.NewChecks(tree, checkfile.Scope{Failing: []string{"test_a"}})
	var after strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&after, "if a == 'foo %d':\n    b()\n", i)
	}
	found := Report(c, []patch.Change{change("a.py", f["a.py"], after.String())})
	if len(found) == 0 || found[0].Rule != "special_case" {
		t.Errorf("found %v", found)
	}
	if reads > 100 {
		t.Errorf("%d reads of %d files", reads, len(f))
	}
}

// A patch of which not everything can be compared with the tests is not taken for verified.
func TestTooMuchToCompare(t *testing.T) {
	t.Parallel()
	c := checkfile.NewChecks(files{"a.py": "a = 1\n"}.tree(), checkfile.Scope{})
	p := newProposal(c, []patch.Change{change("a.py", "a = 1\n", "a = 2\n")})
	if found := p.unsearched(); len(found) != 0 || !p.mayLook("a") {
		t.Errorf("found %v", found)
	}
	p.looked = maxLooked
	if found := p.unsearched(); p.mayLook("a") || len(found) != 0 {
		t.Errorf("before it: %v", found)
	}
	if found := p.unsearched(); len(found) != 1 || !found[0].Caps {
		t.Errorf("after it: %v", found)
	}
}
