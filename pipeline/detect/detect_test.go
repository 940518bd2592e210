package detect_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/detect"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

var update = flag.Bool("update", false, "write the drafts into testdata")

// What is expected stands at the end of each project's archive.
const wantDraft, wantSaid = "want/PIPELINE.hcl", "want/said"

// Every archive of testdata is a project, with the programs that are in PATH for it and the draft that is made of it.
func TestProjects(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) < 14 {
		t.Fatalf("%d projects: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			check(t, err)
			dir := t.TempDir()
			want := map[string]string{}
			project := slices.DeleteFunc(slices.Clone(a.Files), func(f txtar.File) bool {
				if f.Name == wantDraft || f.Name == wantSaid {
					want[f.Name] = string(f.Data)
					return true
				}
				return false
			})
			check(t, txtar.Write(&txtar.Archive{Files: project}, dir))
			d := propose(t, dir, header(t, string(a.Comment), "programs")...)
			said := "Tasks: " + strings.Join(d.Tasks, " ") + "\n"
			for _, f := range d.Found {
				said += "Found: " + f + "\n"
			}
			for _, n := range d.Notes {
				said += "Note:  " + n + "\n"
			}
			if *update {
				a.Files = append(project, txtar.File{Name: wantDraft, Data: d.File}, txtar.File{Name: wantSaid, Data: []byte(said)})
				check(t, os.WriteFile(file, txtar.Format(a), 0o644))
				return
			}
			if diff := cmp.Diff(want[wantDraft], string(d.File)); diff != "" {
				t.Errorf("the draft (-want +got); -update writes it\n%s", diff)
			}
			if diff := cmp.Diff(want[wantSaid], said); diff != "" {
				t.Errorf("what is said (-want +got); -update writes it\n%s", diff)
			}
		})
	}
}

func header(t *testing.T, comment, name string) []string {
	t.Helper()
	for line := range strings.Lines(comment) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Fields(value)
		}
	}
	t.Fatalf("no line %s: in the head of the archive", name)
	return nil
}

// propose drafts, and checks what every draft must have.
func propose(t *testing.T, dir string, programs ...string) detect.Draft {
	t.Helper()
	d, err := detect.Propose(dir, func(p string) bool { return slices.Contains(programs, p) }, detect.Agent{})
	check(t, err)
	c := load(t, dir, d.File)
	var names []string
	for _, task := range c.Tasks {
		names = append(names, task.Name)
		if task.Timeout == 0 || task.Description == "" {
			t.Errorf("task %s has no timeout or no description", task.Name)
		}
		if info, err := os.Stat(filepath.Join(dir, task.Dir)); err != nil || !info.IsDir() {
			t.Errorf("task %s: no folder %s", task.Name, task.Dir)
		}
	}
	if diff := cmp.Diff(names, d.Tasks); diff != "" {
		t.Errorf("Tasks (-file +said)\n%s", diff)
	}
	if got := string(hclwrite.Format(d.File)); got != string(d.File) {
		t.Errorf("the draft is not formatted (-want +got)\n%s", cmp.Diff(got, string(d.File)))
	}
	bold := load(t, dir, uncommented(d.File))
	hooks := 0
	for _, task := range bold.Tasks {
		hooks += len(task.OnFail)
	}
	if hooks > 1 || hooks != len(bold.Agents) {
		t.Errorf("%d hooks and %d agents in the comments, want one of each at most", hooks, len(bold.Agents))
	}
	for _, n := range append(d.Notes, d.Found...) {
		if strings.ContainsAny(n, "\n\r\x1b") || len(n) > 400 {
			t.Errorf("not fit to be shown: %q", n)
		}
	}
	return d
}

// load reads a draft as the program would, beside the project.
func load(t *testing.T, dir string, text []byte) *pipeline.Config {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "*.hcl")
	check(t, err)
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	c, err := hclfile.Load(f.Name(), hclfile.Options{})
	if err != nil {
		t.Fatalf("%s is refused: %v\n%s", dir, err, text)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
	return c
}

var opens = regexp.MustCompile(`^ *# (task|agent|on_fail) .*\{$`)

// uncommented takes the # away from every task, hook and agent that is a comment.
func uncommented(text []byte) []byte {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(string(text)) {
		if inside || opens.MatchString(strings.TrimSuffix(line, "\n")) {
			end := regexp.MustCompile(`^(  )?# }$`).MatchString(strings.TrimSuffix(line, "\n"))
			inside = !end
			line = strings.Replace(line, "# ", "", 1)
		}
		b.WriteString(line)
	}
	return []byte(b.String())
}

