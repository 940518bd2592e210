package checkfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// A files is a tree: content by path.
type files map[string]string

func (f files) tree() Tree {
	return Tree{Paths: slices.Sorted(maps.Keys(f)), Read: func(p string) ([]byte, error) {
		src, ok := f[p]
		if !ok {
			return nil, errors.New("no such file: " + p)
		}
		return []byte(src), nil
	}}
}

// classes checks want against a tree: a line is a class, paths, and what is behind a "#".
func classes(t *testing.T, f files, sub string, protect []string, want string) {
	t.Helper()
	classesOf(t, NewChecks(f.tree(), Scope{Sub: sub, Protect: protect}), want)
}

func classesOf(t *testing.T, c *Checks, want string) {
	t.Helper()
	for line := range strings.Lines(want) {
		paths, why, _ := strings.Cut(strings.TrimSpace(line), " #")
		class, paths, _ := strings.Cut(paths, " ")
		for _, p := range strings.Fields(paths) {
			if got := c.Class(p); fmt.Sprint(got) != class {
				t.Errorf("%s is class %d, want %s:%s", p, got, class, why)
			}
		}
	}
}

// What PIPELINE.hcl includes is guarded as PIPELINE.hcl is, in both syntaxes and below the folder of PIPELINE.hcl.
func TestIncludedPipelines(t *testing.T) {
	t.Parallel()
	included := []string{"services/api/PIPELINE.hcl", "web/PIPELINE.hcl.json"}
	classesOf(t, NewChecks(files{}.tree(), Scope{Include: included}), `
		1 PIPELINE.hcl PIPELINE.hcl.json services/api/PIPELINE.hcl services/api/PIPELINE.hcl.json web/PIPELINE.hcl web/PIPELINE.hcl.json
		5 services/PIPELINE.hcl
	`)
	classesOf(t, NewChecks(files{}.tree(), Scope{Sub: "sub", Include: included}), `
		1 sub/PIPELINE.hcl sub/services/api/PIPELINE.hcl sub/web/PIPELINE.hcl.json
		5 services/api/PIPELINE.hcl
	`)
}

// Names alone, in an empty tree: what a patch may add.
func TestClassByConvention(t *testing.T) {
	t.Parallel()
	classes(t, files{}, "", nil, `
		1 PIPELINE.hcl PIPELINE.hcl.json
		5 examples/PIPELINE.hcl  # of another root
		2 calc_test.go internal/calc/calc_test.go
		0 contest.go latest.go attestation.go testing.go test.go _test.go internal/testing/clock.go
		0 internal/greatest/x.go
		2 test_calc.py app/calc_test.py conftest.py shop/tests.py tests/helpers.py tests/unit/deep/data.bin
		0 latest.py contest.py testing_utils.py protest/latest.py attest.py
		2 src/sum.test.js src/sum.test.ts src/Sum.test.tsx src/sum.spec.mjs src/sum.spec.vue app/app.e2e-spec.ts
		2 src/__tests__/sum.js src/__mocks__/fs.js e2e/login.ts
		0 e2e/crypto.go
		2 cypress/support/commands.js
		0 src/latest.js src/test.js src/testimonials.tsx src/contest.test .spec.js
		2 src/test/java/shop/Cart.java shop/CartTest.java shop/CartTests.java shop/TestCart.java
		2 shop/CartIT.java shop/CartTest.kt shop/CartSpec.groovy app/src/androidTest/java/shop/Main.kt
		2 build/src/integrationTest/kotlin/A.kt src/testFixtures/java/A.java
		0 src/main/java/shop/LoadTest.java  # Maven runs nothing in src/main
		0 src/main/java/shop/test/Harness.java src/main/kotlin/TypeSpec.kt shop/Testimonial.java
		0 shop/Contest.java shop/EXIT.java shop/Test.java
		2 cart_spec.rb spec/models/cart.rb spec/spec_helper.rb test/cart_test.rb
		0 spec/openapi.yaml app/spectator.rb
		2 tests/integration.rs src/cart/tests.rs src/cart_test.rs
		0 src/commands/test/mod.rs src/test.rs src/latest.rs
		2 cart_test.cc cart_unittest.cc test_cart.c src/CartTest.cpp
		0 src/contest.c src/latest.cpp
		2 tests/Unit/CartTest.php src/CartTest.php Zend/tests/x.phpt
		0 src/Contest.php
		2 Shop.Tests/Helper.cs Shop/CartTests.cs
		0 Shop/Latest.cs Shop/Contests/Page.cs
		2 ShopTests/Helper.swift cart.bats scripts/test_cart.sh run-tests.sh
		0 scripts/latest.sh scripts/deploy.sh
		2 test/cart_test.exs lib/cart_test.exs
		0 lib/cart.ex
		2 lib/cart_test.dart t/basic.t tests/testthat/test-cart.R test/runtests.jl policy/deny_test.rego
		2 main.tftest.hcl
		3 testdata/in.txt internal/calc/testdata/script/a.txtar fixtures/users.json src/__snapshots__/a.js.snap
		3 render.golden render.golden.html app/out.snap report.approved.txt
		0 golden.go snap/main.go golden README.md main.go package.json
		5 .github/workflows/test.yml
		0 docs/tests.md
		2 tests/README.md ./x/../calc_test.go
	`)
}

