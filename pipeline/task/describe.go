package task

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
)

// ofMachine are variables that do not count with the values that this machine and its user give them, but with those that
// the task gives them. PATH counts by the programs that are found in it, too.
var ofMachine = []string{"PATH", "HOME", "USER", "TERM", "TMPDIR"}

// counted returns what of the value of a variable counts in a key, and whether anything does.
func (r *Runner) counted(l Layer) (value string, counts bool) {
	if strings.HasPrefix(l.Name, ours) {
		return "", false
	}
	if !slices.Contains(ofMachine, l.Name) {
		return l.Value, true
	}
	own := r.parsed().set[l.Name]
	if l.From == fromPerson || l.From == fromSandbox || l.Value == own {
		return "", false
	}
	value = strings.ReplaceAll(l.Value, r.Config.Root, "${path.root}") // elsewhere the same project has the same key
	if l.Name != "PATH" {
		return value, true
	}
	inherited := filepath.SplitList(own)
	dirs := slices.DeleteFunc(filepath.SplitList(value), func(dir string) bool { return slices.Contains(inherited, dir) })
	return strings.Join(dirs, string(filepath.ListSeparator)), len(dirs) > 0
}

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
		if value, counts := r.counted(l); counts {
			written := slices.ContainsFunc(t.Env, func(v pipeline.EnvVar) bool { return v.Name == l.Name && v.Written })
			d.Env = append(d.Env, cache.Variable{Name: l.Name, Value: value, Plain: l.From == fromEnv && written && !l.Secret})
		}
	}
	for _, dir := range filepath.SplitList(pathOf(c.Env)) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.Dir, dir)
		}
		d.Path = append(d.Path, dir)
	}
	named := cache.Named(t)
	if t.Run.Argv == nil {
		named = slices.Insert(named, 0, shelltext.Program{Name: c.Argv[0]})
	}
	d.Programs = r.allPrograms(named, c.Dir, c.Env)
	return d, nil
}
