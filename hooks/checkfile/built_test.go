package checkfile

import (
	"strings"
	"testing"
)

const (
	testMain    = "int main(void) { return twice(2) != 4; }\n"
	assertsMain = "#include <assert.h>\nint main(void) { assert(twice(2) == 4); }\n"
	readsMain   = "#include <assert.h>\nint main(int argc, char **argv) { assert(argc); puts(argv[1]); }\n"
)

// Sources that only the check builds are its files, whatever they are called.
func TestBuiltByMake(t *testing.T) {
	t.Parallel()
	calc := files{
		"Makefile": `
OBJS = calc.o
OBJS += more.o
all: libcalc.a numbers-test
libcalc.a: $(OBJS)
	$(AR) rcs $@ $^
cli: cli.o libcalc.a
%.o: src/%.c
	$(CC) -c -o $@ $<
numbers: numbers.o libcalc.a
	$(CC) -o $@ $^
numbers-test: numbers-test.o libcalc.a
other: other.c
	$(CC) -o other other.c calc.c
test: numbers numbers-test
	./numbers && ./numbers-test
install: all
	cp calc.h installed.c $(PREFIX)
check: test other
	./other
run: cli
	./cli 2
.PHONY: all test check run
`,
		"src/calc.c": "#include \"../inner.h\"", "more.c": "", "numbers.c": testMain, "numbers-test.c": testMain, "other.c": testMain,
		"calc.h": "", "calc.c": "", "inner.h": "", "inner.c": "", "installed.c": "", "cli.c": testMain, "numbers.h": "",
	}
	classesByRun(t, calc, map[string]string{
		"make -s test": `
			4 numbers.c numbers-test.c
			4 numbers.h     # of the same unit
			4 numbers numbers-test  # where they are, their recipes do not run
			0 other cli
			0 src/calc.c more.c other.c calc.h calc.c inner.c inner.h installed.c cli.c
		`,
		"make check":     "4 numbers.c other.c other\n0 src/calc.c calc.c cli",
		"make -j 4 test": "4 numbers.c\n0 calc.c",
		"make run":       "0 cli.c src/calc.c  # no name of a check: what it builds may be what is tried",
		"make":           "0 numbers.c calc.c more.c\n4 Makefile",
	})
	results := files{
		"Makefile": "VPATH = kept\ncheck: out/all.txt out/a.ok\nout/all.txt: src/a.py\n\tsh t.sh > $@\nout/%.ok: src/%.py\n\tpython3 $< > $@\n",
		"src/a.py": "", "t.sh": "", "try.sh": "make -s out/a.ok\ngrep ok out/a.ok\n",
	}
	classesByRun(t, results, map[string]string{
		"make check":    "4 out/all.txt out/a.ok kept/out/all.txt kept/check\n0 out/b.ok src/a.py src/b.py t.sh",
		"sh try.sh":     "4 out/a.ok try.sh\n0 out/all.txt Makefile src/a.py",
		"make src/a.py": "0 src/a.py out/a.ok",
	})
	alone := files{
		"Makefile": "check:\n\t$(CC) -o t test.c calc.c cases.c verify.c\n\t./t\nprint:\n\t$(CC) -o p printer.c calc.c && ./p | grep 4\n",
		"test.c":   testMain, "cases.c": "#include <check.h>\n", "calc.c": "int twice(int a) { return a; }", "verify.c": "int ok;",
		"printer.c": readsMain, "plain.c": testMain, "asserting.c": assertsMain, "TestCalc.c": testMain,
	}
	classesByRun(t, alone, map[string]string{
		"make check":                         "4 test.c cases.c\n0 calc.c verify.c plain.c",
		"make print":                         "0 printer.c calc.c",
		"cc -o t asserting.c calc.c && ./t":  "4 asserting.c\n0 calc.c",
		"$CC plain.c && ./a.out":             "0 plain.c  # nothing says that it is a test",
		"x86_64-linux-gnu-gcc TestCalc.c":    "4 TestCalc.c",
		"cppcheck test.c":                    "0 test.c  # a linter reads it",
		"sh -c 'gcc test.c calc.c; ./a.out'": "4 test.c\n0 calc.c",
	})
}

