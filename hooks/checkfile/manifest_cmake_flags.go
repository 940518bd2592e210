package checkfile

// Commands of CMake that compile the asserts of tests away, or put something else in the place of a test program.

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// A cmakeContext is what is known of the tests of a project, besides what a file of CMake says of them itself.
type cmakeContext struct {
	targets map[string]bool        // programs that are tests
	isTest  func(file string) bool // nil: the name decides
}

// cmakeAt returns what is known of tests for a file of CMake in a folder.
func (c *Checks) cmakeAt(dir string) cmakeContext {
	return cmakeContext{targets: c.refs.testTargets, isTest: func(file string) bool {
		if at := strings.LastIndexByte(file, '}'); at >= 0 { // ${CMAKE_SOURCE_DIR}/
			file = strings.TrimLeft(file[at+1:], "/")
		}
		p := path.Join(dir, file)
		return path.Ext(p) != "" && c.Has(p) && lang.ByPath(p) != "" && c.Class(p) > 0
	}}
}

// isCMake reports whether p holds commands of CMake.
func isCMake(p string) bool {
	return path.Base(p) == "CMakeLists.txt" || strings.HasSuffix(strings.TrimSuffix(p, ".in"), ".cmake")
}

// testTargets returns the programs that are tests, with those that commands declare.
func (x cmakeContext) testTargets(commands []cmakeCommand) map[string]bool {
	targets := map[string]bool{}
	for name := range x.targets {
		targets[name] = true
	}
	for _, c := range commands {
		if c.name == "add_executable" && len(c.args) > 0 &&
			(testishName(c.args[0]) || slices.ContainsFunc(c.args[1:], x.testFile)) {
			targets[strings.Trim(c.args[0], `"`)] = true
		}
	}
	return targets
}

// testFile reports whether an argument names a test.
func (x cmakeContext) testFile(arg string) bool {
	arg = strings.Trim(arg, `"`)
	return conventional(arg) || x.isTest != nil && x.isTest(arg)
}

var (
	// disarming is what takes the asserts out of a source, or replaces functions by which a test fails, in the flags of
	// a compiler or linker.
	disarming = lazily.Regexp(`(?i)NDEBUG\b|\bD?_*(?:NO_)?assert\w*\s*[=(]|__NO_ASSERT|__assert|assert_fail|` +
		`(?:^|[-/\s"',])D?_*(?:abort|exit|main|raise|kill|signal|printf|puts|str\w*cmp|memcmp|fail\w*|check\w*|require|expect)\s*(?:\([^)]*\))?=|` +
		`-wrap\b|--?defsym|(?:^|[\s"'])-+(?:include|imacros|specs|fplugin|wrapper)\b|muldefs|multiple-definition|(?:^|[\s"';:,])(?-i:[/-]FI)|SHELL:-include`)

	// cmakeAlways matches variables and properties that decide whatever their value is.
	cmakeAlways = lazily.Regexp(`^ENV\{|^CMAKE_(?:\w+_)?(?:LAUNCHER|COMPILE_OBJECT|LINK_EXECUTABLE|CREATE_\w+|ARCHIVE_\w+|COMPILER|LINKER|INCLUDE|` +
		`INCLUDE_BEFORE|INCLUDE_AFTER|OVERRIDE|OVERRIDE_\w+|TOOLCHAIN_FILE|CONFIGURATION_TYPES|MAKE_PROGRAM|COMMAND|EMULATOR)$|` +
		`^(?:RULE_LAUNCH_\w+|\w+_LAUNCHER|CROSSCOMPILING_EMULATOR|RUNTIME_OUTPUT_NAME|OUTPUT_NAME)$`)
	cmakeFlags   = lazily.Regexp(`^CMAKE_\w*(?:FLAGS|OPTIONS|DEFINITIONS|LIBRARIES)(?:_\w+)?$|^COMPILE_(?:FLAGS|OPTIONS|DEFINITIONS)$|^LINK_(?:FLAGS|OPTIONS)$`)
	cmakeInParts = lazily.Regexp(`[-/]D\w*\$|\$<(?:JOIN|LIST|STRING|SUBST|GENEX_EVAL|TARGET_GENEX_EVAL|PATH|FILTER)|\$<UPPER_CASE`)
	besideName   = lazily.Regexp(`^[-\w]*\$\{\w+\}\w+$|^[-\w]+\$\{\w+\}$|\}\w`)

	cmakeFlagCommands = lazily.Words(`
		add_definitions add_compile_definitions target_compile_definitions add_compile_options target_compile_options
		add_link_options target_link_options`)
	// cmakeHarmless are commands that may name the program of a test and not decide: what it is linked with.
	cmakeHarmless = lazily.Words("target_link_libraries add_dependencies target_compile_features install")
	cmakeWrites   = lazily.Words("file configure_file execute_process add_custom_command exec_program write_file try_run")
	optimised     = []string{"release", "relwithdebinfo", "minsizerel"}
)

