// The readers of foreign formats, and the writer of ours.
package detect

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

func TestReadTOML(t *testing.T) {
	t.Parallel()
	got := readTOML(`# a comment
title = "A \"quoted\" # title" # and a comment
[ project ]
name = 'single # "quoted"'
requires-python = ">=3.10"
dependencies = [
  "a>=1", # [
  'b',
]
dotted."key".c = 3
text = """
[tool.no]
name = "no"
"""
after = true
[tool . "poetry"]
[[bin]]
name = "first"
[[bin]]
name = "second"
broken
= no key
unclosed = [ "x",
`)
	want := toml{
		"title": {`A "quoted" # title`}, "project": nil, "project.name": {`single # "quoted"`}, "project.requires-python": {">=3.10"},
		"project.dependencies": {"a>=1", "b"}, "project.dotted.key.c": {"3"}, "project.after": {"true"}, "tool.poetry": nil,
		"bin": nil, "bin.name": {"second"}, "bin.unclosed": {"x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !got.has("tool") || !got.has("tool.poetry") || got.has("too") || got.has("tool.no") || got.get("project.name") == "" || got.get("project") != "" {
		t.Error("has or get is wrong")
	}
}

func TestReadYAML(t *testing.T) {
	t.Parallel()
	text := `
other: [x, y]
packages:   # here
  - "apps/*"
  - 'it''s' # no
- packages/**
  -
nested:
  packages:
    - no
"tasks":
    build: go build # a comment
    test:unit:
        internal: true
        desc: "a: b # c"
        cmds:
          - internal: false
    'quoted': {cmd: x}
end: 1
tasks2:
  no:
`
	if diff := cmp.Diff([]string{"apps/*", "it''s", "packages/**"}, yamlList(text, "packages")); diff != "" {
		t.Errorf("list (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x", "y"}, yamlList(text, "other")); diff != "" {
		t.Errorf("list (-want +got)\n%s", diff)
	}
	want := []yamlEntry{
		{"build", map[string]string{}},
		{"test:unit", map[string]string{"internal": "true", "desc": "a: b # c", "cmds": ""}},
		{"quoted", map[string]string{}},
	}
	if diff := cmp.Diff(want, yamlMap(text, "tasks"), cmp.AllowUnexported(yamlEntry{})); diff != "" {
		t.Errorf("map (-want +got)\n%s", diff)
	}
}

func TestReadMakefile(t *testing.T) {
	t.Parallel()
	all := readMakefile("A := b\nB ?= c:d\nX = y: z\n.PHONY: all\nall build: gen | dir ; first $@\n\tsecond\n\n\tthird\nbuild: export FLAG=1\nbuild: more\n" +
		"gen:: a\\\n b # c\n\t@-protoc x\n$(X): y\n%.o: %.c\n\tcc\na/b: c\ndefine D\nno: thing\nendef\n\tlost\nlast:=x\n")
	want := []target{
		{"all", []string{"gen"}, []string{" first $@", "second", "third"}},
		{"build", []string{"gen", "more"}, []string{" first $@", "second", "third"}},
		{"gen", []string{"a", "b"}, []string{"@-protoc x"}},
	}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(target{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"first", "second", "third", "protoc"}, programs(all, "all")); diff != "" {
		t.Errorf("programs (-want +got)\n%s", diff)
	}
	circle := []target{{"a", []string{"b"}, []string{"A=1 B=2 tool x", "cd y", "$(GO) z", "./own"}}, {"b", []string{"a"}, nil}}
	if diff := cmp.Diff([]string{"tool"}, programs(circle, "b")); diff != "" {
		t.Errorf("programs (-want +got)\n%s", diff)
	}
}

// What is as long as a file may be, and as odd, takes no longer than it must: nothing is gone through again for every line.
func TestLongFiles(t *testing.T) {
	t.Parallel()
	full := func(head, part string) string { return head + strings.Repeat(part, (maxFile/8)/len(part)) }
	var chain, scripts strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&chain, "a%d: a%d\n", i, i+1)
		fmt.Fprintf(&scripts, `"test:%d":"x",`, i)
	}
	begin := time.Now()
	readTOML("a = [" + strings.Repeat("\n", maxFile))
	readTOML(full("a = [\n", "'x',\n"))
	readTOML(full("", "a = \"\"\"\n"))
	readTOML(full("", "[a.b]\n"))
	yamlList(full("packages: [", "a,"), "packages")
	yamlMap(full("tasks:\n", "  a:\n"), "tasks")
	readJustfile(full("a:\n", " b\n"))
	programs(readMakefile(chain.String()), "a0")
	programs(readMakefile(full("a:", " b")), "a")
	readMakefile(full("a:\n", "\tb\n"))
	var m map[string]string
	if err := json.Unmarshal([]byte("{"+scripts.String()+`"x":"x"}`), &m); err != nil {
		t.Fatal(err)
	}
	if take, left := taken(m); len(take) != maxParts || len(left) != 30_001-maxParts {
		t.Errorf("%d scripts taken, %d left", len(take), len(left))
	}
	mentions(full("", "web"), "web")
	if took := time.Since(begin); took > 5*time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestReadJustfile(t *testing.T) {
	t.Parallel()
	got := readJustfile("x := 'y'\nset a := b\nalias b := c\n# c\nplain:\n  run\n\n  more\n@quiet a='1' *rest: plain && after # why\n    q\nwith arg:\n  lost\n" +
		"[private]\n[linux]\nhidden:\n  h\n_under:\nlast: quiet\nscript:\n  #!/usr/bin/env python\n  import x\n")
	want := []target{
		{"plain", nil, []string{"run", "more"}},
		{"quiet", []string{"plain", "&&", "after"}, []string{"q"}},
		{"last", []string{"quiet"}, nil},
		{"script", nil, nil},
	}
	for i := range got {
		if len(got[i].waits) == 0 {
			got[i].waits = nil
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestDirective(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"module a.b/c\n":            "a.b/c",
		"// x\nmodule \"a b\"":      "", // two words are no path
		"module `a` // comment\r\n": "a",
		"modules a":                 "",
		"":                          "",
	} {
		if got := directive(text, "module"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestProgram(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"// c\npackage main\n":               true,
		"package main // x":                  true,
		"package main; import \"a\"":         true,
		"package mainly":                     false,
		"//go:build ignore\n\npackage main":  false,
		"// +build ignore\n\npackage main\n": false,
		"":                                   false,
	} {
		if got := program(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTaken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		scripts, take string
	}{
		{"plain before parts", "test test:unit test:ci", "test"},
		{"parts", "test:unit test:ci", "test:ci test:unit"},
		{"in order", "test build lint typecheck format:check check", "format:check lint typecheck check build test"},
		{"one of a sort", "typecheck tsc check-types", "typecheck"},
		{"what does more", "lint:fix test:watch build:watch test:e2e start dev deploy release build:release publish", ""},
		{"check:format is no second", "check:format", "check:format"},
	} {
		scripts := map[string]string{}
		for s := range strings.FieldsSeq(tt.scripts) {
			scripts[s] = "x"
		}
		take, _ := taken(scripts)
		if got := strings.Join(take, " "); got != tt.take {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.take)
		}
	}
	for script, want := range map[string]bool{
		"jest --watch": false, "jest --watchAll": false, "jest --watch=false": true, "eslint --fix .": false, "eslint . --fix-dry-run": true,
		"prettier --write .": false, "nodemon x": false, "echo \"Error: no test specified\" && exit 1": false, "node --test": true, " ": false,
	} {
		if got := fit("test", script); got != want {
			t.Errorf("%q: %v", script, got)
		}
	}
}

func TestIdentifier(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"test": "test", "test:unit": "test-unit", "a//b": "a-b", "9lives": "task-9lives", "日本": "task", "-x-": "x", "": "task", "ünï x": "n-x",
		strings.Repeat("a", 100): strings.Repeat("a", 60),
	} {
		if got := identifier(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	taken := map[string]bool{}
	if a, b, c := free(taken, "-", "x"), free(taken, "-", "x"), free(taken, "-", "x-2"); a != "x" || b != "x-2" || c != "x-2-2" {
		t.Error(a, b, c)
	}
}

func TestMentions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"\tcd web && x": true, "\tmake -C web": true, "--prefix=web": true, "website": false, "\t./web/run": true, "my-web": false, "": false,
	} {
		if got := mentions(text, "web"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// roundTrip reads a text back that was written into a file.
func roundTrip(t *testing.T, s string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "PIPELINE.hcl")
	if err := os.WriteFile(file, []byte("task \"x\" {\n  run = ["+quote("x")+", "+quote(s)+"]\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := hclfile.Load(file, hclfile.Options{})
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return c.Tasks[0].Run.Argv[1].Value
}

var texts4quote = []string{
	"", "plain", `"`, `\`, "a\nb\r\tc", "${x}", "$${x}", "$$${x}", "%{if}", "%%{x}", "%%%{x}", "$%{x}", "%${x}", "$", "$$", "%", "{", "$ {", "\x00"[:0], "\x01\x7f\u0085\u2028",
	"日本 🙂", `\${x}`, `\u0041`, "$\\{", "\"${", "$\"{",
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for _, s := range texts4quote {
		if got := roundTrip(t, s); got != s {
			t.Errorf("%q came back as %q from %s", s, got, quote(s))
		}
	}
}

func FuzzQuote(f *testing.F) {
	for _, s := range texts4quote {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r == 0 || r >= 0x300 }) {
			t.Skip() // HCL puts letters and their accents together
		}
		if got := roundTrip(t, s); got != s {
			t.Errorf("%q came back as %q from %s", s, got, quote(s))
		}
	})
}

// The readers take any text for what it is worth.
func FuzzReaders(f *testing.F) {
	for _, s := range []string{
		"[a]\nb = [\"c\", 'd'\n", "a = \"\"\"\nx", "tasks:\n  a:\n    b: c\n", "packages: [a, 'b]", "a: b ; c\n\td\\\n", "define x\n", "@a b='c' *d: e\n  f\n", "\"\\", "'''", "use (\n./a\n)",
		"module x", "//go:build x\npackage main", "project(x)\nenable_testing()",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for key, values := range readTOML(s) {
			for _, v := range values {
				if len(key) > len(s)+4 || len(v) > len(s)+4 {
					t.Errorf("%q = %q is longer than what it was read from", key, v)
				}
			}
		}
		for _, v := range yamlList(s, "packages") {
			if !strings.Contains(s, v) {
				t.Errorf("%q is not in the text", v)
			}
		}
		for _, e := range yamlMap(s, "tasks") {
			if !strings.Contains(s, e.name) {
				t.Errorf("%q is not in the text", e.name)
			}
		}
		for _, all := range [][]target{readMakefile(s), readJustfile(s), readTaskfile(s)} {
			for _, target := range all {
				programs(all, target.name)
			}
		}
		directive(s, "module")
		program(s)
		if got := comment(s); strings.Contains(strings.TrimSuffix(got, "\n"), "\n") && strings.Contains(got, "\n\n") || !strings.HasPrefix(got, "#") {
			t.Errorf("%q is not all comment: %q", s, got)
		}
		for l := range strings.Lines(comment(s)) {
			if !strings.HasPrefix(l, "#") || strings.ContainsAny(strings.TrimSuffix(l, "\n"), "\n\r") {
				t.Errorf("%q is not all comment: %q", s, l)
			}
		}
		if l := line(s, 20); len(l) > 20 || !utf8.ValidString(l) {
			t.Errorf("line of %q: %q", s, l)
		}
	})
}
