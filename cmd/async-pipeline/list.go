package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func listCommand(prog *program) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the tasks and jobs; nothing is run",
		Example: `  async-pipeline list
  async-pipeline list --json`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			c, err := prog.load()
			if err != nil {
				return err
			}
			if asJSON {
				return prog.PrintJSON(listed(c))
			}
			prog.Results().Tasks(c)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print them as JSON")
	prog.varFlag(c)
	return c
}

// A listing is list --json.
type listing struct {
	Tasks []listedTask `json:"tasks"`
	Jobs  []listedJob  `json:"jobs"`
}

type listedTask struct {
	Name        string   `json:"name"`
	Description *string  `json:"description"`
	Command     string   `json:"command"`
	DependsOn   []string `json:"depends_on"`
	OnFail      []string `json:"on_fail"` // "agent NAME" | "run"
	Service     bool     `json:"service,omitempty"`
	Agent       string   `json:"agent,omitempty"` // that does the task; command is what it is asked then
}

type listedJob struct {
	Name  string   `json:"name"`
	Tasks []string `json:"tasks"`
}

// agentOf returns the agent that does a task; empty: none does.
func agentOf(t *pipeline.Task) string {
	if t.Agent == nil {
		return ""
	}
	return t.Agent.Use
}

func listed(c *pipeline.Config) listing {
	l := listing{Tasks: []listedTask{}, Jobs: []listedJob{}}
	for _, t := range c.Tasks {
		l.Tasks = append(l.Tasks, listedTask{
			Name: t.Name, Description: orNull(t.Description), Command: view.Does(t), Agent: agentOf(t),
			DependsOn: append([]string{}, t.DependsOn...), OnFail: append([]string{}, view.OnFail(t)...),
			Service: t.Service != nil,
		})
	}
	for _, j := range c.Jobs {
		l.Jobs = append(l.Jobs, listedJob{j.Name, append([]string{}, j.Tasks...)})
	}
	return l
}

// recordedNames returns the arguments of a verb with names of tasks as the newest run that has them has them. A person
// types test:linux, or what a shell leaves of test["linux"]; api:test may be a task of an included file. What no run has
// is returned as it was typed.
func recordedNames(store *record.Store, args []string) []string {
	var ids []string
	if slices.ContainsFunc(args, func(arg string) bool { return strings.ContainsAny(arg, ":[") }) {
		ids, _ = store.IDs() // said by whatever is done instead
	}
	whole := slices.Clone(args)
	for i, arg := range args {
		for _, id := range ids {
			names := tasksIn(store, id)
			if whole[i] = pipeline.Meant(arg, names); slices.Contains(names, whole[i]) {
				break
			}
		}
	}
	return whole
}

// tasksIn returns the tasks of a run, with or without a verdict.
func tasksIn(store *record.Store, id string) []string {
	if s := store.Entry(id).Sealed; s != nil {
		return namesOf(s.Tasks)
	}
	begun, err := store.Beginning(id)
	if err != nil {
		return nil
	}
	return begun.Names
}

// Finds the run for a command in which none was typed.

// newestRun returns the newest run with a verdict or, where that does not have the task, a newer one without a
// verdict that has it. An empty task stands for any. A note names a newer run that was passed over, with the command
// that typed returns for it.
func newestRun(prog *program, store *record.Store, task string, typed func(newer record.Entry) string) (record.Entry, error) {
	e, err := prog.lookRun(store, "latest")
	newer, names, there := unsealedAfter(store, e.ID)
	switch {
	case !there, err != nil && !errors.As(err, new(*exit.Error)):
		return e, err
	case err != nil, task != "" && e.Sealed.Task(task) == nil && slices.Contains(names, task):
		return newer, nil //nolint:nilerr // nothing has a verdict: this is what there is
	case newer.Live:
		prog.Messages().Note("run " + newer.ID + " is still running; " + typed(newer))
	default:
		prog.Messages().Note("run " + newer.ID + " is newer and was ended before its verdict; " + typed(newer))
	}
	return e, nil
}

// unsealedAfter returns the newest run without a verdict that began after another one ("": of all), and its tasks.
func unsealedAfter(store *record.Store, id string) (newer record.Entry, tasks []string, there bool) {
	ids, err := store.IDs()
	if err != nil {
		return newer, nil, false // said by whatever is done instead
	}
	for _, later := range ids {
		if later == id {
			break
		}
		if store.HasVerdict(later) {
			continue
		}
		if e := store.Entry(later); e.Sealed == nil && e.Err == nil {
			begun, _ := store.Beginning(later) // what cannot be read has no task
			return e, begun.Names, true
		}
	}
	return newer, nil, false
}
