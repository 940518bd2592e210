package checkfile

import (
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// What CMake says of how tests are compiled is restored; what it says of the program is not.
func TestCMakeDecides(t *testing.T) {
	const before = `cmake_minimum_required(VERSION 3.16)
project(calc C)
add_library(calc src/calc.c)
target_include_directories(calc PUBLIC src)
enable_testing()
add_executable(numbers numbers.c)
target_link_libraries(numbers calc)
add_test(NAME calc COMMAND numbers)
`
	tree := map[string]string{
		"CMakeLists.txt": before, "src/calc.c": "int f(void) { return 1; }\n",
		"numbers.c": "#include <assert.h>\nint main(void) { assert(1); return 0; }\n",
	}
	read := func(p string) ([]byte, error) { return []byte(tree[p]), nil }
	c := NewChecks(Tree{Paths: []string{"CMakeLists.txt", "numbers.c", "src/calc.c"}, Read: read},
		Scope{Runs: []Command{{Dir: ".", Shell: "cmake -S . -B b && cmake --build b && ctest --test-dir b"}}})
	back := []string{
		`set(CMAKE_BUILD_TYPE Release)`,
		`set(CMAKE_BUILD_TYPE "RelWithDebInfo" CACHE STRING "")`,
		`set(CMAKE_BUILD_TYPE ${KIND})`,
		`set(KIND MinSizeRel)`,
		`set_property(CACHE CMAKE_BUILD_TYPE PROPERTY VALUE Release)`,
		`if(NOT CMAKE_BUILD_TYPE)
set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()`,
		`add_definitions(-DNDEBUG)`,
		`add_compile_definitions(NDEBUG)`,
		`add_compile_definitions(NDEBUG=1)`,
		`target_compile_definitions(calc PUBLIC NDEBUG)`,
		`target_compile_definitions(numbers PRIVATE X=1)`,
		`target_compile_options(calc INTERFACE -DND$<1:EBUG>)`,
		`target_compile_options(calc INTERFACE $<JOIN:-DND;EBUG,>)`,
		`target_compile_options(calc INTERFACE "-DND\
EBUG")`,
		`target_compile_options(calc INTERFACE -D${N}BUG)`,
		`add_compile_definitions(${N}BUG)`,
		`add_compile_options(-include ${CMAKE_SOURCE_DIR}/src/pre.h)`,
		`set_source_files_properties(numbers.c PROPERTIES COMPILE_DEFINITIONS X)`,
		`set_source_files_properties(${CMAKE_SOURCE_DIR}/numbers.c PROPERTIES COMPILE_OPTIONS -w)`,
		`set_property(SOURCE numbers.c PROPERTY COMPILE_DEFINITIONS X)`,
		`set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE "${CMAKE_SOURCE_DIR}/tools/launch")`,
		`set_target_properties(calc PROPERTIES C_COMPILER_LAUNCHER tools/launch)`,
		`set(CMAKE_C_COMPILER_LAUNCHER tools/launch)`,
		`set(CMAKE_C_COMPILE_OBJECT "cc -DX <SOURCE>")`,
		`set(CMAKE_PROJECT_INCLUDE src/more.txt)`,
		`set(CMAKE_C_FLAGS "${CMAKE_C_FLAGS} -DNDEBUG")`,
		`set(CMAKE_C_FLAGS "${CMAKE_C_FLAGS}BUG")`,
		`string(APPEND CMAKE_C_FLAGS_DEBUG " -D__NO_ASSERT")`,
		`set(ENV{CFLAGS} -g)`,
		`add_definitions(-D__assert_fail=__calc_warn)`,
		`add_definitions("-Dassert(x)=")`,
		`target_link_libraries(numbers -Wl,--wrap=__assert_fail)`,
		`target_link_options(calc INTERFACE -Wl,--defsym=f=g)`,
		`add_custom_command(TARGET numbers POST_BUILD COMMAND ${CMAKE_COMMAND} -E copy /bin/true $<TARGET_FILE:numbers>)`,
		`add_custom_command(TARGET calc POST_BUILD COMMAND sh tools/after.sh)`,
		`add_custom_target(after ALL COMMAND cp /bin/true $<TARGET_FILE:numbers>)`,
		`execute_process(COMMAND touch CTestTestfile.cmake)`,
		`target_include_directories(numbers PRIVATE src/fake)`,
		`target_precompile_headers(calc INTERFACE src/pre.h)`,
		`include(src/flags.txt)`,
	}
	stay := []string{
		`target_link_libraries(calc PUBLIC m)`,
		`target_link_libraries(numbers m)`,
		`target_sources(calc PRIVATE src/more.c)`,
		`target_sources(calc PRIVATE src/field.c /src/FILTER.c)`,
		`target_include_directories(calc PUBLIC include)`,
		`target_compile_definitions(calc PRIVATE _GNU_SOURCE VERSION="${PROJECT_VERSION}")`,
		`target_compile_options(calc PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wall> ${WARNINGS})`,
		`set(CMAKE_C_STANDARD 99)`,
		`set(CMAKE_C_FLAGS "${CMAKE_C_FLAGS} -Wall -O2")`,
		`set(CMAKE_BUILD_TYPE Debug)`,
		`option(RELEASE "with the news of the release" OFF)`,
		`set_property(CACHE CMAKE_BUILD_TYPE PROPERTY STRINGS Debug Release)`,
		`find_package(Threads REQUIRED)`,
		`list(APPEND SOURCES src/b.c)`,
		`configure_file(src/config.h.in config.h)`,
		`add_custom_command(OUTPUT table.c COMMAND gen > table.c)`,
		`include(GNUInstallDirs)`,
		`include(cmake/Warnings.cmake)`,
	}
	for want, list := range map[bool][]string{true: back, false: stay} {
		for _, command := range list {
			text := before + command + "\n"
			change := patch.Change{Path: "CMakeLists.txt", Before: &patch.File{Mode: 0o644, Data: []byte(before)}, After: &patch.File{Mode: 0o644, Data: []byte(text)}}
			if left := c.Restore([]patch.Change{change}); (len(left) == 0) != want {
				t.Errorf("%s: restored: %t, want %t", command, !want, want)
			}
			if got := slices.ContainsFunc(c.Parts(change), func(p Part) bool { return p.Check }); got != want {
				t.Errorf("%s: a part of the check: %t, want %t", command, got, want)
			}
		}
	}
	fresh := func(p, text string) []patch.Change {
		return c.Restore([]patch.Change{{Path: p, After: &patch.File{Mode: 0o644, Data: []byte(text)}}})
	}
	if len(fresh("cmake/Warnings.cmake", "add_compile_definitions(NDEBUG)\n")) != 0 {
		t.Error("a new file that leaves asserts out stays")
	}
	if len(fresh("cmake/Warnings.cmake", "add_compile_options(-Wall)\n")) != 1 {
		t.Error("a new file with warnings goes")
	}
}

// Openers of generator expressions are removed in one pass, whatever is nested in what.
func TestWithoutOpeners(t *testing.T) {
	for text, want := range map[string]string{
		"-DND$<1:EBUG>":      "-DNDEBUG>",
		"$<A$<B:C:x>>":       "x>>",
		"$$<A:<B:x>>":        "x>>",
		"$<$<CONFIG:D>:-DX>": "$<D>:-DX>",
		"-DND\\\nEBUG":       "-DNDEBUG",
		"-DND\\\r\nEBUG":     "-DNDEBUG",
		"\\$<1:\n":           "",
		"$<$A:":              "$<$A:",
		"a:b $<c\n":          "a:b $<c\n",
	} {
		if got := withoutOpeners(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	const n = 2_000
	deep := cmakeCommand{name: "message", args: []string{strings.Repeat("$<", n) + strings.Repeat("A:", n)}}
	if got := testing.AllocsPerRun(1, func() { cmakeContext{}.weakens(deep, nil) }); got > 100 {
		t.Errorf("%v allocations for %d openers in each other", got, n)
	}
}
