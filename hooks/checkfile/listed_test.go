package checkfile

import "testing"

// Data that a check finds by a pattern, in a listing or through a variable, by the command.
func TestClassListed(t *testing.T) {
	t.Parallel()
	classesByRun(t, files{
		"prog.sh": "", "want/a.txt": "", "ref/one/a": "", "conf/a.json": "{}", "src/a.c": "", "old/a.txt": "", "cases": "old", "lists/a": "",
		"all.sh": "for f in want/*; do ./prog.sh | diff - \"$f\"; done\n", "find.sh": "find want -type f | while read -r f; do cmp \"$f\" out; done\n",
		"vars.sh": "d=ref\nfor s in one; do\n\tfor f in \"$d/$s\"/*; do ./prog.sh | diff - \"$f\"; done\ndone\n", "link.sh": "for f in cases/*; do ./prog.sh | diff - \"$f\"; done\n",
		"lint.sh": "for f in conf/*.json; do jq . \"$f\"; done\n", "clean.sh": "find conf -name '*.bak' -delete\n", "strings.sh": "for f in want/*; do [ \"$(./prog.sh)\" = \"$(cat \"$f\")\" ]; done\n",
		"code.sh": "for f in src/*; do ./prog.sh | diff - \"$f\"; done\n", "tree.sh": "./prog.sh && diff -r out ref\n",
	}, map[string]string{
		"sh all.sh":     "4 want/a.txt want/new.txt\n0 ref/one/a old/a.txt",
		"sh find.sh":    "4 want/a.txt\n0 conf/a.json",
		"sh vars.sh":    "4 ref/one/a\n0 want/a.txt",
		"sh link.sh":    "4 cases old/a.txt",
		"sh strings.sh": "4 want/a.txt",
		"sh tree.sh":    "4 ref/one/a",
		"sh lint.sh":    "0 conf/a.json  # what is checked",
		"sh clean.sh":   "0 conf/a.json",
		"sh code.sh":    "0 src/a.c  # sources are the program",
		"for f in want/*; do ./prog.sh | diff - $f; done": "4 want/a.txt",
	})
}

// The same in tests.
func TestClassListedByTests(t *testing.T) {
	t.Parallel()
	classes(t, files{
		"go.mod": "module m\n", "a.go": "package m\n\nimport \"os\"\n\nvar all, _ = os.ReadDir(\"shared\")\n", "ref/x": "", "gold/x": "", "walk/deep/x": "", "glob/x": "", "shared/x": "", "word/x": "", "mixed/x": "", "mixed/x.go": "package x\n",
		"a_test.go": "package m\n\nvar a, _ = os.ReadDir(\"ref\")\nvar b, _ = filepath.Glob(\"glob/*\")\nvar c, _ = os.ReadDir(\"shared\")\nvar d = f(\"word\")\nvar e, _ = os.ReadDir(\"mixed\")\n",
		"test_a.py": "for p in (Path(__file__).parents[1] / 'gold').iterdir():\n    pass\nfor d, _, names in os.walk('walk'):\n    pass\n",
		"b.go":      "package m\n\nvar x = fmt.Sprintf(\"lists/%s.json\", \"en\")\n", "b_test.go": "package m\n\nvar x, _ = os.ReadDir(\"lists\")\nvar y = \"lists/en.json\"\nvar z = \"lists/*.json\"\n", "lists/en.json": "{}", "lists/de.json": "{}",
		"c_test.go": "package m\n\nvar x = fmt.Sprintf(\"golds/%s/out.txt\", \"en\")\nvar y = []string{\"plain\"}\nvar dir = \"named\"\n", "golds/en/out.txt": "", "plain/x": "", "named/x": "",
		"test_d.py": "open(f'{HERE}/pys/{name}.out')\nopen(f'{x}.cfg')\n", "pys/a.out": "", "y.cfg": "",
		"src/lib.rs": "#[cfg(test)]\nmod checks;\nmod shop;\n", "src/checks.rs": "fn all() { std::fs::read_dir(\"rust\") }\n", "src/shop.rs": "", "rust/x": "",
	}, "", nil, `
		3 ref/x gold/x walk/deep/x glob/x
		3 golds/en/out.txt golds/new/out.txt named/x pys/a.out
		0 lists/de.json lists/en.json  # production puts their names together
		0 plain/x y.cfg
		3 rust/x  # a module that only tests compile reads it
		2 src/checks.rs
		0 src/shop.rs src/lib.rs
		0 shared/x  # production lists it too
		0 word/x    # nothing says that it is listed
		0 mixed/x   # a folder with sources
	`)
}

