package checkfile

// TOML manifests: pyproject.toml, Cargo.toml, Pipfile.

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// A meaning returns what an entry means by its name: plain, decides or dependency. heading: it is a table, which
// counts only where all of it is part of the check.
type meaning func(name string, heading bool) int

func pyprojectMeaning(name string, heading bool) int {
	switch {
	case under(name, heading, []string{
		"tool.pytest", "tool.tox", "tool.coverage", "tool.mypy", "tool.ruff", "tool.pylint", "tool.flake8",
		"tool.black", "tool.isort", "tool.pyright", "tool.basedpyright", "tool.bandit", "tool.nox", "tool.hatch.envs",
		"tool.poe", "tool.taskipy", "tool.pdm.scripts", "tool.pdm.resolution", "tool.pdm.source", "tool.uv.sources",
		"tool.uv.override-dependencies", "tool.uv.constraint-dependencies", "tool.uv.index", "tool.poetry.source",
		"tool.poetry.plugins", "tool.poetry.group.test.scripts", "tool.pydocstyle", "tool.pycodestyle",
		"tool.vulture", "tool.codespell", "tool.ty", "tool.pyrefly", "tool.interrogate", "tool.docformatter",
		"tool.deptry",
		"tool.importlinter", "tool.semgrep", "tool.pixi.tasks", "tool.mutmut", "tool.hypothesis",
		"tool.pytest-watcher", "tool.rye.scripts", "tool.just", "tool.nitpick", "tool.doit",
		"tool.cibuildwheel.test-command",
		"project.entry-points.pytest11",
	}):
		return decides
	case under(name, true, []string{
		"project.dependencies", "project.optional-dependencies", "project.requires-python", "dependency-groups",
		"build-system.requires", "tool.poetry.dependencies", "tool.poetry.dev-dependencies", "tool.poetry.group",
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
		"patch", "replace", "profile.test", "profile.dev", "profile.bench", "lints", "workspace.lints",
		"package.autotests", "package.autobenches", "package.autoexamples", "lib.test", "lib.doctest", "lib.harness",
		"workspace.exclude",
	}), table == "test", table == "bench":
		return decides
	case table == "bin" && (rest == "test" || rest == "harness" || rest == "doctest"):
		return decides
	case under(name, true, []string{
		"dependencies", "dev-dependencies", "build-dependencies", "workspace.dependencies", "package.rust-version",
		"package.edition",
	}):
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
		at      = 0 // where the text begins that is in no piece yet
		line    = 1
		parser  unstable.Parser
	)
	add := func(p piece, end int) {
		p.section, p.line, p.text = section, line, src[at:end]
		line += strings.Count(p.text, "\n")
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
			add(piece{name: name, is: means(name, false), value: strings.Trim(src[to:end], "= \t\r\n")}, end)
			continue
		case unstable.ArrayTable:
			arrays[name]++
			name = fmt.Sprintf("%s[%d]", name, arrays[name])
		}
		section = name
		if is := means(name, true); is == decides {
			add(piece{name: name, is: is, value: "[]"}, end)
		} else {
			add(piece{}, end)
		}
	}
	between(len(src))
	return list, parser.Error() == nil
}
