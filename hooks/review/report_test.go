package review

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A files is a tree: content by path.
type files map[string]string

func (f files) tree() checkfile.Tree {
	return checkfile.Tree{Paths: slices.Sorted(maps.Keys(f)), Read: func(p string) ([]byte, error) {
		src, ok := f[p]
		if !ok {
			return nil, fmt.Errorf("no such file: %s", p)
		}
		return []byte(src), nil
	}}
}

const absent = "\x00absent" // no file on this side

// A reportRow is one change and everything that the report says of it, but that a check file was touched:
// "rule:line …", with a ! where it caps.
type reportRow struct {
	name, path    string
	before, after string
	want          string
}

func regularFile(s string) *patch.File {
	if s == absent {
		return nil
	}
	mode := fs.FileMode(0o644)
	if rest, ok := strings.CutPrefix(s, "x:"); ok {
		mode, s = 0o755, rest
	}
	if rest, ok := strings.CutPrefix(s, "->"); ok {
		mode, s = fs.ModeSymlink|0o777, rest
	}
	return &patch.File{Mode: mode, Data: []byte(s)}
}

func change(p, before, after string) patch.Change {
	return patch.Change{Path: p, Before: regularFile(before), After: regularFile(after)}
}

// reportOf makes the base of what changes have before.
func reportOf(changes ...patch.Change) []Finding {
	f := files{}
	for _, c := range changes {
		if c.Before != nil {
			f[c.Path] = string(c.Before.Data)
		}
	}
	return Report(context.Background(), checkfile.NewChecks(f.tree(), checkfile.Scope{}), changes)
}

func brief(found []Finding, where bool) string {
	var list []string
	for _, f := range found {
		if f.Rule == rules.CheckFile || f.Rule == rules.CheckConfig || f.Rule == rules.ProtectedFile {
			continue
		}
		s := f.Rule
		if where {
			s += " " + f.Path
		}
		s += fmt.Sprintf(":%d", f.Line)
		if f.Caps {
			s += "!"
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

// reportRows are the rows of all files.
var reportRows = slices.Concat(goRows, webRows, pythonRows, perlRows, rustRows, nativeRows, scriptRows, textRows, placeRows,
	buildRows, selfRows, whoRows, endRows, aroundRows, equalityRows, quietRows)

// A report ends with its context.
func TestReportEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := checkfile.NewChecks(files{"a.py": "a = 1\n"}.tree(), checkfile.Scope{})
	if found := Report(ctx, c, []patch.Change{change("a.py", "a = 1\n", "import os; os._exit(0)\n")}); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	for _, row := range reportRows {
		t.Run(row.path+": "+row.name, func(t *testing.T) {
			t.Parallel()
			found := reportOf(change(row.path, row.before, row.after))
			if got := brief(found, false); got != row.want {
				t.Errorf("got  %q\nwant %q\n%+v", got, row.want, found)
			}
			checkForm(t, found)
		})
	}
}

// checkForm is what holds of every report.
func checkForm(t *testing.T, found []Finding) {
	t.Helper()
	for _, f := range found {
		low := strings.ToLower(f.Detail)
		for _, word := range []string{"cheat", "malicious", "gaming", "suspicious", "attack", "evil", "tamper"} {
			if strings.Contains(low, word) && !strings.Contains(low, "was:") {
				t.Errorf("%s: the detail accuses: %s", f.Rule, f.Detail)
			}
		}
		if n := utf8.RuneCountInString(f.Detail); n == 0 || n > maxDetail {
			t.Errorf("%s: a detail of %d characters: %q", f.Rule, n, f.Detail)
		}
		for _, c := range f.Detail {
			if c < 0x20 || c == 0x7f || invisible(c) {
				t.Errorf("%s: %U in the detail", f.Rule, c)
			}
		}
		i := slices.IndexFunc(rules.Kinds, func(r rules.Kind) bool { return r.Name == f.Rule })
		if i < 0 {
			t.Fatalf("no rule %q", f.Rule)
		}
		if f.Caps && !rules.Kinds[i].Caps && rules.Kinds[i].Also == "" {
			t.Errorf("%s caps, and its rule does not", f.Rule)
		}
		if f.Line < 0 || f.Path == "" {
			t.Errorf("%+v stands nowhere", f)
		}
	}
	if !slices.IsSortedFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), strings.Compare(a.Rule, b.Rule))
	}) {
		t.Error("not sorted")
	}
}

