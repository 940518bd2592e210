package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/task"
)

// A shownVariable is one variable in explain --env --json; value is null where it is secret, or another in each run.
type shownVariable struct {
	Name   string   `json:"name"`
	Value  *string  `json:"value"`
	From   string   `json:"from"`
	Over   []string `json:"over"`
	Secret bool     `json:"secret"`
}

// shellsOwn are the names that every shell sets for itself. No task misses them.
var shellsOwn = []string{"_", "OLDPWD", "PWD", "SHLVL"}

// atStart adds the variables that a task gets when it is started, which win over all layers, and sorts them by name.
func atStart(c *pipeline.Config, t *pipeline.Task, layers []task.Layer) []task.Layer {
	for _, l := range []task.Layer{
		{Name: "PWD", Value: filepath.Join(c.Root, filepath.FromSlash(t.Dir)), From: "async-pipeline"},
		{Name: sandbox.RunnerMark, From: "async-pipeline"},
	} {
		if i := slices.IndexFunc(layers, func(under task.Layer) bool { return under.Name == l.Name }); i >= 0 {
			l.Over = slices.Concat([]string{layers[i].From}, layers[i].Over)
			layers = slices.Delete(layers, i, i+1)
		}
		layers = append(layers, l)
	}
	slices.SortFunc(layers, func(a, b task.Layer) int { return cmp.Compare(a.Name, b.Name) })
	return layers
}

// explainEnv prints the variables that a task would see.
func explainEnv(prog *program, c *pipeline.Config, t *pipeline.Task, asJSON bool) error {
	layers, err := taskRunner(prog, c).Layers(t)
	if err != nil {
		return exit.Refuse("%v", err)
	}
	layers = atStart(c, t, layers)
	e := view.Environment{Task: t.Name}
	list := []shownVariable{}
	seen := map[string]bool{}
	for _, l := range layers {
		v := shownVariable{Name: l.Name, Value: &l.Value, From: l.From, Over: append([]string{}, l.Over...), Secret: l.Secret}
		line := view.EnvLine{Name: l.Name, Value: l.Value, From: l.From, Over: l.Over, Secret: l.Secret}
		if l.Name == sandbox.RunnerMark {
			v.Value, line.Value = nil, "(process, start and boot of the run)"
		}
		if l.Secret {
			v.Value, line.Value = nil, ""
		}
		list, e.Lines = append(list, v), append(e.Lines, line)
		seen[l.Name] = true
	}
	if asJSON {
		return prog.PrintJSON(list)
	}
	for _, file := range t.Dotenv {
		if _, err := os.Stat(filepath.Join(c.Root, filepath.FromSlash(file))); err != nil {
			e.Dotenv = append(e.Dotenv, file)
		}
	}
	var names []string
	for _, kv := range prog.Environ {
		if name, _, ok := strings.Cut(kv, "="); ok && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, pass := range slices.Concat(c.PassEnv, t.PassEnv) {
		prefix, star := strings.CutSuffix(pass, "*")
		if !slices.ContainsFunc(names, func(n string) bool { return n == pass || star && strings.HasPrefix(n, prefix) }) {
			e.Unset = append(e.Unset, pass)
		}
	}
	for _, n := range slices.Compact(names) {
		if !seen[n] && !strings.HasPrefix(n, "ASYNC_PIPELINE_") && !slices.Contains(shellsOwn, n) {
			e.Outside = append(e.Outside, n)
		}
	}
	prog.Results().Environ(e)
	return nil
}