// Links are followed inside the project only, FIFOs are not waited for, and what is too long is not read.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "package.json")
	write(t, outside, `{"name": "outside", "scripts": {"test": "touch pwned"}}`)
	for _, name := range []string{"leads-out", "absolute", "circle", "nowhere", "fifo", "long", "inside", "folder"} {
		check(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	link := func(to, from string) {
		t.Helper()
		check(t, os.Symlink(to, filepath.Join(dir, from)))
	}
	up, err := filepath.Rel(filepath.Join(dir, "leads-out"), outside)
	check(t, err)
	link(up, "leads-out/package.json")
	link("/etc/passwd", "absolute/package.json")
	link("package.json", "circle/package.json")
	link("../gone", "nowhere/package.json")
	link("..", "circle/again")
	link(filepath.Dir(outside), "elsewhere") // a folder that is a link is not entered
	write(t, filepath.Join(dir, "package.real"), `{"name": "linked", "scripts": {"test": "exit 0"}}`)
	link("../package.real", "inside/package.json")
	mkfifo(t, filepath.Join(dir, "fifo", "package.json"))
	check(t, os.Mkdir(filepath.Join(dir, "folder", "package.json"), 0o755))
	write(t, filepath.Join(dir, "long", "package.json"), `{"scripts": {"test": "exit 0"}, "x": "`+strings.Repeat("x", 1<<20)+`"}`)
	d := propose(t, dir, "npm")
	if want := []string{"inside-test"}; !slices.Equal(d.Tasks, want) {
		t.Errorf("tasks %q, want %q", d.Tasks, want)
	}
	for _, want := range []string{
		"leads-out/package.json: not read: it is a link that leads out of the project or in a circle",
		"absolute/package.json: not read: it is a link that leads out of the project or in a circle",
		"circle/package.json: not read: it is a link that leads out of the project or in a circle",
		"nowhere/package.json: not read: it is a link to nothing",
		"fifo/package.json: not read: it is no regular file",
		"long/package.json: not read: it is too long",
	} {
		if !slices.Contains(d.Notes, want) {
			t.Errorf("no note %q in %q", want, d.Notes)
		}
	}
	if strings.Contains(string(d.File), "pwned") || strings.Contains(string(d.File), "outside") {
		t.Errorf("the draft has what lies outside:\n%s", d.File)
	}
}

// A project of very many parts gives a file that a person can read, and says what is left out.
func TestManyProjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 60 {
		sub := filepath.Join(dir, fmt.Sprintf("p%02d", i))
		check(t, os.Mkdir(sub, 0o755))
		write(t, filepath.Join(sub, "package.json"), `{"scripts": {"test": "exit 0"}}`)
	}
	d := propose(t, dir, "npm")
	if len(d.Tasks) != 24 || d.Tasks[23] != "p23-test" {
		t.Errorf("%d tasks: %q", len(d.Tasks), d.Tasks)
	}
	if want := "left out, because 24 projects are enough for one file: p24/, p25/, p26/, p27/, p28/, p29/, p30/, p31/ and 28 more"; !slices.Equal(d.Notes, []string{want}) {
		t.Errorf("notes %q", d.Notes)
	}
}

// A lockfile of the wrong manager does not count against packageManager, and without either it is npm.
func TestManagers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		said  string
		files []string
		run   string
	}{
		{"", nil, "[ node_modules/.package-lock.json -nt package.json ] || npm install --no-audit --no-fund"},
		{"", []string{"npm-shrinkwrap.json"}, "[ node_modules/.package-lock.json -nt npm-shrinkwrap.json ] || npm ci"},
		{"", []string{"package-lock.json"}, "[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci"},
		{"", []string{"pnpm-lock.yaml", "package-lock.json"}, "pnpm install --frozen-lockfile"},
		{"pnpm@9.0.0", []string{"package-lock.json"}, "pnpm install"},
		{"", []string{"yarn.lock"}, "yarn install --frozen-lockfile"},
		{"yarn@1.22.0", []string{"yarn.lock"}, "yarn install --frozen-lockfile"},
		{"yarn@4.1.0", []string{"yarn.lock"}, "yarn install --immutable"},
		{"", []string{"yarn.lock", ".yarnrc.yml"}, "yarn install --immutable"},
		{"", []string{"bun.lockb"}, "bun install --frozen-lockfile"},
		{"bun", []string{"bun.lock"}, "bun install --frozen-lockfile"},
		{"strange@1", []string{"bun.lock"}, "bun install --frozen-lockfile"},
	} {
		t.Run(tt.said+" "+strings.Join(tt.files, " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "package.json"), `{"packageManager": "`+tt.said+`", "scripts": {"test": "exit 0"}, "devDependencies": {"a": "1"}}`)
			for _, f := range tt.files {
				write(t, filepath.Join(dir, f), "x")
			}
			d := propose(t, dir, "npm", "pnpm", "yarn", "bun")
			c := load(t, dir, d.File)
			install := c.Task("install")
			if install == nil {
				t.Fatalf("no task install:\n%s", d.File)
			}
			var words []string
			for _, a := range install.Run.Argv {
				words = append(words, a.Value)
			}
			if got := strings.Join(words, " ") + install.Run.Shell.Value; got != tt.run {
				t.Errorf("runs %q, want %q", got, tt.run)
			}
			if test := c.Task("test"); !slices.Equal(test.DependsOn, []string{"install"}) {
				t.Errorf("test waits for %q", test.DependsOn)
			}
		})
	}
}

