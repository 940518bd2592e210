package task

import (
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A Layer is one variable of a task's environment and where it comes from.
type Layer struct {
	Name   string
	Value  string   // must not be shown where Secret is true
	From   string   // "inherited", "pipeline pass_env", "task pass_env", a dotenv file's path, "env"
	Over   []string // the layers whose value it replaced, nearest first
	Secret bool     // the value contains a secret
}

// Layers returns the environment of a task in the tree, sorted by name, each variable with the layer it came from. Errors are
// those of Environment.
func (r *Runner) Layers(t *pipeline.Task) ([]Layer, error) {
	b, err := r.build(r.Config.Root, t, sandbox.Box{Tier: sandbox.None, Secrets: true})
	if err != nil {
		return nil, err
	}
	all := b.sorted()
	for i := range all {
		l := &all[i]
		given := slices.ContainsFunc(t.Env, func(v pipeline.EnvVar) bool { return v.Name == l.Name && len(v.Secrets) > 0 })
		l.Secret = r.secret(l.Name, l.Value) || given && l.From == fromEnv
	}
	return all, nil
}
