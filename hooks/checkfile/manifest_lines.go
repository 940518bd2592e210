package checkfile

// Manifests of lines: go.mod, requirements.txt, setup.cfg.

import "strings"

var goModMeaning = map[string]int{
	"replace": decides, "exclude": decides, "ignore": decides, "godebug": decides,
	"require": dependency, "go": dependency, "toolchain": dependency, "tool": dependency,
}

// splitGoMod splits go.mod. The format: https://go.dev/ref/mod#go-mod-file-grammar
func splitGoMod(src string) ([]piece, bool) {
	var list []piece
	block, line := "", 0
	for text := range strings.Lines(src) {
		line++
		said, comment, _ := strings.Cut(text, "//")
		said = strings.Join(strings.Fields(said), " ")
		p := piece{section: block, text: text, line: line}
		switch {
		case said == "":
		case said == ")":
			block = ""
		case block == "" && strings.HasSuffix(said, "("):
			block = strings.TrimSpace(strings.TrimSuffix(said, "("))
		default:
			directive, rest := block, said
			if block == "" {
				directive, rest, _ = strings.Cut(said, " ")
			}
			what, _, _ := strings.Cut(rest, "=>")
			if directive == "require" || directive == "replace" {
				what, _, _ = strings.Cut(rest, " ") // the module, whichever version
			}
			p.name = directive
			if directive != "go" && directive != "toolchain" && directive != "module" {
				p.name += " " + strings.TrimSpace(what)
			}
			p.is = goModMeaning[directive]
			p.value = rest
			if p.is == decides {
				p.section, p.alone = "", directive+" "+rest+"\n"
			} else if strings.TrimSpace(comment) == "indirect" {
				p.value += " // indirect"
			}
		}
		list = append(list, p)
	}
	return list, block == ""
}

// splitRequirements splits a requirements file: options decide where packages come from.
func splitRequirements(src string) ([]piece, bool) {
	var list []piece
	line := 0
	for text := range strings.Lines(src) {
		line++
		said, _, _ := strings.Cut(strings.TrimSpace(text), " #")
		said = strings.TrimSpace(said)
		p := piece{text: text, line: line, value: said}
		switch {
		case said == "" || said[0] == '#':
		case said[0] == '-' || said[0] == '.' || said[0] == '/' || strings.HasSuffix(said, `\`):
			p.name, _, _ = strings.Cut(said, "=")
			p.is = decides
		default:
			end := strings.IndexAny(said, " <>=!~;[@")
			if end < 0 {
				end = len(said)
			}
			p.name, p.is = strings.ToLower(said[:end]), dependency
		}
		list = append(list, p)
	}
	return list, true
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
	case "tool", "pytest", "aliases", "coverage", "flake8", "mypy", "pylint", "isort", "pycodestyle", "pydocstyle",
		"pep8", "tox", "testenv", "nosetests", "test", "pyflakes", "yapf", "autopep8", "bandit", "green", "behave",
		"codespell",
		"doc8", "importlinter", "pylama", "darglint", "nitpick", "mutmut", "unittest", "zest.releaser", "check",
		"interrogate", "pyright":
		return decides
	case "options":
		if option == "install_requires" || option == "setup_requires" || option == "tests_require" ||
			option == "python_requires" {
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