func TestClassProtect(t *testing.T) {
	t.Parallel()
	classes(t, files{}, "", []string{"api/*.proto", "**/*_gen.go", "migrations", "docs/", "", "[", "calc_test.go"}, `
		1 api/a.proto
		0 api/v1/a.proto
		1 a_gen.go x/y/a_gen.go migrations/1/up.sql docs/a.md
		1 calc_test.go  # class 1 comes first
		0 main.go
	`)
	classes(t, files{}, "svc[1]", []string{"api/*.proto", "../common/*.txt"}, `
		1 svc[1]/api/a.proto svc[1]/PIPELINE.hcl
		0 svc1/api/a.proto api/a.proto
		5 PIPELINE.hcl
		1 common/a.txt
	`)
	// A root that lies under tests/ is not all tests.
	classes(t, files{}, "tests/app", nil, `
		0 tests/app/main.go
		2 tests/app/tests/main.go tests/app/main_test.go tests/other/main.go
		1 tests/app/PIPELINE.hcl
	`)
	classes(t, files{}, "./app/", nil, "1 app/PIPELINE.hcl\n5 PIPELINE.hcl")
}

func TestClassGo(t *testing.T) {
	t.Parallel()
	classes(t, files{
		"go.mod":                       "module example.com/shop // the shop\n\ngo 1.26\n",
		"main.go":                      "package main\nimport (\n\"example.com/shop/calc\"\n\"example.com/shop/internal/test/clock\"\n)\n//go:embed fixtures/*.json web/testdata\nvar f embed.FS\n",
		"calc/calc.go":                 "package calc",
		"calc/calc_test.go":            "package calc_test\nimport (\"example.com/shop/calc\"; \"example.com/shop/internal/testutil\"; \"example.com/shop/check\"; \"example.com/shop/vat\")\nvar _, _ = os.ReadFile(\"cases.csv\"), os.ReadFile(filepath.Join(\"..\", \"data\", \"rates.json\"))",
		"calc/cases.csv":               "1",
		"calc/other.csv":               "1",
		"data/rates.json":              "{}",
		"data/prices.json":             "{}",
		"internal/testutil/util.go":    "package testutil\nimport \"example.com/shop/internal/deep\"",
		"internal/deep/fake.go":        "package deep",
		"internal/deep/deep.go":        "package deep",
		"internal/deep/x_test.go":      "package deep",
		"internal/test/clock/clock.go": "package clock",
		"internal/test/other/o.go":     "package other",
		"check/check.go":               "package check\nimport \"testing\"",
		"check/more.go":                "package check",
		"vat/vat.go":                   "package vat\nimport \"strings\"",
		"fixtures/seed.json":           "{}",
		"fixtures/sub/seed.json":       "{}",
		"web/testdata/page.html":       "",
		"web/web_test.go":              "package web\nimport \"example.com/shop/prodlib/testing_utils\"",
		"prodlib/testing_utils/u.go":   "package u",
		"prodlib/use.go":               "package prodlib\nimport \"example.com/shop/prodlib/testing_utils\"",
		"broken.go":                    "package main\nimport (\"",
		"attestation.go":               "package main",
	}, "", nil, `
		0 main.go
		0 calc/calc.go  # its own external test imports it
		2 calc/calc_test.go
		3 calc/cases.csv
		0 calc/other.csv
		3 data/rates.json
		0 data/prices.json
		2 internal/testutil/util.go
		2 internal/testutil/new.go  # a new file of a helper package
		0 internal/deep/fake.go  # nothing marks the package as one for tests
		0 internal/test/clock/clock.go  # production imports it
		0 internal/test/clock/new.go
		2 internal/test/clock/clock_test.go internal/test/other/o.go check/check.go check/more.go
		2 vat/vat.go  # only the test of another package imports it, and that is about its own
		0 fixtures/seed.json  # production embeds it
		3 fixtures/sub/seed.json
		0 web/testdata/page.html prodlib/testing_utils/u.go broken.go attestation.go
		3 calc/testdata/new.txt
	`)
}

