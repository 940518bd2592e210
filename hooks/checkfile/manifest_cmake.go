package checkfile

// CMakeLists.txt: which of its commands make the tests.

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	cmakeDecides = lazily.Words(`
		add_test enable_testing set_tests_properties gtest_discover_tests gtest_add_tests catch_discover_tests
		doctest_discover_tests cmake_language return macro function ctest_test create_test_sourcelist
		catch_add_tests unity_add_test cmocka_add_test`)
	cmakeArguments = []string{
		"include", "set", "option", "set_property", "add_subdirectory", "unset", "cmake_dependent_option",
		"add_compile_definitions", "set_target_properties", "add_custom_target", "add_definitions", "add_compile_options",
		"target_compile_definitions", "target_compile_options",
	}
)

// cmakeTests are words in the arguments of a command that is about tests.
var cmakeTests = lazily.Words("test tests testing ctest gtest googletest catch catch2 emulator check")

const maxConditions = 16 // of one command, and loops

// cmakeName is the name of a command, up to its bracket.
var cmakeName = lazily.Regexp(`^([A-Za-z_]\w*)[ \t]*`)

// A cmakeCommand is one of a CMakeLists.txt.
type cmakeCommand struct {
	name string // in lower case
	args []string
	line int
}

// cmakeCommands returns the commands of a CMakeLists.txt in their order. ok is false where brackets do not fit.
func cmakeCommands(src string) (list []cmakeCommand, ok bool) {
	line := 1
	for i := 0; i < len(src); {
		switch src[i] {
		case '\n':
			line++
			i++
		case '#':
			n := cmakeComment(src[i:])
			line += strings.Count(src[i:i+n], "\n")
			i += n
		default:
			m := cmakeName().FindStringSubmatch(src[i:])
			if m == nil {
				i++
				continue
			}
			i += len(m[0])
			args, n := cmakeArgs(src[i:])
			if n < 0 {
				return nil, false
			}
			list = append(list, cmakeCommand{strings.ToLower(m[1]), args, line})
			line += strings.Count(src[i:i+n], "\n")
			i += n
		}
	}
	return list, true
}

// splitCMake returns the commands of a CMakeLists.txt. The conditions around a command that makes tests are part of
// its value: to put if(OFF) around it is to change it.
func splitCMake(src string) ([]piece, bool) { return cmakeContext{}.split(src) }

func (x cmakeContext) split(src string) ([]piece, bool) {
	commands, ok := cmakeCommands(src)
	if !ok {
		return nil, false
	}
	targets := x.testTargets(commands)
	var (
		list       []piece
		conditions []string
		text       int // bytes of values and conditions
	)
	add := func(p piece) {
		list = append(list, p)
		text += len(p.value)
	}
	for _, c := range commands {
		said := c.name + "(" + strings.Join(c.args, " ") + ")"
		p := piece{line: c.line, value: said}
		switch c.name {
		case "if", "foreach", "while", "macro", "function":
			if c.name != "if" {
				add(cmakePiece(p, c.name, c.args, conditions))
			}
			if conditions = append(conditions, said); len(conditions) > maxConditions {
				return nil, false
			}
		case "elseif", "else":
			if len(conditions) > 0 {
				conditions[len(conditions)-1] += " " + said
				text += len(conditions[len(conditions)-1])
			}
		case "endif", "endforeach", "endwhile", "endmacro", "endfunction":
			if len(conditions) > 0 {
				conditions = conditions[:len(conditions)-1]
			}
		default:
			if x.weakens(c, targets) {
				p.is = decides
			}
			add(cmakePiece(p, c.name, c.args, conditions))
		}
		if text > maxPieceText {
			return nil, false
		}
	}
	return list, true
}

// cmakePiece returns p with the name, value and meaning of a command. It decides where p already does.
func cmakePiece(p piece, name string, args, conditions []string) piece {
	tests := func(arg string) bool { return lang.HasWord(arg, cmakeTests()) }
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case p.is == decides:
	case name == "macro" || name == "function":
		if !slices.Contains(cmakeDecides(), strings.ToLower(first)) {
			p.name = ""
			return p
		}
		p.is = decides
	case name == "return" && len(conditions) > 0 && strings.HasPrefix(conditions[0], "function("):
	case slices.Contains(cmakeDecides(), name), slices.Contains(cmakeArguments, name) &&
		slices.ContainsFunc(args, tests):
		p.is = decides
	case (name == "add_executable" || name == "add_library" || name == "target_sources") &&
		slices.ContainsFunc(args, conventional):
		p.is = decides
	}
	if p.is == decides {
		p.name = strings.TrimSpace(name + " " + first)
		p.value = strings.Join(conditions, " ") + " " + p.value
	}
	return p
}

// cmakeComment returns the length of the comment that s begins with.
func cmakeComment(s string) int {
	if n := bracketed(s[1:]); n > 0 {
		return n + 1
	}
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

// bracketed returns the length of the bracket argument [=[ … ]=] that s begins with, 0 for none.
func bracketed(s string) int {
	if s == "" || s[0] != '[' {
		return 0
	}
	equals := len(s[1:]) - len(strings.TrimLeft(s[1:], "="))
	if 1+equals >= len(s) || s[1+equals] != '[' {
		return 0
	}
	if n := strings.Index(s, "]"+strings.Repeat("=", equals)+"]"); n >= 0 {
		return n + equals + 2
	}
	return len(s)
}

// cmakeArgs returns the arguments between the brackets that s begins with, and the length with both brackets, -1
// without one of them.
func cmakeArgs(s string) (args []string, n int) {
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			args = append(args, b.String())
			b.Reset()
		}
	}
	if !strings.HasPrefix(s, "(") {
		return nil, -1
	}
	depth := 1
	for i := 1; i < len(s); {
		switch c := s[i]; {
		case c == '(':
			depth++
			b.WriteByte(c)
		case c == ')':
			if depth--; depth == 0 {
				flush()
				return args, i + 1
			}
			b.WriteByte(c)
		case c == '#':
			i += cmakeComment(s[i:])
			continue
		case c == '[' && bracketed(s[i:]) > 0:
			n := bracketed(s[i:])
			b.WriteString(s[i : i+n])
			i += n
			continue
		case c == '"':
			end := i + 1
			for end < len(s) && s[end] != '"' {
				if s[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(s) {
				return nil, -1
			}
			b.WriteString(s[i : end+1])
			i = end
		case strings.IndexByte(" \t\r\n;", c) >= 0:
			flush()
		default:
			b.WriteByte(c)
		}
		i++
	}
	return nil, -1
}