// Every rule is found by at least one row, and only by a rule that is in the table.
func TestRulesAreUsed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	capped := map[string]bool{}
	for _, row := range reportRows {
		for _, f := range reportOf(change(row.path, row.before, row.after)) {
			used[f.Rule] = true
			capped[f.Rule] = capped[f.Rule] || f.Caps
		}
	}
	if n := len(reportRows); n < 500 {
		t.Errorf("%d rows", n)
	}
	for _, r := range rules.Kinds {
		if r.Name == rules.LiteralFromTest || r.Name == rules.SpecialCase {
			continue // they need a test: TestLiteralFromTest, TestSpecialCase
		}
		if !used[r.Name] {
			t.Errorf("no row has %s", r.Name)
		}
		if capped[r.Name] != (r.Caps || r.Also != "") {
			t.Errorf("%s: some row caps: %v; the table says %v %q", r.Name, capped[r.Name], r.Caps, r.Also)
		}
		if r.Why == "" {
			t.Errorf("%s: its line of the table is not whole", r.Name)
		}
	}
}

func TestReportAcrossFiles(t *testing.T) {
	t.Parallel()
	test := func(name string) string {
		return "package a\n\nfunc " + name + "(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal(\"f\")\n\t}\n}\n"
	}
	for _, tt := range []struct {
		name    string
		changes []patch.Change
		want    string
	}{
		{"a test that moved to another file", []patch.Change{change("a_test.go", test("TestF"), absent), change("b/b_test.go", absent, test("TestF"))}, ""},
		{"a test that moved and has another name", []patch.Change{change("a_test.go", test("TestF"), absent), change("b_test.go", absent, test("TestG"))}, ""},
		{"a test file that no runner finds", []patch.Change{change("a_test.go", test("TestF"), absent), change("a_checks.go", absent, test("TestF"))}, "test_removed a_test.go:3"},
		{"a test file for another system", []patch.Change{change("a_test.go", test("TestF"), absent), change("a_windows_test.go", absent, test("TestF"))}, "test_removed a_test.go:3"},
		{"a test file that Go skips", []patch.Change{change("a/a_test.go", test("TestF"), absent), change("_a/a_test.go", absent, test("TestF"))}, "test_removed a/a_test.go:3"},
		{"one of two tests of one name", []patch.Change{change("a/a_test.go", test("TestF"), "package a\n"), change("b/b_test.go", test("TestF"), test("TestF")+"\n")}, "test_removed a/a_test.go:1"},
		{"JavaScript test renamed to .bak", []patch.Change{change("a.test.js", "it('adds', () => {\n  expect(f()).toBe(1)\n})\n", absent), change("a.test.js.bak", absent, "it('adds', () => {\n  expect(f()).toBe(1)\n})\n")}, "test_removed a.test.js:1"},
		{"Python test renamed away", []patch.Change{change("test_a.py", "def test_a():\n    assert f() == 1\n", absent), change("a_checks.py", absent, "def test_a():\n    assert f() == 1\n")}, "test_removed test_a.py:1"},
		{"test detection that moved", []patch.Change{change("a.go", "package a\n\nfunc f() bool {\n\treturn testing.Testing()\n}\n", absent), change("b.go", absent, "package b\n\nfunc f() bool {\n\treturn testing.Testing()\n}\n")}, ""},
		{"test detection out of a test", []patch.Change{change("a_test.go", "package a\n\nvar x = testing.Testing()\n", absent), change("b.go", absent, "package b\n\nvar x = testing.Testing()\n")}, "test_detected b.go:3!"},
		{"a vendored module with its version", []patch.Change{change("vendor/modules.txt", "# example.com/m v1.0.0\n", "# example.com/m v1.1.0\n"), change("vendor/example.com/m/m.go", "package m\n", "package m // 2\n")}, "library_shadowed vendor/example.com/m/m.go:0"},
		{"a vendored module without", []patch.Change{change("vendor/modules.txt", "# example.com/m v1.0.0\n# example.com/n v1.0.0\n", "# example.com/m v1.0.0\n# example.com/n v1.1.0\n"), change("vendor/example.com/m/m.go", "package m\n", "package m // 2\n")}, "library_shadowed vendor/example.com/m/m.go:0"},
		{"an installed package with its version", []patch.Change{change("node_modules/left-pad/package.json", "{\n\"version\": \"1\"\n}\n", "{\n\"version\": \"2\"\n}\n"), change("node_modules/left-pad/index.js", "a\n", "b\n")}, "library_shadowed node_modules/left-pad/index.js:0 library_shadowed node_modules/left-pad/package.json:0"},
		{"a runner, even with its version", []patch.Change{change("node_modules/jest/package.json", "{\n\"version\": \"1\"\n}\n", "{\n\"version\": \"2\"\n}\n"), change("node_modules/jest/index.js", "a\n", "b\n")}, "library_shadowed node_modules/jest/index.js:0 library_shadowed node_modules/jest/package.json:0"},
		{"a link through a link", []patch.Change{change("a/b/top", absent, "->../.."), change("a/b/out", absent, "->top/../x")}, "symlink_out a/b/out:0!"},
		{"links within", []patch.Change{change("a/b/top", absent, "->../.."), change("a/b/in", absent, "->top/x/../y")}, ""},
		{"a bare repository", []patch.Change{change("b/HEAD", absent, "ref: refs/heads/x\n"), change("b/config", absent, "[core]\n\tfsmonitor = ./x\n"), change("b/objects/x", absent, "x"), change("b/refs/x", absent, "x")}, "new_process b/config:0"},
		{"a file called config", []patch.Change{change("b/HEAD", absent, "x\n"), change("b/config", absent, "[core]\n")}, ""},
		{"links in a circle", []patch.Change{change("a", absent, "->b"), change("b", absent, "->a")}, "symlink_out a:0! symlink_out b:0!"},
		{"a checker silenced beside another change", []patch.Change{change("a.js", "f()\n", "f() // eslint-disable-line\n"), change("b.js", "g(1)\n", "g(2)\n")}, "suppression_added a.js:1"},
		{"a checker silenced beside a change of a test", []patch.Change{change("a.js", "f()\n", "f() // eslint-disable-line\n"), change("b.test.js", "g(1)\n", "g(x)\n")}, "suppression_added a.js:1!"},
		{"a checker silenced beside a new file", []patch.Change{change("a.js", "f()\n", "f() // eslint-disable-line\n"), change("b.js", absent, "g(1)\n")}, "suppression_added a.js:1"},
		{"a checker silenced beside a document", []patch.Change{change("a.js", "f()\n", "f() // eslint-disable-line\n"), change("README.md", "a\n", "b\n")}, "suppression_added a.js:1!"},
		{"a module that becomes a package", []patch.Change{change("types.py", "x = 1\n", absent), change("types/__init__.py", absent, "x = 1\n")}, ""},
		{"a Python package with a module json", []patch.Change{change("app/__init__.py", "", "x = 1\n"), change("app/json.py", absent, "y = 1\n")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := reportOf(tt.changes...)
			if got := brief(found, true); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			checkForm(t, found)
			back := slices.Clone(tt.changes)
			slices.Reverse(back)
			if again := reportOf(back...); !slices.Equal(again, found) {
				t.Errorf("in another order: %v, not %v", again, found)
			}
		})
	}
}

