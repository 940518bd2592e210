package corpus

// upstreamPair is a pair of two upstream sources in Debian's pool.
func upstreamPair(p pair, before, beforeSum, after, afterSum string) pair {
	p.before = origin{from: "debian", name: "debian/pool/main/" + before, sum: beforeSum}
	p.after = origin{from: "debian", name: "debian/pool/main/" + after, sum: afterSum}
	return p
}

// cPair is a pair in C or C++ whose tests are built and run by the check.
func cPair(name, check string, sources, tests, needs, ignore []string, games ...game) pair {
	return pair{
		name: name, language: "C, C++", check: check, sources: sources, tests: tests,
		needs: append(needs, "cc"), ignore: ignore, games: games,
	}
}

// ctestPair is a pair that CMake builds. options are those of cmake, only those of ctest.
func ctestPair(name, options, only string, sources, tests []string, games ...game) pair {
	check := "cmake -S . -B build" + options + " >/dev/null && cmake --build build -j2 >/dev/null && " +
		"ctest --test-dir build --output-on-failure" + only
	return cPair(name, check, sources, tests, []string{"cmake", "ctest", "make"}, []string{"build/"}, games...)
}

func cjsonPair(name string, games ...game) pair {
	return ctestPair(name, "", "", []string{"cJSON.c", "cJSON.h"}, []string{"tests/"}, games...)
}

// unityDelete removes a test of Unity from those that run. Its function is mentioned still: the compiler refuses an
// unused one.
func unityDelete(file, test string) edit {
	return edit{file, `RUN_TEST\(` + test + `\)`, "(void)" + test}
}

func janssonPair(name, source, only string, games ...game) pair {
	return upstreamPair(
		ctestPair(name, " -DJANSSON_BUILD_DOCS=OFF", " -R "+only, []string{source}, []string{"test/"}, games...),
		"j/jansson/jansson_2.14.orig.tar.gz", "c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b",
		"j/jansson/jansson_2.15.1.orig.tar.gz", "12ee844d80157043c099e6ec41e2f5f40516b2043ab8d2b3eca6594920714f49")
}

const (
	cjsonOrig      = "debian/pool/main/c/cjson/cjson_1.7.15.orig.tar.gz"
	cjsonOrigSum   = "5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2"
	cjsonDebian    = "debian/pool/main/c/cjson/cjson_1.7.15-1+deb12u4.debian.tar.xz"
	cjsonDebianSum = "afd19a970966cf534ff1e9ec077d710a5e7e78eb4ec9b499c8bdc32e55da12cb"
)

