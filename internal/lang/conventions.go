package lang

// Conventions: what the languages call a test, by the name of a file or of a folder alone.

import (
	"path"
	"slices"
	"strings"
)

// A names says which names of files make them tests: of a file's name without its extension.
type names struct {
	exact  []string
	prefix []string
	suffix []string
	camel  []string // suffix, capital, after something that is not it
}

var (
	scripts      = names{suffix: []string{"-test", "_test", "-tests", "_tests"}, prefix: []string{"test-", "test_"}}
	native       = names{suffix: []string{"_test", "_tests", "_unittest", "_unittests"}, prefix: []string{"test_"}, camel: []string{"Test", "Tests"}}
	dotnet       = names{camel: []string{"Test", "Tests"}}
	jvmTests     = names{camel: []string{"Test", "Tests", "TestCase", "TestSuite", "Spec", "IT"}}
	clojureTests = names{suffix: []string{"_test"}}
	every        = names{prefix: []string{""}}
	none         = names{}
)

// testNames by extension. A language that is not here has its tests in folders only.
var TestNames = map[string]names{
	".go":   {suffix: []string{"_test"}},
	".py":   {prefix: []string{"test_"}, suffix: []string{"_test"}, exact: []string{"tests", "conftest"}},
	".rb":   {prefix: []string{"test_"}, suffix: []string{"_test", "_spec"}, exact: []string{"spec_helper", "test_helper", "rails_helper"}},
	".rs":   {suffix: []string{"_test", "_tests"}, exact: []string{"tests"}},
	".java": jvmTests, ".kt": jvmTests, ".groovy": jvmTests, ".scala": {camel: append([]string{"Suite"}, jvmTests.camel...)},
	".c": native, ".cc": native, ".cpp": native, ".cxx": native, ".h": native, ".hh": native, ".hpp": native, ".m": native, ".mm": native,
	".cs": dotnet, ".fs": dotnet, ".vb": dotnet, ".swift": dotnet,
	".php": {camel: []string{"Test", "TestCase", "Cest", "Spec"}}, ".phpt": every,
	".sh": scripts, ".bash": scripts, ".zsh": scripts, ".bats": every,
	".ex": none, ".exs": {suffix: []string{"_test"}, exact: []string{"test_helper"}},
	".erl": {suffix: []string{"_SUITE", "_tests"}},
	".clj": clojureTests, ".cljs": clojureTests, ".cljc": clojureTests,
	".hs":   {camel: []string{"Test", "Tests", "Spec"}, exact: []string{"Spec"}},
	".dart": {suffix: []string{"_test"}}, ".lua": {suffix: []string{"_test", "_spec"}}, ".cr": {suffix: []string{"_spec"}, exact: []string{"spec_helper"}},
	".ml": {prefix: []string{"test_"}, suffix: []string{"_test"}}, ".zig": {suffix: []string{"_test"}}, ".nim": {prefix: []string{"test_"}},
	".r": {prefix: []string{"test-", "test_"}, exact: []string{"testthat"}}, ".jl": {prefix: []string{"test_"}, exact: []string{"runtests"}},
	".t": every, ".rego": {suffix: []string{"_test"}}, ".robot": every, ".feature": every, ".v": {suffix: []string{"_test", "_tb"}}, ".sv": {suffix: []string{"_test", "_tb"}},
}

var (
	WebExts  = []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"}
	JvmExts  = []string{".java", ".kt", ".kts", ".groovy", ".scala"}
	specExts = append([]string{".rb", ".lua", ".cr", ".php", ".coffee"}, WebExts...)
	Runners  = []string{"runtests", "run_tests", "run-tests", "runtest", "run_test", "run-test"}
)