// Programs that CMake and Meson know as tests, and Automake.
func TestBuiltByOthers(t *testing.T) {
	t.Parallel()
	calc := files{
		"CMakeLists.txt": `
set(SRC calc.c ${CMAKE_SOURCE_DIR}/more.c)
add_library(calc STATIC ${SRC})
add_executable(tool tool.c)
add_executable(numbers numbers.c shared.c)
add_executable(other-test other.c)
add_executable(plain plain.c)
install(TARGETS shipped-test)
add_executable(shipped-test shipped.c)
foreach(name numbers other-test shipped-test plain)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
add_test(NAME with COMMAND $<TARGET_FILE:tool> 2 3)
add_subdirectory(unit)
`,
		"unit/CMakeLists.txt": "function(case name)\n  add_executable(${name} ${name}.c ${ARGN})\n  add_test(${name} ${name})\nendfunction()\ncase(sums sums.c)\nfile(GLOB more *.cc)\nadd_executable(all_tests ${more})\ngtest_discover_tests(all_tests)\n",
		"calc.c":              "", "more.c": "", "numbers.c": assertsMain, "shared.c": "", "other.c": testMain, "shipped.c": assertsMain,
		"plain.c": testMain, "tool.c": readsMain, "unit/sums.c": assertsMain, "unit/a.cc": "", "unit/b.cc": "",
	}
	want := `
		4 numbers.c shared.c other.c unit/sums.c unit/a.cc unit/b.cc
		0 calc.c more.c tool.c shipped.c
		0 plain.c   # nothing says that it is a test
	`
	classesByRun(t, calc, map[string]string{
		"cmake -B build && cmake --build build && ctest --test-dir build": want,
		"make -C build test":  want,
		"ninja -C build test": want,
		"ctest":               want,
		"./check.sh":          "0 numbers.c",
	})
	classesByRun(t, files{
		"meson.build": "lib = library('calc', 'calc.c')\nexe = executable('numbers',\n  'numbers.c', link_with: lib)\napp = executable('app', 'app.c', install: true)\ntest('numbers', exe)\ntest('app', app)\n",
		"calc.c":      "", "numbers.c": testMain, "app.c": testMain,
	}, map[string]string{"meson test -C build": "4 numbers.c\n0 calc.c app.c"})
	classesByRun(t, files{
		"Makefile.am": "bin_PROGRAMS = app\napp_SOURCES = app.c calc.c\ncheck_PROGRAMS = numbers \\\n  sums\nnumbers_SOURCES = numbers.c calc.c\nTESTS = $(check_PROGRAMS)\n",
		"app.c":       testMain, "calc.c": "", "numbers.c": testMain, "sums.c": testMain, "extra.c": testMain,
	}, map[string]string{"make check": "4 numbers.c sums.c\n0 app.c calc.c extra.c"})
}

// Lists of CMake that double with every line are read within bounds, by what finds tests and by what finds headers.
func TestCMakeDoubles(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	for name, lines := range map[string]string{
		"appended":    strings.Repeat("list(APPEND L ${L})\n", 21),
		"set":         strings.Repeat("set(L ${L} ${L})\n", 21),
		"in one line": strings.Repeat("list(APPEND L ${L})\n", 10) + "set(L " + strings.Repeat(" ${L}", 1_000) + ")\n",
		"in a loop":   strings.Repeat("list(APPEND L ${L})\n", 10) + "foreach(i IN LISTS" + strings.Repeat(" L", 1_000) + ")\nendforeach()\n",
		"arguments":   "function(f)\nlist(APPEND L ${ARGV})\nf(${L})\nendfunction()\n" + strings.Repeat("f(${L})\nlist(APPEND L ${L})\n", 21),
	} {
		f := files{"CMakeLists.txt": "set(L a b)\n" + lines, "a.c": testMain}
		run := Scope{Runs: []Command{{Argv: []string{"ctest"}, Dir: "."}}}
		if got := allocated(func() { NewChecks(f.tree(), run) }); got > 512 {
			t.Errorf("%s: %d MiB were allocated", name, got)
		}
	}
}

// What make says of its rules is more than its text shows.
func TestAskMake(t *testing.T) {
	t.Parallel()
	f := files{
		"Makefile": "SRC := $(filter-out main.c,$(wildcard *.c))\nmain: main.c calc.c\ncheck: $(SRC:.c=)\n\t./$<\n",
		"main.c":   "", "calc.c": "", "numbers.c": testMain,
	}
	run := Command{Argv: []string{"make", "-s", "check"}, Dir: "."}
	asked := AskMake([]Command{run, {Shell: "cd a && make x"}, {Shell: "make $goal; ls; CC=gcc gmake y", Dir: "b/"}})
	if len(asked) != 2 || asked[1].Dir != "b" || asked[1].Args[0] != "y" {
		t.Fatalf("asked: %+v", asked)
	}
	classesOf(t, NewChecks(f.tree(), Scope{Runs: []Command{run}}), "0 numbers.c calc.c main.c")
	asked[0].Text = "./numbers\nmain: numbers.c\n# GNU Make 4.3\n# Make data base, printed on Sun\n# Variables\n.DEFAULT_GOAL := main\n# default\nCC = cc\n" +
		"# Files\nmain: main.c calc.c\n#  Implicit rule search has not been done.\ncheck: numbers\n#  recipe to execute (from 'Makefile', line 4):\n\t./$<\n\nnumbers: numbers.c\n"
	classesOf(t, NewChecks(f.tree(), Scope{Runs: []Command{run}, Made: asked}), "4 numbers.c\n0 calc.c main.c")
}
