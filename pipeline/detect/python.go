// Python projects: pytest or unittest, ruff, mypy; by uv, poetry, hatch, a .venv, or the python3 in PATH.
package detect

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var pythonEnv = []string{"VIRTUAL_ENV", "PYTHONPATH", "PIP_INDEX_URL", "UV_CACHE_DIR", "UV_INDEX_URL", "UV_PYTHON", "POETRY_CACHE_DIR", "XDG_CACHE_HOME"}

// A pythonic is how a project runs its tools.
type pythonic struct {
	how     string // uv | poetry | hatch | venv | ""
	install *task
	venv    string // .venv or venv
}

var testFile = lazily.Regexp(`^(test_.*|.*_test)\.py$`)

func (d *detector) python(f *folder) *project {
	in, _ := d.testsOf(f)
	file := f.has("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini", "requirements.txt",
		"requirements-dev.txt")
	own := false // tests in the folder itself
	for _, n := range sorted(f.files) {
		own = own || testFile().MatchString(n)
		// Without settings it is tests that make a project, in the folder of what they test or one below.
		if file == "" && (testFile().MatchString(n) && !d.below("python", f.path) ||
			in != "" && strings.HasSuffix(n, ".py")) {
			file = n
		}
	}
	if file == "" {
		return nil
	}
	d.belongs("python", f.path)
	t := d.readTOML(f, "pyproject.toml")
	if file == "pyproject.toml" && !t.has("project") && !t.has("tool") && !t.has("build-system") {
		d.note("%s: left out, because no table of a Python project is in it", at(f.path, file))
		return nil
	}
	ini := d.read(f, "setup.cfg") + "\n" + d.read(f, "tox.ini")
	name := cmp.Or(t.text("project.name"), t.text("tool.poetry.name"))
	p := &project{
		dir: f.path, kind: "python", env: pythonEnv,
		sources: []string{"**", "!**/__pycache__/**", "!**/.venv/**", "!**/venv/**"},
		found:   strings.TrimRight(at(f.path, file)+": Python project "+line(name, 100), " "),
	}
	wanted := strings.Join(slices.Concat(
		t.texts("project.dependencies"), t.texts("dependency-groups.dev"), t.texts("dependency-groups.test"),
		[]string{d.read(f, "requirements.txt"), d.read(f, "requirements-dev.txt")},
	), "\n")
	pytest := f.has("pytest.ini", "conftest.py") != "" || t.has("tool.pytest") || namesPytest().MatchString(wanted) ||
		strings.Contains(ini, "[tool:pytest]") || strings.Contains(ini, "[pytest]") ||
		t.has("tool.poetry.group.dev.dependencies.pytest") || t.has("tool.poetry.dev-dependencies.pytest") ||
		t.has("tool.poetry.group.test.dependencies.pytest")
	tox := !pytest && f.files["tox.ini"] && strings.Contains(ini, "[testenv")
	if tox && !d.has("tox") { // what tox would run
		pytest = namesPytest().MatchString(ini)
		tox = pytest && !d.has("pytest") || !pytest && in == "" && !own
	}
	py := d.pythonic(f, t, pytest)
	if py.how != "" {
		p.found += ", " + py.how
	}
	if f.has("ruff.toml", ".ruff.toml") != "" || t.has("tool.ruff") {
		d.tool(p, py, &task{name: "lint", about: "ruff: find mistakes", timeout: "5m"}, "ruff", "check", ".")
	}
	if f.has("mypy.ini", ".mypy.ini") != "" || t.has("tool.mypy") || strings.Contains(ini, "[mypy]") {
		args := []string{"."}
		if t.has("tool.mypy.files") || t.has("tool.mypy.packages") || strings.Contains(ini, "[mypy]") {
			args = nil // its settings say what to look at
		}
		d.tool(p, py, &task{name: "typecheck", about: "mypy: check the types", timeout: "10m"}, "mypy", args...)
	}
	test := &task{name: "test", about: "Run the tests with pytest", timeout: "15m", checks: true}
	switch {
	case tox:
		d.add(p, &task{name: "test", about: "Run the tests with tox", argv: []string{"tox"}, sources: true, timeout: "20m", checks: true})
	case pytest && py.how == "hatch":
		test.argv, test.sources = []string{"hatch", "test"}, true
		d.add(p, test)
	case pytest:
		d.tool(p, py, test, "pytest")
	default:
		d.unittest(p, py, f, own)
	}
	if len(p.tasks) == 0 {
		d.aside(f, "%s: left out, because neither tests nor settings of pytest, ruff or mypy were found",
			at(f.path, file))
		return nil
	}
	if py.install != nil {
		for _, t := range p.tasks {
			t.after = append(t.after, py.install)
		}
		p.tasks = append([]*task{py.install}, p.tasks...)
	}
	if py.how == "" && f.has("requirements.txt", "requirements-dev.txt") != "" {
		d.note("%s: nothing installs it; make a .venv with it (python3 -m venv .venv), and another init uses that",
			at(f.path, f.has("requirements.txt", "requirements-dev.txt")))
	}
	return p
}

