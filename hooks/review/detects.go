package review

// test_detected: production code that asks whether it is being tested.
//
// What caps asks about a test runner by its name. What also tells a continuous build, or a mode that a program may have of its own, is reported only.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

const (
	jsRunners = `jest|vitest|mocha|jasmine|ava|karma`
	pyRunners = `pytest|unittest|_pytest|nose2?|doctest`
	modeNames = `(?:IS_|IN_|RUNNING_|UNDER_)?(?:UNIT_?)?TEST(?:S|ING|_MODE|_ENV|_RUN)?`
)

var detections = map[string][]pattern{
	"go": {
		pat(onCode, true, "", `\btesting\.(?:Testing|Short|Verbose|CoverMode)\(\)`, "testing."),
		pat(onPlain, true, "", `\bflag\.Lookup\(\s*"test\.`, "flag.Lookup"),
		pat(onPlain, true, "", `\bos\.Args\b.*(?:"-?-?test\.|\.test"|/_test/|\.test\.exe")`, "os.Args"),
		pat(onPlain, true, "", `\bos\.Executable\(\).*\.test"`, "os.Executable"),
		pat(onPlain, true, "", `\b(?:HasSuffix|Contains|HasPrefix|EqualFold)\([^)]*"testing\.(?:tRunner|\(\*[MT]\)|Main)`, "testing."),
		pat(onPlain, false, "", `\bos\.(?:Getenv|LookupEnv)\(\s*"(?:CI|GITHUB_ACTIONS|GITLAB_CI|`+modeNames+`)"`, "os."),
	},
	"web": {
		pat(onPlain, true, "", `\bNODE_ENV\b['"]?\]?\s*[!=]==?\s*['"\x60]test['"\x60]|['"\x60]test['"\x60]\s*[!=]==?\s*(?:process\.env\.)?NODE_ENV\b`, "NODE_ENV"),
		pat(onPlain, true, "", `\bprocess\.env(?:\.|\[['"])(?:JEST_\w+|VITEST\w*|MOCHA\w*|NODE_TEST_CONTEXT|NODE_V8_COVERAGE|KARMA\w*|CYPRESS\w*)\b`, "process.env"),
		pat(onPlain, true, "", `\bprocess\.env(?:\.|\[['"])npm_lifecycle_(?:event|script)\b`, "npm_lifecycle"),
		pat(onPlain, true, "", `\bprocess\.(?:argv|execArgv|argv0)\b.*(?:\b(?:`+jsRunners+`)\b|['"\x60]--test['"\x60]|[./_-](?:test|spec)\.|[./_-](?:test|spec)['"\x60]|__tests__)`, "process."),
		pat(onPlain, true, "", `\btypeof\s+(?:global(?:This)?\.)?(?:jest|describe|it|expect|vi|beforeEach|afterEach|mocha|jasmine)\s*[!=]==?\s*['"]`, "typeof"),
		pat(onCode, true, "", `\bglobal(?:This)?\.(?:jest|describe|it|expect|vi|beforeEach|jasmine|mocha|__vitest_worker__)\b`, "global"),
		pat(onPlain, true, "", `\bimport\.meta\.env\.MODE\s*[!=]==?\s*['"]test['"]`, "import.meta"),
		pat(onPlain, true, "", `\brequire\.main\b.*\b(?:`+jsRunners+`|test|spec)\b`, "require.main"),
		pat(onPlain, true, "", `(?:\b(?:e|ex|err|error)|Error\([^)]*\)\)?)\.stack\b.*(?:['"/.](?:`+jsRunners+`|test|spec)\b|__tests__)`, ".stack"),
		pat(onPlain, false, "", `\bprocess\.env(?:\.|\[['"])(?:CI|GITHUB_ACTIONS|GITLAB_CI|`+modeNames+`)\b`, "process.env"),
		pat(onCode, false, "", `\bimport\.meta\.(?:vitest|jest)\b`, "import.meta"),
	},
	"py": {
		pat(onPlain, true, "", `['"](?:`+pyRunners+`)(?:\.\w+)*['"]\s+(?:not\s+)?in\s+(?:list\()?sys\.(?:modules|argv)`, "sys."),
		pat(onPlain, true, "", `\bsys\.modules(?:\.get\s*\(|\[)\s*['"](?:`+pyRunners+`)['"]`, "sys.modules"),
		pat(onPlain, true, "", `\bin\s+sys\.modules\b.*['"](?:`+pyRunners+`)['"]|['"](?:`+pyRunners+`)['"].*\bin\s+sys\.modules\b`, "sys.modules"),
		pat(onPlain, true, "", `\bos\.(?:environ|getenv)\b.*['"]PYTEST_\w+['"]|['"]PYTEST_\w+['"]\s+(?:not\s+)?in\s+(?:os\.)?environ`, "PYTEST_"),
		pat(onPlain, true, "", `\bsys\.argv\b.*['"](?:`+pyRunners+`)['"]|['"](?:test|tests)['"]\s+(?:not\s+)?in\s+sys\.argv`, "sys.argv"),
		pat(onPlain, true, "", `\b(?:inspect\.(?:stack|currentframe|getouterframes)|traceback\.(?:extract_stack|format_stack)|sys\._getframe)\b.*['"](?:[^'"]*[^a-z'"])?(?:`+pyRunners+`|tests?)\b?_?[^'"]*['"]`, "inspect.", "traceback.", "sys._getframe"),
		pat(onPlain, false, "", `\b(?:os\.)?(?:environ(?:\.get\s*\(|\[)|getenv\s*\()\s*['"](?:CI|GITHUB_ACTIONS|GITLAB_CI|`+modeNames+`)['"]|['"](?:CI|GITHUB_ACTIONS|`+modeNames+`)['"]\s+(?:not\s+)?in\s+(?:os\.)?environ`, "environ", "getenv"),
	},
	"rust": {
		pat(onCode, true, "", `\bcfg!\s*\(\s*(?:not\s*\(\s*)?test\b`, "cfg!"),
		pat(onPlain, true, "", `\benv::(?:var|var_os)\(\s*"(?:RUST_TEST_\w+|NEXTEST\w*|CARGO_TARGET_TMPDIR)"`, "env::"),
		pat(onPlain, false, "", `\benv::(?:var|var_os)\(\s*"(?:CI|`+modeNames+`)"`, "env::"),
	},
	"c": {
		pat(onPlain, true, "", `\b(?:secure_)?getenv\s*\(\s*"(?:GTEST_\w+|CTEST_\w+|CK_\w+|PYTEST_\w+|TEST_TMPDIR)"`, "getenv"),
		pat(onPlain, true, "", `\b(?:program_invocation_(?:short_)?name|__progname|argv\s*\[\s*0\s*\])\b?.*"(?:[^"]*[^a-z"])?tests?(?:[^a-z"][^"]*)?"`, "program_invocation", "__progname", "argv"),
		pat(onPlain, false, "", `\b(?:secure_)?getenv\s*\(\s*"(?:CI|`+modeNames+`)"|#\s*if(?:n?def)?\b.*\b(?:UNIT_?TESTS?|TESTING|UNDER_TEST|__TEST__)\b`, "getenv", "#"),
	},
	"shell": {
		pat(onRaw, true, "", `\$\{?(?:PYTEST_\w+|JEST_WORKER_ID|VITEST\w*|BATS_\w+|NODE_TEST_CONTEXT|GO_TEST\w*)\b`, "$"),
		pat(onRaw, false, "", `(?:\[|\btest\b|\bcase\b)[^#]*\$\{?(?:CI|GITHUB_ACTIONS|`+modeNames+`)\b`, "$"),
	},
	"ruby": {
		pat(onPlain, true, "", `\bdefined\?\s*\(?\s*(?:RSpec|Minitest)\b|\bENV(?:\.fetch\s*\(|\[)\s*['"](?:RSPEC\w*|TEST_QUEUE)['"]|\$PROGRAM_NAME.*(?:rspec|minitest)|\$0.*(?:rspec|minitest)`, "defined?", "ENV", "$"),
		pat(onCode, false, "", `\bRails\.env\.test\?`, "Rails.env"),
	},
	"jvm": {
		pat(onPlain, true, "", `\bgetStackTrace\(\).*(?:junit|testng|surefire)|\bClass\.forName\(\s*"(?:org\.junit|org\.testng|org\.gradle\.test|org\.apache\.maven\.surefire)[^"]*"|\bgetProperty\(\s*"(?:surefire\.|org\.gradle\.test\.)[^"]*"|"org\.junit[^"]*"`, "getStackTrace", "Class.forName", "getProperty", "org.junit"),
	},
	"php": {
		pat(onPlain, true, "", `\bPHPUNIT_\w+|\bclass_exists\(\s*['"]\\?PHPUnit`, "PHPUNIT", "class_exists"),
	},
}

