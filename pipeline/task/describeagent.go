package task

import (
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
)

// describeAgent returns what decides the result of an agent task besides its inputs: who is asked what. No key and no
// secret is in it, and only the names of the variables that are passed from the environment. The budget is not: a result that came
// within it is one.
func (r *Runner) describeAgent(t *pipeline.Task) cache.Task {
	d := cache.Task{Sandbox: "agent", Secret: r.holds}
	add := func(name, value string, plain bool) {
		if value != "" {
			d.Agent = append(d.Agent, cache.Variable{Name: "agent " + name, Value: value, Plain: plain})
		}
	}
	add("name", t.Agent.Use, true)
	add("prompt", t.Agent.Prompt, false)
	a := r.Config.Agent(t.Agent.Use)
	if a == nil {
		return d
	}
	var words []string // of its command
	switch {
	case a.Model != nil:
		add("provider", a.Model.Provider, true)
		add("model", a.Model.Model, true)
		add("base_url", a.Model.BaseURL, false)
		add("max_turns", strconv.Itoa(a.Model.MaxTurns), true)
	case a.CLI != nil:
		words = []string{a.CLI.Name}
		add("cli", a.CLI.Name, true)
		add("model", a.CLI.Model, true)
		add("provider", a.CLI.Wire, true)
		add("base_url", a.CLI.BaseURL, false)
		add("args", strings.Join(a.CLI.Args, "\x00"), false)
	default:
		var texts []string
		for _, w := range a.Command {
			words, texts = append(words, w.Value), append(texts, w.Show())
		}
		add("command", strings.Join(texts, "\x00"), false)
	}
	for _, v := range a.Given.Env {
		add("env "+v.Name, v.Show()+"\x00"+strings.Join(v.Secrets, " "), false)
	}
	add("pass_env", strings.Join(a.Given.PassEnv, " "), true)
	add("files", strings.Join(a.Given.Files, " "), true)
	add("scratch include", strings.Join(t.Scratch.Include, "\x00"), true)
	add("scratch exclude", strings.Join(t.Scratch.Exclude, "\x00"), true)
	env := r.Environ
	for _, v := range a.Given.Env {
		if v.Name == "PATH" {
			env = []string{"PATH=" + v.Value}
		}
	}
	d.Programs = r.allPrograms(shelltext.ProgramsOf(words), r.Config.Root, env)
	return d
}