func TestClassPython(t *testing.T) {
	t.Parallel()
	classes(t, files{
		"app/__init__.py":           "",
		"app/main.py":               "from app import calc, testing_utils\nfrom .test import client\nimport app.test_support as ts, os\nfrom app.data import (\n  load,\n  save,\n)\n",
		"app/calc.py":               "",
		"app/data.py":               "OPEN = open('rates.csv')",
		"app/testing_utils.py":      "",
		"app/test/__init__.py":      "",
		"app/test/client.py":        "",
		"app/test_support.py":       "def helper(): pass",
		"app/lonely.py":             "",
		"app/assertions.py":         "",
		"app/mock_server.py":        "import socket",
		"app/date_helper.py":        "",
		"tests/__init__.py":         "",
		"tests/test_calc.py":        "import pytest\nfrom app.calc import add\nfrom app.lonely import x\nfrom app.assertions import same\nfrom app import mock_server\nfrom app.date_helper import d\nDATA = Path(__file__).parent / 'cases' / 'sums.json'\nopen(\"expected.txt\")\nopen('rates.csv')\nopen('../pyproject.toml')\n",
		"tests/test_date_helper.py": "from app.date_helper import d\ndef test_d(): pass",
		"tests/util.py":             "",
		"tests/cases/sums.json":     "",
		"expected.txt":              "",
		"rates.csv":                 "",
		"pyproject.toml":            "",
		"runtests.py":               "import tests.util",
		"scripts/all_tests.py":      "from tests import util",
		"latest.py":                 "",
		"contest.py":                "def test_nothing(): pass",
		"test_feature.py":           "def test_it(): pass",
		"cli.py":                    "import test_feature",
	}, "", nil, `
		0 app/main.py app/calc.py app/testing_utils.py
		0 app/test/client.py  # a production folder that production imports
		0 app/test/__init__.py app/test/new.py
		2 app/test/test_new.py
		0 app/test_support.py  # called like a test, has none, and production imports it
		0 app/lonely.py  # only a test imports it, which makes it code under test
		2 app/assertions.py app/mock_server.py
		0 app/date_helper.py  # it has a test of its own
		2 tests/test_calc.py
		2 tests/util.py  # what runs tests does not make them production
		3 tests/fixtures/a.json
		2 tests/cases/sums.json
		3 expected.txt
		0 rates.csv  # production reads it too
		0 pyproject.toml
		2 runtests.py
		0 latest.py contest.py
		2 test_feature.py  # it has tests, whoever imports it
	`)
}

