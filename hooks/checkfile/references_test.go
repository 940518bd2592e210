package checkfile

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// classesByRun checks a tree by the command that a task runs there, a shell text or, after a "[", words.
func classesByRun(t *testing.T, f files, rows map[string]string) {
	t.Helper()
	for run, want := range rows {
		command := Command{Shell: run, Dir: "."}
		if argv, ok := strings.CutPrefix(run, "["); ok {
			command = Command{Argv: strings.Fields(argv), Dir: "."}
		}
		t.Run(run, func(t *testing.T) {
			t.Parallel()
			classesOf(t, NewChecks(f.tree(), Scope{Runs: []Command{command}}), want)
		})
	}
}

// What commands refer to, in one tree.
func TestClassReferences(t *testing.T) {
	t.Parallel()
	shop := files{
		"check.sh":      "#!/bin/sh\nset -eu\n. ./lib/assert.sh\n./bin/greet.sh > out.txt\ndiff out.txt expected.txt\nsh scripts/smoke.sh\nsh scripts/deploy.sh\n. ./check_env.sh\n",
		"lib/assert.sh": ". \"$(dirname \"$0\")/deep.sh\"\n", "lib/deep.sh": "", "bin/greet.sh": "echo hi\n", "bin/tool": "#!/usr/bin/env bash\n", "bin/app": "#!/usr/bin/env python3\n", "bin/data": "\x7fELF",
		"expected.txt": "", "other.txt": "", "scripts/smoke.sh": ". scripts/common.sh", "scripts/deploy.sh": ". scripts/common.sh", "scripts/common.sh": "", "words.txt": "", "input.txt": "", "docs/api.txt": "",
		"main.py": "import helper", "helper.py": "", "lint.py": "", "tools/lint.mjs": "", "tools/size.mjs": "", "src/app.js": "", "src/check.js": "", "src/index.js": "require('./check')", "tools/asserts.py": "import unittest",
		"pkg/__main__.py": "", "selfcheck/__main__.py": "", "app/cases.py": "", "rules.yml": "", "deploy.yml": "", ".github/workflows/ci.yml": "", "eslint.json": "", "pre.js": "", "report.awk": "", "run": "set -e\n. lib/assert.sh\n",
		"go.mod": "module m\n", "cmd/gen/main.go": "package main", "tools/lint/main.go": "package main", "tools/wrap.sh": "", "checks/a.sh": "", "checks/deep/x.txt": "", "greet_test.sh": ". ./greet.sh\n./hello.sh\n", "greet.sh": "", "hello.sh": "",
		"app.spec.cfg": "", "pytest-ci.ini": "", "tsconfig.check.json": "", "Rakefile": "", "Earthfile": "", "cmake/check.cmake": "",
	}
	classesByRun(t, shop, map[string]string{
		"./check.sh": `
			4 check.sh
			4 lib/assert.sh   # sourced
			4 lib/deep.sh     # sourced by what is sourced
			4 expected.txt    # compared with
			4 scripts/smoke.sh
			4 check_env.sh    # sourced, and new
			4 scripts/common.sh  # production sources it too: a library of both
			0 scripts/deploy.sh  # started by the check: what is checked
			0 bin/greet.sh out.txt other.txt
		`,
		"[sh check.sh":                                      "4 check.sh\n4 lib/assert.sh\n0 bin/greet.sh",
		"bash -euo pipefail check.sh arg":                   "4 check.sh\n4 lib/assert.sh",
		"[sh -c ./check.sh":                                 "4 check.sh",
		"cd lib && ../check.sh":                             "4 check.sh\n4 lib/assert.sh",
		"cd $(git rev-parse --show-toplevel) && ./check.sh": "4 check.sh",
		"timeout 60 env X=1 ./check.sh | tee log.txt":       "4 check.sh\n0 log.txt",
		"set -e; S=./check.sh; bash $S":                     "4 check.sh",
		"for f in checks/*.sh; do sh \"$f\"; done":          "4 checks/a.sh\n4 checks/new.sh\n0 checks/deep/x.txt",
		"sh run":                          "4 run\n4 lib/assert.sh",
		"./run":                           "4 run\n0 lib/assert.sh  # it has no #! line",
		"bin/tool":                        "4 bin/tool",
		"bin/app --selftest":              "0 bin/app  # the program under test",
		"bin/data":                        "4 bin/data",
		"./gone.sh":                       "4 gone.sh  # new",
		"./gone":                          "4 gone",
		"node gone.js":                    "0 gone.js",
		"sh bin/greet.sh | grep -qx hi":   "0 bin/greet.sh  # its output decides\n0 words.txt",
		"test \"$(./bin/greet.sh)\" = hi": "0 bin/greet.sh",
		"./bin/greet.sh > o && diff o expected.txt":                     "0 bin/greet.sh\n4 expected.txt",
		"./check.sh | grep -q PASS":                                     "4 check.sh  # its name speaks of checks",
		"bin/app < input.txt":                                           "4 input.txt",
		"bin/app < words.txt":                                           "0 words.txt",
		"bin/app words.txt input.txt":                                   "0 words.txt\n4 input.txt",
		"bin/app > /tmp/x && cmp /tmp/x docs/api.txt":                   "0 docs/api.txt  # made from the sources",
		"bin/app > /tmp/x && cmp /tmp/x other.txt":                      "4 other.txt",
		"sh greet_test.sh":                                              "2 greet_test.sh\n4 greet.sh  # named after it: shell_library.go tells its changes apart\n0 hello.sh",
		"shellcheck check.sh && bash -n greet.sh":                       "0 check.sh\n0 greet.sh",
		"python main.py":                                                "0 main.py\n0 helper.py",
		"python3.12 -u lint.py src":                                     "4 lint.py",
		"[python3 tools/asserts.py":                                     "4 tools/asserts.py  # imports a library for tests",
		"python -m pkg --selftest":                                      "0 pkg/__main__.py",
		"python -m selfcheck":                                           "4 selfcheck/__main__.py",
		"python -m unittest app.cases":                                  "4 app/cases.py  # a test by its use",
		"pytest -c pytest-ci.ini app/cases.py::test_x":                  "4 pytest-ci.ini\n4 app/cases.py",
		"python -m coverage run -m pytest --rootdir=. -c pytest-ci.ini": "4 pytest-ci.ini",
		"python -c 'import main'":                                       "0 main.py",
		"node src/app.js":                                               "0 src/app.js",
		"node src/check.js":                                             "0 src/check.js  # production imports it",
		"node tools/lint.mjs src":                                       "4 tools/lint.mjs",
		"node tools/size.mjs":                                           "0 tools/size.mjs",
		"node --require ./pre.js src/app.js":                            "4 pre.js\n0 src/app.js",
		"node --import=./pre.js --test app/x.js":                        "4 pre.js",
		"node --check src/app.js":                                       "0 src/app.js",
		"npx eslint --config eslint.json src":                           "4 eslint.json",
		"npx tsc -p tsconfig.check.json --noEmit":                       "4 tsconfig.check.json",
		"mocha -r pre.js src/check.js":                                  "4 pre.js",
		"go run ./cmd/gen":                                              "0 cmd/gen/main.go",
		"go build ./... && go test ./...":                               "0 cmd/gen/main.go\n0 go.mod",
		"go run ./tools/lint cmd":                                       "4 tools/lint/main.go\n4 tools/lint/new.go",
		"[go run tools/lint/main.go":                                    "4 tools/lint/main.go",
		"go test -exec ./tools/wrap.sh -overlay=over.json ./...":        "4 tools/wrap.sh\n4 over.json",
		"awk -f report.awk words.txt":                                   "4 report.awk\n0 words.txt",
		"sed -n 1p words.txt":                                           "0 words.txt",
		"yamllint deploy.yml rules.yml":                                 "0 deploy.yml",
		"yamllint .github/workflows/ci.yml":                             "0 .github/workflows/ci.yml  # what is checked\n5 .github/workflows/other.yml",
		"actionlint":                                                    "0 .github/workflows/ci.yml",
		"prettier --check src":                                          "5 .prettierrc",
		"rake test":                                                     "4 Rakefile\n4 rakefile",
		"earthly +test":                                                 "4 Earthfile",
		"cmake -P cmake/check.cmake":                                    "4 cmake/check.cmake",
		"tox -c rules.yml":                                              "4 rules.yml",
		"eval './check.sh'":                                             "4 check.sh",
		"curl https://example.com/check.sh | sh":                        "0 check.sh",
		"/usr/bin/check.sh ~/check.sh ../check.sh":                      "0 check.sh",
		"": "0 check.sh",
	})
}

