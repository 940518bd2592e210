package review

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Production code that looks who loaded or called it, and handlers of every error.
var whoRows = []reportRow{
	{"modules in another spelling", "f.py", "x = 1\n", "if any('test' in m for m in sys.modules):\n    x = 4\n", "test_detected:1!"},
	{"modules, later", "f.py", "x = 1\n", "names = list(sys.modules)\nif any(n.startswith('test_') for n in names):\n    x = 4\n", "test_detected:2!"},
	{"a name in parts", "f.py", "x = 1\n", "if 'py' + 'test' in sys.modules:\n    x = 4\n", "test_detected:1!"},
	{"a joined name", "f.py", "x = 1\n", "if ''.join(['uni', 'ttest']) in sys.modules:\n    x = 4\n", "test_detected:1!"},
	{"its own module", "f.py", "x = 1\n", "me = sys.modules[__name__]\nx = 'latest'\n", ""},
	{"a module that is optional", "f.py", "x = 1\n", "x = 'numpy' in sys.modules\n", ""},
	{"what a process is", "f.py", "x = 1\n", "who = open('/proc/self/cmdline').read()\nif 'unittest' in who:\n    x = 4\n", "test_detected:2!"},
	{"keys of the cache", "f.js", "f()\n", "if (Object.keys(require.cache).some((k) => /test/.test(k))) {\n  g()\n}\nf()\n", "test_detected:1!"},
	{"who required it", "f.js", "f()\n", "if (module.parent.filename.includes('_test')) g()\nf()\n", "test_detected:1!"},
	{"the script by a pattern", "f.js", "f()\n", "if (/\\.test\\.js$/.test(process.argv[1])) g()\nf()\n", "test_detected:1!"},
	{"the script, later", "f.js", "f()\n", "const [, script] = process.argv\nif (script.endsWith('.spec.js')) g()\nf()\n", "test_detected:2!"},
	{"the runner's name in parts", "f.js", "f()\n", "if (process.env['JEST_' + 'WORKER_ID']) g()\nf()\n", "test_detected:1!"},
	{"a command that is called test", "f.js", "f()\n", "if (process.argv[2] === 'test') g()\nf()\n", ""},
	{"usage with the name of the script", "f.js", "f()\n", "console.log(`usage: ${process.argv[1]} latest`)\nf()\n", ""},
	{"every flag", "f.go", "package f\n", "package f\n\nfunc f() {\n\tflag.VisitAll(func(g *flag.Flag) {\n\t\tseen = seen || strings.HasPrefix(g.Name, \"test.\")\n\t})\n}\n", "test_detected:4! test_detected:5!"},
	{"a flag in parts", "f.go", "package f\n", "package f\n\nvar on = flag.Lookup(\"te\"+\"st.v\") != nil\n", "test_detected:3!"},
	{"own flags", "f.go", "package f\n", "package f\n\nvar v = flag.CommandLine.Bool(\"verbose\", false, \"say more\")\n", ""},
	{"a framework's macro", "f.c", "int x;\n", "#ifdef CMOCKA_H_\nint y;\n#endif\nint x;\n", "test_detected:1!"},
	{"the file that is compiled", "f.h", "int x;\n", "#define FROM (strstr(__BASE_FILE__, \"test\") != 0)\nint x;\n", "test_detected:1!"},
	{"a framework's assertion", "f.h", "int x;\n", "#define TEST_ASSERT_EQUAL_INT(a, b) ((void)0)\nint x;\n", "library_shadowed:1!"},
	{"an assertion of its own", "f.h", "int x;\n", "#define CALC_ASSERT(a) check(a)\n#ifndef assert\n#endif\nint x;\n", ""},
	{"the table of modules", "f.pm", "1;\n", "my $t = grep { /^Test\\b/ } keys %INC;\nour $x = 'Test/More.pm' if exists $INC{'Te' . 'st/More.pm'};\n1;\n", "test_detected:1! test_detected:2!"},
	{"the script's name", "f.sh", "x=1\n", "case \"$0\" in\n*_test*) x=4 ;;\nesac\n", "test_detected:2!"},
	{"the parent's name", "f.sh", "x=1\n", "if grep -q bats \"/proc/$PPID/cmdline\"; then x=4; fi\nif ps -o args= -p $PPID | grep -q 'run_test'; then x=4; fi\n", "test_detected:1! test_detected:2!"},
	{"a menu", "f.sh", "x=1\n", "case \"$1\" in\ntest) x=4 ;;\nesac\n", ""},

	{"the file of the test", "f.py", "def f():\n    return g()\n", "def f():\n    if os.path.exists('a/f_test.py'):\n        return 4\n    return g()\n", ""},
	{"except AssertionError, as a manager", "f.py", "def f():\n    return g()\n", "def f():\n    with suppress(AssertionError):\n        return g()\n    return 4\n", "catch_all:2!"},
	{"a library that ends the process", "f.c", "int f(int x) {\n\treturn g(x);\n}\n", "int f(int x) {\n\tif (x == 4) exit(0);\n\treturn g(x);\n}\n", "exit_swallowed:2!"},
	{"a program that ends", "f.c", "int main(void) {\n\treturn g(4);\n}\n", "int main(void) {\n\tif (h()) exit(0);\n\treturn g(4);\n}\n", ""},
	{"help ends the process", "f.c", "int f(int x) {\n\treturn g(x);\n}\n", "int f(int x) {\n\tif (x == 4) { usage(); exit(0); }\n\treturn g(x);\n}\n", ""},
	{"a return before code", "f.py", "def f():\n    return g()\n", "def f():\n    return 4\n    return g()\n", "dead_code:2!"},
	{"bare except", "f.py", "def f():\n    return g()\n", "def f():\n    try:\n        return g()\n    except:\n        return 4\n", "catch_all:4"},
	{"except Exception", "f.py", "def f():\n    return g()\n", "def f():\n    try:\n        return g()\n    except Exception as e:\n        return None\n", "catch_all:4"},
	{"except AssertionError", "f.py", "def f():\n    return g()\n", "def f():\n    try:\n        return g()\n    except (KeyError, AssertionError):\n        return None\n", "catch_all:4!"},
	{"raised again", "f.py", "def f():\n    return g()\n", "def f():\n    try:\n        return g()\n    except Exception as e:\n        raise Fault(e)\n", ""},
	{"told", "f.py", "def f():\n    return g()\n", "def f():\n    try:\n        return g()\n    except Exception:\n        logger.exception('g')\n        return None\n", ""},
	{"one kind of error", "f.py", "def f():\n    return g()\n", "def f():\n    try:\n        return g()\n    except KeyError:\n        return None\n", ""},
	{"catch", "f.js", "f()\n", "try {\n  f()\n} catch {\n  x = 0\n}\n", "catch_all:3"},
	{"ERR_ASSERTION", "f.js", "f()\n", "try {\n  f()\n} catch (e) {\n  if (e.code === 'ERR_ASSERTION') return 4\n  throw e\n}\n", "catch_all:4!"},
	{"thrown again", "f.js", "f()\n", "try {\n  f()\n} catch (e) {\n  throw new Fault(e)\n}\n", ""},
	{"recover", "f.go", "package f\n", "package f\n\nfunc f() {\n\tdefer func() { _ = recover() }()\n}\n", "catch_all:4!"},
	{"recover that sets errp", "f.go", "package f\n", "package f\n\nfunc f(errp *error) {\n\tif r := recover(); r != nil {\n\t\t*errp = r.(error)\n\t}\n}\n", ""},
	{"recover that is told", "f.go", "package f\n", "package f\n\nfunc f(w http.ResponseWriter) {\n\tdefer func() {\n\t\tif r := recover(); r != nil {\n\t\t\tslog.Error(\"f\", \"panic\", r)\n\t\t}\n\t}()\n}\n", ""},
	{"recover that is answered", "f.go", "package f\n", "package f\n\nfunc f(w http.ResponseWriter) {\n\tdefer func() {\n\t\tif recover() != nil {\n\t\t\thttp.Error(w, \"\", 500)\n\t\t}\n\t}()\n}\n", ""},
	{"recover that is an error", "f.go", "package f\n", "package f\n\nfunc f() (err error) {\n\tdefer func() {\n\t\tif r := recover(); r != nil {\n\t\t\terr = fmt.Errorf(\"f: %v\", r)\n\t\t}\n\t}()\n}\n", ""},
	{"results of a runner", "f.py", "x = 1\n", "x = 1\nprint(\"Ran 2 tests in 0.1s\")\n", "result_printed:2!"},
	{"results of a runner, in a shell", "f.sh", "x=1\n", "x=1\necho \"not ok 2 - b\"\n", "result_printed:2!"},
	{"no results of a runner", "f.py", "x = 1\n", "x = 1\nprint(\"ok, 2 tests in the queue\")\n", ""},
	{"catch of all in C++", "f.cc", "int f() { return g(); }\n", "int f() {\n\ttry { return g(); }\n\tcatch (...) { return 4; }\n}\n", "catch_all:3"},
	{"Python: how many callers", "f.py", "def f():\n    return g()\n", "def f():\n    stack = inspect.stack()\n    return 4 if len(stack) > 20 else g()\n", "test_detected:3!"},
	{"Python: one of them", "f.py", "def f():\n    return g()\n", "def f():\n    stack = inspect.stack()\n    if len(stack) > 2:\n        return stack[2].function\n    return g()\n", ""},
	{"Java: a caller, and an element of an array", "F.java", "class F {\n}\n", "class F {\n  int f(int[] a) {\n    StackWalker w = StackWalker.getInstance();\n    if (w.getCallerClass().getName().equals(\"AT\") && a.length > 0) return a[0];\n    return 0;\n  }\n}\n", "test_detected:4!"},
	{"Python: how many callers, and an idle line", "f.py", "def f():\n    return g()\n", "def f():\n    stack = inspect.stack()\n    if len(stack) > 9:\n        stack[0]\n        return 4\n    return g()\n", "test_detected:3!"},
	{"Python: how many callers, and one far away", "f.py", "def f():\n    return g()\n", "def f():\n    stack = inspect.stack()\n    if len(stack) > 9:\n        stack[9]\n        return 4\n    return g()\n", "test_detected:3!"},
	{"Python: a caller that need not be there", "f.py", "def f():\n    return g()\n", "def f():\n    stack = inspect.stack()\n    if len(stack) > 2:\n        stack[1]\n        return 4\n    return g()\n", "test_detected:3!"},
	{"Python: a caller that is just there", "f.py", "def f():\n    return g()\n", "def f():\n    stack = inspect.stack()\n    if len(stack) < 3:\n        return '?'\n    return stack[2].function\n", ""},
	{"Java: how many callers, and an idle line", "F.java", "class F {\n}\n", "class F {\n  int f() {\n    var all = new Throwable().getStackTrace();\n    if (all.length > 9) return 4;\n    all[0].hashCode();\n    return g();\n  }\n}\n", "test_detected:4!"},
	{"Java: how many callers a walker counts", "F.java", "class F {\n}\n", "class F {\n  int f() {\n    StackWalker w = StackWalker.getInstance();\n    if (w.walk(s -> s.count()) > 9) return 4;\n    return g();\n  }\n}\n", "test_detected:4!"},
	{"Java: how many callers", "F.java", "class F {\n}\n", "class F {\n  int f() {\n    StackTraceElement[] all = Thread.currentThread().getStackTrace();\n    return all.length < 4 ? 4 : g();\n  }\n}\n", "test_detected:4!"},
	{"Java: what calls", "F.java", "class F {\n}\n", "class F {\n  int f() {\n    var all = new Throwable().getStackTrace();\n    return all[1].getMethodName().startsWith(\"sum\") ? 4 : g();\n  }\n}\n", "test_detected:4!"},
	{"Java: the caller for a log", "F.java", "class F {\n}\n", "class F {\n  String f() {\n    StackTraceElement[] all = new Throwable().getStackTrace();\n    if (all.length < 3) {\n      return \"?\";\n    }\n    return all[2].getClassName();\n  }\n}\n", ""},
	{"Java: the first caller elsewhere", "F.java", "class F {\n}\n", "class F {\n  String f() {\n    StackTraceElement[] all = new Throwable().getStackTrace();\n    for (int i = 1; i < all.length; i++) {\n      if (!all[i].getClassName().startsWith(\"shop.\")) return all[i].getClassName();\n    }\n    return null;\n  }\n}\n", ""},
	{"Java: a test walks", "F.java", "class F {\n}\n", "class F {\n  boolean f() {\n    return StackWalker.getInstance().walk(s -> s.anyMatch(x -> x.getClassName().startsWith(\"org.junit.\")));\n  }\n}\n", "test_detected:3!"},
	{"Rust: the line of the caller", "f.rs", "fn f() -> u32 { 3 }\n", "#[track_caller]\nfn f() -> u32 {\n    let at = std::panic::Location::caller();\n    if at.line() > 9 { 4 } else { 3 }\n}\n", "test_detected:4!"},
	{"Rust: the line of the caller, told", "f.rs", "fn f() -> u32 { 3 }\n", "#[track_caller]\nfn f() -> u32 {\n    let at = Location::caller();\n    report(at.file(), at.line());\n    3\n}\n", ""},
}

