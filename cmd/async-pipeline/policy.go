package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/policy"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// policyCommand has the verbs for questions about the policy for commands of agents.
func policyCommand(prog *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Say which commands an agent may run",
		Long: `An agent of a model may run the failed task's own command, and what allow in
its on_fail "agent" lets it; nothing else. The sandbox bounds what it does.`,
		Example: `  async-pipeline policy check --task test -- go vet ./...`,
	}
	group(prog, c)
	c.AddCommand(policyCheckCommand(prog))
	return c
}

func policyCheckCommand(prog *program) *cobra.Command {
	var task string
	c := &cobra.Command{
		Use:   "check [--task TASK] -- PROGRAM [ARGUMENT...]",
		Short: "Say whether an agent may run a command; nothing is run",
		Long: `For each task with an on_fail "agent": whether its agent may run a command, and
which pattern of allow matches it, or why none does. Nothing is run. A program
that an agent puts into its own folders later is not known yet.

A pattern is about words. A program that is allowed may start others, write
files and run code: the sandbox is the boundary.

The exit code is 0 if the command is allowed for all of these tasks, and 1 if
it is refused for one of them.`,
		Example: `  async-pipeline policy check -- go vet ./...
  async-pipeline policy check --task test -- go vet -tags slow .`,
		RunE: func(_ *cobra.Command, argv []string) error {
			if len(argv) == 0 {
				return exit.Refuse("policy check needs a command: write async-pipeline policy check -- PROGRAM ARGUMENT")
			}
			return checkPolicy(prog, task, argv)
		},
	}
	c.Flags().StringVar(&task, "task", "", "ask for `TASK` only")
	prog.varFlag(c)
	c.Flags().SetInterspersed(false) // the flags behind the program are its own
	return c
}

func checkPolicy(prog *program, name string, argv []string) error {
	c, err := prog.load()
	if err != nil {
		return err
	}
	tasks := c.Tasks
	if name != "" {
		t, err := prog.oneTask(c, name)
		if err != nil {
			return err
		}
		tasks = []*pipeline.Task{t}
	}
	prog.Messages().Diagnostics(warningsFor(c, tasks, nil))
	planted := plantedPrograms(prog, c.Root)
	asked, refused := 0, false
	for _, t := range tasks {
		for _, hook := range t.OnFail {
			if hook.Agent == nil {
				continue
			}
			asked++
			p := policy.Policy{Own: t.Run.Words(), Allow: hook.Agent.Allow, Planted: planted}
			d := p.Decide(argv)
			refused = refused || !d.Allowed
			showDecision(prog, c, t, hook.Agent, p, argv, d)
		}
	}
	switch {
	case asked == 0 && name != "":
		return exit.Refuse("task %q has no on_fail %q: no agent works on it", view.TaskName(name), "agent")
	case asked == 0:
		return exit.Refuse("no task has an on_fail %q: there is no agent to ask for", "agent")
	case refused:
		return exit.With(exit.Failed)
	}
	return nil
}

// showDecision prints the decision for one task.
func showDecision(prog *program, c *pipeline.Config, t *pipeline.Task, hook *pipeline.AgentHook, p policy.Policy, argv []string, d policy.Decision) {
	who := view.Harmless(view.TaskName(t.Name)) + " (agent." + hook.Use + ")"
	out := prog.Results()
	if d.Allowed {
		out.Line("%s: allowed by %s", who, view.Harmless(d.Grant))
	} else {
		folded(out, who+": refused: "+view.Harmless(d.Reason))
		if len(argv) == 1 && strings.Contains(argv[0], " ") {
			out.Line("  this is one word: leave out the quotes around the command")
		}
		switch {
		case t.Run.Shell.Value != "":
			folded(out, "  the task's own command is text for the shell: only check runs it")
		case p.Own == nil:
			folded(out, "  the task's own command contains a secret: only check runs it")
		}
		for i, allowed := range p.Allowed() {
			if i == 0 {
				out.Line("  allowed are:")
			}
			out.Line("    %s", view.Harmless(allowed))
		}
	}
	if a := c.Agent(hook.Use); a != nil && a.Model == nil {
		out.Line("  agent.%s is a program of its own: it runs what it likes in its copy", a.Name)
	}
}

// folded prints a line, broken and indented where it is too long.
func folded(out *view.Screen, line string) {
	if len(line) <= view.Width {
		out.Line("%s", line)
		return
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	out.Line("%s%s", indent, strings.Join(view.Wrap(line, view.Width-len("  ")-len(indent)),
		"\n"+cmp.Or(indent, "  ")))
}

// plantedPrograms returns a function that returns the path of a program that PATH finds inside the tree, where an
// agent could have put it, or "".
func plantedPrograms(prog *program, root string) func(name string) string {
	top := root
	if repo, err := git.Of(context.Background(), root); err == nil {
		top = repo.Top
	}
	inside := func(p string) bool {
		rel, err := filepath.Rel(top, p)
		return err == nil && filepath.IsLocal(rel)
	}
	return func(name string) string {
		at := policy.Lookup(name, root, prog.Env("PATH"), func(p string) bool {
			info, err := os.Stat(p)
			return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
		})
		if at == "" {
			return ""
		}
		if real, err := filepath.EvalSymlinks(at); inside(at) || err == nil && inside(real) {
			return at
		}
		return ""
	}
}
