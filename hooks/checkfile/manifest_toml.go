package checkfile

// TOML and INI manifests: pyproject.toml, Cargo.toml, Pipfile, setup.cfg.

import (
	"fmt"
	"strings"
)

// A meaning says what the entry of a name means. heading: it is a table, and only its own entries count where it is not
// all the check's.
type meaning func(name string, heading bool) int

func pyprojectMeaning(name string, heading bool) int {
	switch {
	case under(name, heading, []string{
		"tool.pytest", "tool.tox", "tool.coverage", "tool.mypy", "tool.ruff", "tool.pylint", "tool.flake8", "tool.black", "tool.isort", "tool.pyright", "tool.basedpyright", "tool.bandit", "tool.nox", "tool.hatch.envs",
		"tool.poe", "tool.taskipy", "tool.pdm.scripts", "tool.pdm.resolution", "tool.pdm.source", "tool.uv.sources", "tool.uv.override-dependencies", "tool.uv.constraint-dependencies", "tool.uv.index", "tool.poetry.source",
		"tool.poetry.plugins", "tool.poetry.group.test.scripts", "tool.pydocstyle", "tool.pycodestyle", "tool.vulture", "tool.codespell", "tool.ty", "tool.pyrefly", "tool.interrogate", "tool.docformatter", "tool.deptry",
		"tool.importlinter", "tool.semgrep", "tool.pixi.tasks", "tool.mutmut", "tool.hypothesis", "tool.pytest-watcher", "tool.rye.scripts", "tool.just", "tool.nitpick", "tool.doit", "tool.cibuildwheel.test-command",
		"project.entry-points.pytest11",
	}):
		return decides
	case under(name, true, []string{
		"project.dependencies", "project.optional-dependencies", "project.requires-python", "dependency-groups", "build-system.requires", "tool.poetry.dependencies", "tool.poetry.dev-dependencies", "tool.poetry.group",
		"tool.pdm.dev-dependencies", "tool.uv.dev-dependencies", "tool.pixi.dependencies",
	}):
		return dependency
	}
	return plain
}

func cargoMeaning(name string, heading bool) int {
	first, rest, _ := strings.Cut(name, ".")
	table, _, _ := strings.Cut(first, "[")
	switch {
	case under(name, heading, []string{
		"patch", "replace", "profile.test", "profile.dev", "profile.bench", "lints", "workspace.lints", "package.autotests", "package.autobenches", "package.autoexamples", "lib.test", "lib.doctest", "lib.harness",
		"workspace.exclude",
	}), table == "test", table == "bench":
		return decides
	case table == "bin" && (rest == "test" || rest == "harness" || rest == "doctest"):
		return decides
	case under(name, true, []string{"dependencies", "dev-dependencies", "build-dependencies", "workspace.dependencies", "package.rust-version", "package.edition"}):
		return dependency
	case first == "target" && strings.Contains(name, "dependencies"):
		return dependency
	}
	return plain
}

func pipfileMeaning(name string, heading bool) int {
	switch table, _, _ := strings.Cut(name, "."); {
	case table == "scripts" || strings.HasPrefix(table, "source"):
		return decides
	case !heading:
		return dependency
	}
	return plain
}

// splitTOML splits a TOML text at its entries.
func splitTOML(src string, means meaning) ([]piece, bool) {
	var (
		list    []piece
		section string
		arrays  = map[string]int{}
		line    = 1
	)
	for src != "" {
		end := strings.IndexByte(src, '\n') + 1
		if end == 0 {
			end = len(src)
		}
		text := strings.TrimSpace(src[:end])
		p := piece{section: section, line: line}
		switch {
		case text == "" || text[0] == '#':
		case text[0] == '[':
			name := strings.TrimLeft(text, "[")
			closing := keyEnd(name, ']')
			if closing < 0 {
				return nil, false
			}
			section = key(name[:closing])
			if strings.HasPrefix(text, "[[") {
				arrays[section]++
				section = fmt.Sprintf("%s[%d]", section, arrays[section])
			}
			p.section = section
			if is := means(section, true); is == decides {
				p.name, p.is, p.value = section, is, "[]"
			}
		default:
			equals := keyEnd(text, '=')
			if equals < 0 {
				return nil, false
			}
			from := strings.IndexByte(src, text[0]) + equals + 1
			if end = valueEnd(src, from); end < 0 {
				return nil, false
			}
			p.name = key(text[:equals])
			if section != "" {
				p.name = section + "." + p.name
			}
			p.is, p.value = means(p.name, false), strings.TrimSpace(src[from:end])
		}
		p.text = src[:end]
		line += strings.Count(p.text, "\n")
		src = src[end:]
		list = append(list, p)
	}
	return list, true
}