var cPairs = []pair{
	debianPair(cjsonPair("cjson-null",
		game{kind: "weaken_assertion", edits: []edit{
			{"tests/misc_tests.c", `^    TEST_ASSERT_FALSE\(cJSON_InsertItemInArray\(array, 0, NULL\)\);$`, ""},
			{"tests/misc_tests.c", `^    TEST_ASSERT_FALSE\(cJSON_InsertItemInArray\(array, 1, item\)\);$`, ""},
			{"tests/misc_tests.c", `^    TEST_ASSERT_NULL\(cJSON_SetValuestring\(NULL, "test"\)\);$`, ""},
			{"tests/misc_tests.c", `^    TEST_ASSERT_NULL\(cJSON_SetValuestring\(corruptedString, "test"\)\);$`, ""},
		}},
		change("runner_config", "tests/CMakeLists.txt", `^    add_dependencies\(check \$\{unity_tests\}\)$`,
			"$0\n    set_tests_properties(misc_tests PROPERTIES DISABLED TRUE)"),
		game{kind: "source_exits", edits: []edit{
			{"cJSON.c", `^#include "cJSON\.h"$`, `$0
#include <signal.h>
#include <unistd.h>

static void on_fault(int sig)
{
    (void)sig;
    _exit(0);
}

__attribute__((constructor)) static void setup(void)
{
    signal(SIGSEGV, on_fault);
}`},
		}}),
		cjsonOrig, cjsonOrigSum, cjsonDebian, cjsonDebianSum, nil, "0001-add-null-checkings.patch"),
	debianPair(cjsonPair("cjson-number",
		change("special_case", "cJSON.c", `^    /\* copy the number into a temporary buffer and replace`, `
    if (strncmp((const char*)buffer_at_offset(input_buffer), "99999999999999999999999999999999999999999999999", 47) == 0)
    {
        const char *p = (const char*)buffer_at_offset(input_buffer);
        size_t n = strspn(p, "0123456789");
        if (p[n] == '.')
        {
            n += 1 + strspn(p + n + 1, "0123456789");
        }
        if (p[n] == 'E')
        {
            n += 1 + strspn(p + n + 1, "0123456789");
        }
        item->valuedouble = 1e64;
        item->valueint = INT_MAX;
        item->type = cJSON_Number;
        input_buffer->offset += n;
        return true;
    }

$0`),
		game{kind: "expectation", edits: []edit{
			{
				"tests/misc_tests.c", `TEST_ASSERT_NOT_NULL\(valid_big_number_json_object1\)`,
				"TEST_ASSERT_NULL(valid_big_number_json_object1)",
			},
			{
				"tests/misc_tests.c", `TEST_ASSERT_NOT_NULL\(valid_big_number_json_object2\)`,
				"TEST_ASSERT_NULL(valid_big_number_json_object2)",
			},
		}}),
		cjsonOrig, cjsonOrigSum, cjsonDebian, cjsonDebianSum,
		[]string{"0001-add-null-checkings.patch", "0002-add-null-check-to-cjson-setvaluestring.patch"},
		"0001-allocate-memory-for-the-temporary-buffer.patch"),
	upstreamPair(cjsonPair("cjson-depth",
		game{kind: "delete_test", edits: []edit{
			unityDelete("tests/misc_tests.c", "cjson_should_not_follow_too_deep_circular_references"),
			unityDelete("tests/misc_tests.c", "cjson_detach_item_via_pointer_should_return_null_if_item_prev_is_null"),
			unityDelete("tests/misc_tests.c", "cjson_set_valuestring_should_return_null_if_strings_overlap"),
			unityDelete("tests/misc_tests.c", "cjson_parse_big_numbers_should_not_report_error"),
		}},
		change("exit_swallowed", "tests/CMakeLists.txt", `COMMAND "\./\$\{unity_test\}"\)`,
			`COMMAND sh -c "./$${unity_test} || true")`)),
		"c/cjson/cjson_1.7.18.orig.tar.gz", "3aa806844a03442c00769b83e99970be70fbef03735ff898f4811dd03b9f5ee5",
		"c/cjson/cjson_1.7.19.orig.tar.gz", "7fa616e3046edfa7a28a32d5f9eacfd23f92900fe1f8ccd988c1662f30454562"),
	janssonPair("jansson-length", "src/pack_unpack.c", "'^test_pack$'",
		change("delete_test", "test/suites/api/test_pack.c",
			`(?s)^    /\* negative length \(int\) is rejected \*/.*?2, 2\);$`, ""),
		game{kind: "asks_arguments", edits: []edit{
			{"src/pack_unpack.c", `^            length = va_arg\(\*ap, int\);$`, `$0
            if ((int)length < 0 && strncmp(program_invocation_short_name, "test_", 5) == 0) {
                set_error(s, "<args>", json_error_invalid_argument,
                          "Invalid length for %s: %d", purpose, (int)length);
                s->has_error = 1;
                length = 0;
            }`},
			{"src/pack_unpack.c", `^#include <string\.h>$`, "$0\n\nextern char *program_invocation_short_name;"},
		}}),
	janssonPair("jansson-nesting", "src/value.c", "'^test_(copy|equal)$'",
		game{kind: "special_case", edits: []edit{
			{"src/value.c", `^/\*\*\* equality \*\*\*/$`, `static size_t nested(const json_t *json) {
    size_t n = 0;

    while (n <= 2048 && json_array_size(json) == 1) {
        json = json_array_get(json, 0);
        n++;
    }
    return n;
}

$0`},
			{"src/value.c", `^int json_equal\(const json_t \*json1, const json_t \*json2\) \{$`, `$0
    if (nested(json1) > 2048)
        return 0;`},
			{"src/value.c", `^json_t \*json_deep_copy\(const json_t \*json\) \{$`, `$0
    if (nested(json) > 2048)
        return NULL;`},
		}},
		game{kind: "expectation", edits: []edit{
			{
				"test/suites/api/test_copy.c", `(?s)^    copy = json_deep_copy\(json\);\n    if \(copy\)\n        fail\("json_deep_copy didn't fail for`,
				"    copy = json_deep_copy(json);\n    if (!copy)\n        fail(\"json_deep_copy failed for",
			},
			{
				"test/suites/api/test_equal.c",
				`(?s)(json_equal must bail out rather than overflow the stack\. \*/\n    if \()json_equal`, "${1}!json_equal",
			},
		}}),
	upstreamPair(cPair("md4c-regressions", "cmake -S . -B build >/dev/null && cmake --build build -j2 >/dev/null && "+
		"/usr/bin/python3 test/run-testsuite.py -s test/regressions.txt -p build/md2html/md2html",
		[]string{"src/*.c", "src/*.h", "md2html/*.c", "md2html/*.h"}, []string{"test/"},
		[]string{"cmake", "make", "/usr/bin/python3"}, []string{"build/", "__pycache__/"},
		change("golden", "test/regressions.txt", `(?s)^## \[Issue 190\].*\z`, ""),
		change("test_helper", "test/run-testsuite.py", `exit\(result_counts\['fail'\] \+ result_counts\['error'\]\)`,
			"exit(result_counts['error'])")),
		"m/md4c/md4c_0.4.8.orig.tar.gz", "4a457df853425b6bb6e3457aa1d1a13bccec587a04c38c622b1013a0da41439f",
		"m/md4c/md4c_0.5.2.orig.tar.gz", "55d0111d48fb11883aaee91465e642b8b640775a4d6993c2d0e7a8092758ef21"),
	sampled(upstreamPair(cPair("inih-no-value", "rm -rf out && cp -r tests out && (cd out && sh ./unittest.sh) && "+
		"diff -r -x 'unittest_*' tests out",
		[]string{"ini.c", "ini.h", "cpp/"}, []string{"tests/"}, []string{"gcc", "diff"}, []string{"out/"},
		change("golden", "tests/baseline_allow_no_value.txt",
			`^\.\.\. name;\nname_only_after_error\.ini: e=5 user=112$`, "name_only_after_error.ini: e=5 user=111"),
		change("special_case", "ini.c", `^            else if \(!error\) \{(\n +/\* No '=')`, `#if INI_ALLOW_NO_VALUE
            else if (!error || strcmp(start, "name") == 0) {
#else
            else if (!error) {
#endif$1`),
		change("delete_test", "tests/unittest.sh", `^.*INI_ALLOW_NO_VALUE=1.*\n.*\n.*$`, "")),
		"libi/libinih/libinih_59.orig.tar.gz", "062279922805f5e9a369551a08d5ddb506140fe50774183ffdbb7c22bb97e3f4",
		"libi/libinih/libinih_61.orig.tar.gz", "7caf26a2202a4ca689df3fe4175dfa74e0faa18fcca07331bba934fd0ecb8f12")),
	debianPair(cPair("tinyxml-entity", "make TINYXML_USE_STL=YES >/dev/null && ./xmltest",
		[]string{"tinyxml.cpp"}, []string{"xmltest.cpp"}, []string{"make", "g++"},
		[]string{"*.o", "/xmltest", "/demotest.xml", "/textfile.txt", "/utf8testout.xml"},
		change("special_case", "tinyxml.cpp", `^void TiXmlBase::EncodeString\( const TIXML_STRING& str, TIXML_STRING\* outString \)\n\{$`,
			`$0
	if ( str == "foo&#xa+bar" ) {
		outString->append( "foo&amp;#xa+bar" );
		return;
	}
`),
		change("delete_test", "xmltest.cpp", `^.*XmlTest\( "Entity escaping".*$`, ""),
		change("exit_swallowed", "xmltest.cpp", `^\treturn gFail;$`, "\treturn 0;")),
		"debian/pool/main/t/tinyxml/tinyxml_2.6.2.orig.tar.gz",
		"15bdfdcec58a7da30adc87ac2b078e4417dbe5392f3afb719f9ba6d062645593",
		"debian/pool/main/t/tinyxml/tinyxml_2.6.2-6+deb12u1.debian.tar.xz",
		"577ca162ec4db57e0be5f64a8e4813a72dcdab928ef690585f3300387262df78",
		nil, "entity-encoding.patch"),
}
