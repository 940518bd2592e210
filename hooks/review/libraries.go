package review

// library_shadowed: what is loaded in place of a library.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// pyModules are modules of Python's library and of test tools. A file of such a name in a folder that is searched first is loaded instead.
var pyModules = strings.Fields(`abc argparse array ast asyncio atexit base64 bisect builtins calendar cmath codecs collections concurrent configparser contextlib copy csv
	ctypes dataclasses datetime decimal difflib dis doctest email enum errno fnmatch fractions functools gc getpass glob gzip hashlib heapq hmac html http imaplib importlib
	inspect io ipaddress itertools json keyword linecache locale logging math mimetypes multiprocessing numbers operator os pathlib pdb pickle pkgutil platform pprint queue
	random re sched secrets select selectors shelve shlex shutil signal site smtplib socket sqlite3 ssl stat statistics string struct subprocess sys sysconfig tarfile tempfile
	textwrap threading time timeit tokenize trace traceback types typing unicodedata unittest urllib uuid warnings weakref xml zipfile zlib zoneinfo
	pytest _pytest pluggy iniconfig mock hypothesis nose numpy pandas requests yaml attr six django flask sqlalchemy pydantic sitecustomize usercustomize`)

// testLibraries by the names of their packages.
var testLibraries = strings.Fields(`jest vitest mocha chai sinon ava tap tape jasmine karma expect assert power-assert should supertest nyc c8 jest-cli expect.js uvu
	@jest/ @vitest/ @testing-library/ @playwright/ node:assert node:test assert/strict`)

var (
	loads = map[string][]pattern{
		"py": {
			pat(onPlain, true, "", `\b(?:unittest|pytest|_pytest|doctest)(?:\.\w+)+\s*=[^=].*|\bsetattr\(\s*(?:unittest|pytest|_pytest|builtins)\b.*|\bsys\.modules\[\s*['"](?:unittest|pytest|_pytest|doctest|builtins)[\w.]*['"]\s*\]\s*=[^=].*`, "unittest", "pytest", "doctest", "builtins"),
			pat(onPlain, false, "", `\bsys\.path\.(?:insert|append|extend)\s*\(|\bsys\.path(?:\[[^]]*\])?\s*\+?=[^=]|\bsite\.addsitedir\(`, "sys.path", "addsitedir"),
			pat(onPlain, false, "", `\bsys\.(?:meta_path|path_hooks)\b\S*|\bsys\.modules\[\s*['"][^'"]+['"]\s*\]\s*=[^=]|\bbuiltins\.\w+\s*=[^=]|\bsys\.settrace\(`, "sys.", "builtins."),
		},
		"web": {
			pat(onCode, true, "", `(?:^|[^\w.$])(?:expect|assert|(?:globalThis|global)\.(?:expect|assert|it|test|describe|jest|vi)|jest)(?:\.\w+)*\.\w+\s*=[^=>].*|(?:^|[^\w.$])(?:globalThis|global)\.(?:expect|assert|it|test|describe|jest|vi)\s*=[^=>].*|\bexpect\.extend\s*\(`, "expect", "assert", "global", "jest", "vi."),
			pat(onPlain, true, "", `\brequire\.cache\[[^]]*(?:`+jsRunners+`|assert|node:test|expect|chai)[^]]*\].*=[^=].*`, "require.cache"),
			pat(onPlain, false, "", `\brequire\.cache\[[^]]*\](?:\.\w+)?\s*=[^=]|\bModule\.(?:_load|_resolveFilename|_extensions|prototype\.require|register)\b\S*|\brequire\.extensions\b`, "require.", "Module."),
		},
		"go": {
			pat(onRaw, true, "", `^//go:linkname\s+\S+\s+(?:testing|os|runtime|syscall)\.\S+`, "linkname"),
		},
		"ruby": {
			pat(onCode, true, "", `\b(?:module|class)\s+(?:RSpec|Minitest)\b.*|\b(?:RSpec|Minitest)\S*\.(?:class_eval|prepend|define_method)\b`, "RSpec", "Minitest"),
		},
		"c": {
			pat(onCode, true, "", `^\s*#\s*undef\s+(?:assert|TEST|CHECK|REQUIRE|(?:ASSERT|EXPECT)_\w+)\b|^\s*#\s*define\s+(?:NDEBUG|assert|(?:ASSERT|EXPECT)_(?:EQ|NE|TRUE|FALSE|STREQ|THAT|NEAR))\b`, "undef", "define"),
		},
	}
	lookups = []pattern{
		pat(onPlain, false, "", `\b(?:NODE_PATH|PYTHONPATH|PYTHONHOME|RUBYLIB|PERL5LIB|CLASSPATH|GOPATH|CPATH|C_INCLUDE_PATH)["']?\s*[:?+]?[=:]\s*\S+`, "PATH", "PYTHONHOME", "RUBYLIB", "PERL5LIB"),
		pat(onRaw, false, "", `\bmoduleNameMapper\b|\bmoduleDirectories\b|\bmodulePaths\b|["']?resolve\.alias\b`, "module", "resolve"),
	}
	assertLibrary = late.Regexp(`['"](?:node:)?(?:assert|chai|expect|vitest|power-assert)(?:/\w+)?['"]|\bglobal(?:This)?\.assert\b`)
	goReplace     = late.Regexp(`(?:^\s*replace\s|=>)\s*.*(?:=>\s*)?(?:\.{0,2}/|[A-Za-z]:)\S*`)
	localDep      = late.Regexp(`^\s*["'](@?[\w./-]+)["']\s*:\s*["'](?:file:|link:|portal:)`)
	vendoredMod   = late.Regexp(`^# (\S+) v\S+`)
)