// key is a dotted key without quotes and blanks.
func key(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		switch c := s[0]; c {
		case ' ', '\t':
			s = s[1:]
		case '"', '\'':
			end := strings.IndexByte(s[1:], c)
			if end < 0 {
				return b.String() + s
			}
			b.WriteString(s[1 : 1+end])
			s = s[end+2:]
		default:
			b.WriteByte(c)
			s = s[1:]
		}
	}
	return b.String()
}

// keyEnd is where the key that s begins with meets stop, or -1.
func keyEnd(s string, stop byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case stop:
			return i
		case '"', '\'':
			end := strings.IndexByte(s[i+1:], s[i])
			if end < 0 || strings.Contains(s[i:i+1+end], `\`) {
				return -1
			}
			i += end + 1
		case '\n', '#':
			return -1
		}
	}
	return -1
}

// valueEnd is where the line ends on which the value at src[i] ends, or -1.
func valueEnd(src string, i int) int {
	depth := 0
	for i < len(src) {
		switch c := src[i]; c {
		case '\n':
			if depth <= 0 {
				return i + 1
			}
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '#':
			if n := strings.IndexByte(src[i:], '\n'); n >= 0 {
				i += n
				continue
			}
			i = len(src)
			continue
		case '"', '\'':
			n := stringEnd(src[i:])
			if n < 0 {
				return -1
			}
			i += n
			continue
		}
		i++
	}
	if depth > 0 {
		return -1
	}
	return len(src)
}

// stringEnd is the length of the TOML string that s begins with, or -1.
func stringEnd(s string) int {
	quote, long := s[:1], strings.HasPrefix(s, strings.Repeat(s[:1], 3))
	if long {
		quote = s[:3]
	}
	for i := len(quote); i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote[0] == '"':
			i++
		case s[i] == '\n' && !long:
			return -1
		case strings.HasPrefix(s[i:], quote):
			i += len(quote)
			for more := 0; long && more < 2 && i < len(s) && s[i] == quote[0]; more++ {
				i++ // up to two more belong to the text
			}
			return i
		}
	}
	return -1
}

// splitINI splits setup.cfg.
func splitINI(src string) ([]piece, bool) {
	var list []piece
	section, line := "", 0
	entry := -1 // that indented lines go on with
	for text := range strings.Lines(src) {
		line++
		p := piece{section: section, text: text, line: line}
		switch trimmed := strings.TrimSpace(text); {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case trimmed[0] == '[' && strings.HasSuffix(trimmed, "]"):
			section, entry = strings.ToLower(strings.TrimSpace(trimmed[1:len(trimmed)-1])), -1
			p.section = section
			if iniMeaning(section, "") == decides {
				p.name, p.is, p.value = section, decides, "[]"
			}
		case text[0] == ' ' || text[0] == '\t':
			if entry >= 0 {
				p.name, p.is, p.value = list[entry].name, list[entry].is, trimmed
			}
		default:
			at := strings.IndexAny(trimmed, "=:")
			if at < 0 {
				return nil, false
			}
			entry = len(list)
			option := strings.ToLower(strings.TrimSpace(trimmed[:at]))
			p.name, p.is, p.value = section+"."+option, iniMeaning(section, option), strings.TrimSpace(trimmed[at+1:])
		}
		list = append(list, p)
	}
	return list, true
}

func iniMeaning(section, option string) int {
	tool, _, _ := strings.Cut(section, ":") // coverage:run, mypy-shop.*
	switch tool, _, _ = strings.Cut(tool, "-"); tool {
	case "tool", "pytest", "aliases", "coverage", "flake8", "mypy", "pylint", "isort", "pycodestyle", "pydocstyle", "pep8", "tox", "testenv", "nosetests", "test", "pyflakes", "yapf", "autopep8", "bandit", "green", "behave", "codespell",
		"doc8", "importlinter", "pylama", "darglint", "nitpick", "mutmut", "unittest", "zest.releaser", "check", "interrogate", "pyright":
		return decides
	case "options":
		if option == "install_requires" || option == "setup_requires" || option == "tests_require" || option == "python_requires" {
			return dependency
		}
		if option == "test_suite" || option == "test_loader" {
			return decides
		}
	case "options.extras_require":
		if option != "" {
			return dependency
		}
	case "options.entry_points":
		if option == "pytest11" {
			return decides
		}
	}
	return plain
}
