// What `run TASK -- ARGS` appends to the command of a task, and how it is typed again.
package main

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// withArgs returns the configuration in which the one task that names has is run with further arguments. Instances
// of one task all get them.
func withArgs(prog *program, c *pipeline.Config, names, args []string) (*pipeline.Config, error) {
	if len(args) == 0 {
		return c, nil
	}
	behind := " --" + quoted(args)
	if len(names) != 1 {
		which := "none is named"
		if len(names) > 1 {
			which = english.Count(len(names), "name") + " stand before it"
		}
		return nil, exit.Misused("what stands behind -- is for one task, and %s\nwrite %s TASK%s", which, prog.Typed("run"), behind)
	}
	name := names[0]
	tasks := called(c, name)
	if j := c.Job(name); len(tasks) == 0 && j != nil {
		task := "TASK"
		if len(j.Tasks) > 0 {
			task = j.Tasks[0]
		}
		return nil, exit.Misused("what stands behind -- is for one task, and %q is a job\nwrite %s%s", name, prog.Typed("run", task), behind)
	}
	if len(tasks) > 0 && c.Task(name) == nil && tasks[0].Base != name {
		return nil, exit.Misused("what stands behind -- is for one task, and %q is an included file\nwrite %s%s", name, prog.Typed("run", tasks[0].Name), behind)
	}
	var of []string
	for _, t := range tasks { // an unknown name has none, which is said later
		if t.Agent != nil {
			return nil, exit.Misused("task %q is done by an agent, which is given no arguments\nwrite %s", view.TaskName(t.Name), prog.Typed("run", t.Name))
		}
		if len(t.Run.Argv) == 0 && t.Run.Shell.Value == "" && len(t.Run.Shell.Missing) == 0 {
			return nil, exit.Misused("task %q has no command that could be given arguments\nwrite %s", view.TaskName(t.Name), prog.Typed("run", t.Name))
		}
		of = append(of, t.Name)
	}
	texts := make([]pipeline.Text, len(args))
	for i, a := range args {
		texts[i].Value = a
		if secret, ok := prog.Secrets.Find([]byte(a)); ok {
			texts[i].Secrets, texts[i].Hidden = []string{secret}, prog.Secrets.String(a)
		}
	}
	return c.WithArgs(of, texts), nil
}

// repeatable returns an error if a task of a run had arguments that are not in the record. An empty task stands for
// every failed one of tasks.
func repeatable(prog *program, tasks []record.Task, task string) error {
	for _, t := range tasks {
		if t.ArgsHidden && (t.Name == task || task == "" && failed(t)) {
			return exit.Refuse("task %q ran with a secret among its arguments, which is in no record: its command cannot be made again\n%s runs it again",
				view.TaskName(t.Name), prog.Typed("run", t.Name)+behindTask(t.Args))
		}
	}
	return nil
}

// behindTask returns what stands behind a task on the command line of `run`.
func behindTask(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return " --" + quoted(args)
}

// behindHidden is behindTask with a mark in the place of each word that has a secret.
func behindHidden(t *pipeline.Task) string {
	text := " --"
	for _, a := range t.Run.Args {
		if len(a.Secrets) > 0 {
			text += " " + hiddenValue
		} else {
			text += " " + view.Quote(a.Value)
		}
	}
	return text
}

func quoted(args []string) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString(" " + view.Quote(a))
	}
	return b.String()
}