// npm takes the place of a manager that is not here, but not where it would find no workspace.
func TestAbsentManager(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ member, workspaces, runs, note string }{
		{"", "", "npm", "npm runs the scripts"},
		{"packages/a", `, "workspaces": ["packages/*"]`, "npm", "npm runs the scripts"},
		{"packages/a", "", "pnpm", "install pnpm to run these tasks"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "package.json"), `{"packageManager": "pnpm@9.0.0", "scripts": {"test": "exit 0"}`+tt.workspaces+`}`)
		if tt.member != "" {
			check(t, os.MkdirAll(filepath.Join(dir, tt.member), 0o755))
			write(t, filepath.Join(dir, "pnpm-workspace.yaml"), "packages:\n  - packages/*\n")
			write(t, filepath.Join(dir, tt.member, "package.json"), `{"name": "a", "scripts": {"build": "exit 0"}}`)
		}
		d := propose(t, dir, "npm")
		c := load(t, dir, d.File)
		for _, task := range c.Tasks {
			if argv := task.Run.Argv; len(argv) > 0 && argv[0].Value != tt.runs {
				t.Errorf("%+v: %s runs %q", tt, task.Name, argv[0].Value)
			}
		}
		if !strings.Contains(strings.Join(d.Notes, "\n"), tt.note) {
			t.Errorf("%+v: %q", tt, d.Notes)
		}
	}
}

// The tools of a virtual environment in the project are used without being in PATH.
func TestVirtualEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, os.MkdirAll(filepath.Join(dir, ".venv", "bin"), 0o755))
	check(t, os.Symlink("/usr/bin/python3", filepath.Join(dir, ".venv", "bin", "python")))
	write(t, filepath.Join(dir, ".venv", "bin", "pytest"), "")
	write(t, filepath.Join(dir, "requirements.txt"), "pytest==8\n")
	write(t, filepath.Join(dir, "ruff.toml"), "")
	d := propose(t, dir)
	c := load(t, dir, d.File)
	if !slices.Equal(d.Tasks, []string{"test"}) {
		t.Fatalf("tasks %q", d.Tasks)
	}
	if a := c.Task("test").Run.Argv; len(a) != 3 || a[0].Value != ".venv/bin/python" || a[2].Value != "pytest" {
		t.Errorf("runs %v", a)
	}
	if !slices.ContainsFunc(d.Notes, func(n string) bool {
		return strings.Contains(n, "the task lint is a comment") && strings.Contains(n, "needs ruff")
	}) {
		t.Errorf("notes %q", d.Notes)
	}
}

func TestNoFolder(t *testing.T) {
	t.Parallel()
	if _, err := detect.Propose(filepath.Join(t.TempDir(), "gone"), func(string) bool { return true }, detect.Agent{}); err == nil {
		t.Error("a folder that is not there was looked at")
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	check(t, os.WriteFile(file, []byte(text), 0o644))
}

// check ends the test where there is an error.
func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// The hook of a draft asks the agent that is given, at once or once its comment is taken away.
func TestAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/shop\n\ngo 1.24\n"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte("package shop\n"), 0o600))
	for name, c := range map[string]struct {
		agent              detect.Agent
		hook, use, program string
	}{
		"none":      {detect.Agent{}, `  # on_fail "agent" {`, "  #   use    = agent.mine", `#   command = ["./tools/agent.sh"]`},
		"a comment": {detect.Agent{CLI: "claude"}, `  # on_fail "agent" {`, "  #   use    = agent.claude", `#   cli = "claude"`},
		"active":    {detect.Agent{CLI: "codex", Active: true}, `  on_fail "agent" {`, "    use    = agent.codex", `  cli = "codex"`},
		"with a key": {
			detect.Agent{CLI: "codex", Key: "OPENAI_API_KEY", Active: true},
			`  on_fail "agent" {`, "    use    = agent.codex",
			`  api_key = secret("OPENAI_API_KEY")`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := detect.Propose(dir, func(string) bool { return true }, c.agent)
			check(t, err)
			lines := strings.Split(string(d.File), "\n")
			for _, want := range []string{c.hook, c.use, c.program} {
				if !slices.Contains(lines, want) {
					t.Errorf("no line %q in\n%s", want, d.File)
				}
			}
			if d.HookLine == 0 || lines[d.HookLine-1] != c.hook || !strings.Contains(lines[d.AgentLine-1], `agent "`) {
				t.Errorf("lines %d and %d", d.HookLine, d.AgentLine)
			}
			if got := string(hclwrite.Format(d.File)); got != string(d.File) {
				t.Errorf("the draft is not formatted (-want +got)\n%s", cmp.Diff(got, string(d.File)))
			}
			load(t, dir, d.File)
		})
	}
}
