package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

// A Graph is the selected tasks of a Config and what each waits for. It never changes after Select.
type Graph struct {
	tasks []*Task
	deps  map[string][]string
}

// Select returns the graph of the named jobs and tasks and all that they depend on; with only, without what they
// depend on. A task that depends on another by way of tasks that are left out waits for it all the same. The name of a task with several instances selects them all. No names select
// the job "default" if there is one, else every task. Dependencies come first, otherwise tasks are in file order. The
// error is an Errors: a name that is neither a job nor a task, with a suggestion, or tasks that wait for each other,
// with the whole cycle.
func Select(c *Config, names []string, only bool) (*Graph, error) {
	all := newRoster(c)
	at := all.at
	picked, faults := pick(c, all, names)
	if !only {
		faults = append(faults, addDependencies(c, at, picked)...)
	}
	if len(faults) > 0 {
		return nil, faults
	}

	g := &Graph{deps: make(map[string][]string)}
	for i, t := range c.Tasks {
		if !picked[i] {
			continue
		}
		g.tasks = append(g.tasks, t)
		for _, j := range nearest(c, at, picked, t) {
			g.deps[t.Name] = append(g.deps[t.Name], c.Tasks[j].Name)
		}
	}
	if err := g.order(); err != nil {
		return nil, Errors{*err}
	}
	return g, nil
}

// nearest returns the places of the picked tasks that t depends on, directly or by way of tasks that are not picked,
// in file order.
func nearest(c *Config, at map[string]int, picked []bool, t *Task) (found []int) {
	seen := map[string]bool{}
	var visit func(from *Task)
	visit = func(from *Task) {
		for _, name := range from.DependsOn {
			j, ok := at[name]
			switch {
			case !ok || seen[name]:
			case !picked[j]:
				seen[name] = true
				visit(c.Tasks[j])
			case name != t.Name || from == t: // validate tells of a cycle by way of others
				found = append(found, j)
			}
		}
	}
	visit(t)
	slices.Sort(found)
	return slices.Compact(found)
}

// pick marks the tasks that were named, by their place in the file.
func pick(c *Config, all *roster, names []string) ([]bool, Errors) {
	picked := make([]bool, len(c.Tasks))
	if len(names) == 0 {
		if c.Job("default") == nil {
			for i := range picked {
				picked[i] = true
			}
			return picked, nil
		}
		names = []string{"default"}
	}
	var faults Errors
	for _, name := range names {
		if found, ok := all.find(c, name); ok {
			for _, i := range found {
				picked[i] = true
			}
			continue
		}
		job := c.Job(name)
		if job == nil {
			faults = append(faults, unknownName(c, all, name))
			continue
		}
		for _, t := range job.Tasks {
			found, ok := all.find(c, t)
			if !ok {
				faults = append(faults, Error{Pos: job.Pos, Summary: fmt.Sprintf("job %q names the task %q, which does not exist", name, t)})
			}
			for _, i := range found {
				picked[i] = true
			}
		}
	}
	return picked, faults
}

func unknownName(c *Config, all *roster, name string) Error {
	e := Error{Pos: Pos{File: c.File}}
	base, key := c.splitTyped(name)
	if _, plain := all.at[base]; plain {
		e.Summary, e.Suggestion = fmt.Sprintf("task %q is one task, without instances", base), base
		e.Detail = fmt.Sprintf("did you mean %s?", base)
		return e
	}
	if base != "" {
		e.Summary = fmt.Sprintf("task %q has no instance %q", base, key)
		e.Suggestion, e.Detail = c.nearestInstance(base, key)
		return e
	}
	known := slices.Concat(all.order, c.Empty) // a name before its instances, which are as near
	for _, t := range c.Tasks {
		known = append(known, t.Name)
	}
	for _, j := range c.Jobs {
		known = append(known, j.Name)
	}
	e.Summary = fmt.Sprintf("there is no task or job named %q", name)
	e.Suggestion = Nearest(name, known)
	switch {
	case e.Suggestion != "":
		e.Detail = fmt.Sprintf("did you mean %q?", e.Suggestion)
	case len(known) == 0:
		e.Detail = "the file declares no task"
	default:
		e.Detail = `the "list" command shows them all`
	}
	return e
}

