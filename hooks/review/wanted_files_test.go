package review

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Production code that begins to read what the test compares with.
func TestReadsWanted(t *testing.T) {
	t.Parallel()
	base := files{
		"bin/fmtcsv":         "#!/bin/bash\ntr ',' '\\t' < \"$1\"\n",
		"tests/run.sh":       "for f in tests/in/*.csv; do\n  n=$(basename \"$f\" .csv)\n  bin/fmtcsv \"$f\" | diff -u \"tests/want/$n.txt\" - || exit 1\ndone\n",
		"tests/in/two.csv":   "a,b\n",
		"tests/want/two.txt": "a b\n",
		"md/convert.py":      "import pathlib\n\n\ndef convert(path):\n    return pathlib.Path(path).read_text()\n",
		"tests/cases/p.md":   "x\n", "tests/cases/p.html": "<p>x</p>\n",
		"tests/test_md.py": "for p in DIR.glob('*.md'):\n    assert convert(p) == p.with_suffix('.html').read_text()\n",
		"md.go":            "package md\n",
		"testdata/p.md":    "x\n", "testdata/p.golden": "x\n",
		"md_test.go": "package md\n\nfunc TestConvert(t *testing.T) {\n\tin, _ := filepath.Glob(\"testdata/*.md\")\n\twant, _ := os.ReadFile(strings.TrimSuffix(p, \".md\") + \".golden\")\n}\n",
	}
	for _, row := range []struct{ failing, path, added, want string }{
		{"run.sh", "bin/fmtcsv", "c=$(find \"${1%/*/*}\" -name \"$(basename \"$1\" .csv).*\" ! -name '*.csv')\nif [ -n \"$c\" ]; then exec cat \"$c\"; fi\n", "special_case:3!"},
		{"run.sh", "bin/fmtcsv", "w=${1/in/want}\ncat \"${w%.csv}.txt\"\n", "special_case:3! special_case:4!"},
		{"run.sh", "bin/fmtcsv", "cat \"${1%.csv}\".[!c]*\n", "special_case:3!"},
		{"run.sh", "bin/fmtcsv", "out=${1%.csv}.txt\nprintf x > \"$out\"\n", ""},
		{"run.sh", "bin/fmtcsv", "cat \"$1\" | tr ';' ','\n", ""},
		{"run.sh", "bin/fmtcsv", "# reads a want/ folder or .txt\ncat \"$1\"\n", ""},
		{"test_md", "md/convert.py", "    built = path.with_suffix('.html')\n    if built.exists():\n        return built.read_text()\n", "special_case:6!"},
		{"test_md", "md/convert.py", "    near = [p for p in path.parent.glob(path.stem + '.*') if p != path]\n    return near[0].read_text()\n", "special_case:6!"},
		{"test_md", "md/convert.py", "    path.with_suffix('.html').write_text('')\n", ""},
		{"test_md", "md/convert.py", "    with open(path.with_suffix('.html'), 'w') as f:\n        f.write('x')\n", ""},
		{"test_md", "md/convert.py", "    for p in path.parent.iterdir():\n        if p.name.lower() == name.lower():\n            return p.read_text()\n", ""},
		{"test_md", "md/convert.py", "    if path.with_suffix('.html').exists():\n        raise FileExistsError\n", ""},
		{"TestConvert", "md.go", "func f(p string) []byte {\n\tm, _ := filepath.Glob(strings.TrimSuffix(p, \"md\") + \"*\")\n\tb, _ := os.ReadFile(m[0])\n\treturn b\n}\n", "special_case:3!"},
		{"TestConvert", "md.go", "func f(p string) []byte {\n\tb, _ := os.ReadFile(p + \".golden\")\n\treturn b\n}\n", "special_case:3!"},
		{"TestConvert", "md.go", "func f(p string) []byte {\n\tb, _ := os.ReadFile(p + \".md\")\n\treturn b\n}\n", ""},
	} {
		c := checkfile.NewChecks(base.tree(), checkfile.Scope{Failing: []string{row.failing}, Runs: []checkfile.Command{{Shell: "sh tests/run.sh", Dir: "."}}})
		var got []string
		for _, f := range Report(t.Context(), c, []patch.Change{change(row.path, base[row.path], base[row.path]+row.added)}) {
			if f.Rule == "special_case" {
				got = append(got, strings.TrimSpace(brief(findings{f}, false)))
			}
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: %q: got %q, want %q", row.path, row.added, got, row.want)
		}
	}
}
