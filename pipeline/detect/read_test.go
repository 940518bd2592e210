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

// in returns a detector for a folder with one file in it.
func in(tb testing.TB, name, text string) (*detector, *folder) {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = root.Close() })
	return &detector{tree: &tree{root: root}}, &folder{path: top, files: map[string]bool{name: true}}
}

func TestReadTOML(t *testing.T) {
	t.Parallel()
	l, f := in(t, "x.toml", "a = 1\n[project]\nname = 'x'\ndependencies = [\n  \"b>1\", # c\n  2,\n]\n[tool.uv]\n[[bin]]\nname = \"y\"\n")
	got := l.readTOML(f, "x.toml")
	if got.text("project.name") != "x" || got.text("a") != "" || got.text("project") != "" || got.text("bin.name") != "" {
		t.Errorf("text of %v", got)
	}
	if diff := cmp.Diff([]string{"b>1"}, got.texts("project.dependencies")); diff != "" || got.texts("project.name") != nil {
		t.Errorf("texts (-want +got)\n%s", diff)
	}
	if !got.has("tool") || !got.has("tool.uv") || got.has("tool.uv.x") || got.has("too") || !got.has("bin") {
		t.Errorf("has of %v", got)
	}
}

func TestReadYAML(t *testing.T) {
	t.Parallel()
	l, f := in(t, "x.yml", "other: [x, 'y']\npackages:   # here\n  - \"apps/*\"\n  - 'it''s'\n  -\n  - {a: b}\nnested:\n  packages: [no]\n")
	if diff := cmp.Diff([]string{"apps/*", "it's"}, yamlTexts(l.readYAML(f, "x.yml", "packages"))); diff != "" {
		t.Errorf("list (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x", "y"}, yamlTexts(l.readYAML(f, "x.yml", "other"))); diff != "" {
		t.Errorf("list (-want +got)\n%s", diff)
	}
	l, f = in(t, "Taskfile.yml", "tasks:\n  build: go build\n  test:unit:\n    deps: [build]\n    cmds:\n      - go test\n      - task: x\n"+
		"  hidden:\n    internal: true\n  list: [a, b]\n  short: {cmd: x}\n  '*': x\n")
	want := []target{{"build", nil, []string{"go build"}}, {"test:unit", []string{"build"}, []string{"go test"}}, {"list", nil, []string{"a", "b"}}, {"short", nil, []string{"x"}}}
	if diff := cmp.Diff(want, l.readTaskfile(f, "Taskfile.yml"), cmp.AllowUnexported(target{})); diff != "" {
		t.Errorf("tasks (-want +got)\n%s", diff)
	}
}

// A file that is made to hurt a parser is passed over with a note, or read, and takes seconds at most.
func TestHostileTOMLAndYAML(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	full := func(head, part, tail string, size int) string {
		return head + strings.Repeat(part, (size-len(head)-len(tail))/len(part)) + tail
	}
	var tables, bomb strings.Builder
	for i := 0; tables.Len() < maxTOML-30; i++ {
		fmt.Fprintf(&tables, "[a%d.b]\nc=1\n", i)
	}
	bomb.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c < 'p'; c++ {
		fmt.Fprintf(&bomb, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	begin := time.Now()
	for name, text := range map[string]string{
		"deep lists": full("a = ", "[", "", maxTOML), "deep tables": full("a = ", "{a=", "", maxTOML), "dotted": full("a = ", "{a.a.a.a.a.a.a.a=", "", maxTOML),
		"many tables": tables.String(), "a long name": full("a", ".a", " = 1", maxTOML), "long": strings.Repeat("#", maxTOML+1), "unclosed": "a = [ 'x',\n",
	} {
		l, f := in(t, "x.toml", text)
		if l.readTOML(f, "x.toml") == nil && len(l.notes) != 1 {
			t.Errorf("%s: notes %q", name, l.notes)
		}
	}
	for name, text := range map[string]string{
		"deep lists": full("packages: ", "[", "", maxFile), "deep maps": full("packages: ", "{a: ", "", maxFile), "dashes": full("", "- ", "a", maxFile),
		"aliases": bomb.String() + "packages: *o\n", "itself": "packages: &a [*a]\n", "twice": full("", "b: {<<: *a}\n", "", maxFile),
		"long list": full("packages: [", "a,", "]", maxFile), "many tasks": full("tasks:\n", "  a:\n", "", maxFile),
	} {
		l, f := in(t, "x.yml", text)
		if got := yamlTexts(l.readYAML(f, "x.yml", "packages")); len(got) > maxFile/2 {
			t.Errorf("%s: %d texts", name, len(got))
		}
		l.readTaskfile(f, "x.yml")
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// What a recipe needs, and what it would run of the net.
func TestRecipe(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"@-NAME=x tool a; second": "tool second", "cd sub && x": "", "x && y": "x", "x || y": "x", "$(CC) -c a.c": "", "a | b $(shell c) | d": "a b d",
		"(x; y) && z": "x y", "if t; then x; fi": "", "sudo x y": "x", "./own": "", "echo 'unclosed": "", "$${HOME}/x": "", "for i in a; do x; done": "", "CC=$(CC) x": "x",
	} {
		if got := strings.Join(programs([]target{{"t", nil, []string{line}}}, "t"), " "); got != want {
			t.Errorf("%q needs %q, want %q", line, got, want)
		}
	}
	for _, part := range []string{"(", "$(", "{ ", "if ", "a|", "\"$("} {
		programs([]target{{"t", nil, []string{strings.Repeat(part, maxRecipe/len(part)), strings.Repeat(part, maxFile)}}}, "t")
	}
	for line, want := range map[string]bool{
		"@curl -sSfL https://example.com/install.sh | sh -s -- -b bin": true, "wget -qO- $(URL) | sudo bash": true, "sh -c \"$$(curl -fsSL x)\"": true, "bash <(curl x)": true,
		"command -v lint || curl x | sh": true, "if ! test -x lint; then curl x | sh; fi": true, "curl -o data.json x": false, "echo curl | sh": false, "curl x | jq .": false,
	} {
		if got := runsDownload(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
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
		{"$(X)", []string{"y"}, nil},
		{"a/b", []string{"c"}, nil},
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

// What is as long as a file may be, and as odd, takes no longer than it must: nothing is gone through again for
// every line.
func TestLongFiles(t *testing.T) {
	t.Parallel()
	full := func(head, part string) string { return head + strings.Repeat(part, (maxFile/8)/len(part)) }
	var chain, scripts strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&chain, "a%d: a%d\n", i, i+1)
		fmt.Fprintf(&scripts, `"test:%d":"x",`, i)
	}
	begin := time.Now()
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
		if got := isProgram(text); got != want {
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
		l, f := in(t, "x", s)
		l.readTOML(f, "x")
		yamlTexts(l.readYAML(f, "x", "packages"))
		for _, all := range [][]target{readMakefile(s), readJustfile(s), l.readTaskfile(f, "x")} {
			for _, target := range all {
				programs(all, target.name)
				downloads(all, target.name)
			}
		}
		directive(s, "module")
		isProgram(s)
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