// What caps is never left out, and the last line says how many more there are.
func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	var after strings.Builder
	after.WriteString("const a = 1\n")
	for i := range 20 {
		fmt.Fprintf(&after, "if (process.env.CI) { a%d() }\n", i)
	}
	after.WriteString("if (process.env.NODE_ENV === 'test') { b() }\n")
	found := reportOf(change("a.js", "const a = 1\n", after.String()))
	if got, want := brief(found, false), "test_detected:2 test_detected:3 test_detected:4 test_detected:5 test_detected:22!"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if last := found[len(found)-1].Detail; !strings.HasSuffix(last, " (and 16 more in this file)") {
		t.Errorf("detail %q", last)
	}
	checkForm(t, found)
}

func TestFirstLines(t *testing.T) {
	t.Parallel()
	found := reportOf(
		change("a_test.go", "package a\n", "package a // x\n"), change("b_test.go", absent, "package b\n"), change("c_test.go", "package c\n", absent),
		change("PIPELINE.hcl", "", "# x\n"), change("testdata/in.txt", "1\n", "2\n"),
	)
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintf("%s %s:%d %v", f.Rule, f.Path, f.Line, f.Caps))
	}
	want := []string{"protected_file PIPELINE.hcl:0 false", "check_file a_test.go:0 false", "check_file b_test.go:0 false", "check_file c_test.go:0 false", "check_file testdata/in.txt:0 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for i, word := range []string{"changed", "changed", "new", "removed", "changed"} {
		if i < len(found) && !strings.Contains(found[i].Detail, word) {
			t.Errorf("%s: %q does not say that it is %s", found[i].Path, found[i].Detail, word)
		}
	}
	checkForm(t, found)
}