func TestClassReferencesByMake(t *testing.T) {
	t.Parallel()
	f := files{
		"Makefile": "DIR = sub\n-include local.mk\ninclude mk/*.mk $(DIR)/rules.mk\nPY := python3\n.PHONY: all test\nall: app\n\ntest: unit lint ## checks\n\t@$(PY) tools/drive.sh\n\t-sh checks/one.sh $$HOME\n" +
			"unit: app\n\t./run_all.sh > log && \\\n\t./more.sh\nlint: ; ./style.sh\napp: main.o\n\tsh build/gen.sh $@\n\nsub-test:\n\t$(MAKE) -C sub test\n",
		"mk/a.mk": "include deeper.mk\n", "mk/deeper.mk": "", "deeper.mk": "", "sub/rules.mk": "", "sub/Makefile": "test:\n\t./try.sh\n", "sub/try.sh": "", "checks/one.sh": "", "tools/drive.sh": "", "run_all.sh": "", "more.sh": "", "style.sh": "", "build/gen.sh": "",
		"other.mk": "go:\n\tsh build/gen.sh\n", "all.sh": "make app\n", "verify.sh": "make test\n", "main.c": "",
	}
	classesByRun(t, f, map[string]string{
		"make test":                   "4 Makefile\n4 GNUmakefile\n4 makefile\n4 local.mk\n4 mk/a.mk\n4 mk/new.mk\n4 deeper.mk\n4 sub/rules.mk\n4 checks/one.sh\n4 tools/drive.sh\n4 run_all.sh\n4 more.sh\n4 style.sh\n0 build/gen.sh\n0 sub/try.sh\n4 unit\n4 test\n4 app  # its recipe would not run\n0 app/main.c\n0 main.c",
		"make -j 4 CC=gcc lint":       "4 Makefile\n4 style.sh\n0 run_all.sh\n4 lint\n0 test",
		"make":                        "4 Makefile\n4 GNUmakefile\n0 run_all.sh\n4 all",
		"make -C sub -s test":         "4 sub/Makefile\n4 sub/GNUmakefile\n4 sub/try.sh\n0 Makefile",
		"make sub-test":               "4 Makefile\n4 sub/Makefile\n4 sub/try.sh",
		"make -f other.mk go":         "4 other.mk\n4 build/gen.sh\n0 Makefile",
		"make --file=other.mk":        "4 other.mk\n4 build/gen.sh",
		"gmake --directory=sub check": "4 sub/makefile",
		"sh all.sh":                   "4 all.sh\n4 app\n0 Makefile\n0 GNUmakefile\n0 mk/a.mk\n0 mk/new.mk\n0 test",
		"sh verify.sh":                "4 verify.sh\n4 Makefile\n4 run_all.sh",
		"cd sub && make test":         "4 sub/Makefile\n4 sub/try.sh",
		"make nothing":                "4 Makefile\n0 nothing",
	})
	// A root in a sub-folder, and a task in one of its folders.
	g := files{"svc/a/Makefile": "include ../mk/x.mk\ncheck:\n\t./c.sh\n", "svc/a/c.sh": "", "svc/mk/x.mk": "", "Makefile": "", "svc/a/b/Makefile": ""}
	classesOf(t, NewChecks(g.tree(), Scope{Sub: "svc", Runs: []Command{{Argv: []string{"make", "check"}, Dir: "svc/a"}}}), "4 svc/a/Makefile\n4 svc/a/c.sh\n4 svc/mk/x.mk\n0 Makefile\n0 svc/a/b/Makefile\n4 svc/a/GNUmakefile")
}