// What a program of the check names is its own if the name says so, and all of a test's.
func TestClassNamedByChecks(t *testing.T) {
	t.Parallel()
	classesByRun(t, files{
		"tools/lint.py": "open('allow.txt')\nopen(os.path.join(os.path.dirname(__file__), '..', 'lint.json'))\nopen('people.json')\nopen('known.txt')\n",
		"allow.txt":     "", "lint.json": "{}", "people.json": "[]", "known.txt": "", "app.py": "open('known.txt')\n",
		"test.c": "int main(void) { return fopen(\"vectors.txt\", \"r\") ? 0 : printf(\"FAIL\"); }\n", "vectors.txt": "", "calc.c": "int add(void) { return 0; }\n",
		"Makefile": "VPATH = src:deep\n.PHONY: check\ncheck: want.out\n\tcc -o t test.c calc.c && ./t\n\tsh prog.sh | diff - want.out\nwant.out: gen.sh\n\tsh gen.sh >$@\nother.out: make.sh\n\tsh make.sh >$@\n",
		"gen.sh":   "", "make.sh": "", "src/a.txt": "", "prog.sh": "",
	}, map[string]string{
		"python3 tools/lint.py": "4 tools/lint.py allow.txt lint.json\n0 people.json known.txt",
		"make check":            "4 vectors.txt test.c gen.sh check check/x src/check deep/check/y\n0 calc.c make.sh src/other",
		"true":                  "0 allow.txt .gitignore .gitattributes",
		"git diff --check":      "5 .gitattributes sub/.gitignore\n0 gitignore",
		"[black --check .":      "5 .gitignore",
	})
}

// What a command itself names as allowed, as expected, or as a rule.
func TestClassNamedByCommands(t *testing.T) {
	t.Parallel()
	classesByRun(t, files{
		"go.mod": "module m\n", "tools/lint/main.go": "package main\n\nfunc main() { read(\"tools/lint/allow.txt\", \"data.json\") }\n", "tools/lint/allow.txt": "",
		"known.txt": "", "sums": "", "data.json": "{}", "schema.json": "{}", "calc.py": "open('own.json')\n", "calc.js": "", "want.json": "{}", "own.json": "{}",
	}, map[string]string{
		"grep -rn TODO src | grep -vFf known.txt":             "4 known.txt",
		"grep --file=known.txt data.json":                     "4 known.txt\n0 data.json",
		"go run ./tools/lint":                                 "4 tools/lint/main.go tools/lint/allow.txt\n0 data.json",
		"grep -f known.txt out":                               "4 known.txt",
		"grep -q x known.txt":                                 "0 known.txt  # what is checked",
		"sha256sum -c sums":                                   "4 sums",
		"sha256sum sums":                                      "0 sums",
		"ajv validate -s schema.json -d data.json":            "4 schema.json\n0 data.json",
		"check-jsonschema --schemafile schema.json data.json": "4 schema.json\n0 data.json",
		"python3 -c 'import calc, json; assert calc.add() == json.load(open(\"want.json\"))'": "4 want.json\n0 own.json calc.py",
		"python3 -c 'import calc; assert calc.load() == open(\"own.json\").read()'":           "0 own.json  # the program reads it too",
		"python3 -c 'import json; assert json.load(open(\"want.json\"))'":                     "0 want.json  # what is checked",
		"node -e 'assert.equal(require(\"./calc.js\").add(), require(\"./want.json\"))'":      "4 want.json",
	})
}

// What unittest finds by a pattern.
func TestClassDiscovered(t *testing.T) {
	t.Parallel()
	classesByRun(t, files{
		"app.py": "import os\n", "deep/up.py": "import unittest\nfrom app import x\n", "deep/plain.py": "x = 1\n", "other/up.py": "import unittest\nfrom app import x\n", "used.py": "import unittest\n", "main.py": "import used\n",
	}, map[string]string{
		"python3 -m unittest discover -s deep -p '*.py'": "4 deep/up.py\n0 deep/plain.py other/up.py app.py",
		"python3 -m unittest discover deep '*.py'":       "4 deep/up.py\n0 other/up.py",
		"python3 -m unittest discover --pattern=u*.py":   "4 deep/up.py other/up.py\n0 used.py  # production imports it",
		"python3 -m unittest discover -s deep":           "0 deep/up.py  # it is not called so",
	})
}

// Crates of Rust that only tests need.
func TestClassDevCrates(t *testing.T) {
	t.Parallel()
	const head = "[package]\nname = \"x\"\n"
	classes(t, files{
		"Cargo.toml":      "[workspace]\nmembers = [\"*\"]\n[workspace.dependencies]\nshared = { path = \"shared\" }\n",
		"shop/Cargo.toml": head + "[dependencies]\nboth = { path = \"../both\" }\n[dev-dependencies]\nsame = { path = \"../same\" }\nshared.workspace = true\nboth = { path = \"../both\" }\nown = { path = \"../own\" }\nserde = \"1\"\n",
		"shop/src/lib.rs": "pub fn f() {}\n", "same/Cargo.toml": head, "same/src/lib.rs": "", "same/src/deep/x.rs": "", "shared/Cargo.toml": head, "shared/src/lib.rs": "",
		"both/Cargo.toml": head, "both/src/lib.rs": "", "own/Cargo.toml": head, "own/src/lib.rs": "#[test]\nfn t() {}\n",
		"checks/Cargo.toml": head + "[dev-dependencies]\ntested = { path = \"../tested\" }\n", "checks/src/lib.rs": "// nothing\n", "tested/Cargo.toml": head, "tested/src/lib.rs": "",
		"shop/fuzz/Cargo.toml": head + "[dev-dependencies]\nshop = { path = \"..\" }\n", "shop/fuzz/src/main.rs": "fn main() {}\n", "bad/Cargo.toml": "[",
	}, "", nil, `
		2 same/src/lib.rs same/src/deep/x.rs same/src/new.rs shared/src/lib.rs
		0 shop/src/lib.rs
		0 both/src/lib.rs    # production needs it too
		0 own/src/lib.rs     # it has a test of its own
		0 tested/src/lib.rs  # its tests are in a crate of their own
	`)
}
