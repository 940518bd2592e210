package task

import (
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
		d.Programs = append(d.Programs, r.programs(name, c.Dir, c.Env)...)
	}
	d.Programs = d.Programs[:min(len(d.Programs), mostPrograms)]
	return d, nil
}
