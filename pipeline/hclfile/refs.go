package hclfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

// maxEdges is how many references there may be between tasks, each instance counted: task.a in a
// thousand instances, with a thousand instances of a, is a million.
const maxEdges = 1_000_000

// references are the blocks that may be referred to, and which task refers to which. Tasks go by their number in
// the file, each instance counted.
type references struct {
	*reader
	tasks    map[string]*declared
	included map[string]*declared // included files, and their tasks: api, api:test
	agents   map[string]*declared
	names    []string // of all tasks
	deps     []refsOf // depends_on
	verify   []refsOf
	allows   []allowing
	verifies []verifying
	stamp    []int // who was the last to name a task: for lists without doubles
	stamps   int
}

// A declared name is that of one task, of its instances or of an included file. Instances, and the tasks of a file, have
// consecutive numbers.
type declared struct {
	name   string
	first  int
	count  int
	of     *multiple
	keys   map[string]int // key → number of the task
	file   bool           // of an included file
	unread bool           // that cannot be understood: what refers to it is no fault
}

// refsOf are the references of one task.
type refsOf struct {
	task int
	to   []ref
}

// A ref is a reference such as task.build, which may mean several tasks.
type ref struct {
	d     *declared
	first int
	count int
	whole bool // without a key
	at    hcl.Range
}

// A refList is a list of them, and the names of the tasks, without doubles.
type refList struct {
	refs  []ref
	names []string
	edges int // how many tasks they name, doubles counted
	fine  bool
}

// declare numbers the task of a block, or its instances.
func (r *references) declare(name string, m *multiple) *declared {
	d := &declared{name: name, first: len(r.names), count: 1, of: m}
	r.tasks[name] = d
	if m == nil || m.root == "" && !m.broken {
		r.enlist(name)
		return d
	}
	d.count, d.keys = len(m.keys), make(map[string]int, len(m.keys))
	for _, key := range m.keys {
		d.keys[key] = len(r.names)
		r.enlist(pipeline.InstanceName(name, key))
	}
	return d
}

// enlist gives a task the next number.
func (r *references) enlist(name string) {
	r.names = append(r.names, name)
	r.stamp = append(r.stamp, 0)
}

// refs reads a list of references to tasks.
func (r *references) refs(a *hcl.Attribute) refList {
	m := r.inst.of
	if m != nil {
		if all, ok := m.fixed[a]; ok {
			return r.notTooMany(all, a.Expr.Range())
		}
	}
	parts, diags := hcl.ExprList(a.Expr)
	if diags.HasErrors() {
		r.addf(a.Expr.Range(), fmt.Sprintf("Write %s = [task.NAME].", a.Name),
			"%s must be a list of references, written out", a.Name)
		return refList{}
	}
	all := refList{fine: true}
	r.stamps++
	fixed := true
	for _, p := range parts {
		to, keyed, ok := r.ref(p, "task", a.Name)
		fixed = fixed && !keyed
		if !ok {
			all.fine = false
			continue
		}
		before := len(all.names)
		for i := to.first; i < to.first+to.count; i++ {
			if r.stamp[i] != r.stamps {
				r.stamp[i] = r.stamps
				all.names = append(all.names, r.names[i])
			}
		}
		if len(all.names) > before {
			all.refs = append(all.refs, to)
		}
		all.edges += to.count
	}
	all.names = slices.Clip(all.names) // instances share it
	if m != nil && m.fixed != nil && fixed {
		m.fixed[a] = all
	}
	return r.notTooMany(all, a.Expr.Range())
}

func (r *references) notTooMany(all refList, at hcl.Range) refList {
	if r.edges += all.edges; r.edges <= maxEdges {
		return all
	}
	r.addf(at, "Let them wait for one task that waits for all the others.",
		"tasks name each other more than %d times", maxEdges)
	return refList{}
}