// addDependencies marks whatever the marked tasks wait for, directly or not.
func addDependencies(c *Config, at map[string]int, picked []bool) Errors {
	var faults Errors
	var todo []int
	for i, p := range picked {
		if p {
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		t := c.Tasks[todo[0]]
		todo = todo[1:]
		for _, d := range t.DependsOn {
			j, ok := at[d]
			switch {
			case !ok:
				faults = append(faults, Error{Pos: t.Pos, Summary: fmt.Sprintf("task %q depends on %q, which does not exist", t.Shown(), ShownName(d))})
			case !picked[j]:
				picked[j] = true
				todo = append(todo, j)
			}
		}
	}
	return faults
}

// order sorts g.tasks, which are in file order: of the tasks whose dependencies are already in, it takes the first
// one. A Scheduler with Parallel 1 starts them in this order.
func (g *Graph) order() *Error {
	w := begin(g)
	var sorted []*Task
	for w.ready.Len() > 0 {
		i := w.next()
		sorted = append(sorted, g.tasks[i])
		w.release(i)
	}
	if len(sorted) < len(g.tasks) {
		return g.cycle(w.waits)
	}
	g.tasks = sorted
	return nil
}

// cycle returns a cycle among the tasks that still wait. Each of them waits for another of them, so following the
// first such edge from anywhere must come back.
func (g *Graph) cycle(waits []int) *Error {
	at := make(map[string]int)
	for i, t := range g.tasks {
		at[t.Name] = i
	}
	var way []string
	seen := make(map[string]int)
	for i := slices.IndexFunc(waits, func(n int) bool { return n > 0 }); ; {
		name := g.tasks[i].Name
		if from, ok := seen[name]; ok {
			way = append(way[from:], name)
			return &Error{
				Pos:     g.tasks[i].Pos,
				Summary: "tasks wait for each other: " + strings.Join(way, " → "),
				Detail:  "take one of them out of a depends_on",
			}
		}
		seen[name] = len(way)
		way = append(way, name)
		stuck := slices.IndexFunc(g.deps[name], func(d string) bool { return waits[at[d]] > 0 })
		i = at[g.deps[name][stuck]]
	}
}

// places is a heap of places in the file.
type places []int

func (p places) Len() int           { return len(p) }
func (p places) Less(i, j int) bool { return p[i] < p[j] }
func (p places) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *places) Push(x any)        { *p = append(*p, x.(int)) }
func (p *places) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// Tasks lists the selected tasks, dependencies first, otherwise in file order.
func (g *Graph) Tasks() []*Task { return g.tasks }

// DependsOn lists the selected tasks that name waits for, in file order.
func (g *Graph) DependsOn(name string) []string { return g.deps[name] }

// Ancestors lists everything that name waits for, directly or not, dependencies first, without name itself.
func (g *Graph) Ancestors(name string) []*Task {
	in := map[string]bool{name: true}
	var above []*Task
	for _, t := range slices.Backward(g.tasks) { // whoever waits for t comes before it here
		if !in[t.Name] {
			continue
		}
		for _, d := range g.deps[t.Name] {
			in[d] = true
		}
		if t.Name != name {
			above = append(above, t)
		}
	}
	slices.Reverse(above)
	return above
}

// Services lists the services that must be ready while a task runs: what it depends on, also indirectly, as far as it is
// a service; a service comes after those that it needs itself.
func (c *Config) Services(t *Task) []*Task {
	var all []*Task
	seen := map[string]bool{}
	var visit func(names []string)
	visit = func(names []string) {
		for _, name := range names {
			d := c.Task(name)
			if d == nil || seen[name] {
				continue
			}
			seen[name] = true
			visit(d.DependsOn)
			if d.Service != nil {
				all = append(all, d)
			}
		}
	}
	visit(t.DependsOn)
	return all
}

// WithServices returns names of tasks, and behind them those of the services that the tasks need.
func (c *Config) WithServices(names []string) []string {
	all := slices.Clone(names)
	for _, name := range names {
		t := c.Task(name)
		if t == nil {
			continue
		}
		for _, s := range c.Services(t) {
			if !slices.Contains(all, s.Name) {
				all = append(all, s.Name)
			}
		}
	}
	return all
}

// WithoutAgents returns those of tasks that run a command. No check starts an agent.
func WithoutAgents(tasks []*Task) []*Task {
	return slices.DeleteFunc(slices.Clone(tasks), func(t *Task) bool { return t.Agent != nil })
}
