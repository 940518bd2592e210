package review

// test_skipped: marks that keep a test from running, and commands that run fewer of them.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

var skipMarks = map[string][]pattern{
	"go": {
		pat(onCode, false, "", `\.Skip(?:f|Now)?\(`, ".Skip"),
		pat(onRaw, false, "a build tag", `^//(?:go:build| ?\+build)\s.*`, "build"),
	},
	"web": {
		pat(onCode, false, "", `\b(?:it|test|describe|suite|context|specify)(?:\.\w+)*\.(?:skip|skipIf|runIf|todo|fails|failing|fixme|only)\b`, "."),
		pat(onCode, false, "", `(?:^|[^\w.])(?:x(?:it|describe|test|context|specify)|f(?:it|describe|context)|pending)\s*\(`, "("),
		pat(onCode, false, "", `\b(?:this|t|ctx|context)\.(?:skip|todo)\s*\(`, "."),
		pat(onCode, false, "", `[{,]\s*(?:skip|todo|only)\s*:\s*(?:true\b|[^\s,}])`, "skip", "todo", "only"),
	},
	"py": {
		pat(onCode, false, "", `\bpytest\.mark\.(?:skip|skipif|xfail)\b`, "mark."),
		pat(onCode, false, "", `\bpytest\.(?:skip|xfail|importorskip|exit)\s*\(`, "pytest."),
		pat(onCode, false, "", `\bunittest\.(?:skip\w*|expectedFailure)\b`, "unittest."),
		pat(onCode, false, "", `^\s*@(?:skip\w*|expectedFailure|xfail)\b`, "@"),
		pat(onCode, false, "", `\bself\.skipTest\s*\(|\braise\s+(?:\w+\.)?SkipTest\b`, "skip", "Skip"),
		pat(onCode, false, "", `\b__test__\s*=\s*False|\bcollect_ignore(?:_glob)?\s*\+?=`, "__test__", "collect_ignore"),
		pat(onCode, false, "", `^\s*del\s+test\w*`, "del "),
	},
	"rust": {
		pat(onCode, false, "", `#\[\s*ignore\b`, "ignore"),
		pat(onCode, false, "", `#!?\[\s*cfg\s*\(\s*any\s*\(\s*\)\s*\)`, "cfg"),
		pat(onCode, false, "", `#\[\s*cfg_attr\s*\([^]]*\bignore\b`, "cfg_attr"),
	},
	"c": {
		pat(onCode, false, "", `\bGTEST_SKIP\b|\bDISABLED_\w+|\b(?:SKIP|TEST_IGNORE(?:_MESSAGE)?)\s*\(`, "SKIP", "DISABLED_", "TEST_IGNORE"),
		pat(onCode, false, "", `^\s*#\s*if\s+0\b`, "#"),
	},
	"jvm": {
		pat(onCode, false, "", `@(?:Disabled\w*|Ignore|EnabledIf\w*|EnabledOn\w*)\b|\benabled\s*=\s*false|\bassum(?:e|ing)(?:True|False|That)\s*\(`, "@", "enabled", "assum"),
	},
	"ruby": {
		pat(onCode, false, "", `^\s*(?:skip|pending|x(?:it|describe|context|specify))\b`, "skip", "pending", "x"),
	},
	"shell": {
		pat(onCode, false, "", `^\s*skip(?:\s|$)`, "skip"),
	},
	"php": {
		pat(onCode, false, "", `->markTest(?:Skipped|Incomplete)\s*\(|@group\s+skip`, "markTest", "@group"),
	},
}

// narrowings are options with which a runner leaves tests out.
var narrowings = []pattern{
	pat(onText, false, "", `\bgo test\b.*?\s-(?:-?test\.)?(?:run|skip|short)\b(?:[= ]\S+)?`, "go test"),
	pat(onText, false, "", `\b(?:jest|vitest|mocha|ava|node --test|(?:npm|pnpm|yarn)(?: run)? test)\b.*?\s(?:-t|-g|-f|--grep|--fgrep|--testNamePattern|--test-name-pattern|--testPathPatterns?|--testPathIgnorePatterns|--exclude|--ignore|--onlyChanged|--changed)\b\S*`, "jest", "vitest", "mocha", "ava", "node --test", "test"),
	pat(onText, false, "", `\b(?:pytest|py\.test|addopts)\b.*?\s(?:-k|-m|--deselect|--ignore(?:-glob)?|--lf|--last-failed|--co|--collect-only)\b\S*`, "pytest", "py.test", "addopts"),
	pat(onText, false, "", `\baddopts\s*=\s*["']?(?:-k|-m|--deselect|--ignore|--co)\b\S*`, "addopts"),
	pat(onText, false, "", `\bunittest\b.*?\s-k\b`, "unittest"),
	pat(onText, false, "", `\bcargo (?:nex)?test\b.*?\s--(?:skip|no-run|exclude|lib)\b`, "cargo"),
	pat(onText, false, "", `\bctest\b.*?\s(?:-E|-R|-LE|--exclude-regex|--tests-regex)\b`, "ctest"),
	pat(onText, false, "", `(?:-DskipTests|-Dmaven\.test\.skip|-Dtest=|(?:^|\s)-x test\b)`, "-D", "-x test"),
	pat(onText, false, "", `["']?(?:testPathIgnorePatterns|testIgnore|testNamePattern|norecursedirs|collect_ignore|modulePathIgnorePatterns)["']?\s*[:=]`, "testPathIgnore", "testIgnore", "testNamePattern", "norecursedirs", "collect_ignore", "modulePathIgnore"),
	pat(onText, false, "", `--gtest_filter\b\S*`, "gtest_filter"),
}