// testName says whether p is a test by its own name. sub-folders count only for the JVM's src/main, where nothing is.
func TestName(p string) bool {
	base := path.Base(p)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	ext = strings.ToLower(ext)
	switch {
	case stem == "":
		return false
	case slices.Contains(JvmExts, ext) && inMain(p):
		return false
	case slices.Contains(Runners, strings.ToLower(stem)):
		return true
	}
	if inner := path.Ext(stem); inner != "" && inner != stem {
		switch strings.ToLower(inner) {
		case ".spec":
			return true
		case ".test", ".tests":
			return slices.Contains(WebExts, ext) || ext == ".ps1" || ext == ".sh" || ext == ".cs" || ext == ".lua"
		case ".test-d", ".e2e", ".e2e-spec", ".e2e-test", ".cy", ".integration-spec":
			return slices.Contains(WebExts, ext)
		case ".tftest":
			return ext == ".hcl" || ext == ".json"
		case ".t":
			return ext == ".sol"
		}
	}
	n, ok := TestNames[ext]
	if !ok {
		return false
	}
	if ext == ".java" && startsCamel(stem, "Test") {
		return true
	}
	return n.match(stem)
}

func (n names) match(stem string) bool {
	if slices.Contains(n.exact, stem) {
		return true
	}
	for _, p := range n.prefix {
		if strings.HasPrefix(stem, p) {
			return true
		}
	}
	for _, s := range n.suffix {
		if strings.HasSuffix(stem, s) && len(stem) > len(s) {
			return true
		}
	}
	for _, s := range n.camel {
		rest, ok := strings.CutSuffix(stem, s)
		if ok && rest != "" && (s != "IT" || !Upper(rest[len(rest)-1])) {
			return true
		}
	}
	return false
}

// startsCamel: TestFoo, and not Testimonial.
func startsCamel(stem, word string) bool {
	rest, ok := strings.CutPrefix(stem, word)
	return ok && rest != "" && Upper(rest[0])
}

func Upper(c byte) bool { return c >= 'A' && c <= 'Z' }

// inMain: Maven and Gradle run no tests from src/main.
func inMain(p string) bool { return strings.Contains("/"+p, "/src/main/") }

// testFolder says whether a folder on p's way makes it a test.
func TestFolder(p string) bool {
	ext := strings.ToLower(path.Ext(p))
	segments := strings.Split(p, "/")
	folders := segments[:len(segments)-1]
	for i, seg := range folders {
		under := func(name string) bool { return slices.Contains(folders[:i], name) }
		switch seg {
		case "__tests__", "__test__", "__mocks__":
			return true
		case "test", "tests", "Test", "Tests":
			switch {
			case inMain(p):
			case ext == ".rs" && seg == "test" && under("src"): // may be a command that is called test
			default:
				return true
			}
		case "spec", "specs":
			if slices.Contains(specExts, ext) && !under("src") {
				return true
			}
		case "e2e", "cypress":
			if slices.Contains(WebExts, ext) || ext == ".py" {
				return true
			}
		case "t":
			if ext == ".pm" || ext == ".pl" {
				return true
			}
		case "testFixtures":
			if under("src") {
				return true
			}
		}
		if rest, ok := strings.CutSuffix(seg, "Test"); ok && rest != "" && !Upper(rest[0]) && i > 0 && folders[i-1] == "src" {
			return true // src/androidTest, src/integrationTest
		}
		if rest, ok := strings.CutSuffix(seg, "Tests"); ok && rest != "" && Upper(rest[0]) {
			return true // ShopTests/, Shop.UnitTests/
		}
		if strings.HasSuffix(seg, ".Test") {
			return true
		}
	}
	return false
}

// dataFolder says whether a folder on p's way holds what tests read.
func DataFolder(p string) bool {
	for seg := range strings.SplitSeq(path.Dir(p), "/") {
		switch seg {
		case "testdata", "test-data", "test_data", "fixtures", "__fixtures__", "__snapshots__", "testcases", "test-fixtures", "test_fixtures":
			return true
		}
	}
	return false
}

