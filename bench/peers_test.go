package bench

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var npm = flag.String("npm", "", "a `folder` where `npm install turbo nx wireit @moonrepo/cli` was run: measure them, and write their table into BENCHMARKS.md")

// The lines before and after the table.
const (
	peersBegin = "<!-- peers -->\n"
	peersEnd   = "<!-- end of peers -->\n"
)

// A cachingPeer is a task runner that keeps results by the contents of files.
type cachingPeer struct {
	name    string
	pkg     string                     // in node_modules
	command string                     // of a shell, in a project
	hits    func(some, all int) string // what it prints when some of all tasks were cached
	env     []string
}

var cachingPeers = []cachingPeer{
	{"turbo", "turbo", "node_modules/.bin/turbo run check --concurrency=2 --output-logs=errors-only", func(some, all int) string { return fmt.Sprintf("%d cached, %d total", some, all) }, []string{"TURBO_TELEMETRY_DISABLED=1"}},
	{"nx", "nx", "node_modules/.bin/nx run-many -t check --parallel=2 --output-style=static", func(some, all int) string { return fmt.Sprintf("%d/%d hit", some, all) }, []string{"NX_DAEMON=false", "NX_NO_CLOUD=true"}},
	{"wireit", "wireit", "npm run all", func(some, all int) string { return fmt.Sprintf("Ran %d script", all-some) }, []string{"WIREIT_PARALLEL=2"}},
	{"moon", "@moonrepo/cli", "node_modules/.bin/moon run :check --concurrency 2", func(some, _ int) string { return fmt.Sprintf("(%d cached", some) }, nil},
}

// A cachedWork is a project of tasks that have files and, where it makes something, a folder of outputs each.
type cachedWork struct {
	name               string
	tasks, files, size int  // files of a task, and bytes of a file
	makes              bool // a task copies its files; its outputs are gone before each run
}

var cachedWorks = []cachedWork{
	{name: "1,000 tasks of 10 files", tasks: 1000, files: 10, size: 200},
	{name: "200 tasks of 250 files, 1 GB", tasks: 200, files: 250, size: 20_000},
	{name: "10,000 files, 1 GB", tasks: 1, files: 10_000, size: 100_000, makes: true},
}

func (w cachedWork) label(i int) string { return fmt.Sprintf("t%04d", i) }

// command is what a task does in the folder that has its src.
func (w cachedWork) command() string {
	if w.makes {
		return "cp -r src out"
	}
	return "true"
}

// TestPeers writes the table of caching task runners into BENCHMARKS.md.
func TestPeers(t *testing.T) {
	if *npm == "" {
		t.Skip("measures for half an hour: give -npm")
	}
	path := must(program())(t)
	modules := must(filepath.Abs(filepath.Join(*npm, "node_modules")))(t)
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d CPUs; %s", time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), runtime.Version())
	for _, p := range cachingPeers {
		var pkg struct{ Version string }
		if err := json.Unmarshal(must(os.ReadFile(filepath.Join(modules, p.pkg, "package.json")))(t), &pkg); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, ", %s %s", p.name, pkg.Version)
	}
	b.WriteString(".\n\n| work | limit | async-pipeline |")
	for _, p := range cachingPeers {
		b.WriteString(" " + p.name + " |")
	}
	b.WriteString("\n|" + strings.Repeat("---|", 3+len(cachingPeers)) + "\n")
	for _, w := range cachedWorks {
		for _, row := range w.rows(t, path, modules) {
			t.Log(row)
			b.WriteString(row + "\n")
		}
	}
	replaceTable(t, peersBegin, peersEnd, b.String())
}

// rows measures a project: all is cached, and one file changed; or what a task made is gone.
func (w cachedWork) rows(t *testing.T, path, modules string) []string {
	dir := filepath.Join(t.TempDir(), "tree")
	w.write(t, dir, modules)
	ours := cachingPeer{name: "async-pipeline", command: path + " run --concurrency 2", hits: func(some, _ int) string { return fmt.Sprint(some, " cached") }}
	all := append([]cachingPeer{ours}, cachingPeers...)
	for _, p := range all {
		if _, err := w.run(t, dir, p, 0); err != nil {
			t.Fatal(err)
		}
	}
	row := func(what string, changes int) string {
		race := race(t, 3, w.contenders(t, dir, all, changes))
		row := fmt.Sprintf("| %s, %s | %s |", what, w.name, seconds(race[0]))
		for _, c := range race[1:] {
			row += fmt.Sprintf(" %s (%.1f ×) |", seconds(c), float64(c.Wall)/float64(race[0].Wall))
		}
		return row
	}
	if w.makes {
		return []string{row("restore", 0)}
	}
	return []string{row("warm", 0), row("one file changed", 1)}
}

// contenders are the limit, which changes so many files first, and the tools.
func (w cachedWork) contenders(t *testing.T, dir string, tools []cachingPeer, changes int) []contender {
	all := []contender{{"limit", func() (cost, error) { return w.limit(t, dir, changes) }}}
	for _, p := range tools {
		all = append(all, contender{p.name, func() (cost, error) { return w.run(t, dir, p, w.tasks-changes) }})
	}
	return all
}

