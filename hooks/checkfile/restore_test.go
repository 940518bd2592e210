package checkfile

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

func regular(s string) *patch.File { return &patch.File{Mode: 0o644, Data: []byte(s)} }

const (
	wasBase = "\x00base" // nothing of the change is left
	wasAll  = "\x00all"  // all of it is
)

// partNames writes parts as name:line, with "-" in front of those of dependencies.
func partNames(parts []Part) string {
	var names []string
	for _, p := range parts {
		name := fmt.Sprintf("%s:%d", p.Name, p.Line)
		if !p.Check {
			name = "-" + name
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// A manifest is restored by its parts: before, after, what is left, and the parts that the review reports.
func TestRestoreParts(t *testing.T) {
	t.Parallel()
	node := "{\n  \"name\": \"shop\",\n  \"scripts\": {\n    \"test\": \"node --test\",\n    \"build\": \"tsc\"\n  },\n  \"dependencies\": {\n    \"a\": \"^1.0.0\",\n    \"@s/b\": \"~2.0.0\"\n  }\n}\n"
	py := "[project]\nname = \"shop\"\ndependencies = [\n  \"a>=1\", # ]\n]\n\n[tool.pytest.ini_options]\naddopts = \"-q\" # quiet\ntestpaths = [\"tests\"]\n\n[tool.setuptools]\npackages = [\"shop\"]\n"
	rust := "[package]\nname = \"shop\"\n\n[dependencies]\na = \"1.0\"\nb = { version = \"1\", features = [\"x\"] }\n\n[profile.test]\nopt-level = 0\n"
	gomod := "module m\n\ngo 1.24\n\nrequire (\n\ta.b/c v1.0.0\n\ta.b/d v1.0.0 // indirect\n)\n\nreplace a.b/d => ../d\n"
	ini := "[metadata]\nname = shop\n\n[options]\ninstall_requires =\n    a>=1\n    b\n\n[tool:pytest]\naddopts = -q\n    --strict\n\n[flake8]\nmax-line-length = 80\n"
	cmake := "project(shop C)\nadd_library(shop src/a.c) # one\nif(BUILD_TESTING)\n  enable_testing()\n  add_executable(a_test tests/a.c)\n  add_test(NAME a COMMAND a_test)\nendif()\n"
	for _, c := range []struct {
		path, before, after string
		want                string // content that is left
		parts               string // name:line, "-" in front of a dependency's
	}{
		// package.json
		{"package.json", node, strings.Replace(node, "node --test", "true", 1), wasBase, "scripts.test:4"},
		{"package.json", node, strings.Replace(node, "shop", "store", 1), wasAll, ""},
		{"package.json", node, strings.Replace(node, "^1.0.0", "^1.2.0", 1), wasAll, "-dependencies.a:8"},
		{"package.json", node, strings.NewReplacer("^1.0.0", "^1.2.0", "node --test", "true").Replace(node), strings.Replace(node, "^1.0.0", "^1.2.0", 1), "scripts.test:4 -dependencies.a:8"},
		{"package.json", node, strings.Replace(node, "^1.0.0", "file:./stub", 1), wasBase, "dependencies.a:8"},
		{"package.json", node, strings.Replace(node, "^1.0.0", "npm:stub@1.0.0", 1), wasBase, "dependencies.a:8"},
		{"package.json", node, strings.Replace(node, "^1.0.0", "someone/stub#v1", 1), wasBase, "dependencies.a:8"},
		{"package.json", node, strings.Replace(node, "^1.0.0", "https://example.com/a.tgz", 1), wasBase, "dependencies.a:8"},
		{"package.json", node, strings.Replace(node, "^1.0.0", "workspace:*", 1), wasAll, "-dependencies.a:8"},
		{"package.json", strings.Replace(node, "^1.0.0", "someone/a#v1", 1), strings.Replace(node, "^1.0.0", "someone/a#v2", 1), wasAll, "-dependencies.a:8"},
		{"package.json", node, strings.Replace(node, "    \"a\": \"^1.0.0\",\n", "", 1), wasAll, "-dependencies.a:0"},
		{"package.json", node, strings.Replace(node, "\"name\"", "\"jest\": {\"testMatch\": []},\n  \"name\"", 1), wasBase, "jest.testMatch:2"},
		{"package.json", node, strings.Replace(node, "  }\n}", "  },\n  \"overrides\": {\"a\": \"file:x\"}\n}", 1), wasBase, "overrides.a:11"},
		{"package.json", node, strings.Replace(node, "  }\n}", "  },\n  \"type\": \"module\",\n  \"pnpm\": {\"patchedDependencies\": {\"a\": \"x\"}}\n}", 1), strings.Replace(node, "  }\n}", "  },\n  \"type\": \"module\"\n}", 1), "pnpm.patchedDependencies:12"},
		{"package.json", node, strings.Replace(node, "\"build\"", "\"pretest\": \"sh x\",\n    \"build\"", 1), wasBase, "scripts.pretest:5"},
		{"package.json", node, strings.NewReplacer("\"scripts\": {\n    \"test\": \"node --test\",\n    \"build\": \"tsc\"\n  },\n  ", "", "shop", "store").Replace(node), strings.Replace(node, "shop", "store", 1), "scripts.build:0 scripts.test:0"},
		{"package.json", node, strings.Replace(node, "\"scripts\"", "\"\\u0073cripts\": {\"test\": \"true\"},\n  \"scripts\"", 1), wasBase, "the file as a whole:1"},
		{"package.json", node, "{\"scripts\": {\"test\": \"true\"}", wasBase, "the file as a whole:1"},
		{"package.json", node, "\xef\xbb\xbf" + node, wasBase, "the file as a whole:1"},
		{"package.json", node, "[]", wasBase, "the file as a whole:1"},
		{"package.json", node, strings.ReplaceAll(node, "  ", "\t"), wasAll, ""},
		{"package.json", node, strings.ReplaceAll(node, "\n", "\r\n"), wasAll, ""},
		{"package.json", "{}", "{\"scripts\":{\"test\":\"true\"}}", wasBase, "scripts.test:1"},
		{"package.json", "{}", "{\"name\":\"x\",\"scripts\":{\"test\":\"true\"}}", "{\"name\":\"x\"}", "scripts.test:1"},
		{"package.json", "{\"scripts\":{\"test\":\"x\"}}", "{}", wasBase, "scripts.test:0"},
		{"package.json", "{\"jest\":1,\"scripts\":2}", "{\"a\":3}", "{\"jest\":1,\"scripts\":2,\"a\":3}", "jest:0 scripts:0"},
		{"package.json", "{\"imports\":{\"#x\":\"./a.js\"}}", "{\"imports\":{\"#x\":\"./b.js\"}}", wasBase, "imports.#x:1"},
		{"package.json", "{\"main\":\"a\",\"exports\":{\"x\":\"a\"}}", "{\"main\":\"b\",\"exports\":{\"x\":\"b\"}}", wasAll, ""},
		{"packages/a/package.json", node, strings.Replace(node, "node --test", "true", 1), wasBase, "scripts.test:4"},
		{"composer.json", `{"scripts":{"test":"phpunit"},"require":{"a/b":"^1"}}`, `{"scripts":{"test":"true"},"require":{"a/b":"^2"}}`, `{"scripts":{"test":"phpunit"},"require":{"a/b":"^2"}}`, "-require.a/b:1 scripts.test:1"},
		{"deno.json", `{"tasks":{"test":"deno test"},"exports":"./a.ts"}`, `{"tasks":{"test":"true"},"exports":"./b.ts"}`, `{"tasks":{"test":"deno test"},"exports":"./b.ts"}`, "tasks.test:1"},

		// pyproject.toml
		{"pyproject.toml", py, strings.Replace(py, "\"-q\"", "\"-q -k not_slow\"", 1), wasBase, "tool.pytest.ini_options.addopts:8"},
		{"pyproject.toml", py, strings.Replace(py, "# quiet", "# loud", 1), wasBase, "tool.pytest.ini_options.addopts:8"},
		{"pyproject.toml", py, strings.Replace(py, "a>=1", "a>=2", 1), wasAll, "-project.dependencies:3"},
		{"pyproject.toml", py, strings.Replace(py, "a>=1", "a @ file:///stub", 1), wasBase, "project.dependencies:3"},
		{"pyproject.toml", py, strings.NewReplacer("[\"tests\"]", "[]", "shop", "store").Replace(py), strings.ReplaceAll(py, "shop", "store"), "tool.pytest.ini_options.testpaths:9"},
		{"pyproject.toml", py, py + "\n[tool.ruff]\nignore = [\"ALL\"]\n", py + "\n", "tool.ruff:14 tool.ruff.ignore:15"},
		{"pyproject.toml", py, strings.Replace(py, "[project]", "tool.pytest.ini_options.x = 1\n[project]", 1), wasBase, "tool.pytest.ini_options.x:1"},
		{"pyproject.toml", py, strings.Replace(py, "[project]", "[tool]\npytest = {ini_options = {x = 1}}\n[project]", 1), "[tool]\n" + py, "tool.pytest:2"},
		{"pyproject.toml", py, strings.Replace(py, "[project]", "tool = {pytest = {}}\n[project]", 1), wasBase, "tool:1"},
		{"pyproject.toml", py, strings.Replace(py, "[tool.pytest.ini_options]\naddopts = \"-q\" # quiet\ntestpaths = [\"tests\"]\n\n", "", 1), py[:strings.Index(py, "[tool.pytest")] + py[strings.Index(py, "[tool.setup"):] + "[tool.pytest.ini_options]\naddopts = \"-q\" # quiet\ntestpaths = [\"tests\"]\n", "tool.pytest.ini_options:0 tool.pytest.ini_options.addopts:0 tool.pytest.ini_options.testpaths:0"},
		{"pyproject.toml", py, strings.Replace(py, "[tool.pytest.ini_options]", "[tool.\"pytest\" . 'ini_options']", 1), wasAll, ""},
		{"pyproject.toml", py, strings.Replace(py, "[tool.pytest.ini_options]", "[tool.nothing]", 1), wasBase + "?", "tool.pytest.ini_options:0 tool.pytest.ini_options.addopts:0 tool.pytest.ini_options.testpaths:0"},
		{"pyproject.toml", py, strings.Replace(py, "\"-q\"", "\"\"\"-q", 1), wasBase, "the file as a whole:1"},
		{"pyproject.toml", py, strings.Replace(py, "[tool.setuptools]", "[tool.uv.sources]\na = {path = \"x\"}\n[tool.setuptools]", 1), wasBase, "tool.uv.sources:11 tool.uv.sources.a:12"},
		{"pyproject.toml", py, strings.Replace(py, "[tool.setuptools]", "[project.entry-points.pytest11]\na = \"x\"\n[tool.setuptools]", 1), wasBase, "project.entry-points.pytest11:11 project.entry-points.pytest11.a:12"},
		{"pyproject.toml", py, strings.Replace(py, "[tool.setuptools]", "[project.scripts]\na = \"x\"\n[tool.setuptools]", 1), wasAll, ""},
		{"pyproject.toml", "[tool.poetry.dependencies]\na = \"^1\"\n", "[tool.poetry.dependencies]\na = {path = \"./stub\"}\n", wasBase, "tool.poetry.dependencies.a:2"},
		{"Pipfile", "[packages]\na = \"*\"\n[scripts]\ntest = \"pytest\"\n", "[packages]\na = \">1\"\n[scripts]\ntest = \"true\"\n", "[packages]\na = \">1\"\n[scripts]\ntest = \"pytest\"\n", "-packages.a:2 scripts.test:4"},

		// Cargo.toml
		{"Cargo.toml", rust, strings.Replace(rust, "\"1.0\"", "\"1.1\"", 1), wasAll, "-dependencies.a:5"},
		{"Cargo.toml", rust, strings.Replace(rust, "\"1.0\"", "{ path = \"stub\" }", 1), wasBase, "dependencies.a:5"},
		{"Cargo.toml", rust, strings.Replace(rust, "\"x\"", "\"x\", \"y\"", 1), wasAll, "-dependencies.b:6"},
		{"Cargo.toml", rust, strings.Replace(rust, "\"1.0\"", "{ path = 'stub' }", 1), wasBase, "dependencies.a:5"},
		{"Cargo.toml", rust, rust + "[dev-dependencies.b]\npath = \"stub\"\n", rust + "[dev-dependencies.b]\n", "dev-dependencies.b.path:11"},
		{"Cargo.toml", rust, rust + "[dev-dependencies.b-dependencies]\n\"path\" = 'stub'\n", rust + "[dev-dependencies.b-dependencies]\n", "dev-dependencies.b-dependencies.path:11"},
		{"Cargo.toml", rust, rust + "[target.'cfg(unix)'.dependencies]\nb.registry = \"mine\"\n", rust + "[target.'cfg(unix)'.dependencies]\n", "target.cfg(unix).dependencies.b.registry:11"},
		{"Cargo.toml", rust + "[dependencies.b]\ngit = \"b\"\nrev = \"1\"\n", rust + "[dependencies.b]\ngit = \"b\"\nrev = \"2\"\n", wasAll, "-dependencies.b.rev:12"},
		{"Cargo.toml", rust + "[workspace.dependencies]\nurl = \"2.4\"\n", rust + "[workspace.dependencies]\nurl = \"2.5\"\n", wasAll, "-workspace.dependencies.url:11"},
		{"Pipfile", "[packages]\nurl = \"*\"\n", "[packages]\nurl = \"==1\"\n", wasAll, "-packages.url:2"},
		{"Pipfile", "[packages.a]\nversion = \"*\"\n", "[packages.a]\npath = \"stub\"\n", "[packages.a]\n", "-packages.a.version:0 packages.a.path:2"},
		{"pyproject.toml", py, py + "[tool.poetry.group.dev.dependencies.a]\nurl = \"stub\"\n", py + "[tool.poetry.group.dev.dependencies.a]\n", "tool.poetry.group.dev.dependencies.a.url:14"},
		{"Cargo.toml", rust, rust + "[patch.crates-io]\na = { path = \"stub\" }\n", wasBase, "patch.crates-io:10 patch.crates-io.a:11"},
		{"Cargo.toml", rust, rust + "overflow-checks = false\n", wasBase, "profile.test.overflow-checks:10"},
		{"Cargo.toml", rust, strings.Replace(rust, "name = \"shop\"\n", "name = \"shop\"\nautotests = false\nedition = \"2024\"\n", 1), strings.Replace(rust, "name = \"shop\"\n", "name = \"shop\"\nedition = \"2024\"\n", 1), "package.autotests:3"},
		{"Cargo.toml", rust, rust + "[[test]]\nname = \"a\"\nharness = false\n", wasBase, "test[1]:10 test[1].name:11 test[1].harness:12"},
		{"Cargo.toml", rust, rust + "[lib]\ntest = false\npath = \"src/x.rs\"\n", rust + "[lib]\npath = \"src/x.rs\"\n", "lib.test:11"},
		{"Cargo.toml", rust, rust + "[features]\nx = []\n", wasAll, ""},
		{"more/Cargo.toml", "", "[package]\nname = \"more\"\nedition = \"2021\"\nrust-version = \"1.80\"\n", wasAll, ""},
		{"Cargo.toml", rust, strings.Replace(rust, "[profile.test]\nopt-level = 0\n", "", 1), wasBase, "profile.test:0 profile.test.opt-level:0"},

		// go.mod
		{"go.mod", gomod, strings.Replace(gomod, "c v1.0.0", "c v1.2.0", 1), wasAll, "-require a.b/c:6"},
		{"go.mod", gomod, strings.Replace(gomod, "1.24", "1.26", 1), wasAll, "-go:3"},
		{"go.mod", gomod, gomod + "replace a.b/c => ./stub\n", wasBase, "replace a.b/c:11"},
		{"go.mod", gomod, strings.Replace(gomod, "v1.0.0\n", "v1.2.0\n", 1) + "replace (\n\ta.b/c v1.2.0 => ./stub\n)\n", strings.Replace(gomod, "v1.0.0\n", "v1.2.0\n", 1) + "replace (\n)\n", "-require a.b/c:6 replace a.b/c:12"},
		{"go.mod", gomod, strings.Replace(gomod, "../d", "./stub", 1), wasBase, "replace a.b/d:10"},
		{"go.mod", gomod, strings.NewReplacer("replace a.b/d => ../d\n", "", "c v1.0.0", "c v1.1.0").Replace(gomod), strings.NewReplacer("c v1.0.0", "c v1.1.0").Replace(gomod), "replace a.b/d:0 -require a.b/c:6"},
		{"go.mod", gomod, gomod + "ignore ./calc\n", wasBase, "ignore ./calc:11"},
		{"go.mod", gomod, gomod + "godebug asynctimerchan=1\n", wasBase, "godebug asynctimerchan=1:11"},
		{"go.mod", gomod, gomod + "exclude a.b/c v1.0.0\ntoolchain go1.26.0\n", gomod + "toolchain go1.26.0\n", "exclude a.b/c v1.0.0:11 -toolchain:12"},
		{"go.mod", gomod, gomod + "require (\n", wasBase, "the file as a whole:1"},
		{"go.mod", gomod, strings.Replace(gomod, "module m", "module n", 1), wasAll, ""},

		// setup.cfg, requirements, pnpm-workspace.yaml
		{"setup.cfg", ini, strings.Replace(ini, "-q\n", "-q -x\n", 1), wasBase, "tool:pytest.addopts:10"},
		{"setup.cfg", ini, strings.Replace(ini, "    --strict\n", "", 1), wasBase, "tool:pytest.addopts:10"},
		{"setup.cfg", ini, strings.Replace(ini, "a>=1", "a>=2", 1), wasAll, "-options.install_requires:6"},
		{"setup.cfg", ini, strings.NewReplacer("shop", "store", "= 80", "= 900").Replace(ini), strings.Replace(ini, "shop", "store", 1), "flake8.max-line-length:14"},
		{"setup.cfg", ini, ini + "[COVERAGE:run]\nomit = *\n", wasBase, "coverage:run:15 coverage:run.omit:16"},
		{"setup.cfg", ini, "nonsense\n" + ini, wasBase, "the file as a whole:1"},
		{"requirements-dev.txt", "a==1\nb>=2  # why\n", "a==2\nb>=2\n", wasAll, "-a:1"},
		{"requirements.txt", "a==1\n", "a==2\n-e ./stub\n", "a==2\n", "-a:1 -e ./stub:2"},
		{"requirements.txt", "a==1\nb\n", "a @ file:///x\nb\n", wasBase, "a:1"},
		{"requirements.txt", "a==1\n", "--index-url=http://x\na==1\n", wasBase, "--index-url:1"},
		{"pnpm-workspace.yaml", "packages:\n  - a\n", "packages:\n  - a\n  - b\noverrides:\n  x: file:y\n", "packages:\n  - a\n  - b\n", "overrides:4"},
		{"pnpm-workspace.yaml", "packages:\n- a\nsaveExact: true\n", "packages:\n- b\ncatalog:\n  x: 1\n", "packages:\n- b\ncatalog:\n  x: 1\nsaveExact: true\n", "saveExact:0 -catalog:3"},
		{"pnpm-workspace.yaml", "packages: [a]\n", "packages: [&x a]\noverrides: *x\n", wasBase, "the file as a whole:1"},
		{"pnpm-workspace.yaml", "packages: [a]\n", "packages: [a]\n---\noverrides: {a: b}\n", wasBase, "the file as a whole:1"},
		{"pnpm-workspace.yaml", "packages: [a]\n", "packages: [a]\n\"over\\x72ides\": {a: b}\n", wasBase, "overrides:2"},
		{"pnpm-workspace.yaml", "packages:\n  - a\n", "{packages: [a], overrides: {x: y}}\n", wasBase, "the file as a whole:1"},

		// CMakeLists.txt: order counts, so the whole file goes back
		{"CMakeLists.txt", cmake, strings.Replace(cmake, "src/a.c", "src/a.c src/b.c", 1), wasAll, ""},
		{"CMakeLists.txt", cmake, strings.Replace(cmake, "  add_test(NAME a COMMAND a_test)\n", "", 1), wasBase, "add_test NAME:0"},
		{"CMakeLists.txt", cmake, strings.Replace(cmake, "  add_test(", "  #[[\n  add_test(", 1), wasBase, "add_test NAME:0"},
		{"CMakeLists.txt", cmake, strings.Replace(cmake, "add_test(", "add_test((", 1), wasBase, "the file as a whole:1"},
		{"CMakeLists.txt", cmake, strings.Replace(cmake, "if(BUILD_TESTING)", "if(OFF)", 1), wasBase, "enable_testing:4 add_executable a_test:5 add_test NAME:6"},
		{"CMakeLists.txt", cmake, "set(BUILD_TESTING OFF)\n" + cmake, wasBase, "set BUILD_TESTING:1"},
		{"CMakeLists.txt", cmake, "return()\n" + cmake, wasBase, "return:1"},
		{"CMakeLists.txt", cmake, "macro(add_test)\nendmacro()\n" + cmake, wasBase, "macro add_test:1"},
		{"CMakeLists.txt", cmake, strings.Replace(cmake, "COMMAND a_test", "COMMAND true", 1), wasBase, "add_test NAME:6"},
		{"CMakeLists.txt", cmake, strings.Replace(cmake, "tests/a.c", "tests/b.c", 1), wasBase, "add_executable a_test:5"},
		{"CMakeLists.txt", cmake, "# words only\n" + strings.Replace(cmake, "# one", "#[[ two ]]", 1), wasAll, ""},
		{"CMakeLists.txt", cmake, cmake + "function(more)\n  return()\nendfunction()\nset(X \"a)\")\n", wasAll, ""},

		// no manifest
		{"data/package.txt", node, "", wasAll, ""},
		{"node_modules/a/package.json", node, "{}", wasBase, ""},
	} {
		change := patch.Change{Path: c.path, Before: regular(c.before), After: regular(c.after)}
		checks := NewChecks(files{c.path: c.before}.tree(), Scope{})
		if got := partNames(checks.Parts(change)); got != c.parts {
			t.Errorf("%s\n%s\nparts %q\n want %q", c.path, c.after, got, c.parts)
		}
		left := checks.Restore([]patch.Change{change})
		got := wasBase
		if len(left) == 1 {
			got = string(left[0].After.Data)
			if got == c.after {
				got = wasAll
			}
		}
		if want := c.want; got != want && !(strings.HasSuffix(want, "?") && !slices.ContainsFunc(checks.Parts(patch.Change{Path: c.path, Before: regular(c.before), After: regular(got)}), func(p Part) bool { return p.Check })) {
			t.Errorf("%s\n%s\nleft %q\nwant %q", c.path, c.after, got, want)
		}
		if again := checks.Restore(left); len(again)+len(left) > 0 && !reflect.DeepEqual(again, left) {
			t.Errorf("%s: restored twice is not restored once: %v", c.path, again)
		}
	}
}

// A manifest that is new, gone, a link, or too large to be split.
func TestRestoreWholeManifests(t *testing.T) {
	t.Parallel()
	node := `{"scripts":{"test":"x"}}`
	c := NewChecks(files{"package.json": node}.tree(), Scope{})
	link := &patch.File{Mode: fs.ModeSymlink | 0o777, Data: []byte("elsewhere.json")}
	large := regular(`{"a":"` + strings.Repeat("x", maxReadSize) + `"}`)
	for name, change := range map[string]patch.Change{
		"gone":  {Path: "package.json", Before: regular(node)},
		"link":  {Path: "package.json", Before: regular(node), After: link},
		"large": {Path: "package.json", Before: regular(node), After: large},
		"new":   {Path: "a/package.json", After: regular(`{"scripts"`)},
	} {
		if left := c.Restore([]patch.Change{change}); len(left) != 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
	left := c.Restore([]patch.Change{{Path: "a/package.json", After: regular(`{"name":"a","jest":{"bail":true}}`)}})
	if len(left) != 1 || string(left[0].After.Data) != `{"name":"a"}` {
		t.Errorf("of a new manifest %v is left", left)
	}
}

// In a Makefile of the check, what builds may change, and what decides may not.
func TestRestoreMakefile(t *testing.T) {
	t.Parallel()
	make1 := "CFLAGS = -O2\nLIBS =\nOBJS = main.o\nTESTS = a b\n.PHONY: all test\nall: app\n\n# the program\napp: $(OBJS)\n\t$(CC) $(CFLAGS) -o $@ $(OBJS) $(LIBS)\n\n%.o: %.c\n\t$(CC) $(CFLAGS) -c $<\n\ntest: app\n\tfor t in $(TESTS); do ./check.sh $$t || exit 1; done\n"
	c := NewChecks(files{"Makefile": make1, "check.sh": "", "sub/Makefile": make1}.tree(), Scope{Runs: []Command{{Shell: "make test", Dir: "."}}})
	for _, row := range []struct {
		from, to string
		keep     bool
	}{
		{"OBJS = main.o", "OBJS = main.o util.o", true},
		{"LIBS =", "LIBS = -lm", true},
		{"-O2", "-O2 -g", true},
		{"$(OBJS) $(LIBS)", "$(LIBS) $(OBJS)", true},
		{"%.o: %.c", "%.o: %.c app.h", true},
		{"# the program", "# a program", true},
		{"%.o: %.c", "main.o: app.h\n\n%.o: %.c", true},
		{"# the program", "version.h: version.txt\n\tsed s/x/y/ version.txt > $@\n", true},
		{"TESTS = a b", "TESTS = a", false},
		{"TESTS = a b", "TESTS =", false},
		{"|| exit 1", "|| true", false},
		{"test: app", "test:", false},
		{"\tfor t", "\t-for t", false},
		{"\tfor t", "\t@for t", false},
		{"test: app\n\tfor", "test: app\nold:\n\tfor", false},
		{".PHONY: all test", ".PHONY: all test\n.IGNORE:", false},
		{"CFLAGS", "SHELL := /bin/true\nCFLAGS", false},
		{"CFLAGS", "MAKEFLAGS += -i\nCFLAGS", false},
		{"CFLAGS", "PATH := ./evil:$(PATH)\nCFLAGS", false},
		{"CFLAGS", "export CFLAGS", false},
		{"CFLAGS", "-include more.mk\nCFLAGS", false},
		{"CFLAGS = -O2", "CFLAGS := $(shell echo > check.sh)", false},
		{"CFLAGS = -O2", "CFLAGS != echo > check.sh", false},
		{"CFLAGS = -O2", "CFLAGS = $(eval TESTS =)", false},
		{"-o $@ $(OBJS) $(LIBS)", "-o $@ $(OBJS) $(LIBS); echo > check.sh", false},
		{"-o $@ $(OBJS) $(LIBS)", "-o $@ $(OBJS) $(LIBS); echo > *.sh", false},
		{"app: $(OBJS)\n", "app: $(OBJS)\n\n.PHONY: app\n", false},
		{"all: app", "all:", false},
		{"app: $(OBJS)", "test.out: $(OBJS)\n\techo > $@\n\napp: $(OBJS)", false},
		{"CFLAGS", "ifdef X\nCFLAGS", false},
		{"CFLAGS", "test: TESTS =\nCFLAGS", false},
		{"CFLAGS", "define run\n\ttrue\nendef\nCFLAGS", false},
		{"CFLAGS", "NEW = nothing\nCFLAGS", false},
		{"app: $(OBJS)", "check.sh: main.c\n\techo > $@\n\napp: $(OBJS)", false},
	} {
		if !strings.Contains(make1, row.from) {
			t.Fatalf("no %q", row.from)
		}
		after := strings.Replace(make1, row.from, row.to, 1)
		left := c.Restore([]patch.Change{{Path: "Makefile", Before: regular(make1), After: regular(after)}})
		if keep := len(left) == 1; keep != row.keep {
			t.Errorf("%q → %q: kept is %v", row.from, row.to, keep)
		}
		if other := c.Restore([]patch.Change{{Path: "sub/Makefile", Before: regular(make1), After: regular(after)}}); len(other) != 1 {
			t.Error("a Makefile that no command uses is restored")
		}
	}
	for _, change := range []patch.Change{
		{Path: "Makefile", Before: regular(make1)},
		{Path: "GNUmakefile", After: regular(make1)},
		{Path: "Makefile", Before: regular(make1), After: &patch.File{Mode: 0o755, Data: []byte(make1)}},
		{Path: "Makefile", Before: regular(make1), After: &patch.File{Mode: fs.ModeSymlink | 0o777, Data: []byte("x")}},
	} {
		if left := c.Restore([]patch.Change{change}); len(left) != 0 {
			t.Errorf("%v is left", left)
		}
	}
}

// Renames are undone, and what is in the way of a restored file goes.
func TestRestoreFiles(t *testing.T) {
	t.Parallel()
	f := files{"a.py": "", "test_a.py": "", "tests/b.py": "", "conftest.py": "", "tox.ini": "", "run.sh": "", "PIPELINE.hcl": "", "secret/x": "", "lib/c.py": ""}
	c := NewChecks(f.tree(), Scope{Protect: []string{"secret"}, Runs: []Command{{Shell: "./run.sh", Dir: "."}}})
	for _, row := range []struct{ changes, left string }{
		{"M a.py", "a.py"},
		{"M a.py, M test_a.py, M tests/b.py, M conftest.py, M tox.ini, M run.sh, M PIPELINE.hcl, M secret/x", "a.py"},
		{"D test_a.py, A a_old.py", "a_old.py"},
		{"D test_a.py, A test_b.py", ""},
		{"D a.py, A b.py", "a.py b.py"},
		{"D tests/b.py, A tests", ""},
		{"D tests/b.py, A tests/b.py/c.txt", ""},
		{"D tox.ini, A tox.ini/x", ""},
		{"D conftest.py, A conftest.py/x.js, M a.py", "a.py"},
		{"D lib/c.py, A lib", "lib/c.py lib"},
		{"D a.py, A a.py/x.py", "a.py a.py/x.py"},
		{"A new.py, A sub/test_new.py, A sub/sitecustomize.py", "new.py"},
		{"", ""},
	} {
		var changes []patch.Change
		for _, word := range strings.FieldsFunc(row.changes, func(r rune) bool { return r == ',' }) {
			how, p, _ := strings.Cut(strings.TrimSpace(word), " ")
			change := patch.Change{Path: p}
			if how != "A" {
				change.Before = regular("old")
			}
			if how != "D" {
				change.After = regular("new")
			}
			changes = append(changes, change)
		}
		before := slices.Clone(changes)
		var left []string
		for _, change := range c.Restore(changes) {
			left = append(left, change.Path)
		}
		if got := strings.Join(left, " "); got != row.left {
			t.Errorf("%s: %q is left, want %q", row.changes, got, row.left)
		}
		if !reflect.DeepEqual(changes, before) {
			t.Errorf("%s: the changes themselves were changed", row.changes)
		}
	}
}

// Whatever a patch does: twice is once, nothing of a check file is left, and the result is a valid tree.
func TestRestoreProperties(t *testing.T) {
	t.Parallel()
	paths := []string{
		"a.go", "a_test.go", "a", "a/b.go", "a/b_test.go", "go.mod", "package.json", "Makefile", "GNUmakefile", "run.sh", "tests/x.py", "tests", "conftest.py", "pyproject.toml", "tox.ini", ".env", ".github/workflows/ci.yml",
		"CMakeLists.txt", "setup.cfg", "requirements.txt", "vendor/modules.txt", "a/go.mod", "web/package.json", "web", "tsconfig.json",
	}
	contents := []string{
		"", "x", "module m\ngo 1.24\n", "module m\nreplace a => ./b\n", `{"scripts":{"test":"a"}}`, `{"scripts":{"test":"b"},"dependencies":{"a":"1"}}`, `{"jest":{}}`, "[tool.pytest]\na = 1\n", "[project]\nname = 'x'\n",
		"test: app\n\t./run.sh\napp: a.c\n\tcc -o $@ a.c\n", "test: app\n\t./run.sh\napp: a.c b.c\n\tcc -o $@ a.c b.c\n", "add_test(NAME a COMMAND b)\n", "[flake8]\na = 1\n", "a==1\n", "a==2\n-e x\n", "{", "[", "\x00",
	}
	rapid.Check(t, func(t *rapid.T) {
		file := func(label string) *patch.File {
			if rapid.IntRange(0, 3).Draw(t, label+" there") == 0 {
				return nil
			}
			return &patch.File{Mode: rapid.SampledFrom([]fs.FileMode{0o644, 0o755, fs.ModeSymlink | 0o777}).Draw(t, label+" mode"), Data: []byte(rapid.SampledFrom(contents).Draw(t, label))}
		}
		f := files{}
		var changes []patch.Change
		for _, p := range rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 0, 8, rapid.ID).Draw(t, "paths") {
			change := patch.Change{Path: p, Before: file("before"), After: file("after")}
			if change.Before == nil && change.After == nil {
				continue
			}
			if change.Before != nil {
				f[p] = string(change.Before.Data)
			}
			changes = append(changes, change)
		}
		c := NewChecks(f.tree(), Scope{Runs: []Command{{Shell: "make test && ./run.sh", Dir: "."}}})
		left := c.Restore(changes)
		if again := c.Restore(left); len(again)+len(left) > 0 && !reflect.DeepEqual(again, left) {
			t.Fatalf("twice: %v\nonce: %v", again, left)
		}
		there := map[string]bool{}
		for _, change := range left {
			class := c.Class(change.Path)
			if class > 0 && (class != 4 || !buildsOnly(c, change)) {
				t.Fatalf("%s of class %d is left", change.Path, class)
			}
			for _, part := range c.Parts(change) {
				if part.Check {
					t.Fatalf("%s: %s is left", change.Path, part.Name)
				}
			}
			there[change.Path] = change.After != nil
		}
		for p := range maps.Keys(f) {
			if class := c.Class(p); class > 0 {
				if kept, touched := there[p]; touched && !kept {
					t.Fatalf("%s is a check file and stays away", p)
				}
			}
		}
		for p, is := range there {
			for q, also := range there {
				if is && also && strings.HasPrefix(q, p+"/") && f[q] == "" && f[p] == "" && !changed(changes, p, q) {
					t.Fatalf("%s is there, and %s too", p, q)
				}
			}
		}
	})
}

func buildsOnly(c *Checks, change patch.Change) bool {
	return c.refs.makefiles[change.Path] && c.OnlyBuilds(change, nil)
}

// changed reports whether the change itself leaves both.
func changed(changes []patch.Change, p, q string) bool {
	n := 0
	for _, change := range changes {
		if (change.Path == p || change.Path == q) && change.After != nil {
			n++
		}
	}
	return n == 2
}

func TestRestoreIsQuick(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	began := time.Now()
	c := NewChecks(files{"Makefile": ""}.tree(), Scope{Runs: []Command{{Shell: "make", Dir: "."}}})
	var changes []patch.Change
	for name, unit := range map[string]string{
		"package.json": `{"a":`, "a/package.json": `[`, "pyproject.toml": "[a.b]\nc = [\n", "Cargo.toml": "a = \"\"\"\n", "go.mod": "replace a => b\n", "setup.cfg": "[flake8]\na = 1\n", "pnpm-workspace.yaml": "a: b\n",
		"CMakeLists.txt": "if(a)\nadd_test(a)\n", "Makefile": "A += $(A)\na: $(A) b\n\t$(A)\n", "requirements.txt": "a==1\n", "d/pnpm-workspace.yaml": "[", "e/pnpm-workspace.yaml": "- ", "f/pnpm-workspace.yaml": "a: [*a, *a, &a b]\n", "d/pyproject.toml": "a = [[[", "e/Cargo.toml": "[a]\nb = {c = 1}\n",
		"b/package.json": "\"k\":{},", "b/go.mod": "require a.b/c v1\n", "b/setup.cfg": " x\n#\n", "b/CMakeLists.txt": "set(TEST a)\n", "b/Makefile": "a:\n\n\n\tb\n", "c/Makefile": "a b \\\n",
	} {
		data := bytes.Repeat([]byte(unit), maxReadSize/len(unit)/16)
		changes = append(changes, patch.Change{Path: name, Before: &patch.File{Mode: 0o644, Data: data}, After: &patch.File{Mode: 0o644, Data: append(slices.Clone(data), unit...)}})
	}
	for i := range 5_000 {
		changes = append(changes, patch.Change{Path: fmt.Sprintf("d%d/test_x.py", i), Before: regular("")}, patch.Change{Path: fmt.Sprintf("d%d/e/f/g", i), After: regular("")})
	}
	for _, change := range changes {
		c.Parts(change)
	}
	c.Restore(changes)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %s", took)
	}
}

func FuzzRestore(f *testing.F) {
	for _, name := range []string{"package.json", "pyproject.toml", "Cargo.toml", "go.mod", "setup.cfg", "requirements.txt", "pnpm-workspace.yaml", "CMakeLists.txt", "Makefile"} {
		f.Add(name, "{\"scripts\": {\"test\": \"a\"}}", "{\"a\": [\"\\\"\"], \"scripts\": 1}")
		f.Add(name, "[tool.pytest]\na = '''x\n''' # y\n[[test]]\n", "replace (\n\ta => b // c\n)\n")
		f.Add(name, "add_test(a [==[ x ]==] \"b\\\"\")\n", "a: b ; c\n\td\nE ?= $(F)\n")
	}
	f.Fuzz(func(t *testing.T, name, before, after string) {
		c := NewChecks(files{name: before}.tree(), Scope{Runs: []Command{{Shell: "make", Dir: "."}}})
		change := patch.Change{Path: name, Before: regular(before), After: regular(after)}
		left := c.Restore([]patch.Change{change})
		if again := c.Restore(left); len(again)+len(left) > 0 && !reflect.DeepEqual(again, left) {
			t.Fatalf("twice: %v\nonce: %v", again, left)
		}
		for _, change := range left {
			for _, part := range c.Parts(change) {
				if part.Check {
					t.Fatalf("%s is left of %q", part.Name, change.After.Data)
				}
			}
		}
	})
}
