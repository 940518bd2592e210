package checkfile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

const rustSourceText = `//! A shop.
//!
//! ` + "```" + `
//! assert_eq!(shop::add(1, 1), 2);
//! ` + "```" + `
#![allow(dead_code)]

use std::fmt;

/// Adds.
///
/// ` + "```" + `
/// assert_eq!(shop::add(2, 3), 5);
/// ` + "```" + `
#[inline]
pub fn add(a: i32, b: i32) -> i32 { a - b }

const BRACE: char = '{'; // {
const TEXT: &str = r#"#[test] { " "#;
fn life<'a>(x: &'a str) -> &'a str { x }

pub struct Cart {
    pub items: Vec<i32>,
    #[cfg(test)]
    pub seen: usize,
}

#[cfg(test)]
use crate::fmt as other;

#[allow(unused)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(2, 3), 5);
    }
}
`

// Of a source, what is a test is as it was: before, after, what is left, and the parts that the review reports.
func TestRestoreInline(t *testing.T) {
	t.Parallel()
	python := "\"\"\"A shop.\n\n>>> add(1, 1)\n2\n\"\"\"\n\ndef add(a, b):\n    \"\"\"Adds.\n\n    >>> add(2, 3)\n    5\n\n    More.\n    \"\"\"\n    return a - b\n\nassert add(\n    2, 3) == 5\nif __name__ == '__main__':\n    assert add(1, 1) == 2\n\n    print('ok')\nLAST = 1\n"
	own := "import unittest\n\ndef up(s):\n    return s.lower()\n\n@unittest.skipIf(X, 'x')\n@other\nclass Up(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(up('a'), 'A')\n\ndef assert_same(a, b):\n    assert a == b\n"
	rust := rustSourceText
	fixed := func(src string) string { return strings.NewReplacer("a - b", "a + b").Replace(src) }
	for name, c := range map[string]struct {
		path, before, after string
		want                string
		parts               string
	}{
		"production only":                {"src/lib.rs", rust, fixed(rust), wasAll, ""},
		"an expectation":                 {"src/lib.rs", rust, strings.Replace(rust, "assert_eq!(add(2, 3), 5)", "assert_eq!(add(2, 3), -1)", 1), wasBase, "mod tests:31"},
		"both":                           {"src/lib.rs", rust, fixed(strings.Replace(rust, "assert_eq!(add(2, 3), 5)", "assert_eq!(add(2, 3), -1)", 1)), fixed(rust), "mod tests:31"},
		"a test more":                    {"src/lib.rs", rust, fixed(rust + "\n#[test]\nfn more() {}\n"), fixed(rust + "\n"), "fn more:42"},
		"an attribute above":             {"src/lib.rs", rust, strings.Replace(rust, "#[allow(unused)]", "#[allow(unused)]\n#[cfg(any())]", 1), wasBase, "mod tests:31"},
		"the module is gone":             {"src/lib.rs", rust, rust[:strings.Index(rust, "#[allow(unused)]")], rust, "mod tests:0"},
		"hidden in a module":             {"src/lib.rs", rust, strings.Replace(rust, "#[allow(unused)]", "#[cfg(any())]\nmod hidden {\n#[allow(unused)]", 1) + "}\n", rust + "#[cfg(any())]\nmod hidden {\n}\n", "mod tests:0 #[cfg(any())] mod hidden › mod tests:33"},
		"in a comment":                   {"src/lib.rs", rust, strings.Replace(rust, "#[allow(unused)]", "/*", 1) + "*/\n", rust + strings.Replace(rust[strings.Index(rust, "#[allow(unused)]"):], "#[allow(unused)]", "/*", 1) + "*/\n", "mod tests:0"},
		"a field":                        {"src/lib.rs", rust, strings.Replace(rust, "seen: usize", "seen: u8", 1), wasBase, "pub struct Cart › pub seen: usize:0 pub struct Cart › pub seen: u8:24"},
		"an example":                     {"src/lib.rs", rust, strings.Replace(rust, "add(2, 3), 5", "add(2, 3), -1", 1), wasBase, "examples of pub fn add:10"},
		"an example is ignored":          {"src/lib.rs", rust, strings.Replace(rust, "/// ```", "/// ```ignore", 1), wasBase, "examples of pub fn add:10"},
		"documentation":                  {"src/lib.rs", rust, strings.Replace(rust, "/// Adds.", "/// Sums.", 1), wasAll, ""},
		"an example of the crate":        {"src/lib.rs", rust, strings.Replace(rust, "add(1, 1), 2", "add(1, 1), 0", 1), wasBase, "examples of #![allow:1"},
		"not only for tests":             {"src/lib.rs", "#[cfg(any(test, feature = \"x\"))]\nfn a() {}\n", "#[cfg(any(test, feature = \"x\"))]\nfn b() {}\n", wasAll, ""},
		"without a test, cut off":        {"src/lib.rs", "fn a() {\n", "fn b() {\n", wasAll, ""},
		"a test that is cut off":         {"src/lib.rs", rust, rust[:len(rust)-3], wasBase, "the file as a whole:1"},
		"on one line":                    {"src/lib.rs", "fn a() {} #[test] fn t() {}\n", "fn b() {} #[test] fn t() {}\n", wasBase, "the file as a whole:1"},
		"ignored":                        {"src/lib.rs", "#[test]\n#[should_panic]\nfn t() { a() }\n", "#[test]\n#[ignore]\nfn t() { a() }\n", wasBase, "fn t:1"},
		"an example in a test":           {"src/lib.rs", "fn a() {}\n#[cfg(test)]\nmod t {\n    /// ```\n    /// a();\n    /// ```\n    fn b() {}\n}\n", "fn a() { b() }\n#[cfg(test)]\nmod t {\n    /// ```\n    /// c();\n    /// ```\n    fn b() {}\n}\n", "fn a() { b() }\n#[cfg(test)]\nmod t {\n    /// ```\n    /// a();\n    /// ```\n    fn b() {}\n}\n", "mod t:2"},
		"of tokio":                       {"src/lib.rs", "#[tokio::test]\nasync fn t() { a() }\n", "#[tokio::test]\nasync fn t() {}\n", wasBase, "async fn t:1"},
		"python, production":             {"shop.py", python, fixed(python), wasAll, ""},
		"python, an example":             {"shop.py", python, strings.Replace(python, "    5\n", "    -1\n", 1), wasBase, "examples of the module.add:8"},
		"python, of the module":          {"shop.py", python, fixed(strings.Replace(python, "\n2\n", "\n0\n", 1)), fixed(python), "examples of the module:1"},
		"python, is skipped":             {"shop.py", python, strings.Replace(python, ">>> add(2, 3)", ">>> add(2, 3)  # doctest: +SKIP", 1), wasBase, "examples of the module.add:8"},
		"python, words":                  {"shop.py", python, strings.Replace(python, "More.", "Less.", 1), wasAll, ""},
		"python, asserts":                {"shop.py", python, strings.Replace(python, "== 5", "== -1", 1), wasBase, "assert:17"},
		"python, asserts in main":        {"shop.py", python, fixed(strings.Replace(python, "== 2", "== 0", 1)), fixed(python), "what it asserts as a program:19"},
		"python, main is gone":           {"shop.py", python, strings.Replace(python, "    assert add(1, 1) == 2\n", "", 1), strings.Replace(python, "LAST", "if __name__ == '__main__':\n\n    print('ok')\nLAST", 1), "what it asserts as a program:0"},
		"python, below the main":         {"shop.py", python, strings.Replace(python, "LAST = 1", "LAST = 2", 1), wasAll, ""},
		"python, own tests, production":  {"own.py", own, strings.Replace(own, "lower", "upper", 1), wasAll, ""},
		"python, own tests, expectation": {"own.py", own, strings.NewReplacer("lower", "upper", "'A'", "'a'").Replace(own), strings.Replace(own, "lower", "upper", 1), "class Up(unittest.TestCase):6"},
		"python, own tests, a decorator": {"own.py", own, strings.Replace(own, "@other\n", "@unittest.skip('')\n", 1), wasBase, "class Up(unittest.TestCase):6"},
		"python, own tests, a text without an indent": {"own.py", strings.Replace(own, "'A')", "\"\"\"\nA\n\"\"\".strip())", 1), strings.Replace(own, "'A')", "\"\"\"\na\n\"\"\".strip())", 1), wasBase, "class Up(unittest.TestCase):6"},
		"python, own tests, a helper":                 {"own.py", own, strings.Replace(own, "a == b", "True", 1), wasBase, "def assert_same:12"},
		"python, no check runs it":                    {"other.py", python, strings.NewReplacer("== 5", "== -1", "== 2", "== 0").Replace(python), wasAll, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := files{"src/lib.rs": c.before, "shop.py": c.before, "other.py": c.before, "own.py": c.before}
			checks := NewChecks(f.tree(), Scope{Runs: []Command{{Shell: "python3 -m doctest shop.py && python3 shop.py && python3 -m unittest own", Dir: "."}}})
			change := patch.Change{Path: c.path, Before: regular(c.before), After: regular(c.after)}
			if got := partNames(checks.Parts(change)); got != c.parts {
				t.Errorf("parts %q, want %q", got, c.parts)
			}
			left := checks.Restore([]patch.Change{change})
			got := wasBase
			if len(left) == 1 {
				got = string(left[0].After.Data)
			}
			if want := map[string]string{wasAll: c.after}[c.want]; want != "" {
				c.want = want
			}
			if strings.ReplaceAll(got, "\n\n", "\n") != strings.ReplaceAll(c.want, "\n\n", "\n") {
				t.Errorf("left is\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// What is read of hostile files grows with them, not with its square: each took more than ten seconds, or some GiB.
func TestPartsAreLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, which CI runs with -short, several times as much is allocated")
	}
	const n = 1 << 20
	fill := func(unit string) string { return strings.Repeat(unit, n/len(unit)/2) }
	before := ""
	for i := range 1_000 {
		before += fmt.Sprintf("replace a/b%d => c\n", i)
	}
	c := NewChecks(files{}.tree(), Scope{})
	for name, change := range map[string]patch.Change{
		"a long example":                {Path: "a.rs", After: regular("/// ```\n" + fill("/// a\n"))},
		"examples without an item":      {Path: "a.rs", After: regular(fill("/// ```\n\n"))},
		"tests, and lines that are not": {Path: "a.rs", After: regular(fill("#[test] fn a(){}\n") + fill("\n"))},
	} {
		got := allocated(func() { c.Parts(change); c.Restore([]patch.Change{change}) })
		if got > 512 {
			t.Errorf("%s: %d MiB were allocated", name, got)
		}
	}
	many := patch.Change{Path: "go.mod", Before: regular(before), After: regular(strings.Repeat("\n", 100_000))}
	if left := c.Restore([]patch.Change{many}); len(left) != 0 {
		t.Error("1,000 entries are inserted one by one between 100,000 others")
	}
	for p, text := range map[string]string{
		"Makefile":    "test:\n" + fill("A+=b\n"),
		"justfile":    "test:\n" + fill(" a\n"),
		"Makefile.am": fill("A+=b\n"),
	} {
		run := Scope{Runs: []Command{{Shell: "make test; just test", Dir: "."}}}
		if got := allocated(func() { NewChecks(files{p: text}.tree(), run) }); got > 1<<10 {
			t.Errorf("%s: %d MiB were allocated", p, got)
		}
	}
}

// allocated returns how many MiB do allocates in all.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// A file whose pieces would each say a long text that is around them is judged as a whole.
func TestPiecesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	long := strings.Repeat("a", 200<<10)
	c := NewChecks(files{}.tree(), Scope{Runs: []Command{{Shell: "python3 -m doctest app.py", Dir: "."}}})
	members := `"b":1`
	for i := range 10_000 {
		members += fmt.Sprintf(`,"%d":1`, i)
	}
	for p, text := range map[string]string{
		"package.json":         `{"scripts.` + long + `":{` + members + `}}`,
		"CMakeLists.txt":       "if(" + long + ")\n" + strings.Repeat("add_test(a)\n", 10_000) + "endif()\n",
		"cmake/elseifs.cmake":  "if(a)\n" + strings.Repeat("elseif(a)\n", 20_000) + "endif()\n",
		"cmake/foreachs.cmake": "foreach(" + long + ")\n" + strings.Repeat("foreach(a)\nendforeach()\nmacro(add_test)\nendmacro()\n", 5_000),
		"src/lib.rs":           "mod " + long + " {\n" + strings.Repeat("#[test] fn a() {}\n", 10_000) + "}\n",
		"Cargo.toml":           "[dependencies." + long + "]\n" + strings.Repeat("a=1\n", 10_000),
		"setup.cfg":            "[tool:" + long + "]\n" + strings.Repeat("a=1\n", 10_000),
		"go.mod":               long + "(\n" + strings.Repeat("a b\n", 10_000) + ")\n",
		"app.py":               "class " + long + ":\n" + strings.Repeat("  \"\"\">>> a\"\"\"\n", 10_000),
	} {
		var got string
		mib := allocated(func() { got = partNames(c.Parts(patch.Change{Path: p, After: regular(text)})) })
		if got != "the file as a whole:1" {
			t.Errorf("%s: %.100s", p, got)
		}
		if mib > 256 {
			t.Errorf("%s: %d MiB were allocated", p, mib)
		}
	}
}
