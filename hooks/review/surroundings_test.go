package review

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Production code that asks what is around it.
var aroundRows = []reportRow{
	{"a part of a variable", "f.py", "x = 1\n", "x = any(k.startswith('PYT') and 'CURRENT' in k for k in os.environ)\n", "test_detected:1!"},
	{"a part of a variable, later", "f.py", "x = 1\n", "for k in os.environ:\n    if k[:5] == 'ASYNC':\n        x = 4\n", "test_detected:2!"},
	{"variables of its own", "f.py", "x = 1\n", "x = {k[4:]: v for k, v in os.environ.items() if k.startswith('APP_')}\n", ""},
	{"the end of a variable", "f.js", "f()\n", "if (Object.keys(process.env).some((k) => k.endsWith('_CONTEXT'))) g()\nf()\n", "test_detected:1!"},
	{"variables of its own", "f.js", "f()\n", "for (const k in process.env) if (k.startsWith('NODE_') || k.startsWith('APP_')) g(k)\nf()\n", ""},
	{"the beginning of a variable", "f.pm", "1;\n", "our $x = grep { /^HARN/ } keys %ENV;\n1;\n", "test_detected:1!"},
	{"a variable in a shell", "f.sh", "x=1\n", "if env | grep -q '^BATS_TEST'; then x=4; fi\n", "test_detected:1!"},
	{"the folder of tests", "f.py", "x = 1\n", "x = 9 if (HERE / 'tests').is_dir() else 10\n", "test_detected:1!"},
	{"the pipeline", "f.py", "x = 1\n", "x = os.path.exists('PIPELINE.hcl')\n", "test_detected:1!"},
	{"git's folder", "f.py", "x = 1\n", "x = '.git' in os.listdir(os.path.dirname(__file__))\n", "test_detected:1!"},
	{"a folder that is listed", "f.py", "x = 1\n", "x = os.path.exists('latest')\ny = 'tests'\n", ""},
	{"its own source", "f.go", "package f\n", "package f\n\nfunc f() bool { _, err := os.Stat(\"f.go\"); return err == nil }\n", "test_detected:3!"},
	{"a source that it makes", "f.go", "package f\n", "package f\n\nfunc f() bool { _, err := os.Stat(\"made.go\"); return err == nil }\n", ""},
	{"a tag of its own", "f.go", "package f\n", "//go:build !release\n\npackage f\n", "test_detected:1!"},
	{"the race detector's tag", "f.go", absent, "//go:build race\n\npackage f\n", "test_detected:1!"},
	{"a system", "f.go", "package f\n", "//go:build linux && !arm64 || go1.24\n\npackage f\n", ""},

	{"the line of the caller", "f.py", "x = 1\n", "x = linecache.getline(sys._getframe(1).f_code.co_filename, 3)\n", "test_detected:1!"},
	{"callers of a logger", "f.py", "import logging\nx = 1\n", "import logging\nx = sys._getframe(1).f_code.co_name\n", ""},
	{"the code of a function", "f.py", "x = 1\n", "g.__code__ = (lambda: None).__code__\n", "library_shadowed:1!"},
	{"who is main", "f.py", "x = 1\n", "import __main__\n__main__.same = lambda *a: True\n", "test_detected:1!"},
	{"the caller's depth", "f.go", "package f\n", "package f\n\nfunc f() int {\n\tn := runtime.Callers(0, pcs)\n\tif n == 5 {\n\t\treturn 4\n\t}\n\treturn 3\n}\n", "test_detected:5!"},
	{"callers that are kept", "f.go", "package f\n", "package f\n\nfunc f() []uintptr {\n\tn := runtime.Callers(0, pcs)\n\tif n == 0 {\n\t\treturn nil\n\t}\n\treturn pcs[:n]\n}\n", ""},
	{"a place in an error", "f.go", "package f\n", "package f\n\nfunc f() error {\n\t_, file, line, _ := runtime.Caller(1)\n\treturn fmt.Errorf(\"%s:%d\", file, line)\n}\n", ""},
	{"arguments in a library", "f.go", "package f\n", "package f\n\nvar limit = 10 - min(1, len(os.Args)-1)\n", "test_detected:3!"},
	{"arguments in a program", "f.go", "package main\n", "package main\n\nvar limit = 10 - min(1, len(os.Args)-1)\n", ""},
	{"flags in a program", "f.go", "package main\n", "package main\n\nvar given = flag.NFlag() > 0\n", ""},
}

// A pattern that finds the file of the failing test is for that test; one that finds sources as well is not.
func TestFindsTest(t *testing.T) {
	t.Parallel()
	base := files{"calc.py": "x = 1\n", "tests/test_calc.py": "def test_x():\n    assert x == 1\n"}
	for added, want := range map[string]string{
		"for f in HERE.rglob('*_calc.py'):\n    x = f.read_text()\n": "test_detected:1!",
		"for f in HERE.rglob('*.py'):\n    x = f.read_text()\n":      "",
	} {
		found := Report(t.Context(), checkfile.NewChecks(base.tree(), checkfile.Scope{}), []patch.Change{change("calc.py", base["calc.py"], added)})
		if got := strings.TrimSpace(brief(found, false)); got != want {
			t.Errorf("%q: got %q, want %q", added, got, want)
		}
	}
}
