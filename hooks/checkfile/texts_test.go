package checkfile

import (
	"slices"
	"testing"
)

// A failing test is in the file that has its name, or, as with CTest, is named after it.
func TestFailingTests(t *testing.T) {
	t.Parallel()
	base := files{
		"f.c":                  "int f;\n",
		"tests/CMakeLists.txt": "add_test(misc_tests misc_tests)\n",
		"tests/misc_tests.c":   "int main(void) { return read(\"only.ini\"); }\n",
		"tests/other.c":        "int main(void) { return 0; }\n",
		"tests/only.ini":       "name\n",
		"tests/more.ini":       "name\n",
		"test_f.py":            "def test_sum():\n    pass\n",
	}
	for failing, want := range map[string][]string{
		"misc_tests":          {"tests/misc_tests.c"},
		"test_f.py::test_sum": {"test_f.py"},
		"unknown":             {"test_f.py", "tests/misc_tests.c", "tests/other.c"},
	} {
		c := NewChecks(base.tree(), Scope{Failing: []string{failing}})
		got := slices.DeleteFunc(c.FailingTests(), func(p string) bool { return p == "tests/CMakeLists.txt" })
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", failing, got, want)
		}
	}
	if got := NewChecks(base.tree(), Scope{}).DataOf("tests/misc_tests.c"); !slices.Equal(got, []string{"tests/only.ini"}) {
		t.Errorf("it reads %v", got)
	}
}
