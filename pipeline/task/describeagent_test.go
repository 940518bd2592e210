package task

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// What configures the agent of a task decides its result; the values of keys and secrets do not, nor does the budget.
func TestDescribeAgent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.sh"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	key := func(value string) *pipeline.Text {
		return &pipeline.Text{Value: value, Secrets: []string{"KEY"}, Hidden: "[KEY]"}
	}
	var scratch pipeline.ScratchRules
	of := func(a pipeline.Agent, w pipeline.AgentWork) string {
		a.Name, w.Use = "a", "a"
		r := &Runner{
			Config:  &pipeline.Config{Root: root, Agents: []*pipeline.Agent{&a}},
			Environ: []string{"PATH=/usr/bin:/bin"}, Redact: new(redact.Set),
		}
		d, err := r.Describe(&pipeline.Task{Name: "t", Agent: &w, Scratch: scratch})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%+v %+v", d.Agent, d.Programs)
	}
	command := func(words ...string) pipeline.Agent {
		var a pipeline.Agent
		for _, w := range words {
			a.Command = append(a.Command, pipeline.Text{Value: w})
		}
		return a
	}
	env := func(v pipeline.Text) pipeline.Agent {
		a := command("./a.sh")
		a.Given.Env = []pipeline.EnvVar{{Name: "X", Text: v}}
		return a
	}
	model := func(m pipeline.ModelAgent) pipeline.Agent { return pipeline.Agent{Model: &m} }
	cli := func(c pipeline.CLIAgent) pipeline.Agent { return pipeline.Agent{CLI: &c} }
	passes, files := command("./a.sh"), command("./a.sh")
	passes.Given.PassEnv, files.Given.Files = []string{"X"}, []string{"~/x"}
	do := pipeline.AgentWork{Prompt: "do"}
	seen := map[string]string{}
	for name, text := range map[string]string{
		"command":     of(command("./a.sh"), do),
		"prompt":      of(command("./a.sh"), pipeline.AgentWork{Prompt: "do it"}),
		"arguments":   of(command("./a.sh", "-v"), do),
		"a variable":  of(env(pipeline.Text{Value: "1"}), do),
		"its value":   of(env(pipeline.Text{Value: "2"}), do),
		"a secret":    of(env(*key("one")), do),
		"pass_env":    of(passes, do),
		"files":       of(files, do),
		"model":       of(model(pipeline.ModelAgent{Provider: "openai", Model: "m"}), do),
		"other model": of(model(pipeline.ModelAgent{Provider: "openai", Model: "n"}), do),
		"base_url":    of(model(pipeline.ModelAgent{Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1"}), do),
		"max_turns":   of(model(pipeline.ModelAgent{Provider: "openai", Model: "m", MaxTurns: 3}), do),
		"cli":         of(cli(pipeline.CLIAgent{Name: "claude"}), do),
		"cli model":   of(cli(pipeline.CLIAgent{Name: "claude", Model: "m"}), do),
		"cli args":    of(cli(pipeline.CLIAgent{Name: "claude", Args: []string{"-x"}}), do),
	} {
		if other := seen[text]; other != "" {
			t.Errorf("%s is the same task as %s", name, other)
		}
		seen[text] = name
	}
	if !strings.Contains(of(command("./a.sh"), do), "a.sh") || !strings.Contains(of(command("./a.sh"), do), "/sh}") {
		t.Error("the program of a command and its interpreter do not count")
	}
	for _, scratch = range []pipeline.ScratchRules{{}, {Include: []string{"x"}}, {Exclude: []string{"x"}}} {
		text := of(command("true"), do)
		if other := seen[text]; other != "" {
			t.Errorf("%+v makes no difference to %s", scratch, other)
		}
		seen[text] = fmt.Sprint(scratch)
	}
	scratch = pipeline.ScratchRules{}
	for _, words := range [][]string{{"sh", "a.sh"}, {"env", "X=1", "./a.sh"}, {"sh", "-c", "./a.sh"}} {
		if got := of(command(words...), do); !strings.Contains(got, root+"/a.sh") && !strings.Contains(got, root+"/./a.sh") {
			t.Errorf("the script of %q does not count: %s", words, got)
		}
	}
	elsewhere := command("a.sh")
	elsewhere.Given.Env = []pipeline.EnvVar{{Name: "PATH", Text: pipeline.Text{Value: root + ":/bin"}}}
	if got := of(elsewhere, do); !strings.Contains(got, root+"/a.sh") {
		t.Errorf("the program in the agent's own PATH does not count: %s", got)
	}
	for name, same := range map[string][2]string{
		"a secret's value": {of(env(*key("one")), do), of(env(*key("two")), do)},
		"a model's key":    {of(model(pipeline.ModelAgent{Model: "m", Key: *key("one")}), do), of(model(pipeline.ModelAgent{Model: "m", Key: *key("two")}), do)},
		"a cli's key":      {of(cli(pipeline.CLIAgent{Name: "claude", Key: key("one")}), do), of(cli(pipeline.CLIAgent{Name: "claude", Key: key("two")}), do)},
		"the budget":       {of(command("./a.sh"), do), of(command("./a.sh"), pipeline.AgentWork{Prompt: "do", Budget: pipeline.Budget{Tokens: 1}})},
	} {
		if same[0] != same[1] {
			t.Errorf("%s counts:\n%s\n%s", name, same[0], same[1])
		}
	}
}
