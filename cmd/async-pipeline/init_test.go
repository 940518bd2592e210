package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// What init writes for every project of pipeline/detect/testdata is formatted, valid, nothing else is written, and
// where the programs of the project are installed it passes: the line "runs:" of a project names them. One that
// cannot pass by itself says "runs: -", and why not.
func TestInitProjects(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(top, "pipeline", "detect", "testdata", "*.txtar"))
	if err != nil || len(files) < 14 {
		t.Fatalf("%d projects: %v", len(files), err)
	}
	p := newPrograms(t)
	for _, file := range part(t, files, 6) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			must(t, err)
			a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "want/") })
			dir := filepath.Join(t.TempDir(), "project")
			must(t, txtar.Write(a, dir))
			before := namesIn(t, dir)
			p.run(t, dir, "init")
			after := namesIn(t, dir)
			delete(after, hclfile.Name)
			if !maps.Equal(before, after) {
				t.Errorf("init wrote more than its file: %v", after)
			}
			text, err := os.ReadFile(filepath.Join(dir, hclfile.Name))
			must(t, err)
			if formatted, err := hclfile.Format(hclfile.Name, text); err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("it is not formatted (%v):\n%s", err, text)
			}
			if shown := p.run(t, dir, "init", "--print"); !strings.HasPrefix(shown, string(text)) {
				t.Errorf("--print shows something else:\n%s", shown)
			}
			p.run(t, dir, "validate")
			needs := headOf(t, a, "runs")
			if needs[0] == "-" {
				t.Logf("not run: %s", strings.Join(headOf(t, a, "why not"), " "))
				return
			}
			for _, program := range needs {
				if !p.has(program) {
					t.Skipf("valid, and not run: %s is not installed", program)
				}
			}
			if slices.Contains(needs, "go") {
				must(t, p.warm())
			}
			out := p.run(t, dir, "run")
			if !regexp.MustCompile(`(?m)^[1-9][0-9]* passed in `).MatchString(out) {
				t.Errorf("nothing passed:\n%s", out)
			}
			for name := range namesIn(t, dir) {
				if strings.Contains(name, "pwned") {
					t.Errorf("a name was executed: there is %s", name)
				}
			}
		})
	}
}

// What cannot be written is said, and nothing is left: neither a half of the file nor the draft of one.
func TestWriteDraft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, hclfile.Name)
	prog := process{}.open()
	for _, tt := range []struct{ name, file, text, want string }{
		{"a fault of ours", file, "task \"x\" {\n}\n", "no file was written: what was drafted has a fault"},
		{"no folder", filepath.Join(dir, "gone", hclfile.Name), "", "cannot be written"},
	} {
		if _, err := writeDraft(prog, tt.file, []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if names := namesIn(t, dir); len(names) > 1 {
		t.Errorf("left: %v", names)
	}
	const text = "task \"x\" {\n  run = \"true\"\n}\n"
	for i, want := range []string{"", "is there already, and is not changed"} {
		if _, err := writeDraft(prog, file, []byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if names := namesIn(t, dir); len(names) != 2 || !names[hclfile.Name] {
		t.Errorf("there is %v", names)
	}
	if err := writeNew(file, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("writeNew: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != text {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

// headOf is the words of a line in the head of an archive.
func headOf(t *testing.T, a *txtar.Archive, name string) []string {
	t.Helper()
	for line := range strings.Lines(string(a.Comment)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok && strings.TrimSpace(value) != "" {
			return strings.Fields(value)
		}
	}
	t.Fatalf("no line %s: in the head of the archive", name)
	return nil
}

// namesIn lists everything below dir but our own records.
func namesIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	if err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".async" {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(dir, p)
		names[rel] = true
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// programs is an environment in which little more than the system's own programs is found: what init and run do does
// not depend on what else a machine has.
type programs struct {
	self string
	env  []string
	dirs []string
	warm func() error // fills the cache of the Go tool
}

func newPrograms(t *testing.T) *programs {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	must(t, err)
	p := &programs{self: filepath.Join(dir, "async-pipeline")}
	tools, home, cache := filepath.Join(dir, "tools"), filepath.Join(dir, "home"), filepath.Join(dir, "go-build")
	for _, d := range []string{tools, home} {
		must(t, os.Mkdir(d, 0o755))
	}
	must(t, os.Symlink(self, p.self))
	p.dirs = []string{tools, "/usr/bin", "/bin"}
	for _, name := range []string{
		"go", "gofmt", "node", "npm", "npx", "pnpm", "yarn", "python3", "cargo", "rustc", "rustfmt", "rustdoc", "cargo-fmt", "cargo-clippy", "clippy-driver",
		"cmake", "ctest", "make", "just", "task",
	} {
		if p.has(name) {
			continue
		}
		if found, err := exec.LookPath(name); err == nil {
			must(t, os.Symlink(found, filepath.Join(tools, name)))
		}
	}
	rustup := os.Getenv("RUSTUP_HOME")
	if rustup == "" {
		rustup = filepath.Join(os.Getenv("HOME"), ".rustup")
	}
	p.env = []string{
		"PATH=" + strings.Join(p.dirs, string(filepath.ListSeparator)), "HOME=" + home, "USER=somebody", "LANG=C.UTF-8", "TMPDIR=" + dir,
		"GOCACHE=" + cache, "GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=-modcacherw", "GOPATH=" + filepath.Join(home, "go"),
		"RUSTUP_HOME=" + rustup, "CARGO_NET_OFFLINE=true", "NPM_CONFIG_OFFLINE=true", "NPM_CONFIG_UPDATE_NOTIFIER=false",
		"NPM_CONFIG_MANAGE_PACKAGE_MANAGER_VERSIONS=false", // else pnpm fetches the version that a project names
	}
	p.warm = sync.OnceValue(func() error { return warmGoCache(cache) })
	return p
}

func (p *programs) has(name string) bool {
	for _, d := range p.dirs {
		if info, err := os.Stat(filepath.Join(d, name)); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return true
		}
	}
	return false
}

// run calls the program, which must succeed, and returns what it prints.
func (p *programs) run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, p.self, args...)
	c.Dir, c.Env = dir, p.env
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	c.Cancel = func() error { // what hung is seen only now
		threads, err := exec.CommandContext(t.Context(), "ps", "-e", "-L", "-o", "pid,ppid,lwp,stat,wchan:32,etime,time,args").CombinedOutput()
		t.Logf("all processes when it was ended (%v):\n%s", err, threads)
		return c.Process.Kill()
	}
	if err := c.Run(); err != nil {
		draft, _ := os.ReadFile(filepath.Join(dir, hclfile.Name))
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(args, " "), err, out.String(), draft)
	}
	return out.String()
}