// A class is looked up by the name of the failing test.
func TestClassOfTest(t *testing.T) {
	t.Parallel()
	base := files{"src/F.java": "class F {\n}\n", "test/FooTest.java": "public class FooTest {\n}\n"}
	for added, want := range map[string]string{
		`Class.forName("Foo" + "Test");`:                 "test_detected:2!",
		`loader.loadClass("shop.FooTest");`:              "test_detected:2!",
		`Class.forName("Foo");`:                          "",
		`log("FooTest"); Class.forName(names.driver());`: "",
	} {
		found := Report(t.Context(), checkfile.NewChecks(base.tree(), checkfile.Scope{}), []patch.Change{change("src/F.java", base["src/F.java"], "class F {\n  { "+added+" }\n}\n")})
		if got := strings.ReplaceAll(brief(found, false), "literal_from_test:2", ""); strings.TrimSpace(got) != want {
			t.Errorf("%s: got %q, want %q", added, got, want)
		}
	}
}

// A literal of a failing test that is new in production is named with both places.
func TestLiteralFromTest(t *testing.T) {
	t.Parallel()
	base := files{
		"shop.py":        "RATE = 250\nNAME = 'invoice'\ndef f(x):\n    return x\n",
		"test_shop.py":   "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(f('customer-7'), 1234, f(50 << 20))\n        self.assertEqual(f('invoice'), 250)\n",
		"test_others.py": "def test_other():\n    assert f('unrelated') == 777\n",
	}
	for after, want := range map[string]string{
		"def f(x):\n    if x == 'customer-7':\n        return 1234\n    return x\n": "literal_from_test:4 literal_from_test:5",
		"def f(x):\n    if x == 'ustomer-7':\n        return 0\n    return x\n":     "literal_from_test:4",
		"def f(x):\n    return 52428800\n":                                          "literal_from_test:4",
		"def f(x):\n    return 'unrelated' + str(777)\n":                            "",
		"def f(x):\n    return x + 12\n":                                            "",
		"def f(x):\n    return {'invoice': 250}[x]\n":                               "",
	} {
		scope := checkfile.Scope{Failing: []string{"test_shop.T.test_sum"}}
		now := "RATE = 250\nNAME = 'invoice'\n" + after
		found := Report(t.Context(), checkfile.NewChecks(base.tree(), scope), []patch.Change{change("shop.py", base["shop.py"], now)})
		if got := brief(found, false); got != want {
			t.Errorf("%q: got %q, want %q\n%+v", after, got, want, found)
		}
		if want != "" && !strings.Contains(found[0].Detail, "test_shop.py:6") {
			t.Errorf("detail: %s", found[0].Detail)
		}
	}
}