func TestClassWeb(t *testing.T) {
	t.Parallel()
	classes(t, files{
		"package.json":             "{}",
		"src/index.js":             "import { sum } from './sum';\nexport * from \"./fixtures/seed\";\n// import x from '../test/setup'\nconst t = require('./tests/runtime.js')\nimport data from './fixtures/menu.json'",
		"src/sum.js":               "",
		"src/sum.test.js":          "import { sum } from './sum'\nimport { render } from './render-helpers'\nimport cases from '../data/cases.json'\nimport '@/fake-clock'\nreadFileSync(`${__dirname}/../data/big.txt`)\nglob('../golden-html/*.html')\npath.join(__dirname, '..', 'shots', 'a.png')\nreadFile('../index.html')",
		"src/render-helpers.ts":    "import './deep-mock'",
		"src/deep-mock/index.ts":   "",
		"src/fake-clock.ts":        "",
		"src/date-helper.js":       "",
		"src/date-helper.spec.js":  "import './date-helper.js'",
		"src/fixtures/seed.ts":     "",
		"src/fixtures/menu.json":   "{}",
		"src/tests/runtime.js":     "",
		"src/latest.js":            "",
		"test/setup.js":            "",
		"test/unit/sum.js":         "import '../../src/sum'",
		"jest.config.js":           "require('./test/setup')",
		"data/cases.json":          "[]",
		"data/big.txt":             "",
		"data/menu.txt":            "",
		"golden-html/a.html":       "",
		"index.html":               "",
		"shots/a.png":              "",
		"node_modules/x/test/a.js": "require('../../../test/setup')",
	}, "", nil, `
		0 src/index.js src/sum.js
		2 src/sum.test.js src/render-helpers.ts
		2 src/deep-mock/index.ts  # only a helper imports it
		2 src/fake-clock.ts
		0 src/date-helper.js src/fixtures/seed.ts src/fixtures/menu.json src/tests/runtime.js src/latest.js
		2 test/setup.js  # the commented import and the tool's do not count
		2 test/unit/sum.js
		3 data/cases.json data/big.txt
		0 data/menu.txt
		3 golden-html/a.html golden-html/new.html shots/a.png
		0 index.html  # a source, though a test reads it
		0 package.json
		5 jest.config.js
	`)
}

// A helper is no production: what it uses stays with the tests. When it turns out to be production, all of that goes.
func TestClassHelpersAndFoldersDependOnEachOther(t *testing.T) {
	t.Parallel()
	f := files{
		"go.mod": "module m", "a/a_test.go": "package a\nimport \"m/kittest\"", "kittest/k.go": "package kittest\nimport \"m/test/inner\"\n//go:embed testdata/x.txt", "test/inner/i.go": "package inner\nimport \"m/faker/mocks\"",
		"faker/mocks/m.go": "package mocks", "kittest/testdata/x.txt": "", "a/a.go": "package a",
	}
	classes(t, f, "", nil, "2 kittest/k.go\n2 test/inner/i.go\n2 faker/mocks/m.go\n3 kittest/testdata/x.txt\n0 a/a.go")
	f["a/a.go"] = "package a\nimport \"m/kittest\""
	classes(t, f, "", nil, "0 kittest/k.go\n0 test/inner/i.go\n0 faker/mocks/m.go\n0 kittest/testdata/x.txt\n2 a/a_test.go")
}

