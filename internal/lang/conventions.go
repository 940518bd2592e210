package lang

// Conventions: what is a test, or belongs to one, by the name of a file or of a folder alone.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

// runners are names of programs that run tests, in any language.
var runners = []string{"runtests", "run_tests", "run-tests", "runtest", "run_test", "run-test"}

// TestName reports whether p is a test by its own name.
func TestName(p string) bool {
	base := path.Base(p)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	l := index().seen[strings.ToLower(ext)]
	switch {
	case stem == "" || l != nil && l.NoTests != "" && within(p, l.NoTests):
		return false
	case slices.Contains(runners, strings.ToLower(stem)), Matches("?*.spec", strings.ToLower(stem)):
		return true
	}
	return l != nil && slices.ContainsFunc(l.Tests, func(name string) bool {
		return Matches(name, stem) || Matches(name, base)
	})
}

// within reports whether p is below a folder dir.
func within(p, dir string) bool { return strings.Contains("/"+p, "/"+dir+"/") }

// TestFolder reports whether a folder on the way to p makes it a test.
func TestFolder(p string) bool {
	l := source(p)
	segments := strings.Split(p, "/")
	folders := segments[:len(segments)-1]
	for i, seg := range folders {
		inSrc := slices.Contains(folders[:i], "src")
		switch seg {
		case "__tests__", "__test__", "__mocks__":
			return true
		case "test", "tests", "Test", "Tests":
			if !within(p, jvm.NoTests) && (!l.SrcTest || seg != "test" || !inSrc) {
				return true
			}
		case "spec", "specs":
			if slices.Contains(l.TestFolders, seg) && !inSrc {
				return true
			}
		case "testFixtures":
			if inSrc {
				return true
			}
		default:
			if slices.Contains(l.TestFolders, seg) {
				return true
			}
		}
		if rest, ok := strings.CutSuffix(seg, "Test"); ok && rest != "" && !upper(rest[0]) && i > 0 &&
			folders[i-1] == "src" {
			return true // src/androidTest, src/integrationTest
		}
		if rest, ok := strings.CutSuffix(seg, "Tests"); ok && rest != "" && upper(rest[0]) {
			return true // ShopTests/, Shop.UnitTests/
		}
		if strings.HasSuffix(seg, ".Test") {
			return true
		}
	}
	return false
}

// InFolder reports whether a folder on the way to p has one of names.
func InFolder(p string, names []string) bool {
	folders := strings.Split(path.Dir(p), "/")
	return slices.ContainsFunc(folders, func(folder string) bool { return slices.Contains(names, folder) })
}

var dataFolders = lazily.Words(`
	testdata test-data test_data fixtures __fixtures__ __snapshots__ testcases test-fixtures test_fixtures`)

// DataFolder reports whether a folder on the way to p is one of data that tests read.
func DataFolder(p string) bool { return InFolder(p, dataFolders()) }

// DataName reports whether p is what tests expect, by its own name.
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

// Words returns the words of a name in lower case: two of test_utils, testUtils and test-utils.
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
		letter := c >= 'a' && c <= 'z' || upper(c) || c >= '0' && c <= '9' || c >= 0x80
		switch {
		case !letter:
			flush()
			continue
		case upper(c) && i > 0 && !upper(name[i-1]):
			flush()
		}
		word = append(word, c)
	}
	flush()
	return list
}

// HasWord reports whether one of the words of a name is in list.
func HasWord(name string, list []string) bool {
	return slices.ContainsFunc(Words(name), func(w string) bool { return slices.Contains(list, w) })
}

var (
	testWords   = lazily.Words("test tests testing spec specs runtests testrunner bench benchmark benchmarks")
	helperWords = []string{"fake", "fakes", "fixture", "fixtures", "mock", "mocks", "stub", "stubs"}
	supportWord = []string{
		"assert", "asserts", "assertion", "assertions", "dummy", "expect", "golden", "harness", "helper", "helpers",
		"matcher", "matchers", "snapshot", "snapshots",
	}
	notTest = []string{"testament", "testate", "testimonial", "testimonials", "testimony", "testosterone"}
	endTest = []string{
		"attest", "contest", "detest", "fastest", "greatest", "highest", "latest", "lowest", "newest", "oldest",
		"protest", "retest", "smallest", "largest",
	}
)

// HelperName reports whether the name of a file or folder belongs to helpers of tests for sure, or only may. A name
// is never enough: often nothing but its tests imports the code under test either.
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

// SubjectOf returns the name of what a test is about: date of date.test.js, test_date.py and DateTest.java.
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

// Testish reports whether one word of the name of a file is about tests: run_all_tests.py, test-runner.js.
func Testish(p string) bool {
	return HasWord(path.Base(p), testWords())
}

var (
	toolFiles = lazily.Words(`
		gulpfile.js gruntfile.js noxfile.py setup.py rakefile fabfile.py dangerfile.js .eslintrc.js .mocharc.js
		.babelrc.js`)
	toolFolders = lazily.Words("bench benches benchmark benchmarks .storybook")
)

// Tooling reports whether p configures tools. To be imported by it makes a file neither production code nor a test.
func Tooling(p string) bool {
	base := strings.ToLower(path.Base(p))
	second := path.Ext(strings.TrimSuffix(base, path.Ext(base)))
	return slices.Contains(toolFiles(), base) || second == ".config" || second == ".conf" || second == ".setup" ||
		InFolder(p, toolFolders())
}
