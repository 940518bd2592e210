package run

import (
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A Layer is where a variable of a task's environment comes from.
type Layer struct {
	Name   string
	Value  string   // not to be shown where Secret
	From   string   // "inherited", "pipeline pass_env", "task pass_env", a dotenv file's path, "env"
	Over   []string // the layers whose value it replaced, nearest first
	Secret bool     // the value holds a secret
}

// Layers is the environment of a task in the tree, sorted by name, each variable with the layer it came from. A dotenv file
// that does not exist is no layer. The error is that of Environment.
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
