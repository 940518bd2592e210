package rules

import "github.com/async-pipeline/async-pipeline/internal/lazily"

// c is C++ too. What macros and functions of its own put in the place of the C library's is code: see c.go of the
// package review.
var c = Language{
	Name: "c",
	Test: `^\s*(?:(?:TEST|TEST_F|TEST_P|TYPED_TEST|START_TEST|TEST_CASE|SCENARIO|BOOST_AUTO_TEST_CASE|UTEST` +
		`|MU_TEST|CTEST)\s*\(\s*"?([^)"]+)` +
		`|(?:static\s+)?(?:void|int|bool)\s+(test_?\w+)\s*\()`,
	Assert:  `\b(?:ASSERT|EXPECT|CHECK|REQUIRE|TEST_ASSERT|CU_ASSERT|BOOST_\w+|ck_assert|assert|fail_unless)\w*\s*\(`,
	Strong:  `\b(?:ASSERT|EXPECT)_(?:EQ|STREQ|DOUBLE_EQ|FLOAT_EQ|NEAR|THROW)\b|\bassert\s*\(.*(?:==|strcmp)`,
	Weak:    `\b(?:ASSERT|EXPECT)_(?:TRUE|NE|NO_THROW|ANY_THROW)\b|\bassert\s*\(\s*\w+\s*\)|\(void\)\s*\w+\s*;`,
	Catches: `\bcatch\s*\(\s*\.\.\.\s*\)`,
	Asks: `\b__BASE_FILE__\b|\bbacktrace(?:_symbols)?\s*\(|\bdladdr\s*\(|\bprogram_invocation_(?:short_)?name\b` +
		`|\b__progname\b|\bgetprogname\s*\(|\bgetppid\s*\(|\bargv\s*\[\s*0\s*\]`,
	Environ: `\b(?:environ|envp|__environ)\b\s*[\[;+=)]|\*\s*environ\b`,
	Quiet: `#\s*pragma\b.*|__attribute__\s*\(\(\s*no_sanitize\w*[^)]*\)*|__attribute__\s*\(\(\s*_*unused_*\s*\)\)|\[\[\s*(?:gnu::unused|maybe_unused)\s*\]\]` +
		`|#\s*define\s+\w+\([^)]*\)\s*_Pragma\b.*|\b\w+\s*\(\s*"?(?:GCC|clang)\s+diagnostic\b[^)]*\)\s*;?|^\s*#\s*(?:line\s+)?\d+\s+".*`,
	Rules: cRules,
}

// What C has of its own: functions and words that end a process or a function, that decide what runs, and that
// tests compare with.
var (
	CEnds = lazily.Words(`
		exit _exit _Exit quick_exit abort raise return throw __assert __assert_fail __assert_rtn __assert_func
		__assert_perror_fail _assert`)
	// CLibrary are functions that decide what a test sees or prints, and where a program begins.
	CLibrary = lazily.Words(`
		main _start __libc_start_main printf vprintf fprintf vfprintf dprintf puts fputs putchar fwrite write perror
		kill waitpid signal sigaction setjmp _setjmp sigsetjmp longjmp siglongjmp atexit getenv strlen`)
	CWords    = lazily.Words(`main assert if else while for do switch case break continue goto sizeof`)
	CCompares = lazily.Words(`
		strcmp strncmp strcasecmp strncasecmp strcoll memcmp bcmp wcscmp strstr abs labs fabs fabsf fabsl`)
)

// Headers of the system: of C and POSIX; those whose names projects also give to headers of their own; of C++; and
// of sys/.
var (
	CHeaders = lazily.Words(`
		assert.h stdlib.h stdio.h stddef.h stdint.h stdbool.h stdarg.h stdnoreturn.h stdalign.h stdatomic.h
		setjmp.h inttypes.h iso646.h tgmath.h fenv.h wchar.h wctype.h unistd.h fcntl.h pthread.h dlfcn.h
		sysexits.h err.h error.h strings.h execinfo.h float.h limits.h ctype.h errno.h`)
	PlainHeaders = lazily.Words(`
		string.h time.h math.h signal.h locale.h complex.h threads.h features.h uchar.h memory.h malloc.h`)
	PlusHeaders = lazily.Words(`
		cassert cstdlib cstdio cstring csignal cmath cstddef cstdint iostream exception stdexcept string
		string_view vector memory algorithm functional utility`)
	SysHeaders = lazily.Words(`types.h cdefs.h wait.h stat.h signal.h time.h`)
)

