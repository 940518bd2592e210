package checkfile

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// A project's own runner is the check whatever it is called, with what only it loads. A program is not.
func TestOwnRunner(t *testing.T) {
	const runner = `import importlib.util, json, os, sys, pathlib
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
cfg = json.loads((ROOT / "config" / ("runner" + ".json")).read_text())
sys.path.insert(0, str(ROOT / "tools"))
from compare import same
bad = 0
for p in sorted((ROOT / cfg["dir"]).glob(cfg.get("pattern", "*.json"))):
    case = json.loads(p.read_text())
    from calc import total
    got = total(case["items"])
    if same(got, case["want"], 0):
        print("ok", case["name"])
    else:
        print("FAIL", case["name"], got, case["want"]); bad += 1
sys.exit(1 if bad else 0)
`
	tree := map[string]string{
		"tools/run.py": runner, "tools/compare.py": "def same(a, b, tol):\n    return abs(a - b) <= tol\n", "calc.py": "import json\nrates = json.load(open('rates/eu.json'))\ndef total(items): return 1\n",
		"config/runner.json": `{"dir": "checks", "rates": "rates"}`, "checks/ten.json": "{}", "checks/more/a.json": "{}", "rates/eu.json": "{}",
		"qa/all.mjs":    "import { f } from '../src/a.js';\nimport { same } from './same.mjs';\nconst { near } = await import(path.join(dir, 'near'+'.js') ?? 'near.js');\nfor (const c of fs.readdirSync('frames')) {\n  if (!same(f(c), near)) { console.log(`not ok ${c}`); process.exitCode = 1; }\n}\n",
		"frames/a.json": "{}",
		"qa/same.mjs":   "export const same = (a, b) => a === b;\n", "qa/near.js": "exports.near = 1;\n",
		"scripts/run.js": "const { f } = require('../src/a.js');\nif (f(1) !== 2) { console.log('FAIL f'); process.exit(1); }\n", "src/a.js": "exports.f = 1;\n",
		"go.mod": "module x\n\ngo 1.21\n", "calc/a.go": "package calc\n\nfunc F() int { return 1 }\n",
		"vectors/a.json":   "{}",
		"cmd/all/main.go":  "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"x/calc\"\n)\n\nfunc main() {\n\tif f, _ := os.ReadDir(\"vectors\"); calc.F() != len(f) {\n\t\tfmt.Println(\"FAIL\")\n\t\tos.Exit(1)\n\t}\n}\n",
		"cmd/calc/main.go": "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"x/calc\"\n)\n\nfunc main() {\n\tif len(os.Args) > 1 {\n\t\tfmt.Println(\"expected no argument, got some\")\n\t\tos.Exit(1)\n\t}\n\tfmt.Println(calc.F())\n}\n",
		"regress.py":       "import sys\nfrom calc import total\nif total([]) != 1:\n    print('FAIL ten')\n    sys.exit(1)\n",
		"app.py":           "import sys\nfrom calc import total\nif len(sys.argv) > 9:\n    print('it FAILED')\n    sys.exit(1)\nprint(total([]))\n",
		"qa/report.py":     "import sys\nsys.path.insert(0, '..')\nfrom calc import total\nif total([]) != 1:\n    sys.exit('wanted 1, got 2')\n",
	}
	read := func(p string) ([]byte, error) { return []byte(tree[p]), nil }
	paths := slices.Sorted(maps.Keys(tree))
	for command, want := range map[string]string{
		"python3 tools/run.py":       "tools/run.py tools/compare.py config/runner.json config/new.json checks/ten.json checks/new.json checks/more/a.json",
		"cd tools && python3 run.py": "tools/run.py tools/compare.py checks/ten.json",
		"node qa/all.mjs":            "qa/all.mjs qa/same.mjs qa/near.js frames/a.json",
		"node scripts/run.js":        "scripts/run.js",
		"go run ./cmd/all":           "cmd/all/main.go vectors/a.json",
		"python3 regress.py":         "regress.py",
		"python3 qa/report.py":       "qa/report.py",
		"go run ./cmd/calc":          "",
		"python3 app.py":             "",
	} {
		c := NewChecks(Tree{Paths: paths, Read: read}, Scope{Runs: []Command{{Dir: ".", Shell: command}}})
		wanted := strings.Fields(want)
		for _, p := range wanted {
			if c.Class(p) == 0 {
				t.Errorf("%s: %s does not belong to the check", command, p)
			}
		}
		for _, p := range []string{"calc.py", "rates/eu.json", "src/a.js", "calc/a.go", "cmd/calc/main.go", "app.py", "tools/compare.py", "checks/ten.json"} {
			if class := c.Class(p); class != 0 && !slices.Contains(wanted, p) && !strings.Contains(want, path0(p)) {
				t.Errorf("%s: %s belongs to the check: class %d", command, p, class)
			}
		}
	}
}

// path0 returns the folder of a path, with a slash.
func path0(p string) string {
	dir, _, _ := strings.Cut(p, "/")
	return dir + "/"
}

// What only tests assert with belongs to them, in any folder.
func TestAssertersAreHelpers(t *testing.T) {
	for p, src := range map[string]string{
		"third_party/minitest.h": "#include <stdlib.h>\n#define REQUIRE(x) do { if (!(x)) { fprintf(stderr, \"failed: %s\\n\", #x); exit(1); } } while (0)\n",
		"lib/is.js":              "exports.same = (a, b) => { if (a !== b) { console.log('FAIL', a, b); process.exitCode = 1; } };\n",
		"extern/isit.py":         "def same(a, b):\n    if a != b:\n        raise AssertionError((a, b))\n",
	} {
		tree := map[string]string{
			p: src, "test/run.js": "const { same } = require('../lib/is.js');\nconst { f } = require('../src/a.js');\nsame(f(1), 2);\n", "src/a.js": "exports.f = () => { if (!x) process.exitCode = 1; };\n",
			"tests/test_calc.c": "#include \"minitest.h\"\n#include \"calc.h\"\nint main(void) { REQUIRE(1); return 0; }\n", "src/calc.h": "int f(void);\n",
			"tests/test_calc.py": "from extern.isit import same\nfrom calc import total\n\ndef test_ten():\n    same(total(1), 2)\n", "calc.py": "def total(x): return x\n",
		}
		c := NewChecks(Tree{Paths: slices.Sorted(maps.Keys(tree)), Read: func(p string) ([]byte, error) { return []byte(tree[p]), nil }},
			Scope{Runs: []Command{{Dir: ".", Shell: "node test/run.js; make check; pytest"}}})
		if c.Class(p) != 2 {
			t.Errorf("%s: class %d, want 2", p, c.Class(p))
		}
		for _, product := range []string{"src/a.js", "src/calc.h", "calc.py"} {
			if c.Class(product) != 0 {
				t.Errorf("with %s: %s belongs to the check", p, product)
			}
		}
	}
}