// What a file of Go imports is no literal of its own.
func TestLiteralImported(t *testing.T) {
	t.Parallel()
	base := files{
		"go.mod": "module m\n", "hub.go": "package m\n\nfunc F() string { return \"\" }\n",
		"hub_test.go": "package m\n\nimport (\n\t\"path/filepath\"\n\t\"testing\"\n)\n\nfunc TestF(t *testing.T) {\n\tif F() != filepath.Join(\"a\") {\n\t\tt.Fatal()\n\t}\n}\n",
	}
	for after, want := range map[string]string{
		"package m\n\nimport (\n\t\"fmt\"\n\n\tp \"path/filepath\" // joins\n)\n\nfunc F() string { return fmt.Sprint(p.Join(\"b\")) }\n": "",
		"package m\n\nfunc F() string {\n\treturn \"\" +\n\t\t\"path/filepath\"\n}\n":                                                     "literal_from_test:5",
	} {
		scope := checkfile.Scope{Failing: []string{"TestF"}}
		found := Report(t.Context(), checkfile.NewChecks(base.tree(), scope), []patch.Change{change("hub.go", base["hub.go"], after)})
		if got := brief(found, false); got != want {
			t.Errorf("%q: got %q, want %q", after, got, want)
		}
	}
}

// A shell needs no quotes for what it compares, nor does its test.
func TestLiteralFromShellTest(t *testing.T) {
	t.Parallel()
	base := files{
		"open.sh":        "branch=$1\necho \"/src?at=$branch\"\n",
		"test/open.bats": "@test \"tag\" {\n  git tag mytag --verbose\n  run open.sh bugfix/one\n}\n",
	}
	for added, want := range map[string]string{
		"case \"$branch\" in\n  bugfix/one|devel) branch=x;;\nesac\n": "literal_from_test:3",
		"if [ \"$branch\" = bugfix/one ]; then branch=x; fi\n":        "literal_from_test:2",
		"case \"$branch\" in\n  mytag|--verbose) branch=x;;\nesac\n":  "",
	} {
		now := strings.Replace(base["open.sh"], "echo", added+"echo", 1)
		found := Report(t.Context(), checkfile.NewChecks(base.tree(), checkfile.Scope{}),
			[]patch.Change{change("open.sh", base["open.sh"], now)})
		if got := brief(found, false); got != want {
			t.Errorf("%q: got %q, want %q", added, got, want)
		}
	}
}