func TestClassReferencesByScripts(t *testing.T) {
	t.Parallel()
	f := files{
		"package.json":            `{"name": "root", "scripts": {"test": "npm run unit && ./scripts/after.sh", "pretest": "sh prep.sh", "unit": "node --test && mocha -r ./hook.js", "build": "sh build.sh", "loop": "npm run loop", "ci:all": "run-s lint"}}`,
		"packages/a/package.json": `{"name": "@shop/a", "scripts": {"test": "sh try.sh", "build": "sh make.sh"}}`, "packages/b/package.json": `{"name": "@shop/b", "scripts": {"test": "bash ./try.sh"}}`, "packages/broken/package.json": `{"name`,
		"prep.sh": "", "build.sh": "", "scripts/after.sh": "", "hook.js": "", "packages/a/try.sh": "", "packages/a/make.sh": "", "packages/b/try.sh": "", "ci.sh": "npm run build\nnpm test\n",
		"justfile": "import 'just/more.just'\nmod extra\n\ntest arg='x': lint\n    @sh just/t.sh {{arg}}\nlint:\n    sh just/l.sh\nbuild:\n    sh just/b.sh\n", "just/more.just": "", "extra.just": "x:\n  ./just/e.sh\n", "just/t.sh": "", "just/l.sh": "", "just/b.sh": "", "just/e.sh": "",
		"Taskfile.yml":      "version: '3'\nincludes:\n  docs: ./docs/Taskfile.yml\ntasks:\n  test:\n    deps: [lint]\n    cmds:\n      - sh tf/t.sh\n      - cmd: ./tf/u.sh\n        silent: true\n  lint:\n    cmds:\n      - sh tf/l.sh\n  build:\n    cmds:\n      - sh tf/b.sh\n",
		"docs/Taskfile.yml": "", "tf/t.sh": "", "tf/u.sh": "", "tf/l.sh": "", "tf/b.sh": "", "deep/in/x.txt": "",
	}
	classesByRun(t, f, map[string]string{
		"npm test":                         "4 prep.sh\n4 scripts/after.sh\n4 hook.js\n0 build.sh\n0 package.json  # by its parts\n0 packages/a/try.sh",
		"npm run-script build":             "4 build.sh\n0 prep.sh",
		"npm run loop":                     "0 build.sh",
		"yarn unit":                        "4 hook.js\n0 prep.sh",
		"pnpm --filter @shop/a run test":   "4 packages/a/try.sh\n0 packages/b/try.sh\n0 prep.sh",
		"pnpm --filter=@shop/* test":       "4 packages/a/try.sh\n4 packages/b/try.sh",
		"pnpm -r test":                     "4 packages/a/try.sh\n4 packages/b/try.sh\n4 prep.sh",
		"npm test -w packages/b":           "4 packages/b/try.sh\n0 packages/a/try.sh",
		"npm --prefix packages/a t":        "4 packages/a/try.sh",
		"yarn workspace @shop/b test":      "4 packages/b/try.sh",
		"yarn workspaces foreach run test": "4 packages/a/try.sh\n4 packages/b/try.sh",
		"cd packages/a && yarn run build":  "4 packages/a/make.sh\n0 build.sh",
		"sh ci.sh":                         "4 ci.sh\n4 prep.sh\n0 build.sh",
		"npm exec mocha -- -r ./hook.js":   "4 hook.js",
		"npm":                              "0 build.sh",
		"just test":                        "4 justfile\n4 Justfile\n4 just/more.just\n4 extra.just\n4 just/t.sh\n4 just/l.sh\n0 just/b.sh",
		"cd deep/in && just lint":          "4 justfile\n4 just/l.sh\n0 just/t.sh",
		"just -f extra.just x":             "4 extra.just\n4 just/e.sh\n0 justfile",
		"task test":                        "4 Taskfile.yml\n4 taskfile.yaml\n4 docs/Taskfile.yml\n4 tf/t.sh\n4 tf/u.sh\n4 tf/l.sh\n0 tf/b.sh",
	})
}

