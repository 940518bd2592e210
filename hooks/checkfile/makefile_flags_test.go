package checkfile

import (
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A change of flags stays for the second check, unless it can take asserts out of the tests; so does what only links
// more.
func TestMakefileFlags(t *testing.T) {
	const makefile = `include config.mk
CFLAGS = -Isrc -Wall
-include $(OBJS:.o=.d)
check: build/test_calc
	./build/test_calc
build/test_calc: build/calc.o tests/test_calc.c
	$(CC) $(CFLAGS) @flags.rsp -o $@ build/calc.o tests/test_calc.c
build/calc.o: src/calc.c
	$(CC) $(CFLAGS) -c -o $@ src/calc.c
OBJ = src/calc.o
SRCS := src/calc.c \
	src/helper.c
TEST_SRCS = tests/test_calc.c src/calc.c
src/calc.o: CFLAGS += -DMAX=3
build/test_all: CFLAGS += -g
SKIPPED_SRCS = src/helper.c
LINTED_SRC = src/calc.c src/helper.c
check: build/test_all build/test_one
	./build/test_all $(SKIPPED_SRCS) $(filter-out $(LINTED_SRC),$(SRCS))
build/test_all: tests/test_calc.c $(OBJ)
	$(CC) -o $@ $^ $(SRCS)
build/test_one: $(TEST_SRCS)
	$(CC) -o $@ $<
%.o: %.c
	$(CC) -c -o $@ $<
.PHONY: check
`
	tree := map[string]string{
		"Makefile": makefile, "config.mk": "CC = gcc\nCPPFLAGS = -Isrc\nLDLIBS =\n", "src/calc.c": "", "src/helper.c": "",
		"src/field.c": "", "include/calc.h": "", "tests/test_calc.c": "int main(void) { return 0; }\n", "flags.rsp": "-O2\n",
	}
	var paths []string
	for p := range tree {
		paths = append(paths, p)
	}
	c := NewChecks(Tree{Paths: paths, Read: func(p string) ([]byte, error) { return []byte(tree[p]), nil }},
		Scope{Runs: []Command{{Dir: ".", Argv: []string{"make", "check"}}}})
	added := func(p string) patch.Change { return patch.Change{Path: p, After: &patch.File{Mode: 0o644}} }
	for _, test := range []struct {
		file, old, new string
		stays          bool
	}{
		{"config.mk", "-Isrc", "-Isrc -Wall -O2 -DMAX=3", true},
		{"config.mk", "-Isrc", "-Isrc -DNDEBUG", false},
		{"config.mk", "-Isrc", "-Isrc /FIsrc/pre.h", false},
		{"Makefile", "OBJ = src/calc.o", "OBJ = src/calc.o src/field.o", true},
		{"config.mk", "-Isrc", "-Isrc -DND''EBUG", false},
		{"config.mk", "-Isrc", "-Isrc -DND$(E)EBUG", false},
		{"config.mk", "-Isrc", "-Isrc $(A)$(B)", false},
		{"config.mk", "-Isrc", "-Isrc $(subst x,,-DNxDEBUG)", false},
		{"config.mk", "-Isrc", "-Isrc @more.rsp", false},
		{"config.mk", "-Isrc", "-Isrc -include src/pre.h", false},
		{"config.mk", "-Isrc", "-Isrc -D__assert_fail=calc_warn", false},
		{"config.mk", "LDLIBS =", "LDLIBS = -Wl,--wrap=__assert_fail", false},
		{"config.mk", "= gcc", "= clang", true},
		{"config.mk", "= gcc", "= ./tools/cc", false},
		{"config.mk", "= gcc", "= tools/cc", false},
		{"Makefile", "-c -o $@ $<", "-O2 -c -o $@ $<", true},
		{"Makefile", "-c -o $@ $<", "-DNDEBUG -c -o $@ $<", false},

		{"Makefile", "@flags.rsp -o $@ build/calc.o tests", "@flags.rsp -o $@ build/calc.o build/helper.o tests", true},
		{"Makefile", "build/calc.o tests/test_calc.c\n\t", "build/calc.o build/helper.o tests/test_calc.c\n\t", true},
		{"Makefile", "build/calc.o tests/test_calc.c\nbuild", "build/calc.o tests/test_calc.c -lm\nbuild", true},
		{"Makefile", "CFLAGS = -Isrc", "CFLAGS = -Iinclude", true},
		{"Makefile", "CFLAGS = -Isrc", "CFLAGS = -Ifake", false},
		{"Makefile", "CFLAGS = -Isrc", "CFLAGS = -Isrc -w", false},
		{"Makefile", "\t./build/test_calc", "\t./build/test_calc -list", false},
		{"Makefile", "\t./build/test_calc", "\t-./build/test_calc", false},
		{"Makefile", "-o $@ build/calc.o tests", "-o $@ build/fake.o build/calc.o tests", false},
		{"Makefile", "-o $@ build/calc.o tests", "-o $@ build/helper.o tests", false},
		{"Makefile", "-o $@ build/calc.o tests", "-o $@ build/calc.o build/helper.o calc.a tests", false},
		{"Makefile", "tests/test_calc.c\nbuild", "tests/test_calc.c; true\nbuild", false},

		{"Makefile", "src/calc.o: CFLAGS += -DMAX=3", "src/calc.o: CFLAGS := -DMAX=\\\"4\\\"", true},
		{"Makefile", "build/test_all: CFLAGS += -g\n", "src/helper.o: CFLAGS += -O2\nbuild/test_all: CFLAGS += -g\n", true},
		{"Makefile", "-DMAX=3", "-DMAX=3 -DNDEBUG", false},
		{"Makefile", "-DMAX=3", "$(shell touch x)", false},
		{"Makefile", "src/calc.o: CFLAGS", "src/calc.o: PATH", false},
		{"Makefile", "build/test_all: CFLAGS += -g", "build/test_all: CFLAGS += -w", false},

		{"Makefile", "OBJ = src/calc.o", "OBJ = src/calc.o src/more.o", true},
		{"Makefile", "OBJ = src/calc.o", "OBJ = src/more.o src/calc.o -lm", true},
		{"Makefile", "OBJ = src/calc.o", "OBJ = src/calc.o\nOBJ += src/more.o", true},
		{"Makefile", "OBJ = src/calc.o", "OBJ = src/calc.o \\\n\tsrc/more.o", true},
		{"Makefile", "src/helper.c\nTEST", "src/helper.c \\\n\tsrc/more.c\nTEST", true},
		{"Makefile", "$(OBJ)\n", "$(OBJ) src/more.o\n", true},
		{"Makefile", "test_calc.c src/calc.c\n", "test_calc.c src/calc.c src/more.c\n", true},
		{"Makefile", "= tests/test_calc.c src/calc.c\n", "= src/more.c tests/test_calc.c src/calc.c\n", false}, // $<
		{"Makefile", "test_all: tests", "test_all: src/more.o tests", false},
		{"Makefile", "-o $@ $^", "-o src/more.o $@ $^", false},
		{"Makefile", "OBJ = src/calc.o", "OBJ = src/calc.o tests/fake.o", false},
		{"Makefile", "OBJ = src/calc.o", "OBJ = src/calc.o src/none.o", false},
		{"Makefile", "OBJ = src/calc.o", "OBJ = src/more.o", false},
		{"Makefile", "OBJ = src/calc.o", "OBJ = src/calc.o\nOBJ += -w", false},
		{"Makefile", "SKIPPED_SRCS = src/helper.c", "SKIPPED_SRCS = src/helper.c src/more.c", false},
		{"Makefile", "SKIPPED_SRCS = src/helper.c", "SKIPPED_SRCS = src/helper.c\nSKIPPED_SRCS += src/calc.c", false},
		{"Makefile", "LINTED_SRC = src/calc.c", "LINTED_SRC = src/calc.c src/more.c", false},
	} {
		before := tree[test.file]
		after := strings.Replace(before, test.old, test.new, 1)
		if before == after {
			t.Fatalf("%s has no %q", test.file, test.old)
		}
		change := patch.Change{Path: test.file, Before: &patch.File{Mode: 0o644, Data: []byte(before)}, After: &patch.File{Mode: 0o644, Data: []byte(after)}}
		stays := slices.ContainsFunc(c.Restore([]patch.Change{change, added("src/more.c"), added("tests/fake.c")}),
			func(change patch.Change) bool { return change.Path == test.file })
		if stays != test.stays {
			t.Errorf("%s: %q → %q: stays: %t, want %t", test.file, test.old, test.new, stays, test.stays)
		}
	}
	for _, p := range []string{"src/calc.d", "build/x.d", "flags.rsp"} {
		if c.Class(p) != 4 {
			t.Errorf("class of %s: %d, want 4", p, c.Class(p))
		}
	}
	l := linking{Checks: c, dir: "."}
	if l.linksMore("LIBS = calc.a", "LIBS = helper.o calc.a") {
		t.Error("an object before an archive takes the place of its members")
	}
}