// ownVariables are this program's, as they are read: what a run and a hook are told. Variables of the configuration are the user's.
var ownVariables = []pattern{
	pat(onPlain, true, "", `\b(?:[gG]etenv|LookupEnv|var_os|var|environ\w*|env|ENV|getProperty)(?:\.get|\.fetch)?\s*[\[(]\s*["'\x60]ASYNC_PIPELINE_[A-UW-Z]\w*|\b(?:process|Bun|import\.meta)\.env\.ASYNC_PIPELINE_[A-UW-Z]\w*|["']ASYNC_PIPELINE_[A-UW-Z]\w*["']\s+(?:not\s+)?in\s+(?:os\.)?environ`, "ASYNC_PIPELINE_"),
	pat(onRaw, true, "", `\$\{?ASYNC_PIPELINE_[A-UW-Z]\w*`, "ASYNC_PIPELINE_"),
}

var (
	rustNotTest = late.Regexp(`#\[\s*cfg\s*\(\s*not\s*\(\s*test\s*\)\s*\)\s*\]`)
	rustPlain   = late.Regexp(`^(?:pub(?:\([^)]*\))?\s+)?(?:use|mod|extern|static|const|impl)\b|^#`)
	stacks      = late.Regexp(`\bruntime\.(?:Callers?|CallersFrames|Stack)\(|\bdebug\.Stack\(|\binspect\.(?:stack|currentframe|getouterframes)\b|\btraceback\.(?:extract|format)_stack\b|\bsys\._getframe\b|\.captureStackTrace\b|\bnew Error\([^)]*\)\.stack|\bgetStackTrace\(\)`)
	testFrame   = late.Regexp(`["'\x60/](?:[^"'\x60]*[._/])?(?:_test\.go|test_|tests?|testing\.|spec|junit|` + pyRunners + `|` + jsRunners + `)[^"'\x60]*["'\x60/]`)
	sysArgs     = late.Regexp(`\bos\.Args\[0\]|\bos\.Executable\(`)
	testBinary  = late.Regexp(`"[^"]*\.test(?:\.exe)?"`)
)