// Hostile trees are read within bounds.
func TestReferencesAreBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	f := files{"Makefile": "include a0.mk\nA0=$(A1)$(A1)$(A1)$(A1)$(A1)$(A1)$(A1)$(A1)\n", "x.sh": strings.Repeat(". ./x.sh\n. ./y.sh\n", 10_000), "y.sh": ". ./x.sh\n", "big.sh": strings.Repeat("#", maxReadSize+1) + "\n. ./late.sh\n", "late.sh": ""}
	for i := range 2000 {
		f[fmt.Sprintf("a%d.mk", i)] = fmt.Sprintf("include a%d.mk a%d.mk\nA%d=%s\ntest: t%d\nt%d: t%d\n\tsh s%d.sh\n", i+1, (i*7)%2000, i, strings.Repeat(fmt.Sprintf("$(A%d)", i+1), 50), i, i, i+1, i)
		f[fmt.Sprintf("s%d.sh", i)] = fmt.Sprintf(". ./s%d.sh\nsh check%d.sh\n", i+1, i)
		f[fmt.Sprintf("p%d/package.json", i)] = fmt.Sprintf(`{"name":"p%d","scripts":{"test":"npm test -w p%d -w p%d && $(A0)"}}`, i, i+1, i+2)
	}
	bomb := "a0: &a0 [sh late.sh]\n"
	for i := range 60 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	f["Taskfile.yml"] = bomb + "tasks:\n  t: {cmds: [*a60, sh y.sh]}\n"
	f["deep/Taskfile.yml"] = "tasks: " + strings.Repeat("[", 200_000)
	reads := 0
	tree := f.tree()
	inner := tree.Read
	tree.Read = func(p string) ([]byte, error) { reads++; return inner(p) }
	began := time.Now()
	c := NewChecks(tree, Scope{Runs: []Command{{Shell: "make test $(A0); sh s0.sh; npm test -r; sh x.sh; sh big.sh; task t; task -d deep", Dir: "."}}})
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %s", took)
	}
	if reads > 2*len(f) {
		t.Errorf("%d reads of %d files", reads, len(f))
	}
	classesOf(t, c, "4 a0.mk\n4 x.sh\n4 y.sh\n4 big.sh\n0 late.sh\n4 s0.sh\n4 s5.sh\n0 s1900.sh")
}