// ref reads one reference to a task or an agent, from the expression as it is written; only a key is evaluated. keyed
// reports whether it has a key, which may differ in the next instance.
func (r *references) ref(expr hcl.Expression, kind, what string) (to ref, keyed, ok bool) {
	known, mustRefer := r.tasks, what+" must refer to a task"
	if kind == "agent" {
		known, mustRefer = r.agents, what+" must refer to an agent"
	}
	at := expr.Range()
	t, key, diags := reference(expr)
	if diags.HasErrors() {
		detail := fmt.Sprintf("Write %s.NAME.", kind)
		if v, diags := guard.Evaluate(expr, nil); !diags.HasErrors() && v.Type() == cty.String && v.IsKnown() &&
			!v.IsNull() {
			switch name := strings.TrimPrefix(v.AsString(), kind+"."); {
			case known[name] != nil:
				detail = fmt.Sprintf("Write %s.%s, without quotes.", kind, name)
			case kind == "task" && strings.HasPrefix(name, "include."):
				detail = fmt.Sprintf("Write %s, without quotes.", name)
			case kind == "task" && r.included[name] != nil:
				detail = fmt.Sprintf("Write include.%s, without quotes.", strings.ReplaceAll(name, ":", "."))
			}
		}
		r.add(at, mustRefer, detail)
		return ref{}, false, false
	}
	if kind == "task" && t.RootName() == "include" {
		d := r.includedRef(t, key, at, mustRefer)
		if d == nil {
			return ref{}, false, false
		}
		return r.one(d, key, at)
	}
	name, has := step(t)
	switch {
	case t.RootName() != kind && known[t.RootName()] != nil && len(t) == 1:
		r.add(at, mustRefer, fmt.Sprintf("Did you mean %s.%s?", kind, t.RootName()))
		return ref{}, false, false
	case t.RootName() != kind || !has:
		r.add(at, mustRefer, fmt.Sprintf("Write %s.NAME.", kind))
		return ref{}, false, false
	case known[name] == nil && kind == "task" && r.included[name] != nil:
		r.addf(at, fmt.Sprintf("It is an include. Write include.%[1]s for all of its tasks, or include.%[1]s.NAME for one.", name),
			"there is no task %q", name)
		return ref{}, false, false
	case known[name] == nil:
		r.wrongWord(at, fmt.Sprintf("there is no %s %q", kind, name), name, slices.Sorted(maps.Keys(known)),
			fmt.Sprintf("Declare it: %s %q { … }", kind, name))
		return ref{}, false, false
	case len(t) > 2:
		r.add(at, mustRefer, fmt.Sprintf(`Write %s.%s, or %s.%s["KEY"] for one of several instances.`, kind, name,
			kind, name))
		return ref{}, false, false
	case key != nil && known[name].keys == nil:
		r.addf(at, fmt.Sprintf("Write %s.%s.", kind, name), "%s %q is one, without instances", kind, name)
		return ref{}, true, false
	}
	return r.one(known[name], key, at)
}

// one returns the reference to a task, or to the instance that a key names.
func (r *references) one(d *declared, key hcl.Expression, at hcl.Range) (to ref, keyed, ok bool) {
	to = ref{d, d.first, d.count, key == nil, at}
	if key == nil {
		return to, false, true
	}
	to.first, ok = r.refKey(key, d)
	to.count = 1
	return to, true, ok
}

// refKey finds the instance that a key names, by its number.
func (r *references) refKey(key hcl.Expression, d *declared) (int, bool) {
	const what = "the key of a reference"
	v := r.eval(key, place{})
	if !v.ok {
		return 0, false
	}
	at := key.Range()
	opened, ok := r.open(v.Value, at, what)
	if !ok {
		return 0, false
	}
	text, ok := r.key(opened, at, what)
	if !ok || d.of.broken {
		return d.first, ok
	}
	if i, ok := d.keys[text]; ok {
		return i, true
	}
	if i, ok := d.keys[pipeline.KeyInAnyOrder(text, d.of.keys)]; ok {
		return i, true
	}
	otherwise := "It has none at all."
	if len(d.of.keys) > 0 {
		otherwise = "It has " + english.List(d.of.keys, 8) + "."
	}
	r.wrongWord(at, fmt.Sprintf("task %q has no instance %q", d.name, text), text, d.of.keys, otherwise)
	return 0, false
}

