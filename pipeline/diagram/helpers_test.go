package diagram

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// graph makes a graph of lines "name: dependency dependency # description"; name* is a service, and name@agent a task of
// an agent.
func graph(t testing.TB, lines string) *pipeline.Graph {
	t.Helper()
	c := &pipeline.Config{}
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		line, about, _ := strings.Cut(line, " # ")
		name, after, _ := strings.Cut(line, ": ")
		task := &pipeline.Task{Name: strings.TrimSuffix(name, ":"), DependsOn: strings.Fields(after), Description: about}
		if name, ok := strings.CutSuffix(task.Name, "*"); ok {
			task.Name, task.Service = name, &pipeline.Service{}
		}
		if name, agent, ok := strings.Cut(task.Name, "@"); ok {
			task.Name, task.Agent = name, &pipeline.AgentWork{Use: agent}
		}
		c.Tasks = append(c.Tasks, task)
	}
	return selected(t, c)
}

func selected(t testing.TB, c *pipeline.Config) *pipeline.Graph {
	t.Helper()
	g, err := pipeline.Select(c, nil, false)
	check(t, err)
	return g
}

// big is n tasks in layers of wide, each after up to three tasks of the layer before and one far away.
func big(t testing.TB, n, wide int) *pipeline.Graph {
	t.Helper()
	c := &pipeline.Config{}
	for i := range n {
		task := &pipeline.Task{Name: fmt.Sprintf("task_%d", i)}
		for k := range 3 {
			if d := i - wide - k*k; d >= 0 {
				task.DependsOn = append(task.DependsOn, fmt.Sprintf("task_%d", d))
			}
		}
		if i%7 == 0 && i > 0 {
			task.DependsOn = append(task.DependsOn, fmt.Sprintf("task_%d", i/7))
		}
		c.Tasks = append(c.Tasks, task)
	}
	return selected(t, c)
}

// check ends the test where there is an error.
func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
