package checkfile

// Manifests whose entries are whole lines: go.mod, requirements.txt, setup.cfg, TOML, pnpm-workspace.yaml.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
	"go.yaml.in/yaml/v4"
)

var goModMeaning = map[string]int{
	"replace": decides, "exclude": decides, "ignore": decides, "godebug": decides,
	"require": dependency, "go": dependency, "toolchain": dependency, "tool": dependency,
}

// splitGoMod splits go.mod. The format: https://go.dev/ref/mod#go-mod-file-grammar
func splitGoMod(src string) ([]piece, bool) {
	var list []piece
	block, names := "", 0
	for text := range strings.Lines(src) {
		said, comment, _ := strings.Cut(text, "//")
		said = strings.Join(strings.Fields(said), " ")
		p := piece{section: block, text: text}
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
		if names += len(p.name); names > maxPieceText {
			return nil, false
		}
		list = append(list, p)
	}
	return list, block == ""
}

// splitRequirements splits a requirements file: options decide where packages come from.
func splitRequirements(src string) ([]piece, bool) {
	var list []piece
	for text := range strings.Lines(src) {
		said, _, _ := strings.Cut(strings.TrimSpace(text), " #")
		said = strings.TrimSpace(said)
		p := piece{text: text, value: said}
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
	section, entry := "", -1 // the entry is the one that indented lines continue
	names := 0
	for text := range strings.Lines(src) {
		p := piece{section: section, text: text}
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
			if names += len(p.name); names > maxPieceText {
				return nil, false
			}
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

var pyprojectMeaning = meaningOf(`
	tool.pytest tool.tox tool.coverage tool.mypy tool.ruff tool.pylint tool.flake8 tool.black tool.isort
	tool.pyright tool.basedpyright tool.bandit tool.nox tool.hatch.envs tool.poe tool.taskipy
	tool.pdm.scripts tool.pdm.resolution tool.pdm.source tool.uv.sources tool.uv.override-dependencies
	tool.uv.constraint-dependencies tool.uv.index tool.poetry.source tool.poetry.plugins
	tool.poetry.group.test.scripts tool.pydocstyle tool.pycodestyle tool.vulture tool.codespell tool.ty
	tool.pyrefly tool.interrogate tool.docformatter tool.deptry tool.importlinter tool.semgrep
	tool.pixi.tasks tool.mutmut tool.hypothesis tool.pytest-watcher tool.rye.scripts tool.just tool.nitpick
	tool.doit tool.cibuildwheel.test-command project.entry-points.pytest11`, `
	project.dependencies project.optional-dependencies project.requires-python dependency-groups
	build-system.requires tool.poetry.dependencies tool.poetry.dev-dependencies tool.poetry.group
	tool.pdm.dev-dependencies tool.uv.dev-dependencies tool.pixi.dependencies`)

var cargoLists = meaningOf(`
	patch replace profile.test profile.dev profile.bench lints workspace.lints package.autotests
	package.autobenches package.autoexamples lib.name lib.test lib.doctest lib.harness workspace.exclude`, `
	dependencies dev-dependencies build-dependencies workspace.dependencies`)

func cargoMeaning(name string, heading bool) int {
	first, rest, _ := strings.Cut(name, ".")
	table, _, _ := strings.Cut(first, "[")
	switch is := cargoLists(name, heading); {
	case is != plain:
		return is
	case table == "test", table == "bench",
		table == "bin" && (rest == "test" || rest == "harness" || rest == "doctest"):
		return decides
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

// tomlKind returns the kind of manifests in TOML.
func tomlKind(means meaning) *manifestKind {
	return lineKind(func(src string) ([]piece, bool) { return splitTOML(src, means) })
}

// splitTOML splits a TOML text at its entries.
func splitTOML(src string, means meaning) ([]piece, bool) {
	var (
		list    []piece
		section string
		heading []string // its keys
		arrays  = map[string]int{}
		at      = 0 // where the text begins that is in no piece yet
		names   int // bytes of them
		parser  unstable.Parser
	)
	add := func(p piece, end int) {
		p.section, p.text = section, src[at:end]
		at = end
		list = append(list, p)
	}
	between := func(end int) { // comments and blank lines
		for text := range strings.Lines(src[at:end]) {
			add(piece{}, at+len(text))
		}
	}
	parser.Reset([]byte(src))
	for parser.NextExpression() {
		e := parser.Expression()
		var keys []string
		from, to := len(src), 0
		for key := e.Key(); key.Next(); {
			raw := key.Node().Raw
			keys = append(keys, string(key.Node().Data))
			from, to = min(from, int(raw.Offset)), int(raw.Offset+raw.Length)
		}
		between(strings.LastIndexByte(src[:from], '\n') + 1)
		name, end := strings.Join(keys, "."), to
		if e.Kind == unstable.KeyValue {
			end = int(e.Raw.Offset + e.Raw.Length)
		}
		if n := strings.IndexByte(src[end:], '\n'); n >= 0 {
			end += n + 1
		} else {
			end = len(src)
		}
		switch e.Kind {
		case unstable.KeyValue:
			if section != "" {
				name = section + "." + name
			}
			if names += len(name); names > maxPieceText {
				return nil, false
			}
			p := piece{name: name, is: means(name, false), value: strings.Trim(src[to:end], "= \t\r\n")}
			if last := len(keys) - 1; p.is == dependency && !listsDependencies(slices.Concat(heading, keys[:last])) {
				p.value = keys[last] + " = " + p.value // path = "stub" is another place: see origins
			}
			add(p, end)
			continue
		case unstable.ArrayTable:
			arrays[name]++
			name = fmt.Sprintf("%s[%d]", name, arrays[name])
		}
		section, heading = name, keys
		if is := means(name, true); is == decides {
			add(piece{name: name, is: is, value: "[]"}, end)
		} else {
			add(piece{}, end)
		}
	}
	between(len(src))
	return list, parser.Error() == nil
}

// listsDependencies reports whether the keys in a table of TOML are names of dependencies. In the table of one dependency
// they are not, whatever it is called.
func listsDependencies(table []string) bool {
	last := len(table) - 1
	return last >= 0 && (strings.HasSuffix(table[last], "dependencies") || strings.HasSuffix(table[last], "packages")) &&
		!listsDependencies(table[:last])
}

// splitWorkspace splits pnpm-workspace.yaml at its top keys: all but the list of packages and the catalogs are
// settings. It splits no file of several documents, with a key twice, in the form of JSON, or with an alias: a part
// of that may mean another one.
func splitWorkspace(src string) ([]piece, bool) {
	var file yaml.Node
	if err := yaml.Unmarshal([]byte(src), &file); err != nil || strings.HasPrefix(src, "%") ||
		strings.Contains("\n"+src, "\n---") || strings.Contains("\n"+src, "\n...") {
		return nil, false
	}
	lines := slices.Collect(strings.Lines(src))
	begins := map[int]string{} // the key that begins in a line
	if len(file.Content) > 0 {
		top := file.Content[0]
		if top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 || hasAlias(top) {
			return nil, false
		}
		for i := 0; i < len(top.Content); i += 2 {
			begins[top.Content[i].Line] = top.Content[i].Value
		}
		if len(begins)*2 != len(top.Content) {
			return nil, false
		}
	}
	var list []piece
	for i, text := range lines {
		if name, ok := begins[i+1]; ok || len(list) == 0 {
			list = append(list, piece{name: name, is: workspaceMeaning(name)})
		}
		last := &list[len(list)-1]
		last.text += text
		last.value = strings.TrimSpace(last.text)
	}
	names := map[string]bool{}
	for _, name := range begins {
		names[name] = true
	}
	return list, len(names) == len(begins)
}

func workspaceMeaning(name string) int {
	switch name {
	case "", "packages":
		return plain
	case "catalog", "catalogs":
		return dependency
	}
	return decides
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}