func TestClassOtherLanguages(t *testing.T) {
	t.Parallel()
	classes(t, files{
		"src/cart.c": "#include \"cart.h\"\n", "src/cart.h": "", "src/util_test.c": "#include \"../support/test_support.h\"\n#include <cart.h>\n# include \"harness.h\"\n",
		"support/test_support.h": "", "src/harness.h": "", "src/harness.c": "#include \"harness.h\"\n", "include/contest.h": "",
		"lib/cart.rb": "require_relative 'money'\n", "lib/money.rb": "", "spec/cart_spec.rb": "require 'cart'\nrequire_relative 'support/fake_shop'\nrequire_relative '../lib/test_kit'\nFile.read('data/in.yml')\n",
		"spec/support/fake_shop.rb": "", "lib/test_kit.rb": "", "data/in.yml": "",
		"deploy.sh": ". ./lib/common.sh\n", "lib/common.sh": "", "cart.bats": "load 'lib/test_helper_x'\nsource \"$BATS_TEST_DIRNAME/lib/common.sh\"\nrun ./deploy.sh < cases/in.txt\n", "lib/test_helper_x.bash": "", "cases/in.txt": "", "cases/not.txt": "",
		"greet_test.sh": "test \"$(bin/greet Ann)\" = hello\ndiff <(bin/raw) bin/list\ngrep x docs/use.md\ncmp a docs/expected.md\n", "bin/greet": "#!/bin/sh\n", "bin/raw": "\x7fELF", "bin/list": "a\n", "docs/use.md": "", "docs/expected.md": "",
		"src/shop/App.java": "package shop;\nimport shop.test.Probe;\nimport static shop.tests.All.*;\n", "src/shop/test/Probe.java": "", "src/shop/tests/All.java": "", "src/shop/test2/test/Other.java": "",
		"rs/src/lib.rs": "pub mod test;\n#[cfg(test)]\nmod tests;\nmod cart;\n", "rs/src/test/mod.rs": "", "rs/src/tests.rs": "", "rs/src/cart.rs": "",
		"php/src/App.php": "<?php\nuse App\\Test\\Probe;\n", "php/src/Test/Probe.php": "", "php/src/Test2/Test/Other.php": "",
	}, "", nil, `
		0 src/cart.c src/cart.h
		2 src/util_test.c support/test_support.h src/harness.h
		2 src/harness.c  # one unit with its header
		0 include/contest.h lib/cart.rb
		2 spec/support/fake_shop.rb lib/test_kit.rb
		3 data/in.yml
		0 deploy.sh lib/common.sh
		2 lib/test_helper_x.bash
		3 cases/in.txt
		0 cases/not.txt
		0 bin/greet  # a program, which is what is tested
		0 bin/raw
		3 bin/list
		0 docs/use.md  # documentation that a test reads is what it checks
		3 docs/expected.md
		0 src/shop/test/Probe.java src/shop/tests/All.java
		2 src/shop/test2/test/Other.java
		0 rs/src/test/mod.rs
		2 rs/src/tests.rs
		0 rs/src/cart.rs php/src/Test/Probe.php
		2 php/src/Test2/Test/Other.php
	`)
}

// The root in a sub-folder, with its own go.mod; folders that tests name; what cannot be read.
func TestClassSubFolder(t *testing.T) {
	t.Parallel()
	f := files{
		"svc/go.mod": "module \"svc\"\n", "svc/a/a_test.go": "package a\nimport \"svc/mocks\"\nvar dir = \"../cases/good/\"\nvar top = \"svc/data/x.txt\"\nvar all = \"../cases/bad/**/*.yml\"", "svc/mocks/m.go": "package mocks",
		"svc/cases/good/1.yml": "", "svc/cases/bad/x/2.yml": "", "svc/data/x.txt": "", "svc/cases/other.yml": "", "svc/a/a.go": "package a\nvar unreadable",
	}
	tree := f.tree()
	read := tree.Read
	tree.Read = func(p string) ([]byte, error) {
		if p == "svc/a/a.go" {
			return nil, errors.New("permission denied")
		}
		return read(p)
	}
	c := NewChecks(tree, Scope{Sub: "svc"})
	for p, want := range map[string]int{
		"svc/mocks/m.go": 2, "svc/cases/good/1.yml": 3, "svc/cases/good/new.yml": 3, "svc/cases/bad/x/2.yml": 3, "svc/cases/bad/new.yml": 3, "svc/cases/other.yml": 0, "svc/data/x.txt": 3, "svc/a/a.go": 0,
	} {
		if got := c.Class(p); got != want {
			t.Errorf("%s is class %d, want %d", p, got, want)
		}
	}
	if got := NewChecks(Tree{Paths: []string{"a_test.go"}}, Scope{}).Class("a_test.go"); got != 2 {
		t.Error("a tree that cannot be read has no tests")
	}
}