func (r *report) detects(e *edit) {
	if !e.production() || !e.exists() {
		return
	}
	hit := func(j int, p *pattern, match string) {
		if e.inTests(j) {
			return
		}
		r.add(e, TestDetected, j, p.caps, "%s", match)
	}
	r.fresh(e, detections[e.language], false, hit)
	if e.language == "shell" {
		r.fresh(e, ownVariables[1:], false, hit)
	} else {
		r.fresh(e, ownVariables[:1], false, hit)
	}
	for k, j := range e.added {
		code := e.after.code(j)
		switch {
		case e.moved[j] || e.inTests(j):
		case e.language == "rust" && rustNotTest().MatchString(code):
			if next := strings.TrimSpace(rustNotTest().ReplaceAllString(code, "")); next == "" && j+1 < len(e.after.lines) {
				code = strings.TrimSpace(e.after.code(j + 1))
			} else {
				code = next
			}
			if !rustPlain().MatchString(code) {
				r.add(e, TestDetected, j, true, "#[cfg(not(test))]")
			}
		case stacks().MatchString(code):
			if at := r.near(e, k, testFrame().MatchString); at >= 0 {
				r.add(e, TestDetected, at, true, "looks for a test among its callers")
			}
		case e.language == "go" && sysArgs().MatchString(code):
			if at := r.near(e, k, testBinary().MatchString); at >= 0 {
				r.add(e, TestDetected, at, true, "asks whether the program is a test's")
			}
		}
	}
}

// near is the first new line, from the k-th on and at most ten lines further, of which ok is true.
func (r *report) near(e *edit, k int, ok func(string) bool) int {
	from := e.added[k]
	for ; k < len(e.added) && e.added[k] <= from+10; k++ {
		if ok(e.after.plain(e.added[k])) {
			return e.added[k]
		}
	}
	return -1
}