// reference splits task.build["linux"] and task.build[each.key] without evaluating them.
func reference(expr hcl.Expression) (t hcl.Traversal, key hcl.Expression, diags hcl.Diagnostics) {
	if index, ok := expr.(*hclsyntax.IndexExpr); ok {
		t, diags = hcl.AbsTraversalForExpr(index.Collection)
		return t, index.Key, diags
	}
	t, diags = hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() || len(t) != 3 && (len(t) < 3 || t.RootName() != "include") {
		return t, nil, diags
	}
	last := len(t) - 1
	if index, ok := t[last].(hcl.TraverseIndex); ok {
		return t[:last], &hclsyntax.LiteralValueExpr{Val: index.Key, SrcRange: index.SrcRange}, nil
	}
	return t, nil, nil
}

// An order is the tasks of a file, by number, and what each waits for.
type order struct {
	*report
	names []string
	deps  [][]ref
	asked []bool // somebody waits for it
	ended []int  // when the search left it: after all that it waits for; 0 means never
}

// relations checks the references between tasks: no cycles, and no task that verify would run before it can.
func (r *references) relations() {
	n := len(r.names)
	o := &order{report: r.report, names: r.names, deps: make([][]ref, n), asked: make([]bool, n), ended: make([]int, n)}
	for _, d := range r.deps {
		o.deps[d.task] = d.to
	}
	if o.cycles() {
		return // in a way round everything waits for everything
	}
	told := make(map[hcl.Pos]bool)
	seen, mark := make([]int, n), 0
	for _, v := range r.verify {
		if !o.asked[v.task] {
			continue
		}
		mark++
		for _, to := range v.to {
			if told[to.at.Start] {
				continue
			}
			if name, ok := o.waits(to, v.task, mark, seen); ok {
				mark++ // a search that has found something has not seen everything
				told[to.at.Start] = true
				r.addf(to.at, fmt.Sprintf("It would run before %s has passed. Name tasks that can run without it.",
					r.names[v.task]),
					"verify names %q, which depends on %q", r.names[name], r.names[v.task])
			}
		}
	}
}

// cycles adds a fault for each reference that closes a cycle, and reports whether there is one.
func (o *order) cycles() bool {
	found := false
	begun := make([]bool, len(o.names))
	told := make(map[hcl.Pos]bool) // a reference in many instances is told once
	var way []int
	left := 0
	var visit func(i int)
	visit = func(i int) {
		begun[i] = true
		way = append(way, i)
		for _, d := range o.deps[i] {
			for j := d.first; j < d.first+d.count; j++ {
				o.asked[j] = true
				switch {
				case !begun[j]:
					visit(j)
				case o.ended[j] == 0:
					found = true
					if told[d.at.Start] {
						continue
					}
					told[d.at.Start] = true
					if i == j && d.d.keys != nil && d.whole {
						o.addf(d.at, fmt.Sprintf(`task.%s is every instance of it, this one too. Name another one: task.%s["KEY"].`, d.d.name, d.d.name),
							"tasks wait for each other: %s → %s", d.d.name, d.d.name)
						continue
					}
					o.addf(d.at, "Take one of them out of a depends_on.", "tasks wait for each other: %s",
						o.round(way, j))
				}
			}
		}
		way = way[:len(way)-1]
		left++
		o.ended[i] = left
	}
	for i := range o.names {
		if !begun[i] {
			visit(i)
		}
	}
	return found
}

// round writes a cycle; of a long one both ends.
func (o *order) round(way []int, to int) string {
	const few = 12
	var all []string
	for _, i := range way[slices.Index(way, to):] {
		all = append(all, o.names[i])
	}
	if len(all) > few {
		all = slices.Concat(all[:few/2], []string{fmt.Sprintf("(%d more)", len(all)-few)}, all[len(all)-few/2:])
	}
	return strings.Join(append(all, o.names[to]), " → ")
}

// waits finds one of the tasks of a reference that waits for a task, directly or not. The search marks what it has
// seen, and never comes to what ended before: that cannot wait for the task.
func (o *order) waits(to ref, task, mark int, seen []int) (int, bool) {
	for from := to.first; from < to.first+to.count; from++ {
		todo := []int{from}
		for len(todo) > 0 {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[i] == mark || o.ended[i] <= o.ended[task] {
				continue
			}
			seen[i] = mark
			for _, d := range o.deps[i] {
				if d.first <= task && task < d.first+d.count {
					return from, true
				}
				for j := d.first; j < d.first+d.count; j++ {
					if seen[j] != mark && o.ended[j] > o.ended[task] {
						todo = append(todo, j)
					}
				}
			}
		}
	}
	return 0, false
}
