package checkfile

import (
	"maps"
	"path"
	"strings"
	"testing"
)

// pythonShop has a module for the tests of others, a test of it, and a test that only leans on it.
var pythonShop = files{
	"shop/__init__.py": "", "shop/price.py": "",
	"shop/testing.py":        "class Client: pass",
	"shop/mocks/__init__.py": "", "shop/mocks/clock.py": "class Clock: pass",
	"shop/assertions/__init__.py": "", "tests/test_assertions.py": "import shop.assertions\ndef test_asserts(): pass",
	"shop/iotest.py": "", "tests/test_iotest.py": "from shop import iotest\ndef test_io(): pass",
	"shop/test_utils.py":    "def same(a, b): return a == b",
	"tests/conftest.py":     "from shop.testing import Client",
	"tests/test_testing.py": "from shop.testing import Client\ndef test_client(): pass",
	"tests/test_clock.py":   "from shop.mocks.clock import Clock\ndef test_clock(): pass",
	"tests/test_price.py": "from shop.price import price\nfrom shop.testing import Client\nfrom shop.test_utils import same\n" +
		"from shop.mocks.clock import Clock\ndef test_price(): pass",
	"tests/test_test_utils.py": "from shop.test_utils import same\ndef test_same(): pass",
}

// shippedClasses compares classes in a tree with more files, when tests failed.
func shippedClasses(t *testing.T, f, more files, failing, want string) {
	t.Helper()
	f = maps.Clone(f)
	for p, text := range more {
		f[p] = text
		if text == "-" {
			delete(f, p)
		}
	}
	t.Logf("failing %q, and %v", failing, more)
	classesOf(t, NewChecks(f.tree(), Scope{Failing: strings.Fields(failing)}), want)
}

// What a Python package ships is production when its own test failed, whichever list says that it is shipped.
func TestShippedByPython(t *testing.T) {
	t.Parallel()
	const project = "[project]\nname = \"shop\"\n"
	for _, list := range []files{
		{"pyproject.toml": project},
		{"pyproject.toml": "[project]\nname = \"the-shop\"\n"}, // setuptools finds the one package
		{"pyproject.toml": "[build-system]\nbuild-backend = \"hatchling.build\"\n" + project},
		{"pyproject.toml": "[tool.setuptools]\npackages = [\"shop\", \"shop.mocks\", \"shop.assertions\"]\n" + project},
		{"pyproject.toml": "[tool.setuptools.packages.find]\ninclude = [\"shop*\"]\n" + project},
		{"pyproject.toml": "[tool.setuptools]\npackages = {find = {exclude = [\"tests*\"]}}\n" + project},
		{"pyproject.toml": "[tool.poetry]\nname = \"x\"\npackages = [{include = \"shop\"}]\n"},
		{"pyproject.toml": "[tool.hatch.build.targets.wheel]\npackages = [\"shop\"]\n[project]\nname = \"x\"\n"},
		{"pyproject.toml": "[tool.flit.module]\nname = \"shop\"\n[project]\nname = \"x\"\n"},
		{"setup.cfg": "[metadata]\nname = x\n[options]\npackages = find:\n"},
		{"setup.cfg": "[options]\npackages =\n    shop\n    shop.mocks, shop.assertions\n"},
		{"setup.cfg": "[options]\npackages = find:\n[options.packages.find]\nexclude =\n    tests*\n"},
		{"setup.py": "setup(name='x', packages=find_packages(exclude=['tests']))"},
		{"setup.py": "from setuptools import setup\nsetup(\n    name='x',\n    packages=['shop', 'shop.mocks', 'shop.assertions'],\n)\n"},
		{"setup.py": "setup(name='shop')", "pyproject.toml": "[tool.black]\nline-length = 99\n"},
	} {
		shippedClasses(t, pythonShop, list, "tests/test_testing.py::test_client", `
			0 shop/testing.py shop/price.py
			2 shop/mocks/clock.py   # its own test did not fail
			2 tests/test_testing.py tests/conftest.py shop/test_utils.py
		`)
		shippedClasses(t, pythonShop, list, "test_clock.test_clock tests/test_test_utils.py::test_same test_iotest.test_io test_assertions.test_asserts", `
			0 shop/assertions/__init__.py shop/iotest.py shop/mocks/clock.py shop/test_utils.py
			2 shop/testing.py
		`)
		shippedClasses(t, pythonShop, list, "tests/test_price.py::test_price[1]",
			"2 shop/testing.py shop/mocks/clock.py shop/test_utils.py  # a test that leans on them failed")
		shippedClasses(t, pythonShop, list, "", "2 shop/testing.py shop/mocks/clock.py  # whichever test failed, another uses them")
	}
	alone := files{"tests/test_price.py": "-", "tests/conftest.py": "-", "pyproject.toml": project}
	shippedClasses(t, pythonShop, alone, "", "0 shop/testing.py shop/mocks/clock.py shop/test_utils.py")

	wraps := files{"tests/testing.py": "from shop.testing import Client", "tests/test_testing.py": "-"}
	maps.Copy(wraps, alone)
	shippedClasses(t, pythonShop, wraps, "", "2 shop/testing.py  # what uses it has its name, and is no test")

	for _, list := range []files{
		nil,
		{"pyproject.toml": "[tool.black]\nline-length = 99\n"},
		{"pyproject.toml": "[project]\nname = \"other\"\n[build-system]\nbuild-backend = \"flit_core.buildapi\"\n"},
		{"pyproject.toml": "[tool.setuptools]\npackages = [\"other\"]\n" + project},
		{"pyproject.toml": "[tool.setuptools.packages.find]\nexclude = [\"shop\"]\n" + project},
		{"pyproject.toml": "[tool.setuptools.packages.find]\nwhere = [\"lib\"]\n" + project},
		{"pyproject.toml": "no TOML [\n"},
		{"setup.cfg": "[tool:pytest]\ntestpaths = tests\n"},
		{"setup.cfg": "[options]\npackages = other\n"},
		{"setup.py": "setup(name='x', packages=['other'])"},
		{"setup.py": "# setup(packages=['shop'])\nsetup(packages=['other'])"},
		{"node_modules/x/setup.py": "setup(package_dir={'': '../..'}, packages=['shop'])"},
	} {
		shippedClasses(t, pythonShop, list, "tests/test_testing.py::test_client", "2 shop/testing.py")
	}
}