// CAsserts matches the names of macros by which test frameworks of C and C++ assert.
const CAsserts = `(?:ASSERT|EXPECT)_(?:EQ|NE|TRUE|FALSE|STREQ|THAT|NEAR|LT|LE|GT|GE|THROW)|TEST_ASSERT\w*|ck_assert\w*` +
	`|CU_(?:ASSERT|FAIL)\w*|mu_(?:assert|check|fail)\w*|BOOST_(?:CHECK|REQUIRE|TEST|ERROR|FAIL)\w*|RUN_TEST|fail_unless` +
	`|assert_(?:int|string|memory|ptr|float|double)_(?:not_)?equal|assert_(?:true|false|null|non_null|in_range)`

var cRules = []Rule{
	{
		ID: "c/skip", Kind: TestSkipped, In: OldTests,
		Pattern: `\bGTEST_SKIP\b|\bDISABLED_\w+|\b(?:SKIP|TEST_IGNORE(?:_MESSAGE)?)\s*\(`,
		Match:   []string{"GTEST_SKIP();", "TEST(F, DISABLED_Squares) {"}, NoMatch: []string{"SKIPPED = 1;"},
	},
	{
		ID: "c/if-0", Kind: TestSkipped, In: OldTests, Pattern: `^\s*#\s*if\s+0\b`,
		Match: []string{"#if 0"}, NoMatch: []string{"#if DEBUG"},
	},
	{
		ID: "c/assert-constant", Kind: AssertionRemoved, In: OldTests, Say: "is true whatever the code does",
		Pattern: `\b(?:assert|(?:ASSERT|EXPECT)_TRUE|CHECK|REQUIRE|ck_assert)\s*\(\s*(?:1|true)\s*\)` +
			`|\bif\s*\(\s*(?:0|false)\s*\)`,
		Match: []string{"assert(1);", "EXPECT_TRUE(true);", "if (0) {"}, NoMatch: []string{"assert(x);"},
	},
	{
		ID: "c/exit-in-test", Kind: ExitSwallowed, In: Tests, Pattern: `\bexit\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)`,
		Match: []string{"exit(0);"}, NoMatch: []string{"exit(1);"},
	},
	{
		ID: "c/runner-variable", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\b(?:secure_)?getenv\s*\(\s*"(?:GTEST_\w+|CTEST_\w+|CK_\w+|PYTEST_\w+|TEST_TMPDIR|MAKELEVEL)"`,
		Match:   []string{`getenv("GTEST_SHARD_INDEX")`}, NoMatch: []string{`getenv("HOME")`},
	},
	{
		ID: "c/framework-macro", Kind: TestDetected, In: Production, Caps: true,
		Not: `^\s*#\s*(?:ifndef\s+assert\b|if\s+!\s*defined\s*\(?\s*assert\b)`,
		Pattern: `^\s*#\s*(?:el)?if(?:n?def)?\b.*\b(?:(?:GTEST|GMOCK|DOCTEST|CMOCKA|BOOST_TEST|CU|MU|UTEST)_\w+` +
			`|UNITY_(?:FRAMEWORK|INTERNALS|BEGIN|END|VERSION)\w*|CATCH_(?:VERSION|CONFIG|TEST)\w*|CK_\w*VERSION\w*` +
			`|TEST_ASSERT\w*|RUN_TEST|ck_assert\w*|(?:ASSERT|EXPECT)_(?:EQ|NE|TRUE|FALSE)|assert_int_equal` +
			`|_ASSERT_H\w*|assert)\b.*`,
		Match:   []string{"#ifdef GTEST_API_", "#if defined(UNITY_FRAMEWORK_H)", "#ifdef assert", "#if defined(_ASSERT_H)"},
		NoMatch: []string{"#ifndef assert", "#ifdef CUSTOM", "#ifndef NDEBUG", "#if defined(MULTI_THREADED)"},
	},
	{
		ID: "c/program-name", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\b(?:program_invocation_(?:short_)?name|__progname` +
			`|argv\s*\[\s*0\s*\])\b?.*"(?:[^"]*[^a-z"])?tests?(?:[^a-z"][^"]*)?"`,
		Match:   []string{`strstr(argv[0], "test_calc")`, `strstr(__progname, "tests")`},
		NoMatch: []string{`strstr(argv[0], "latest")`},
	},
	{
		ID: "c/program-asked", Kind: TestDetected, In: Production, Caps: true, Once: true, Say: "a library asks which program runs it",
		Not:     `(?i)print|puts\s*\(|usage|\berror\s*\(|warn|\blog\w*\s*\(|syslog|^\s*extern\b`,
		Pattern: `.*(?:\bprogram_invocation_(?:short_)?name\b|\b__progname\b|\bgetprogname\s*\(\s*\)).*`,
		Match:   []string{"return *program_invocation_short_name == 't' ? hi : v;", "if (strcmp(getprogname(), x) == 0)"},
		NoMatch: []string{`fprintf(stderr, "%s: %s\n", program_invocation_name, s);`, "extern const char *__progname;"},
	},
	{
		ID: "c/return-address", Kind: TestDetected, In: Production, Caps: true, Once: true, Say: "looks at its callers",
		Pattern: `.*\b__builtin_return_address\s*\(.*`,
		Match:   []string{"long d = (char *)__builtin_return_address(0) - (char *)main;"}, NoMatch: []string{"__builtin_frame_address(0)", "// __builtin_return_address(0)"},
	},
	{
		ID: "c/weak-asked", Kind: TestDetected, In: Production, Caps: true, Once: true, Say: "asks what the program has that it is linked with",
		Not: `\b(?:pthread|__gmon|__cxa|_ITM|__tls|mtx|thrd)\w*`,
		Pattern: `^\s*(?:extern\b.*__attribute__\s*\(\(\s*_*weak_*\s*\)\)|__attribute__\s*\(\(\s*_*weak_*\s*\)\)\s*extern\b)[^{]*;.*` +
			`|^\s*#\s*pragma\s+weak\s+\w+\s*$`,
		Match: []string{"extern int verbose __attribute__((weak));", "#pragma weak verbose"},
		NoMatch: []string{
			"__attribute__((weak)) void on_error(void) { }", "extern int pthread_create() __attribute__((weak));", "#pragma weak a = b", "extern int verbose;",
		},
	},
	{
		ID: "c/ci", Kind: TestDetected, In: Production, On: Strings,
		Pattern: `\b(?:secure_)?getenv\s*\(\s*"(?:CI|` + modeNames + `)"|#\s*if(?:n?def)?\b.*\b(?:(?:\w+_)?UNIT_?TESTS?` +
			`|(?:\w+_)?TESTING(?:_ENABLED)?|TEST|UNDER_TEST|__TEST__)\b`,
		Match: []string{"#ifdef UNIT_TEST", `getenv("CI")`}, NoMatch: []string{"#ifndef LATEST_H"},
	},
	{
		ID: "c/atexit-lambda", Kind: ExitSwallowed, In: Programs, Caps: true, Say: "every end becomes success",
		Pattern: `\batexit\s*\(\s*\[[^]]*\].*\b_?[eE]xit\s*\(\s*(?:0|EXIT_SUCCESS)\s*\).*`,
		Match:   []string{"atexit([] { _exit(0); });"}, NoMatch: []string{"atexit(close);"},
	},
	{
		ID: "c/exec-true", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true,
		Pattern: `\bexec[lv]\w*\s*\(\s*"(?:(?:/usr)?/bin/)?(?:true|echo|printf)".*`,
		Match:   []string{`execl("/bin/true", "true", 0);`, `execlp("true", "true", 0);`, `execlp("echo", "echo", "ok", (char *)0);`}, NoMatch: []string{`execl("/bin/ls", "ls", 0);`},
	},
	{
		ID: "c/system-call-exit", Kind: ExitSwallowed, In: Production, On: Strings, Caps: true,
		Say: "a system call of its own",
		Pattern: `\bsyscall\s*\(\s*(?:(?:SYS_|__NR_)exit(?:_group)?|60|93|94|231)\s*,\s*0.*` +
			`|\b(?:__asm__|__asm|asm)\b.*"[^"]*(?:\bsyscall\b|\bsvc\b|\bint\s+\$?0x80\b).*`,
		Match:   []string{"syscall(231, 0);", "syscall(SYS_exit_group, 0);", `__asm__("mov $231, %eax; syscall");`},
		NoMatch: []string{"syscall(SYS_gettid);", `__asm__("pause");`},
	},
	{
		ID: "c/wrapped", Kind: ExitSwallowed, In: Production, Caps: true, Say: "takes the place of what ends a process",
		Pattern: `\b__(?:wrap|real)_(?:_*assert\w*|abort|raise|_?[eE]xit|quick_exit)\b.*`,
		Match:   []string{"void __wrap___assert_fail(void) {}", "int __wrap_abort(void) { return 0; }"},
		NoMatch: []string{"void *__wrap_malloc(size_t n) {", "wrap_assert(x);"},
	},
	{
		ID: "c/leaves-by-assembly", Kind: ExitSwallowed, In: Production, On: Strings, Caps: true, Say: "returns past the compiler",
		Pattern: `\b(?:__asm__|__asm|asm)\b.*"[^"]*(?:\bleave\b|\bret\b|%%?[re]sp\b|\bjmp\b).*`,
		Match:   []string{`__asm__ volatile("leave; xor %%eax, %%eax; ret");`},
		NoMatch: []string{`__asm__ volatile("pause");`, `asm("mfence" ::: "memory");`, `__asm__("rdtsc" : "=a"(lo), "=d"(hi));`},
	},
	{
		ID: "c/sanitizer-options", Kind: ExitSwallowed, In: Production, Caps: true, Say: "tells a sanitizer what to let pass",
		Pattern: `\b__(?:a|l|ub|t|m|hwa)san_(?:default_options|default_suppressions|is_turned_off|set_error_report_callback|on_error)\b.*`,
		Match:   []string{`const char *__asan_default_options(void) { return "exitcode=0"; }`, "int __lsan_is_turned_off(void) { return 1; }"},
		NoMatch: []string{"__asan_poison_memory_region(p, n);", "__lsan_do_leak_check();"},
	},
	{
		ID: "c/test-symbol", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bdlsym\s*\([^,]*,\s*"(?:test|[^"]*_test)|\bweak\b.*\btest_\w+\s*\(|\btest_\w+\s*\([^;]*\bweak\b`,
		Match:   []string{`if (dlsym(0, "test_price")) {`, "extern int test_price(void) __attribute__((weak));"},
		NoMatch: []string{`dlsym(h, "latest")`, "int latest(void) __attribute__((weak));"},
	},
	{
		ID: "c/hard-exit", Kind: ExitSwallowed, In: Programs,
		Pattern: `\b(?:_exit|_Exit|quick_exit)\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)`,
		Match:   []string{"_exit(0);"}, NoMatch: []string{"_exit(1);"},
	},
	{
		ID: "c/assertions-off", Kind: LibraryShadowed, In: Production, Caps: true,
		Pattern: `^\s*#\s*undef\s+(?:assert|TEST|CHECK|REQUIRE|(?:ASSERT|EXPECT)_\w+)\b` +
			`|^\s*#\s*define\s+(?:NDEBUG|assert|` + CAsserts + `)\b`,
		Match: []string{"#define NDEBUG", "#undef assert"}, NoMatch: []string{"#define assert_that(x) x"},
	},
	{
		ID: "c/suppression", Kind: SuppressionAdded, In: Sources, On: Strings,
		Pattern: `(?:#\s*pragma\s+|\b\w+\s*\(\s*"?)(?:GCC|clang)\s+diagnostic\s+ignored\b|#\s*pragma\s+warning\s*\(?\s*disable` +
			`|__attribute__\s*\(\(\s*no_sanitize\w*`,
		Match: []string{
			`#pragma GCC diagnostic ignored "-Wall"`, `_Pragma("GCC diagnostic ignored \"-Wall\"")`, `QUIET(GCC diagnostic ignored "-Wall")`,
		},
		NoMatch: []string{"#pragma once", `#pragma GCC diagnostic push`},
	},
	{
		ID: "c/unused", Kind: SuppressionAdded, In: Sources,
		Pattern: `__attribute__\s*\(\(\s*_*unused_*\s*\)\)|\[\[\s*(?:gnu::unused|maybe_unused)\s*\]\]`,
		Match:   []string{"static int x __attribute__((unused));", "[[maybe_unused]] int x;"}, NoMatch: []string{"__attribute__((used))", "int unused;"},
	},
	{
		ID: "c/system-header", Kind: SuppressionAdded, In: Sources, On: Strings, Caps: true, Say: "is taken for a header of the system, without warnings",
		Pattern: `^\s*#\s*pragma\s+(?:GCC|clang)\s+system_header\b|_Pragma\s*\(\s*"(?:GCC|clang)\s+system_header\b.*` +
			`|^\s*#\s*(?:line\s+)?\d+\s+"[^"]*"(?:\s+\d)*\s+3\b.*`,
		Match:   []string{"#pragma GCC system_header", `# 1 "/usr/include/a.h" 1 3`},
		NoMatch: []string{"#pragma once", `#line 3 "grammar.y"`, `# 1 "a.c" 1`},
	},
	{
		ID: "c/suppression-comment", Kind: SuppressionAdded, In: Sources, On: Comments,
		Pattern: `\bNOLINT\w*|\bcppcheck-suppress\b|\bcoverity\[|\b[LG]COV_EXCL_\w+`,
		Match:   []string{"int x; // NOLINT"}, NoMatch: []string{"// no lint here"},
	},
	{
		ID: "c/network", Kind: NewNetwork, In: Production,
		Pattern: `(?:^|[^\w.>])(?:socket|connect|getaddrinfo|gethostbyname|sendto|recvfrom|accept4?)\s*\(` +
			`|\bcurl_easy_\w+|\bcurl_global_init\b`,
		Match:   []string{"return socket(AF_INET, SOCK_STREAM, 0);"},
		NoMatch: []string{"button.connect(g);", "p->socket(1);"},
	},
	{
		ID: "c/process", Kind: NewProcess, In: Production,
		Pattern: `(?:^|[^\w.>])(?:system|popen|v?fork|exec[lv]p?e?|posix_spawnp?|dlopen)\s*\(`,
		Match:   []string{`return system("ls");`}, NoMatch: []string{"file_system(x);", "p->fork(1);"},
	},
}
