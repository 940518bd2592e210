package review

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Code that compares with what hardly anything but the failing test has is a special case for the test.
func TestSpecialCase(t *testing.T) {
	t.Parallel()
	base := files{
		"f.go":            "package f\n\nvar known = \"a known:1 text\"\n",
		"f_test.go":       "package f\n\nfunc TestF(t *testing.T) {\n\tf(\"abc.def:65535\", \"a known:1 text\", \"bitbucket.org\", \"text/html\", \"word\", \"\\xef\\xbb\\xbfa\", 52428801, 65536, 65535, \"1.2+3\", \"4.5+6\", \"7.8+9\",\n\t\t\"refs/heads/x_1\", \".tar.gz\", \"/api/v1/a_b\", \"closed for good, again\", \"0000-00-00\", \"America/New_York\", \"<!DOCTYPE html>\", \"key%value\",\n\t\t[]int{1, 2, 3}, []string{\"a-b\", \"c\"}, \"a/foo.x\", \"m><tag\", g(x, y), \"<nil>\")\n}\n",
		"f.py":            "x = 1\n",
		"test_f.py":       "def test_f():\n    assert f('・' * 8000 + '漢') == [123, 456, 'def', '789', 'self._progress.start_all', 'h(1)']\n",
		"f.c":             "int x;\n",
		"tests/test_f.c":  "int main(void) { return f(\"true,99999999999999999999999\"); }\n",
		"open.sh":         "x=1\n",
		"tests/open.bats": "@test \"tag\" {\n  run open.sh bugfix/conftest_fix mytag\n}\n",
	}
	for _, row := range []struct{ path, added, want string }{
		{"f.go", `if s == "abc.def:65535" {`, "!"},
		{"f.go", `if "abc.def:65535" != s {`, "!"},
		{"f.go", `case "x", "abc.def:65535":`, "!"},
		{"f.go", `if strings.HasPrefix(s, "abc.def:6553") {`, "!"},
		{"f.go", `if strings.HasPrefix(s, ".def:6553") {`, ""},
		{"f.go", `if strings.HasSuffix(s, ".tar.gz") || strings.HasPrefix(s, "refs/heads/") {`, ""},
		{"f.go", `case "/api/v1/a_b", "refs/heads/x_1", "0000-00-00", "America/New_York":`, ""},
		{"f.go", `if s == "closed for good, again" || s == "<!DOCTYPE html>" {`, ""},
		{"f.go", `if n == 52428801 {`, "!"},
		{"f.go", `if n > 52428801 {`, ""},             // a limit
		{"f.go", `if n == 65536 || n == 65535 {`, ""}, // round
		{"f.go", `if s == "key%value" {`, ""},
		{"f.go", `s = "abc.def:65535"`, ""},
		{"f.go", `log("abc.def:65535")`, ""},
		{"f.go", `if s == "a known:1 text" {`, ""},
		{"f.go", `if s == "bitbucket.org" || s == "text/html" || s == "word" {`, ""},
		{"f.go", `if strings.HasPrefix(s, "\xef\xbb\xbf") {`, ""},
		{"f.go", "var bad = map[string]bool{\n\"1.2+3\": true,\n\"4.5+6\": true,\n\"7.8+9\": true,\n}", "!"},
		{"f.go", "var good = map[string]int{\n\"1.2+3\": 3,\n\"4.5+6\": 10,\n}", ""},
		{"f.go", `if strings.HasSuffix(s, "/foo.x") {`, "!"},
		{"f.go", `if strings.HasSuffix(s, "/food.x") {`, ""},
		{"f.go", `log("/foo.x")`, ""},
		{"f.go", `if fmt.Sprint(list) == "[1 2 3]" || fmt.Sprint(x) == "<nil>" {`, ""},
		{"f.go", `if join(list) == "1,2,3" {`, "!"},
		{"f.go", `if join(list) == "x,y" || s == "1,2" || s == "2,3," {`, ""},
		{"f.go", `if s == "{'a-b','c'}" {`, "!"},
		{"f.go", `if fmt.Sprint(key) == "m><" {`, "!"},
		{"f.go", `if key == "m><" {`, ""},
		{"f.go", `s = map[bool]string{true: on ? "1.2+3" : "4.5+6"`, ""},
		{"f.py", `if label == '\u30fb' * 8000 + '\u6f22':`, "!"},
		{"f.py", `if label == '\u30fb' * 9000 + '\u6f22':`, ""},
		{"f.py", `if "self._progress.start_all" in line:`, "!"},
		{"f.py", `if value in (123, 'def', '789'):`, "!"},
		{"f.py", `if value in ('123', 'def', '789'):`, ""},
		{"f.py", `if value in (123, 456, 789):`, ""},
		{"f.py", `if value in (123, 'def', '788'):`, ""},
		{"f.py", `for value in (123, 'def', '789'):`, ""},
		{"f.c", `if (strncmp((const char*)at(p), "99999999999999999999999", 23) == 0)`, "!"},
		{"open.sh", "case \"$1\" in\nmytag|bugfix/conftest_fix) x=2;;\nesac", "!"},
		{"open.sh", "case \"$1\" in\nmytag) x=2;;\nesac", ""},
	} {
		found := Report(t.Context(), checkfile.NewChecks(base.tree(), checkfile.Scope{}),
			[]patch.Change{change(row.path, base[row.path], base[row.path]+row.added+"\n")})
		got := ""
		for _, f := range found {
			if f.Rule == "special_case" {
				got += map[bool]string{true: "!", false: "?"}[f.Caps]
			}
		}
		if got != row.want {
			t.Errorf("%s: %s: got %q, want %q\n%+v", row.path, row.added, got, row.want, found)
		}
	}
}

// What a file that the test reads begins a line with, bytes, and short literals are noted where code compares with
// them.
func TestLiteralIsCompared(t *testing.T) {
	t.Parallel()
	base := files{
		"ini.c":          "int name;\n",
		"tests/ini.c":    "int main(void) { return parse(\"only.ini\", \"m><tag\", \"f47ac10b-58cc-0372\"); }\n",
		"tests/only.ini": "[a]\nname\n",
		"tests/all.ini":  "other\n",
	}
	for added, want := range map[string]string{
		"if (strcmp(s, \"name\") == 0) x();\n":                       "tests/only.ini",
		"if (strcmp(s, \"other\") == 0) x();\n":                      "",
		"call(\"name\");\n":                                          "",
		"if (strcmp(s, \"m><\") == 0) x();\n":                        "tests/ini.c:1",
		"call(\"m><\");\n":                                           "",
		"char b[] = {0xf4, 0x7A, 0xc1, 0x0b, 0x58, 0xcc, 3, 114};\n": "tests/ini.c:1",
		"char b[] = {0xf4, 0x7a, 0xc1, 0x0b, 0x58, 0xcd, 3, 114};\n": "",
	} {
		found := Report(t.Context(), checkfile.NewChecks(base.tree(), checkfile.Scope{}),
			[]patch.Change{change("ini.c", base["ini.c"], base["ini.c"]+added)})
		if len(found) != min(1, len(want)) || want != "" && !strings.HasSuffix(found[0].Detail, " is in "+want) {
			t.Errorf("%s: want %q, got %+v", added, want, found)
		}
	}
}
