package hclfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// namesOfFile are the blocks that may be referred to, and who refers to whom.
type namesOfFile struct {
	tasks, agents map[string]bool
	deps          []refsOf // depends_on
	verify        []refsOf
}

type refsOf struct {
	task string
	to   []ref
}

// A ref is a reference such as task.build. It is read from the expression as it stands and never evaluated.
type ref struct {
	name string
	at   hcl.Range
}

// refs reads a list of references, without doubles.
func (r *reading) refs(a *hcl.Attribute, kind string, n *namesOfFile) ([]ref, bool) {
	parts, diags := hcl.ExprList(a.Expr)
	if diags.HasErrors() {
		r.addf(a.Expr.Range(), fmt.Sprintf("Write %s = [%s.NAME].", a.Name, kind), "%s must be a list of references, written out", a.Name)
		return nil, false
	}
	var all []ref
	fine := true
	for _, p := range parts {
		name, ok := r.ref(p, kind, a.Name, n)
		if !ok {
			fine = false
			continue
		}
		if !slices.ContainsFunc(all, func(x ref) bool { return x.name == name }) {
			all = append(all, ref{name, p.Range()})
		}
	}
	return all, fine
}

// ref reads one reference to a task or an agent.
func (r *reading) ref(expr hcl.Expression, kind, what string, n *namesOfFile) (string, bool) {
	known, mustRefer := n.tasks, what+" must refer to a task"
	if kind == "agent" {
		known, mustRefer = n.agents, what+" must refer to an agent"
	}
	at := expr.Range()
	t, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() {
		detail := fmt.Sprintf("Write %s.NAME.", kind)
		if v, diags := evaluate(expr, nil); !diags.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			if name := strings.TrimPrefix(v.AsString(), kind+"."); known[name] {
				detail = fmt.Sprintf("Write %s.%s, without quotes.", kind, name)
			}
		}
		r.add(at, mustRefer, detail)
		return "", false
	}
	name, has := step(t)
	switch {
	case t.RootName() != kind && known[t.RootName()] && len(t) == 1:
		r.add(at, mustRefer, fmt.Sprintf("Did you mean %s.%s?", kind, t.RootName()))
		return "", false
	case t.RootName() != kind || !has:
		r.add(at, mustRefer, fmt.Sprintf("Write %s.NAME.", kind))
		return "", false
	case len(t) > 2:
		r.addf(at, fmt.Sprintf("Write %s.%s.", kind, name), "`%s.%s[…]` needs %s, which this version does not have", kind, name, "tasks that are multiplied")
		return "", false
	case !known[name]:
		r.wrongWord(at, fmt.Sprintf("there is no %s %q", kind, name), name, slices.Sorted(maps.Keys(known)), fmt.Sprintf("Declare it: %s %q { … }", kind, name))
		return "", false
	}
	return name, true
}

// relations checks what tasks say about each other.
func (r *reading) relations(c *pipeline.Config, n *namesOfFile) {
	deps := make(map[string][]ref)
	for _, d := range n.deps {
		deps[d.task] = append(deps[d.task], d.to...)
	}
	if r.cycles(n.deps, deps) {
		return // in a way round everything waits for everything
	}
	below := make(map[string]map[string]bool) // failed task → what waits for it
	for _, v := range n.verify {
		if below[v.task] == nil {
			below[v.task] = waitingFor(v.task, c.Tasks)
		}
		for _, to := range v.to {
			if below[v.task][to.name] {
				r.addf(to.at, fmt.Sprintf("It would run before %s has passed. Name tasks that can run without it.", v.task),
					"verify names %q, which depends on %q", to.name, v.task)
			}
		}
	}
}

// cycles tells of each edge that closes a way round, with the whole way, and whether there is one.
func (r *reading) cycles(order []refsOf, deps map[string][]ref) bool {
	found := false
	state := make(map[string]int)
	var way []string
	var visit func(name string)
	visit = func(name string) {
		state[name] = inProgress
		way = append(way, name)
		for _, d := range deps[name] {
			switch state[d.name] {
			case 0:
				visit(d.name)
			case inProgress:
				found = true
				round := append(slices.Clone(way[slices.Index(way, d.name):]), d.name)
				r.add(d.at, "tasks wait for each other: "+strings.Join(round, " → "), "Take one of them out of a depends_on.")
			}
		}
		way = way[:len(way)-1]
		state[name] = done
	}
	for _, o := range order {
		if state[o.task] == 0 {
			visit(o.task)
		}
	}
	return found
}

// waitingFor gives every task that waits for name, directly or not.
func waitingFor(name string, tasks []*pipeline.Task) map[string]bool {
	dependents := make(map[string][]string)
	for _, t := range tasks {
		for _, d := range t.DependsOn {
			dependents[d] = append(dependents[d], t.Name)
		}
	}
	all := make(map[string]bool)
	todo := []string{name}
	for len(todo) > 0 {
		for _, t := range dependents[todo[0]] {
			if !all[t] {
				all[t] = true
				todo = append(todo, t)
			}
		}
		todo = todo[1:]
	}
	return all
}