var namesPytest = lazily.Regexp(`(?m)^\s*(commands\s*=\s*)?(python3?\s+-m\s+)?pytest\b`)

// pythonic finds out how tools are run: as the project says, or where that program is not in PATH, by an
// environment that is there, or by the python3 in PATH where it can run the tests.
func (d *detector) pythonic(f *folder, t toml, pytest bool) pythonic {
	var other pythonic // without the project's own way
	usable := d.has("python3") && (d.has("pytest") || !pytest)
	for _, venv := range []string{".venv", "venv"} {
		if other.how == "" && d.there(path.Join(f.path, venv, "bin", "python")) {
			other, usable = pythonic{how: "venv", venv: venv}, true
		}
	}
	var how string
	var install []string
	switch {
	case f.files["uv.lock"]:
		how, install = "uv", []string{"uv", "sync", "--locked"}
	case t.has("tool.uv"):
		how, install = "uv", []string{"uv", "sync"}
	case f.files["poetry.lock"] || t.has("tool.poetry") ||
		strings.HasPrefix(t.text("build-system.build-backend"), "poetry."):
		how, install = "poetry", []string{"poetry", "install", "--no-interaction"}
	case t.has("tool.hatch.envs"):
		how = "hatch"
	default:
		return other
	}
	if usable && !d.has(how) {
		instead := cmp.Or(other.venv, "python3")
		d.note("%s/: %s is not in PATH here, so %s runs the tasks of this project", f.path, how, instead)
		return other
	}
	py := pythonic{how: how}
	if install != nil {
		py.install = d.add(&project{}, &task{name: "install", about: "Install the dependencies with " + how, argv: install, timeout: "15m"})
	}
	return py
}

// run returns the words in front of a program that the project's own tool runs; none where the project has no such
// tool.
func (py pythonic) run() []string {
	switch py.how {
	case "uv":
		return []string{"uv", "run", "--no-sync"}
	case "poetry", "hatch":
		return []string{py.how, "run"}
	}
	return nil
}

// tool adds a task that runs a Python program.
func (d *detector) tool(p *project, py pythonic, t *task, program string, args ...string) {
	t.sources = true
	switch run := py.run(); {
	case run != nil:
		t.argv = slices.Concat(run, []string{program}, args)
	case py.how == "venv" && d.there(path.Join(p.dir, py.venv, "bin", program)):
		t.argv = append([]string{py.venv + "/bin/python", "-m", program}, args...)
	case program == "ruff":
		t.argv = append([]string{"ruff"}, args...)
	default:
		// -m puts the project's own folder where Python looks for modules; the program in PATH shows that there is
		// one.
		t.argv = append([]string{"python3", "-m", program}, args...)
		t.needs = []string{"python3", program}
	}
	d.add(p, t)
}

// unittest adds the tests that need nothing but Python, where there are any.
func (d *detector) unittest(p *project, py pythonic, f *folder, own bool) {
	args := []string{"-m", "unittest", "discover"}
	in, packaged := d.testsOf(f)
	switch {
	case own && !hasTests(f.files):
		args = append(args, "-p", "*_test.py")
	case own:
	case in == "":
		return
	case packaged:
		args = append(args, "-s", in, "-t", ".")
	default:
		args = append(args, "-s", in)
	}
	t := &task{name: "test", about: "Run the tests with unittest", sources: true, timeout: "15m", checks: true}
	if sub, err := d.tree.folder(path.Join(f.path, "src")); err == nil && len(sub.dirs)+len(sub.files) > 0 {
		t.env = append(t.env, [2]string{"PYTHONPATH", "src"})
	}
	python := []string{"python3"}
	if run := py.run(); run != nil {
		python = append(run, "python")
	} else if py.how == "venv" {
		python = []string{py.venv + "/bin/python"}
	}
	t.argv = append(python, args...)
	d.add(p, t)
}

// testsOf returns the folder below that contains the tests, or "", and whether it is a package.
func (d *detector) testsOf(f *folder) (name string, packaged bool) {
	for _, name := range []string{"tests", "test"} {
		if sub, err := d.tree.folder(path.Join(f.path, name)); err == nil && hasTests(sub.files) {
			return name, sub.files["__init__.py"]
		}
	}
	return "", false
}

// hasTests reports whether there is a Python file whose name begins with test.
func hasTests(names map[string]bool) bool {
	for n := range names {
		if strings.HasPrefix(n, "test") && strings.HasSuffix(n, ".py") {
			return true
		}
	}
	return false
}