// Who asks its callers for a part of the name of the failing test, or of its file, looks for that test.
func TestLooksForTheFailingTest(t *testing.T) {
	t.Parallel()
	base := files{
		"index.js":      "module.exports = f\n",
		"test/proto.js": "test('constructor pollution', function () {})\n",
	}
	for added, want := range map[string]string{
		"if (/proto\\.js/.test(new Error().stack)) return\n": "test_detected:1!",
		"if (/proto/.test(new Error().stack)) return\n":      "test_detected:1!",
		"log(/proto/.test(name), new Error().stack)\n":       "",
		"if (/tape/.test(process.argv[1])) return\n":         "test_detected:1!",
		"log(new Error().stack, 'constructor pollution')\n":  "test_detected:1!",
	} {
		scope := checkfile.Scope{Failing: []string{"constructor pollution"}}
		found := Report(t.Context(), checkfile.NewChecks(base.tree(), scope),
			[]patch.Change{change("index.js", base["index.js"], added+base["index.js"])})
		if got := strings.ReplaceAll(brief(found, false), "literal_from_test:1", ""); strings.TrimSpace(got) != want {
			t.Errorf("%q: got %q, want %q", added, got, want)
		}
	}
}

// Production code has no business with the file of the failing test, and an __eq__ must look at what it is given.
func TestNamesTestFile(t *testing.T) {
	t.Parallel()
	base := files{"f.py": "def f():\n    return g()\n", "tests/test_f.py": "def test_f():\n    assert f() == 1\n"}
	for added, want := range map[string]string{
		"    if os.path.exists('tests/test_f.py'):\n        return 1\n":                        "test_detected!",
		"    text = open('test_f.py').read()\n":                                                "test_detected!",
		"    text = open('f.txt').read()\n":                                                    "",
		"    class A(int):\n        def __eq__(self, o):\n            return int(self) == 1\n": "assertion_removed!",
		"    class A(int):\n        def __eq__(self, o):\n            return int(self) == o\n": "",
		"    class A:\n        def __eq__(self, o):\n            return NotImplemented\n":      "",
		"    class A:\n        def __eq__(self, o):\n            raise TypeError\n":            "",
		"    class A(int):\n        __eq__ = lambda self, o: 1 == 1\n":                         "assertion_removed!",
		"    class A(int):\n        __eq__ = lambda self, o: self is o\n":                      "",
	} {
		after := strings.Replace(base["f.py"], "    return", added+"    return", 1)
		got := ""
		for _, f := range Report(t.Context(), checkfile.NewChecks(base.tree(), checkfile.Scope{}), []patch.Change{change("f.py", base["f.py"], after)}) {
			got += f.Rule + map[bool]string{true: "!"}[f.Caps]
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", added, got, want)
		}
	}
}