// Which of two tests with one name failed, by the file, module or package that a runner prints with it.
func TestFailedInFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"tests/test_clock.py::test_it":         "tests/test_clock.py",
		"tests/test_clock.py::T::test_it[a/b]": "tests/test_clock.py",
		"test_clock.T.test_it (i=1)":           "tests/test_clock.py",
		"tests.test_clock.T.test_it":           "tests/test_clock.py",
		"example.com/shop/clock.TestIt/one":    "clock/x_test.go",
		"TestIt":                               "clock/x_test.go price/x_test.go",
		"> ticks":                              "js/clock.test.js",
		"a > test_it":                          "tests/test_clock.py tests/test_price.py",
		"js/clock.test.js > TestIt":            "js/clock.test.js",
		"test_clock":                           "tests/test_clock.py",
		"clock":                                "tests/test_clock.py js/clock.test.js",
	} {
		var got []string
		for _, p := range []string{"tests/test_clock.py", "tests/test_price.py", "clock/x_test.go", "price/x_test.go", "js/clock.test.js"} {
			text := "def test_it():"
			switch path.Ext(p) {
			case ".go":
				text = "func TestIt("
			case ".js":
				text = "test('ticks')"
			}
			if inFile(name, p, path.Dir(p), text) {
				got = append(got, p)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is in %v, want %s", name, got, want)
		}
	}
}

// Folders other than the manifest's own.
func TestShippedByPythonElsewhere(t *testing.T) {
	t.Parallel()
	const failing = "tests/test_testing.py::test_client"
	in := func(root string) files {
		return files{
			root + "/__init__.py": "", root + "/testing.py": "", "lib/tests/test_testing.py": "from shop.testing import C\ndef test_client(): pass",
		}
	}
	for list, root := range map[string]string{
		"[project]\nname = \"shop\"\n": "lib/src/shop",
		"[project]\nname = \"x\"\n":    "lib/src/shop",
		"[tool.setuptools]\npackage-dir = {\"\" = \"src\"}\npackages = [\"shop\"]\n[project]\nname = \"x\"\n": "lib/src/shop",
		"[tool.setuptools.packages.find]\nwhere = [\"src\"]\n[project]\nname = \"x\"\n":                       "lib/src/shop",
		"[tool.poetry]\nname = \"x\"\npackages = [{include = \"shop\", from = \"src\"}]\n":                    "lib/src/shop",
		"[tool.hatch.build.targets.wheel]\npackages = [\"src/shop\"]\n[project]\nname = \"x\"\n":              "lib/src/shop",
	} {
		shippedClasses(t, in(root), files{"lib/pyproject.toml": list}, failing, "0 "+root+"/testing.py")
	}
	src := in("lib/src/shop")
	shippedClasses(t, src, files{"lib/setup.cfg": "[options]\npackage_dir =\n    = src\npackages = find:\n[options.packages.find]\nwhere = src\n"}, failing, "0 lib/src/shop/testing.py")
	shippedClasses(t, src, files{"lib/setup.py": "setup(package_dir={'': 'src'}, packages=find_packages('src'))"}, failing, "0 lib/src/shop/testing.py")
	shippedClasses(t, src, files{"lib/setup.py": "setup(package_dir={'shop': 'src/shop'}, packages=['shop'])"}, failing, "0 lib/src/shop/testing.py")
	shippedClasses(t, src, files{"setup.py": "setup(packages=['shop'])"}, failing, "2 lib/src/shop/testing.py  # of another folder")
	shippedClasses(t, files{
		"shop_testing.py": "", "test_shop_testing.py": "import shop_testing\ndef test_client(): pass",
		"setup.cfg": "[options]\npy_modules =\n    shop\n    shop_testing\n",
	}, nil, "test_shop_testing.py::test_client", "0 shop_testing.py\n2 test_shop_testing.py")
}