var (
	goAll   = late.Regexp(`\bgo (?:test|vet)\b.*\s\.\.?/\.\.\.`)
	goTests = late.Regexp(`\bgo (?:test|vet)\b`)
)

func (r *report) skips(e *edit) {
	if marks := skipMarks[e.language]; marks != nil && (e.class > 0 || e.language == "rust") {
		fresh := r.newCases(e)
		r.fresh(e, marks, false, func(j int, p *pattern, match string) {
			if fresh(j) || p.what == "a build tag" && (e.isNew() || !strings.HasSuffix(e.path, "_test.go")) || e.language == "rust" && e.class == 0 && !e.marksTest(j) {
				return // a test that is new and is skipped tells no less than before
			}
			r.add(e, TestSkipped, j, e.class == 0, "%s", p.says(strings.TrimSpace(match)))
		})
	}
	code := lang.IsCode(e.language) && e.language != "shell"
	if e.class == 0 && (code && !lang.Tooling(e.path) || e.language == "") || code && e.class > 0 && e.class < 5 || e.class == 3 {
		return
	}
	r.fresh(e, narrowings, false, func(j int, _ *pattern, match string) {
		if e.isNew() && e.class == 0 {
			return // a new script runs what it likes
		}
		r.add(e, TestSkipped, j, false, "runs fewer tests: %s", match)
	})
	for _, b := range e.blocks {
		for i := b.i; i < b.iEnd && b.j < b.jEnd; i++ {
			if !goAll().MatchString(e.before.plain(i)) {
				continue
			}
			if j := min(b.j+i-b.i, b.jEnd-1); goTests().MatchString(e.after.plain(j)) && !goAll().MatchString(e.after.plain(j)) {
				r.add(e, TestSkipped, j, false, "runs fewer packages: %s", strings.TrimSpace(e.after.lines[j]))
			}
		}
	}
}

// newCases says of a line whether it belongs to a test that was not there before (a file's mark before the first test does not).
func (r *report) newCases(e *edit) func(line int) bool {
	had := map[string]bool{}
	for _, c := range e.cases(0) {
		had[c.name] = true
	}
	fresh := make([]bool, len(e.after.lines))
	for _, c := range e.cases(1) {
		if had[c.name] {
			continue
		}
		from := c.from
		for from > 0 && !fresh[from-1] && attribute().MatchString(e.after.lines[from-1]) {
			from--
		}
		for i := from; i < c.to; i++ {
			fresh[i] = true
		}
	}
	whole := e.isNew() && (len(e.cases(1)) > 0 || e.language != "py") // a new conftest.py speaks of tests elsewhere
	return func(line int) bool { return whole || fresh[line] }
}

var rustTests = late.Regexp(`#\[\s*cfg\s*\(.*\btest\b`)

// inTests says whether a line of the file after the change is part of a test: all of a test file, Rust's #[cfg(test)] module, a function marked #[test].
func (e *edit) inTests(line int) bool {
	if e.class == 2 || e.class == 1 && e.holdsTests() {
		return true
	}
	if e.language != "rust" {
		return false
	}
	if e.testLines == nil {
		e.testLines = testLines(e.after)
	}
	return line < len(e.testLines) && e.testLines[line]
}

// marksTest says whether a line is part of a test, or an attribute of one.
func (e *edit) marksTest(j int) bool {
	for ; j < len(e.after.lines) && !e.inTests(j); j++ {
		if !attribute().MatchString(e.after.lines[j]) {
			return false
		}
	}
	return j < len(e.after.lines)
}

// testLines marks what is only compiled for tests.
func testLines(s *side) []bool {
	in := make([]bool, len(s.lines))
	for i := 0; i < len(s.lines); i++ {
		code := s.code(i)
		if !rustTest().MatchString(code) && (!rustTests().MatchString(code) || strings.Contains(code, "not(test)") || strings.Contains(code, "not (test)")) {
			continue
		}
		depth, seen := 0, false
		for ; i < len(s.lines); i++ {
			in[i] = true
			code := s.code(i)
			for _, c := range []byte(code) {
				switch c {
				case '{':
					depth, seen = depth+1, true
				case '}':
					depth--
				}
			}
			if seen && depth <= 0 || !seen && strings.HasSuffix(strings.TrimSpace(code), ";") {
				break
			}
		}
	}
	return in
}
