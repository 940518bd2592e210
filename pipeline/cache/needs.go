package cache

import (
	"slices"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A needs knows what the tasks of a configuration depend on. In a chain of n tasks the answers for all of them have n²/2
// tasks, so none is searched for by its name.
type needs struct {
	tasks []*pipeline.Task
	at    map[string]int
	on    [][]int // by place, the places of what a task depends on directly
}

func needsOf(c *pipeline.Config) *needs {
	n := &needs{tasks: c.Tasks, at: make(map[string]int, len(c.Tasks)), on: make([][]int, len(c.Tasks))}
	for i, t := range c.Tasks {
		n.at[t.Name] = i
	}
	for i, t := range c.Tasks {
		n.on[i] = n.places(t.DependsOn)
	}
	return n
}

func (n *needs) places(names []string) []int {
	places := make([]int, 0, len(names))
	for _, name := range names {
		if i, ok := n.at[name]; ok {
			places = append(places, i)
		}
	}
	return places
}

// of returns what a task depends on, also indirectly.
func (n *needs) of(t *pipeline.Task) (all []*pipeline.Task) {
	seen := make([]bool, len(n.tasks))
	if i, ok := n.at[t.Name]; ok {
		seen[i] = true
	}
	next := n.places(t.DependsOn)
	slices.Reverse(next)
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		all = append(all, n.tasks[i])
		for _, j := range slices.Backward(n.on[i]) {
			next = append(next, j)
		}
	}
	return all
}