// Folders and files of tests stay what they are, also where a package ships them.
func TestShippedTests(t *testing.T) {
	t.Parallel()
	f := files{
		"setup.py": "setup(packages=find_packages())", "shop/__init__.py": "", "shop/tests/__init__.py": "",
		"shop/tests/helpers.py": "", "shop/conftest.py": "", "shop/fixtures/__init__.py": "", "shop/fixtures/data.py": "",
		"shop/tests/test_helpers.py":  "from shop.tests.helpers import x\nfrom shop import conftest\nfrom shop.fixtures import data\ndef test_x(): pass",
		"shop/tests/test_conftest.py": "from shop import conftest\ndef test_y(): pass",
		"shop/test_price.py":          "def test_price(): pass",
		"tests/test_test_price.py":    "from shop import test_price\ndef test_it(): pass",
		"shop/tests/test_data.py":     "from shop.fixtures import data\ndef test_z(): pass",
	}
	shippedClasses(t, f, nil, "test_helpers.test_x test_conftest.test_y test_data.test_z test_test_price.test_it",
		"2 shop/test_price.py shop/tests/helpers.py shop/conftest.py shop/tests/test_helpers.py\n3 shop/fixtures/data.py")
}

// What package.json exports, and the sources of what is built.
func TestShippedByNode(t *testing.T) {
	t.Parallel()
	shop := files{
		"src/price.js": "", "src/testing.js": "", "src/mocks/index.js": "",
		"src/testing.test.js": "import { client } from './testing.js'; test('answers', f)",
		"src/mocks.test.js":   "import { clock } from './mocks/index.js'; test('ticks well', f)",
		"src/price.test.js":   "import './price.js'; import './testing.js'; import './mocks/index.js'; test('taxed', f)",
	}
	for list, shipped := range map[string]bool{
		`{"exports": {".": "./src/index.js", "./testing": {"import": "./src/testing.js"}, "./mocks": "./src/mocks/index.js"}}`:                 true,
		`{"exports": {"./*": "./src/*.js", "./mocks": ["./src/mocks/index.js"]}}`:                                                              true,
		`{"exports": {"./testing": {"types": "./dist/testing.d.ts", "default": "./dist/testing.js"}, "./mocks": "./dist/esm/mocks/index.js"}}`: true,
		`{"types": "./dist/testing.d.ts", "main": "./dist/mocks/index.js"}`:                                                                    true,
		`{"files": ["src"]}`:                                             true,
		`{"files": ["src/**/*.js", "README.md"]}`:                        true,
		`{"main": "src/testing.js", "bin": {"x": "src/mocks/index.js"}}`: true,
		`{"files": ["src", "!src/testing.js", "!src/mocks"]}`:            false,
		`{"files": ["src"], "private": true}`:                            false,
		`{"files": ["lib"], "main": "./src/price.js"}`:                   false,
		`{"name": "shop"}`:                                               false,
		`no JSON`:                                                        false,
	} {
		want := "2 src/testing.js src/mocks/index.js"
		if shipped {
			want = "0 src/testing.js src/mocks/index.js"
		}
		shippedClasses(t, shop, files{"package.json": list}, "answers ticks well", want)
		shippedClasses(t, shop, files{"package.json": list}, "taxed", "2 src/testing.js src/mocks/index.js\n2 src/price.test.js")
	}
}