// What is said of a check file is what Restore does with it, whether a second check was run or not.
func TestSecondCheckIsToldTruly(t *testing.T) {
	t.Parallel()
	const makefile = "OBJS = main.o\n\napp: $(OBJS)\n\tcc -o app $(OBJS)\n\ntest: app\n\t./test.sh || exit 1\n"
	f := files{"Makefile": makefile, "test.sh": "./app\n"}
	c := checkfile.NewChecks(f.tree(), checkfile.Scope{Runs: []checkfile.Command{{Argv: []string{"make", "test"}, Dir: "."}}})
	for after, kept := range map[string]bool{
		replace(makefile, "= main.o", "= main.o util.o"): true,
		replace(makefile, "|| exit 1", "|| true"):        false,
	} {
		changes := []patch.Change{change("Makefile", makefile, after)}
		if left := c.Restore(changes); (len(left) == 1) != kept {
			t.Fatalf("%d changes are left, kept %v", len(left), kept)
		}
		want := map[bool]string{true: "the second check has the change too", false: "the second check has it as it was"}[kept]
		if found := Report(t.Context(), c, changes); !slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == rules.CheckFile && strings.HasSuffix(f.Detail, want) }) {
			t.Errorf("%q is not in %v", want, found)
		}
	}
}

// The report tells compiled code from what a runner loads.
func TestCompiledCodeIsNamed(t *testing.T) {
	t.Parallel()
	c := checkfile.NewChecks(files{"a.c": "int a;\n"}.tree(), checkfile.Scope{})
	for path, want := range map[string]string{"lib/libm.a": "compiled code", "pytest.ini": "what the runner loads by itself"} {
		found := Report(t.Context(), c, []patch.Change{change(path, absent, "x\n")})
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == rules.CheckConfig && strings.HasPrefix(f.Detail, want) }) {
			t.Errorf("%s: %v", path, found)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "a\tb\nc": "a b c", "a\u202eb": `a\u202eb`, "\x1b[31m": `\u001b[31m`, "\xff": `\ufffd`, "日本": "日本", "\U000e0041": `\U000e0041`,
		strings.Repeat("é", 200): strings.Repeat("é", 99) + "…",
	} {
		if got := oneLine(in, maxDetail); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzReport(f *testing.F) {
	for i, row := range reportRows {
		if i%9 == 0 {
			f.Add(row.path, row.before, row.after, row.path+".bak")
		}
	}
	f.Add("a.js", "`${`", "/[/", "../x")
	f.Add("a_test.go", "func TestA(", "func TestB(t\x00", "")
	f.Add("a.rs", "#[test]", "r####\"", "/")
	f.Add("a.py", "'''", "\"\"\"\xff\u202e", "a/node_modules/")
	f.Fuzz(func(t *testing.T, p, before, after, other string) {
		changes := []patch.Change{change(p, before, after), change(other, after, before), change(p+"/n", absent, after), change("w/"+p, before, absent)}
		began := time.Now()
		found := reportOf(changes...)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("took %s", took)
		}
		for i := range found {
			if found[i].Path == "" {
				found[i].Path = "empty" // no patch has such a path
			}
		}
		slices.SortFunc(found, Finding.compare)
		checkForm(t, found)
		again := reportOf(changes...)
		if brief(again, false) != brief(reportOf(changes...), false) {
			t.Error("not the same twice")
		}
	})
}

// Large files, and many lines that look like something, take seconds at most.
func TestReportIsQuick(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	random := rand.New(rand.NewPCG(5, 5)) //nolint:gosec // a test
	parts := []string{"it('a', () => {\n", "expect(x).toBe(1)\n", "})\n", "/* ", "*/\n", "`", "${", "'", "\"", "func TestA(t *testing.T) {\n", "\tt.Error()\n", "}\n", "    ", "def test_x():\n", "assert 1\n", "|| true\n", "#", "if ("}
	text := func() string {
		var b strings.Builder
		for b.Len() < 1<<13 {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		return b.String()
	}
	nested := strings.Repeat("func TestA(t *testing.T) {\n", 3000) // every body goes on for long
	if began := time.Now(); len(reportOf(change("a_test.go", nested+"x", nested))) == 0 || time.Since(began) > time.Minute {
		t.Errorf("tests within tests took %s", time.Since(began))
	}
	for _, p := range []string{"a_test.go", "a.test.js", "test_a.py", "src/lib.rs", "Makefile", "a.py", "a.txt"} {
		began := time.Now()
		found := reportOf(change(p, text(), text()), change("other/"+p, absent, strings.Repeat("x", 1<<17)))
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %s", p, took)
		}
		checkForm(t, found)
	}
}

func replace(s, old, now string) string {
	if !strings.Contains(s, old) {
		panic("a row replaces what is not there: " + old)
	}
	return strings.ReplaceAll(s, old, now)
}
