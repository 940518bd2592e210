package review

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A new return in front of code that stays makes a function return what a test wants.
func TestDeadCode(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		path, before, after string
		want                bool
	}{
		{"f.py", "def f(x):\n    y = g(x)\n    return y\n", "def f(x):\n    return 'a'\n    y = g(x)\n    return y\n", true},
		{"f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    return 'a'\n\n    # as before\n    return g(x)\n", true},
		{"f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    if not x:\n        return 'a'\n    return g(x)\n", false},
		{"f.py", "def f(x):\n    return g(x)\n", "def f(x):\n    return h(\n        g(x))\n", false},
		{"f.py", "def f(x):\n    a(x)\n    raise E\n", "def f(x):\n    try:\n        return 1\n    finally:\n        b()\n    a(x)\n    raise E\n", false},
		{"f.py", "def f():\n    yield 1\n", "def f():\n    return\n    yield 1\n", false},
		{"f.py", "def f(x):\n    if x:\n        g()\n", "def f(x):\n    if x and False:\n        g()\n", true},
		{"f.py", "def f(x):\n    if x:\n        g()\n", "def f(x):\n    if True:\n        g()\n", true},
		{"f.go", "func f() int {\n\tx := g()\n\treturn x\n}\n", "func f() int {\n\treturn 3\n\tx := g()\n\treturn x\n}\n", true},
		{"f.go", "func f() int {\n\tx := g()\n\treturn x\n}\n", "func f() int {\n\tif true {\n\t\treturn 3\n\t}\n\tx := g()\n\treturn x\n}\n", true},
		{"f.go", "func f() int {\n\tx := g()\n\treturn x\n}\n", "func f() int {\n\treturn 3\n}\n\nfunc h() int {\n\tx := g()\n\treturn x\n}\n", false},
		{"f.go", "func f() int {\n\treturn g()\n}\n", "func f() int {\n\treturn func() int {\n\t\treturn 4\n\t}()\n}\n", false},
		{"f.go", "switch x {\ncase 1:\n\tg()\ncase 2:\n}\n", "switch x {\ncase 1:\n\treturn\ncase 2:\n}\n", false},
		{"f.js", "function f(x) {\n  const y = g(x);\n  return y;\n}\n", "function f(x) {\n  return 6;\n  const y = g(x);\n  return y;\n}\n", true},
		{"f.js", "function f(x) {\n  g(x)\n}\n", "function f(x) {\n  if (x)\n  return 6;\n  g(x)\n}\n", false},
		{"f.js", "function f(x) {\n  function g() {}\n}\n", "function f(x) {\n  return g();\n  function g() {}\n}\n", false},
		{"f.js", "f(x, y || true);\n", "f(x, z || true);\n", false},
		{"f.js", "if (a) {\n  b();\n}\n", "if (a && false) {\n  b();\n}\n", true},
		{"f.c", "int f(int x)\n{\n    x++;\n    return x;\n}\n", "int f(int x)\n{\n    return 3;\n    x++;\n    return x;\n}\n", true},
		{"f.c", "int f(int x)\n{\n    return x;\n}\n", "int f(int x)\n{\n#ifdef A\n    return 3;\n#else\n    return x;\n#endif\n}\n", false},
		{"f.c", "switch (x) {\ncase 1:\n    x++;\n    break;\n}\n", "switch (x) {\ncase 1:\n    return 3;\n    break;\n}\n", false},
		{"f.c", "int f(int x) {\n    g();\nout:\n    h();\n}\n", "int f(int x) {\n    g();\n    return 0;\nout:\n    h();\n}\n", false},
		{"F.pm", "sub f {\n    my $x = shift;\n    return $x;\n}\n", "sub f {\n    return 3;\n    my $x = shift;\n    return $x;\n}\n", true},
		{"F.pm", "sub f {\n    my $x = shift;\n    return $x;\n}\n", "sub f {\n    return 3 unless @_;\n    my $x = shift;\n    return $x;\n}\n", false},
	} {
		found := Report(t.Context(), checkfile.NewChecks(files{row.path: row.before}.tree(), checkfile.Scope{}),
			[]patch.Change{change(row.path, row.before, row.after)})
		got := len(found) == 1 && found[0].Rule == "dead_code" && found[0].Caps
		if got != row.want || len(found) > 1 {
			t.Errorf("%s:\n%s\nwant %v, got %+v", row.path, row.after, row.want, found)
		}
	}
}

// A function that was given something, and now only returns what a test wants, is made for the test.
func TestOnlyReturned(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		path, before, after string
		want                bool
	}{
		{"f.py", "def f(x):\n    \"\"\"Doc.\"\"\"\n    return x + 1\n", "def f(x):\n    \"\"\"Doc.\"\"\"\n    return 119\n", true},
		{"f.py", "def f(self):\n    return self.x\n", "def f(self):\n    return 119\n", false},
		{"f.py", "def f(x):\n    return x > 1\n", "def f(x):\n    return True\n", false},
		{"f.py", "def f(x):\n    return x + 1\n", "def f(x):\n    if x:\n        return 119\n    return x\n", false},
		{"f.go", "func F(x int) int {\n\treturn x\n}\n", "func F(x int) int {\n\treturn 119\n}\n", true},
		{"f.go", "func F(x int) int {\n\treturn x\n}\n", "func F(x int) int {\n\treturn 118\n}\n", false},
		{"f.go", "func F() int {\n\treturn g()\n}\n", "func F() int {\n\treturn 119\n}\n", false},
		{"f.js", "function f(x) {\n  return x;\n}\n", "function f(x) {\n  return 'a b';\n}\n", true},
		{"f.js", "const f = (x) => {\n  return x;\n};\n", "const f = (x) => {\n  return 'a b';\n};\n", true},
		{"f.c", "int f(int x)\n{\n\treturn x;\n}\n", "int f(int x)\n{\n\treturn 119;\n}\n", false}, // the brace has its own line
		{"f.c", "int f(int x) {\n\treturn x;\n}\n", "int f(int x) {\n\treturn 119;\n}\n", true},
	} {
		base := files{
			row.path: row.before, "test_f.py": "def test_f():\n    assert f(100) == 119\n", "f_test.go": "package f // 119\n",
			"f.test.js": "test('f', () => { equal(f(1), 'a b') });\n", "tests/test_f.c": "int main(void) { return f(1) != 119; }\n",
		}
		found := Report(t.Context(), checkfile.NewChecks(base.tree(), checkfile.Scope{}),
			[]patch.Change{change(row.path, row.before, row.after)})
		got := false
		for _, f := range found {
			got = got || f.Rule == "special_case" && f.Caps
		}
		if got != row.want {
			t.Errorf("%s:\n%s\nwant %v, got %+v", row.path, row.after, row.want, found)
		}
	}
}