// dataName says whether p holds what tests expect, by its own name.
func DataName(p string) bool {
	base := path.Base(p)
	switch strings.ToLower(path.Ext(base)) {
	case ".golden", ".snap", ".ambr":
		return len(base) > len(path.Ext(base))
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	switch path.Ext(stem) {
	case ".golden", ".approved", ".verified":
		return stem != path.Ext(stem)
	}
	return false
}

// words are the parts of a name: test_utils, testUtils, test-utils.
func Words(name string) []string {
	var (
		list []string
		word []byte
	)
	flush := func() {
		if len(word) > 0 {
			list = append(list, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || Upper(c) || c >= '0' && c <= '9' || c >= 0x80
		switch {
		case !letter:
			flush()
			continue
		case Upper(c) && i > 0 && !Upper(name[i-1]):
			flush()
		}
		word = append(word, c)
	}
	flush()
	return list
}

var (
	helperWords = []string{"fake", "fakes", "fixture", "fixtures", "mock", "mocks", "stub", "stubs"}
	supportWord = []string{
		"assert", "asserts", "assertion", "assertions", "dummy", "expect", "golden", "harness", "helper", "helpers", "matcher", "matchers", "snapshot", "snapshots",
	}
	notTest = []string{"testament", "testate", "testimonial", "testimonials", "testimony", "testosterone"}
	endTest = []string{"attest", "contest", "detest", "fastest", "greatest", "highest", "latest", "lowest", "newest", "oldest", "protest", "retest", "smallest", "largest"}
)

// helperName says whether the name of a file or folder says that it is for tests (sure), or may say so (maybe). It is never
// enough by itself: the code that the tests test is often imported by nothing else either.
func HelperName(name string) (sure, maybe bool) {
	for _, w := range Words(name) {
		switch {
		case slices.Contains(helperWords, w):
			sure = true
		case strings.HasPrefix(w, "test") && !slices.Contains(notTest, w): // testutil, testkit
			sure = true
		case strings.HasSuffix(w, "test") && !slices.Contains(endTest, w): // iotest
			sure = true
		case slices.Contains(supportWord, w):
			maybe = true
		}
	}
	return sure, maybe
}

// subjectOf is the name of what a test is about, by its own name: date of date.test.js, test_date.py, DateTest.java.
func SubjectOf(p string) string {
	stem, _, _ := strings.Cut(path.Base(p), ".")
	stem = strings.ToLower(stem)
	stem = strings.TrimPrefix(strings.TrimPrefix(stem, "test_"), "test-")
	for _, end := range []string{"_unittest", "_tests", "_test", "_spec", "-tests", "-test", "tests", "test", "spec"} {
		if rest, ok := strings.CutSuffix(stem, end); ok && rest != "" {
			return rest
		}
	}
	return stem
}

// testish says whether the name of a file speaks of tests as a word of its own: run_all_tests.py, test-runner.js.
func Testish(p string) bool {
	for _, w := range Words(path.Base(p)) {
		switch w {
		case "test", "tests", "testing", "spec", "specs", "runtests", "testrunner", "bench", "benchmark", "benchmarks":
			return true
		}
	}
	return false
}

// tooling says whether p configures tools: what it imports is neither production nor test for that.
func Tooling(p string) bool {
	base := strings.ToLower(path.Base(p))
	switch base {
	case "gulpfile.js", "gruntfile.js", "noxfile.py", "setup.py", "rakefile", "fabfile.py", "dangerfile.js", ".eslintrc.js", ".mocharc.js", ".babelrc.js":
		return true
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	if e := path.Ext(stem); e == ".config" || e == ".conf" || e == ".setup" {
		return true
	}
	for seg := range strings.SplitSeq(path.Dir(p), "/") {
		switch seg {
		case "bench", "benches", "benchmark", "benchmarks", ".storybook":
			return true
		}
	}
	return false
}

func (n names) Empty() bool {
	return len(n.exact)+len(n.prefix)+len(n.suffix)+len(n.camel) == 0
}
