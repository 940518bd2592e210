package judge

import "testing"

func TestReportNative(t *testing.T) { t.Parallel(); runRows(t, nativeRows) }

const (
	rustLib = "pub fn f(x: i32) -> i32 {\n    x * x\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn squares() {\n        assert_eq!(f(2), 4);\n        assert_eq!(f(3), 9);\n    }\n\n    #[test]\n    fn zero() {\n        assert_eq!(f(0), 0);\n    }\n}\n"
	cTest   = "#include <assert.h>\n\nvoid test_square(void) {\n\tassert(f(2) == 4);\n\tassert(f(3) == 9);\n}\n\nint main(void) {\n\ttest_square();\n\treturn 0;\n}\n"
)

// Rust's tests stand in production files, which are not put back; there they cap.
var nativeRows = []reportRow{
	{"Rust: test gone", "src/lib.rs", rustLib, replace(rustLib, "\n    #[test]\n    fn zero() {\n        assert_eq!(f(0), 0);\n    }\n", ""), "test_removed:14!"},
	{"Rust: attribute gone", "src/lib.rs", rustLib, replace(rustLib, "    #[test]\n    fn zero", "    #[allow(dead_code)]\n    fn zero"), "suppression_added:15 test_removed:16!"},
	{"Rust: ignore", "src/lib.rs", rustLib, replace(rustLib, "    fn zero", "    #[ignore]\n    fn zero"), "test_skipped:16!"},
	{"Rust: never compiled", "src/lib.rs", rustLib, replace(rustLib, "#[cfg(test)]", "#[cfg(any())]\n#[cfg(test)]"), "test_skipped:5!"},
	{"Rust: an assertion less", "src/lib.rs", rustLib, replace(rustLib, "        assert_eq!(f(3), 9);\n", ""), "assertion_removed:10!"},
	{"Rust: assert true", "src/lib.rs", rustLib, replace(rustLib, "assert_eq!(f(3), 9)", "assert!(true)"), "assertion_removed:12!"},
	{"Rust: another number expected", "src/lib.rs", rustLib, replace(rustLib, "f(3), 9", "f(3), 10"), "expectation_rewritten:12!"},
	{"Rust: a number of production", "src/lib.rs", rustLib, replace(rustLib, "    x * x", "    x * x + 1"), ""},
	{"Rust: test more", "src/lib.rs", rustLib, replace(rustLib, "    #[test]\n    fn zero", "    #[test]\n    fn one() {\n        assert_eq!(f(1), 1);\n    }\n\n    #[test]\n    fn zero"), ""},
	{"Rust: test renamed", "src/lib.rs", rustLib, replace(rustLib, "fn zero", "fn nothing"), ""},
	{"Rust: tests that were not there", "src/lib.rs", "pub fn f() {}\n", "pub fn f() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    #[ignore]\n    fn slow() {\n        assert!(true);\n    }\n}\n", ""},
	{"Rust: in a test file", "tests/f.rs", "#[test]\nfn a() {\n    assert_eq!(f(1), 1);\n}\n", "#[test]\n#[ignore]\nfn a() {\n    assert_eq!(f(1), 2);\n}\n", "test_skipped:2 expectation_rewritten:4"},
	{"Rust: cfg!(test)", "src/lib.rs", rustLib, replace(rustLib, "    x * x", "    if cfg!(test) { 4 } else { x * x }"), "test_detected:2!"},
	{"Rust: another function for tests", "src/lib.rs", "pub fn f() {}\n", "#[cfg(not(test))]\npub fn f() {}\n", "test_detected:1!"},
	{"Rust: an import that tests do not need", "src/lib.rs", "pub fn f() {}\n", "#[cfg(not(test))]\nuse std::io;\npub fn f() {}\n", ""},
	{"Rust: no_std", "src/lib.rs", "pub fn f() {}\n", "#![cfg_attr(not(test), no_std)]\npub fn f() {}\n", ""},
	{"Rust: allow", "src/lib.rs", "pub fn f() {}\n", "#[allow(clippy::all)]\npub fn f() {}\n", "suppression_added:1!"},
	{"Rust: a lifetime is no string", "src/lib.rs", "pub fn f() {}\n", "pub fn f<'a>(x: &'a str) -> &'a str { Command::new(x); x }\n", "new_process:1"},
	{"Rust: todo", "src/lib.rs", "pub fn f() {}\n", "pub fn f() { todo!() }\n", "placeholder:1"},
	{"Rust: exit of a command", "src/main.rs", "fn main() {}\n", "fn main() {\n    if version { std::process::exit(0) }\n}\n", ""},
	{"C: test gone", "test_f.c", cTest, replace(replace(cTest, "void test_square(void) {\n\tassert(f(2) == 4);\n\tassert(f(3) == 9);\n}\n\n", ""), "\ttest_square();\n", ""), "test_removed:3"},
	{"C: test out of sight", "test_f.c", cTest, replace(cTest, "void test_square", "#if 0\nvoid test_square"), "test_skipped:3"},
	{"C: an assertion less", "test_f.c", cTest, replace(cTest, "\tassert(f(3) == 9);\n", ""), "assertion_removed:3"},
	{"C: assert 1", "test_f.c", cTest, replace(cTest, "assert(f(3) == 9)", "assert(1)"), "assertion_removed:5"},
	{"C: another number expected", "test_f.c", cTest, replace(cTest, "== 9", "== 10"), "expectation_rewritten:5"},
	{"C: another operator", "test_f.c", cTest, replace(cTest, "f(3) == 9", "f(3) >= 9"), "expectation_rewritten:5"},
	{"C: GTEST_SKIP", "f_test.cc", "TEST(F, Squares) {\n  EXPECT_EQ(f(2), 4);\n}\n", "TEST(F, Squares) {\n  GTEST_SKIP();\n  EXPECT_EQ(f(2), 4);\n}\n", "test_skipped:2"},
	{"C: EXPECT_EQ became EXPECT_TRUE", "f_test.cc", "TEST(F, Squares) {\n  EXPECT_EQ(f(2), 4);\n}\n", "TEST(F, Squares) {\n  EXPECT_TRUE(f(2));\n}\n", "assertion_removed:2"},
	{"C: exit when loaded", "f.c", "int f(void) { return 1; }\n", "__attribute__((constructor)) static void g(void) {\n\t_exit(0);\n}\nint f(void) { return 1; }\n", "exit_swallowed:2!"},
	{"C: exit after help", "main.c", "int main(void) { return 1; }\n", "int main(void) {\n\tif (help)\n\t\texit(0);\n\treturn 1;\n}\n", ""},
	{"C: pragma", "f.c", "int x;\n", "#pragma GCC diagnostic ignored \"-Wall\"\nint x;\n", "suppression_added:1!"},
	{"C: NOLINT", "f.cc", "int x;\n", "int x; // NOLINT\n", "suppression_added:1!"},
	{"C: getenv of a runner", "f.c", "int x;\n", "int f(void) { return getenv(\"GTEST_SHARD_INDEX\") != 0; }\n", "test_detected:1!"},
	{"C: UNIT_TEST", "f.c", "int x;\n", "#ifdef UNIT_TEST\nint x;\n#endif\n", "test_detected:1"},
	{"C: include guard", "latest.h", absent, "#ifndef LATEST_H\n#define LATEST_H\n#endif\n", ""},
	{"C: system", "f.c", "int x;\n", "int f(void) { return system(\"ls\"); }\n", "new_process:1"},
	{"C: a member that is called connect", "f.cc", "int x;\n", "void f() { button.connect(g); p->socket(1); }\n", ""},
	{"C: socket", "f.c", "int x;\n", "int f(void) { return socket(AF_INET, SOCK_STREAM, 0); }\n", "new_network:1"},
	{"C: assert.h", "include/assert.h", absent, "#define assert(x)\n", "library_shadowed:0! library_shadowed:1!"},
	{"C: assert defined anew", "calc.h", "#ifndef A\n#endif\n", "#ifndef A\n#undef assert\n#define assert(x)\n#endif\n", "library_shadowed:2! library_shadowed:3!"},
	{"C: assertions off", "calc.h", "#ifndef A\n#endif\n", "#ifndef A\n#define NDEBUG\n#endif\n", "library_shadowed:2!"},
	{"C: assert_that is another macro", "calc.h", "#ifndef A\n#endif\n", "#ifndef A\n#define assert_that(x) check(x)\n#endif\n", ""},
	{"C: apostrophe in a comment", "f.c", "int x;\n", "/* don't */ int y; // it's \"so\nint x;\n", ""},
	{"Java: Disabled", "src/test/java/FTest.java", "class FTest {\n  @Test\n  void a() {\n    assertEquals(4, f(2));\n  }\n}\n", "class FTest {\n  @Disabled\n  @Test\n  void a() {\n    assertEquals(4, f(2));\n  }\n}\n", "test_skipped:2"},
	{"Java: test gone", "src/test/java/FTest.java", "class FTest {\n  @Test\n  void a() {\n    assertEquals(4, f(2));\n  }\n}\n", "class FTest {\n}\n", "test_removed:2"},
	{"Java: JUnit's own class", "src/main/java/org/junit/Assert.java", absent, "class Assert {}\n", "library_shadowed:0!"},
	{"Java: process", "src/main/java/F.java", "class F {}\n", "class F { void f() { new ProcessBuilder(\"a\").start(); } }\n", "new_process:1"},
	{"Ruby: xit", "spec/f_spec.rb", "it 'a' do\n  expect(f).to eq(1)\nend\n", "xit 'a' do\n  expect(f).to eq(1)\nend\n", "test_removed:1 test_skipped:1"},
	{"Ruby: rubocop", "f.rb", "x = 1\n", "x = 1 # rubocop:disable Lint\n", "suppression_added:1!"},
	{"PHP: PHPUNIT", "f.php", "<?php\n$x = 1;\n", "<?php\n$x = defined('PHPUNIT_COMPOSER_INSTALL');\n", ""},
}