// disarms reports whether flags of a compiler or linker take the asserts out of a source.
func disarms(flags string) bool { return disarming().MatchString(flags) }

// weakens reports whether a command decides about tests by how it builds them: see the comment of this file.
func (x cmakeContext) weakens(c cmakeCommand, targets map[string]bool) bool {
	text := strings.Join(c.args, " ")
	if disarms(strings.ReplaceAll(withoutOpeners(text), ">", "")) || cmakeInParts().MatchString(text) {
		return true
	}
	always := func(arg string) bool { return cmakeAlways().MatchString(strings.Trim(arg, `"`)) }
	first := ""
	if len(c.args) > 0 {
		first = strings.Trim(c.args[0], `"`)
	}
	switch c.name {
	case "set", "unset", "option", "list", "string", "set_property", "set_target_properties", "set_source_files_properties", "set_directory_properties":
		if slices.ContainsFunc(c.args, always) || c.optimises() ||
			slices.ContainsFunc(c.args, func(arg string) bool { return cmakeFlags().MatchString(strings.Trim(arg, `"`)) }) &&
				slices.ContainsFunc(c.args, inParts) {
			return true
		}
	case "target_precompile_headers":
		return true
	case "include": // a file that is no module can have any name
		return first != "" && strings.ContainsAny(first, "./$") && !strings.HasSuffix(first, ".cmake")
	case "add_custom_command":
		if first == "TARGET" {
			return true
		}
	}
	if slices.Contains(cmakeFlagCommands(), c.name) && slices.ContainsFunc(c.args, inParts) {
		return true
	}
	if slices.Contains(cmakeHarmless(), c.name) {
		return false
	}
	if slices.Contains(cmakeWrites(), c.name) && slices.ContainsFunc(c.args, func(arg string) bool { return lang.HasWord(arg, cmakeTests()) }) {
		return true
	}
	return slices.ContainsFunc(c.args, func(arg string) bool { return x.aboutTest(arg, targets) })
}

// withoutOpeners returns text without what opens a generator expression ($<CONFIG:), and with continued lines joined. What
// then has the form of an opener is removed too. It reads text once: a name is looked at again only behind the colon that
// ends it.
func withoutOpeners(text string) string {
	kept := make([]byte, 0, len(text))
	for i := range len(text) {
		switch text[i] {
		case ':':
			name := len(kept)
			for name > 0 && kept[name-1] != '$' && lang.IsWord(kept[name-1]) {
				name--
			}
			if bytes.HasSuffix(kept[:name], []byte("$<")) {
				kept = kept[:name-2]
				continue
			}
		case '\n':
			line := bytes.TrimSuffix(kept, []byte("\r"))
			if bytes.HasSuffix(line, []byte(`\`)) {
				kept = line[:len(line)-1]
				continue
			}
		}
		kept = append(kept, text[i])
	}
	return string(kept)
}

// aboutTest reports whether an argument names the program or a source of a test.
func (x cmakeContext) aboutTest(arg string, targets map[string]bool) bool {
	arg = strings.Trim(arg, `"`)
	if strings.HasPrefix(arg, "$<TARGET_") {
		_, name, _ := strings.Cut(strings.TrimRight(arg, ">"), ":")
		arg = name
	}
	return targets[arg] || x.testFile(arg)
}

// optimises reports whether a command chooses a kind of build that leaves asserts out, as all do but Debug.
func (c *cmakeCommand) optimises() bool {
	for i, arg := range c.args {
		arg = strings.Trim(arg, `"`)
		if i > 0 && slices.Contains(optimised, strings.ToLower(arg)) && !slices.Contains(c.args, "STRINGS") { // the first is a name
			return true
		}
		if i == 0 && arg == "CMAKE_BUILD_TYPE" && c.name != "unset" && (len(c.args) < 2 || strings.Trim(c.args[1], `"`) != "Debug") {
			return true
		}
	}
	return false
}

// inParts reports whether a flag, or the name of a definition, is put together.
func inParts(arg string) bool {
	arg, _, _ = strings.Cut(strings.Trim(arg, `"`), "=")
	if strings.HasPrefix(arg, "-I") || strings.HasPrefix(arg, "-L") || strings.HasPrefix(arg, "-l") {
		return false
	}
	return besideName().MatchString(arg)
}