// Headers that a build installs, with their sources.
func TestShippedHeaders(t *testing.T) {
	t.Parallel()
	calc := files{
		"include/calc_mock.h": "", "include/other_mock.h": "",
		"tests/test_calc_mock.c":  "#include <calc_mock.h>\nint main(void) { mocks(); }",
		"tests/test_calc.c":       "#include <calc_mock.h>\n#include <other_mock.h>\nint main(void) { adds(); }",
		"tests/test_other_mock.c": "#include <other_mock.h>\nint main(void) { others(); }",
	}
	for name, text := range map[string]string{
		"CMakeLists.txt":     "set(H include/calc_mock.h)\ninstall(FILES ${H} ${PROJECT_SOURCE_DIR}/include/x.h DESTINATION include)\ninstall(FILES x DESTINATION include/)\n",
		"src/CMakeLists.txt": "set_target_properties(calc PROPERTIES PUBLIC_HEADER \"x.h;${CMAKE_SOURCE_DIR}/include/calc_mock.h\")",
		"a/CMakeLists.txt":   "target_sources(calc PUBLIC FILE_SET HEADERS BASE_DIRS ../include FILES include/calc_mock.h)",
		"b/CMakeLists.txt":   "file(GLOB ALL ../include/calc*.h)\ninstall(FILES ${ALL} DESTINATION include)",
		"Makefile.am":        "include_HEADERS = include/x.h \\\n  include/calc_mock.h\nnoinst_HEADERS = include/other_mock.h\n",
		"Makefile":           "HEADERS = include/calc_mock.h\nall: x\ninstall: all\n\tfor h in $(HEADERS); do cp \"$$h\" $(DESTDIR)/include; done\ntest:\n\tcat include/other_mock.h\n",
		"GNUmakefile":        "install-headers:\n\tinstall -m 644 include/calc_mock.h $(PREFIX)\n",
		"meson.build":        "install_headers('include/calc_mock.h', subdir: 'calc')",
	} {
		shippedClasses(t, calc, files{name: text}, "test_calc_mock test_other_mock", `
			0 include/calc_mock.h
			2 include/other_mock.h  # nothing installs it
			2 tests/test_calc_mock.c
		`)
		shippedClasses(t, calc, files{name: text}, "test_calc", "2 include/calc_mock.h include/other_mock.h")
	}
	both := files{"CMakeLists.txt": "install(DIRECTORY include/ DESTINATION include)"}
	shippedClasses(t, calc, both, "test_calc_mock test_other_mock", "0 include/calc_mock.h include/other_mock.h")
	unit := files{"mock.h": "", "mock.c": "#include \"mock.h\"", "test_mock.c": "#include \"mock.h\"", "Makefile": "install:\n\tcp mock.h /usr/include\n"}
	shippedClasses(t, unit, nil, "test_mock", "0 mock.h mock.c")
	shippedClasses(t, unit, files{"Makefile": "-"}, "test_mock", "2 mock.h mock.c")
}

// A Go package that others can import, and whose own tests failed.
func TestShippedByGo(t *testing.T) {
	t.Parallel()
	shop := files{
		"go.mod": "module example.com/shop\n", "price.go": "package shop",
		"shoptest/clock.go": "package shoptest", "shoptest/clock_test.go": "package shoptest\nfunc TestClock(t *testing.T) {}",
		"internal/shoptest/clock.go": "package shoptest", "internal/shoptest/clock_test.go": "package shoptest\nfunc TestInner(t *testing.T) {}",
		"price_test.go": "package shop_test\nimport (\"example.com/shop\"; \"example.com/shop/shoptest\"; in \"example.com/shop/internal/shoptest\")\nfunc TestPrice(t *testing.T) {}",
	}
	const own = "example.com/shop/shoptest.TestClock example.com/shop/internal/shoptest.TestInner"
	shippedClasses(t, shop, nil, own, "0 shoptest/clock.go shoptest/new.go\n2 internal/shoptest/clock.go shoptest/clock_test.go")
	shippedClasses(t, shop, nil, "example.com/shop.TestPrice", "2 shoptest/clock.go internal/shoptest/clock.go")
	shippedClasses(t, shop, nil, "", "2 shoptest/clock.go  # another test uses it")
	below := files{}
	for p, text := range shop {
		below["svc/"+p] = text
	}
	shippedClasses(t, below, nil, own, "0 svc/shoptest/clock.go\n2 svc/internal/shoptest/clock.go")
	shippedClasses(t, below, nil, "example.com/shop.TestClock", "2 svc/shoptest/clock.go  # of another package")
	shippedClasses(t, below, files{"svc/go.mod": "-"}, own, "0 svc/shoptest/clock.go  # nothing is known of its imports")
}
