package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline"
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
}

type listedJob struct {
	Name  string   `json:"name"`
	Tasks []string `json:"tasks"`
}

func listed(c *pipeline.Config) listing {
	l := listing{Tasks: []listedTask{}, Jobs: []listedJob{}}
	for _, t := range c.Tasks {
		l.Tasks = append(l.Tasks, listedTask{
			Name: t.Name, Description: orNull(t.Description), Command: view.Command(t.Run),
			DependsOn: append([]string{}, t.DependsOn...), OnFail: append([]string{}, view.OnFail(t)...),
		})
	}
	for _, j := range c.Jobs {
		l.Jobs = append(l.Jobs, listedJob{j.Name, append([]string{}, j.Tasks...)})
	}
	return l
}
