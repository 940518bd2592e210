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

// unkeyed are the variables that do not decide what a task makes. PATH counts by the programs that are found in it.
var unkeyed = []string{"PATH", "HOME", "USER", "TERM", "TMPDIR"}

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
	slices.SortFunc(named[1:], func(a, b shelltext.Program) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range slices.Compact(named) {
		if p.Script {
			d.Programs = append(d.Programs, r.script(p.Name, c.Dir)...)
		} else {
			d.Programs = append(d.Programs, r.programs(p.Name, c.Dir, c.Env)...)
		}
	}
	d.Programs = d.Programs[:min(len(d.Programs), mostPrograms)]
	return d, nil
}
