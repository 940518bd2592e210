package task

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
)

// unkeyed are the variables that do not decide what a task makes. PATH counts by the programs that are found in it.
var unkeyed = []string{"PATH", "HOME", "USER", "TERM", "TMPDIR"}

// mostPrograms bounds how many programs of a shell text are looked up.
const mostPrograms = 64

// Describe returns how a task in the tree would be run, for its key in the cache. Errors are those of RunTask that
// need no process.
func (r *Runner) Describe(t *pipeline.Task) (cache.Task, error) {
	if t.Agent != nil {
		return r.describeAgent(t), nil
	}
	box := sandbox.Box{Tier: sandbox.None, Secrets: true}
	c, err := r.command(r.Config.Root, t, box)
	if err != nil {
		return cache.Task{}, err
	}
	d := cache.Task{Argv: c.Argv, Sandbox: string(box.Tier), Secret: r.holds}
	layers, err := r.Layers(t)
	if err != nil {
		return cache.Task{}, err
	}
	for _, l := range layers {
		if slices.Contains(unkeyed, l.Name) || strings.HasPrefix(l.Name, ours) {
			continue
		}
		d.Env = append(d.Env, cache.Variable{Name: l.Name, Value: l.Value, Plain: l.From == fromEnv && !l.Secret})
	}
	names := []string{c.Argv[0]}
	add := func(words []string) {
		if inner := shelltext.Unwrap(words); len(inner) > 0 { // timeout 5 make: both
			words = append(slices.Clone(words[:1]), inner[0])
		}
		for _, w := range words[:min(len(words), 2)] {
			if !strings.ContainsRune(w, shelltext.Unknown) {
				names = append(names, w)
			}
		}
	}
	if t.Run.Argv != nil {
		if inner := shelltext.Unwrap(c.Argv); len(inner) > 0 {
			names = append(names, inner[0])
		}
	} else {
		for _, command := range shelltext.Commands(t.Run.Shell.Value) {
			if len(command.Words) > 0 {
				add(command.Words)
			}
		}
		for _, a := range t.Run.Args[:min(len(t.Run.Args), 1)] { // the text may begin with "$@"
			names = append(names, a.Value)
		}
	}
	slices.Sort(names[1:])
	for _, name := range slices.Compact(names) {
		r.addPrograms(&d, name, c.Dir, c.Env)
	}
	return d, nil
}

// addPrograms adds the program that a name means in a folder and an environment, and what runs it. A name that is not
// found may be one of the shell's own. The program of an argv is found, or the task fails.
func (r *Runner) addPrograms(d *cache.Task, name, dir string, env []string) {
	for range mostInterpreters {
		path, err := sandbox.Find(name, dir, env)
		if err != nil || len(d.Programs) == mostPrograms {
			return
		}
		d.Programs = append(d.Programs, cache.Program{Name: shown(name, r.Config.Root), Path: path})
		if name = interpreter(path); name == "" {
			return
		}
	}
}

// mostInterpreters is how often a script may be run by a script.
const mostInterpreters = 4

// interpreter returns the program that the first line of a script names, also by way of env, or "".
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 256)
	n, _ := io.ReadFull(f, b)
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	line, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return w
		}
	}
	return words[0]
}

// shown returns a program's name without the place of the root, which must not be in a key.
func shown(name, root string) string {
	if rel, err := filepath.Rel(root, name); filepath.IsAbs(name) && err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return name
}