// run runs a tool once, and wants so many hits; 0: it is not looked at.
func (w cachedWork) run(t *testing.T, dir string, p cachingPeer, hits int) (cost, error) {
	if w.makes {
		// Renamed and not removed: ext4 is slow while inodes were freed a short time ago.
		if err := os.Rename(filepath.Join(dir, w.label(0), "out"), filepath.Join(t.TempDir(), "old")); err != nil && !os.IsNotExist(err) {
			return cost{}, err
		}
	}
	want := ""
	if hits > 0 {
		want = p.hits(hits, w.tasks)
	}
	const shell = `out=$(eval "$1" 2>&1) && case $out in *"$2"*) ;; *) echo "$out" >&2; exit 1 ;; esac`
	return metered(dir, []string{"sh", "-c", shell, "sh", p.command, want}, append(p.env, "NO_COLOR=1")...)
}

// limit changes files, and does what no tool can do without: it stats the tree with two workers and reads PIPELINE.hcl,
// or copies what is to be restored.
func (w cachedWork) limit(t *testing.T, dir string, changes int) (cost, error) {
	if changes > 0 {
		text := []byte(fmt.Sprintf("%020d", rand.Int64()))
		if err := os.WriteFile(filepath.Join(dir, w.label(0), "src", "d000", "f00"), text, 0o600); err != nil {
			return cost{}, err
		}
	}
	to := t.TempDir()
	began := time.Now()
	if w.makes {
		err := plainCopy(filepath.Join(dir, w.label(0), "src"), filepath.Join(to, "copy"))
		return cost{Wall: time.Since(began)}, err
	}
	src, err := os.ReadFile(filepath.Join(dir, "PIPELINE.hcl"))
	if err == nil {
		err = decode(src)
	}
	if err == nil {
		err = statAll(dir)
	}
	return cost{Wall: time.Since(began)}, err
}

// write makes the project with the files of all tools, as a repository with one commit.
func (w cachedWork) write(t *testing.T, dir, modules string) {
	t.Helper()
	put := func(name, text string) {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	object := func(v any) string { return string(must(json.Marshal(v))(t)) }
	type m = map[string]any
	var hcl strings.Builder
	scripts, wireit := m{"all": "wireit"}, m{}
	var labels []string
	var outputs []string
	if w.makes {
		outputs = []string{"out/**"}
	}
	r, text := rand.NewChaCha8([32]byte{}), make([]byte, w.size)
	for i := range w.tasks {
		name := w.label(i)
		labels = append(labels, name)
		for f := range w.files {
			_, _ = r.Read(text) // never fails
			put(fmt.Sprintf("%s/src/d%03d/f%02d", name, f/100, f%100), string(text))
		}
		fmt.Fprintf(&hcl, "task %q {\n  run    = %q\n  dir    = %q\n  inputs = [\"%s/src/**\"]\n", name, w.command(), name, name)
		script := m{"command": "cd " + name + " && " + w.command(), "files": []string{name + "/src/**"}, "output": []string{}}
		if w.makes {
			fmt.Fprintf(&hcl, "  outputs = [\"%s/out/**\"]\n", name)
			script["output"] = []string{name + "/out/**"}
		}
		hcl.WriteString("}\n")
		scripts[name], wireit[name] = "wireit", script
		put(name+"/package.json", object(m{"name": name, "version": "1.0.0", "scripts": m{"check": w.command()}}))
		put(name+"/project.json", object(m{"name": name, "targets": m{"check": m{"executor": "nx:run-commands", "options": m{"command": w.command(), "cwd": name}}}}))
	}
	wireit["all"] = m{"dependencies": labels}
	put("PIPELINE.hcl", hcl.String())
	put(".gitignore", ".async/\nout/\nnode_modules\n.turbo/\n.nx/\n.wireit/\n.moon/cache/\n")
	put("package.json", object(m{"name": "bench", "private": true, "packageManager": "npm@11.0.0", "workspaces": []string{"t*"}, "scripts": scripts, "wireit": wireit}))
	put("turbo.json", object(m{"tasks": m{"check": m{"outputs": append([]string{}, outputs...)}}}))
	made := []string{}
	for _, o := range outputs {
		made = append(made, "{projectRoot}/"+o)
	}
	put("nx.json", object(m{"analytics": false, "targetDefaults": m{"check": m{"cache": true, "inputs": []string{"{projectRoot}/src/**/*"}, "outputs": made}}}))
	put(".moon/workspace.yml", "projects:\n  - 't*'\ntelemetry: false\n")
	put(".moon/tasks/all.yml", object(m{"tasks": m{"check": m{"command": w.command(), "inputs": []string{"src/**/*"}, "outputs": append([]string{}, outputs...)}}}))
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "all"}} {
		ctx, cancel := context.WithTimeout(t.Context(), longest)
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "user.name=bench", "-c", "user.email=bench@localhost"}, args...)...)
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}