func FuzzReferences(f *testing.F) {
	f.Add("make -C x -f y z; ./a.sh", "a.sh", ". ./b.sh\nmake test", "Makefile", "include $(A)/*.mk\nA=$(A)\nt: ; sh $@\n")
	f.Add("npm --prefix x run y", "package.json", `{"scripts":{"y":"npm run y"}}`, "justfile", "import 'justfile'\na: a\n  just a\n")
	f.Add("task x", "Taskfile.yml", "includes:\n  a: ./Taskfile.yml\n", "GNUmakefile", "define x\nendef\nifeq (a\n\tb")
	f.Add("[", "a", "$(", "b", "\\\n\\\n\t\\")
	f.Fuzz(func(t *testing.T, run, p1, src1, p2, src2 string) {
		c := NewChecks(files{p1: src1, p2: src2}.tree(), Scope{Runs: []Command{{Shell: run, Dir: "."}, {Argv: strings.Fields(run), Dir: "x"}}})
		for p := range c.refs.files {
			if p == "" || strings.HasPrefix(p, "../") || p == ".." || p == "." {
				t.Fatalf("names %q", p)
			}
		}
	})
}

// Files of a task's environment are class 4, whatever they are called, whether they are there or not.
func TestClassDotenv(t *testing.T) {
	t.Parallel()
	f := files{"shop/config/base": "", "shop/config/other": "", "config/base": ""}
	c := NewChecks(f.tree(), Scope{Sub: "shop", Dotenv: []string{"config/base", "config/new"}})
	classesOf(t, c, "4 shop/config/base\n4 shop/config/new\n0 shop/config/other\n0 config/base")
}

// Modules of a program of the check, also new ones, are the check's. What it checks is not.
func TestModulesOfCheckers(t *testing.T) {
	t.Parallel()
	f := files{
		"scripts/lint.py":  "import rules, shared\ntry:\n    from local import IGNORE\nexcept ImportError:\n    pass\nfor p in Path('src').glob('*.py'): load('lint_ignore.json', 'names.json')\n",
		"scripts/rules.py": "import deeper\n", "scripts/deeper.py": "", "scripts/shared.py": "", "scripts/release.py": "import shared\n", "src/a.py": "",
		"scripts/check_docs.py": "import docs\ndocs.build('src')\n", "scripts/docs.py": "",
		"check.py": "import calc\nimport later\ntry:\n    import lint_local\nexcept ImportError:\n    pass\n", "calc.py": "",
		"tools/lint.mjs": "import { rules } from './rules.mjs';\nwalk('src', await import('./local.mjs').catch(() => 0));\n", "tools/rules.mjs": "",
	}
	classesByRun(t, f, map[string]string{
		"python3 scripts/lint.py": "4 scripts/rules.py\n4 scripts/deeper.py\n4 scripts/local.py\n4 scripts/local/__init__.py\n4 scripts/lint_ignore.json\n0 scripts/names.json\n" +
			"0 scripts/other.py  # not imported\n0 scripts/shared.py  # a script that is not the check imports it\n0 src/a.py\n0 local.py",
		"python3 scripts/check_docs.py": "0 scripts/docs.py  # what it is named after",
		"python3 check.py":              "0 calc.py\n0 later.py  # what is checked is beside it\n4 lint_local.py",
		"node tools/lint.mjs":           "4 tools/rules.mjs\n4 tools/local.mjs\n0 tools/new.mjs",
	})
}