func (r *report) libraries(e *edit) {
	if !e.exists() && !strings.Contains("/"+e.path, "/node_modules/") && !strings.Contains("/"+e.path, "/vendor/") {
		return
	}
	r.modules(e)
	r.headers(e)
	r.dependencies(e)
	if e.opaque {
		return
	}
	if e.production() && e.exists() {
		r.fresh(e, loads[e.language], false, func(j int, p *pattern, match string) {
			if !e.inTests(j) {
				own := e.language == "web" && strings.Contains(match, "assert") && !assertLibrary().MatchString(text(e.change.After)) // a function of its own that is called assert
				r.add(e, LibraryShadowed, j, p.caps && !own, "%s", match)
			}
		})
	}
	if e.class != 3 && e.language != "" {
		r.fresh(e, lookups, false, func(j int, _ *pattern, match string) {
			if e.class > 0 || !e.isNew() {
				r.add(e, LibraryShadowed, j, false, "where libraries are looked up: %s", match)
			}
		})
	}
	switch base := path.Base(e.path); base {
	case "go.mod", "go.work":
		for _, j := range e.added {
			if line := e.after.plain(j); strings.Contains(line, "=>") && !e.moved[j] && goReplace().MatchString(line) {
				r.put(e, LibraryShadowed, j, false, "%s", strings.TrimSpace(line)) // a check part: it is put back
			}
		}
	case "package.json":
		for _, j := range e.added {
			if m := localDep().FindStringSubmatch(e.after.lines[j]); m != nil && !e.moved[j] {
				r.add(e, LibraryShadowed, j, testLibraryName(m[1]), "%s", strings.TrimSpace(e.after.lines[j]))
			}
		}
	}
}

func testLibraryName(name string) bool {
	return slices.ContainsFunc(testLibraries, func(lib string) bool {
		return name == lib || strings.HasSuffix(lib, "/") && strings.HasPrefix(name, lib)
	})
}