// Reading is bounded.
func TestChecksAreBounded(t *testing.T) {
	t.Parallel()
	f := files{}
	for i := range 1000 {
		f[fmt.Sprintf("pkg%d/a.py", i)] = "import pkg1.a\nfrom pkg2 import a\nx = 'a/b/c.txt'\n" + strings.Repeat("y = \"some ordinary text\"\n", 20)
		f[fmt.Sprintf("pkg%d/test_a.py", i)] = "from .a import x\nopen('*.txt')\n"
	}
	f["huge.py"] = "import pkg1.tests.x\n" + strings.Repeat("#", maxSource)
	f["pkg1/tests/x.py"] = ""
	read := 0
	tree := f.tree()
	inner := tree.Read
	tree.Read = func(p string) ([]byte, error) { read++; return inner(p) }
	began := time.Now()
	c := NewChecks(tree, Scope{})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	if read > len(f) {
		t.Errorf("%d reads of %d files", read, len(f))
	}
	if got := c.Class("pkg1/tests/x.py"); got != 2 {
		t.Errorf("a source of more than 1 MiB was read: class %d", got)
	}
}

func FuzzChecks(f *testing.F) {
	f.Add("a_test.go", "package a\nimport \"/x\"", "b.py", "from ... import (\n", "", "**/*.go")
	f.Add("x/y.test.js", "import '../../../..'\n'*/*.txt'", "x/z.txt", "", "x", "[")
	f.Add("a.rs", "mod a;", "../b.bats", "load \"$X\"\n. ", "..", "{a,")
	f.Add("/a.sh", "source $(x)/b 'c' 'd/'", "", "//go:embed [", ".", "../../*")
	f.Add("setup.py", "setup(packages=find_packages('a', exclude=['b*']), package_dir={'': 'c'}, py_modules=['d'])", "a/mocks.py", "", ".", "")
	f.Add("pyproject.toml", "[project]\nname = 'a'\n[tool.setuptools.packages.find]\nwhere = ['[']\n", "setup.cfg", "[options]\npackages = find:\n", "a", "")
	f.Add("package.json", "{\"exports\": {\"./*\": [\"./[/*.js\"]}, \"files\": [\"!{\", \"../..\"]}", "CMakeLists.txt", "install(FILES ${x}/../*.h a.h)", "", "")
	f.Add("Makefile", "H = $(H) *.h\ninstall:\n\tcp $(H) ../../x.h /\n", "Makefile.am", "a_HEADERS = ../[.h", "", "")
	f.Add("go.mod", "module x\n", "x.go", "package x\nimport \"x/y\"\n//go:embed all:* \"a\"\n", "a/b", "")
	f.Fuzz(func(t *testing.T, p1, src1, p2, src2, sub, protect string) {
		c := NewChecks(files{p1: src1, p2: src2}.tree(), Scope{Sub: sub, Protect: []string{protect}})
		for _, p := range []string{p1, p2, p1 + "/" + p2, sub + "/" + p1, "", "/", ".."} {
			class := c.Class(p)
			if class < 0 || class > 5 {
				t.Fatalf("%q: %d", p, class)
			}
			if again := c.Class(p); again != class {
				t.Fatalf("%q: %d, then %d", p, class, again)
			}
		}
	})
}