// modules looks for a new file that has the name of a library.
func (r *report) modules(e *edit) {
	if !e.isNew() {
		return
	}
	dir, base := path.Split(e.path)
	dir = path.Clean(dir)
	name, isPy := strings.CutSuffix(base, ".py")
	if base == "__init__.py" {
		name, isPy = path.Base(dir), true
		dir = path.Dir(dir)
	}
	switch {
	case isPy && slices.Contains(pyModules, name):
		if r.checks.Known[path.Join(dir, "__init__.py")] || r.edit(path.Join(dir, "__init__.py")) != nil {
			return // a module of a package has a name of its own: package.json, not json
		}
		if r.checks.Known[path.Join(dir, name+".py")] || r.checks.Known[path.Join(dir, name, "__init__.py")] {
			return // a module that became a package, or the other way round
		}
		// Python looks first in the root, in src, and in the folder of the file that it runs; which one that is cannot be told.
		top := dir == "." || dir == r.checks.Sub || path.Base(dir) == "src" || path.Base(dir) == "lib"
		r.add(e, LibraryShadowed, -1, top, "is imported instead of Python's own or an installed %s", name)
	case strings.HasSuffix(base, ".pth"):
		r.add(e, LibraryShadowed, -1, true, "Python runs it at every start, where it lies in a folder of packages")
	case strings.Contains("/"+e.path, "/src/main/java/org/junit/") || strings.Contains("/"+e.path, "/src/main/java/org/testng/"):
		r.add(e, LibraryShadowed, -1, true, "is loaded instead of the test library's own class")
	case path.Base(dir) == "gtest" && base == "gtest.h" && e.language == "c":
		r.add(e, LibraryShadowed, -1, false, "is included instead of an installed GoogleTest")
	}
}

// dependencies looks at installed libraries that the tree holds.
func (r *report) dependencies(e *edit) {
	_, inner, node := cutLast("/"+e.path, "/node_modules/")
	switch {
	case strings.Contains(e.path, "node_modules/.bin/"):
	case node && !strings.HasPrefix(inner, "."):
		name, _, _ := strings.Cut(inner, "/")
		if strings.HasPrefix(name, "@") {
			rest := strings.TrimPrefix(inner, name+"/")
			first, _, _ := strings.Cut(rest, "/")
			name += "/" + first
		}
		manifest := strings.TrimSuffix(e.path, inner) + name + "/package.json"
		r.add(e, LibraryShadowed, -1, testLibraryName(name) || !r.versionChanged(manifest), "an installed dependency: %s", name)
	default:
		before, file, ok := cutLast("/"+e.path, "/vendor/")
		if !ok || file == "modules.txt" {
			return
		}
		// go.sum holds digests of whole modules, and vendor/ a part of each: offline nothing says that a copy is that version's.
		parts := strings.Split(file, "/")
		goes := strings.Contains(parts[0], ".") && len(parts) > 2
		if r.vendored(strings.TrimPrefix(before+"/vendor", "/"), file) {
			r.add(e, LibraryShadowed, -1, false, "a vendored dependency, with another version: nothing here says that this is its code")
		} else {
			r.add(e, LibraryShadowed, -1, goes, "a vendored dependency was changed, and its version is as it was")
		}
	}
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// versionChanged says whether the patch gives an installed package another version: then its files change with it.
func (r *report) versionChanged(manifest string) bool {
	e := r.edit(manifest)
	if e == nil {
		return false
	}
	for _, j := range e.added {
		if strings.Contains(e.after.lines[j], `"version"`) {
			return true
		}
	}
	return false
}

// vendored says whether the patch gives the module of a file of a vendor folder another version.
func (r *report) vendored(folder, file string) bool {
	e := r.edit(folder + "/modules.txt")
	if e == nil {
		return false
	}
	for _, side := range []struct {
		s     *side
		lines []int
	}{{e.after, e.added}, {e.before, e.removed}} {
		for _, i := range side.lines {
			if m := vendoredMod().FindStringSubmatch(side.s.lines[i]); m != nil && strings.HasPrefix(file, m[1]+"/") {
				return true
			}
		}
	}
	return false
}

// edit is the one of a path, nil where it is not touched.
func (r *report) edit(p string) *edit {
	i, ok := slices.BinarySearchFunc(r.edits, p, func(e *edit, p string) int { return strings.Compare(e.path, p) })
	if !ok {
		return nil
	}
	return r.edits[i]
}
