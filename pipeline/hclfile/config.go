package hclfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// config reads the blocks of the file. Names are declared before anything refers to them.
func (r *reading) config(top *block) *pipeline.Config {
	c := &pipeline.Config{File: r.abs, Root: filepath.Dir(r.abs)}
	c.Name = filepath.Base(c.Root)
	r.root = cty.StringVal(c.Root)

	r.variables(top.of("variable"))
	r.declareLocals(top.of("locals"))

	n := &namesOfFile{tasks: make(map[string]*declared), agents: make(map[string]*declared)}
	entries := make(map[string]hcl.Range) // tasks and jobs share their names: both are said to run
	agents := make(map[string]hcl.Range)
	var fine []*block
	tasks := make(map[*block]*declared)
	for _, b := range top.blocks {
		switch b.word.name {
		case "task":
			r.name(b, entries)
			r.inst = instance{base: b.name}
			d := n.declare(b.name, r.multiple(b))
			r.inst = instance{}
			tasks[b], n.tasks[b.name] = d, d
			if d.count == 0 {
				c.Empty = append(c.Empty, b.name)
			}
		case "job":
			r.name(b, entries)
		case "agent":
			r.name(b, agents)
			n.agents[b.name] = &declared{name: b.name}
		default:
			continue
		}
		fine = append(fine, b)
	}

	for _, b := range top.of("pipeline") {
		r.pipeline(b, c)
	}
	for _, b := range fine {
		switch b.word.name {
		case "task":
			c.Tasks = append(c.Tasks, r.tasks(b, tasks[b], n)...)
		case "agent":
			c.Agents = append(c.Agents, r.agent(b))
		case "job":
			c.Jobs = append(c.Jobs, r.job(b, n))
		}
	}
	r.relations(n)
	r.binds(n.allows, c)
	return c
}

// name checks a block's name and that no block before it has the same.
func (r *reading) name(b *block, first map[string]hcl.Range) bool {
	if !hclsyntax.ValidIdentifier(b.name) {
		r.addf(b.nameAt, "A name begins with a letter and goes on with letters, digits, _ and -.", "%q is not a valid name", b.name)
		return false
	}
	if at, ok := first[b.name]; ok {
		r.addf(b.nameAt, fmt.Sprintf("The first is on line %d; give one of them another name.", at.Start.Line),
			"%q is declared a second time", b.name)
		return false
	}
	first[b.name] = b.nameAt
	return true
}

func (r *reading) declareLocals(blocks []*block) {
	var order []string
	for _, b := range blocks {
		var names []string
		for name := range b.attrs {
			names = append(names, name)
		}
		slices.SortFunc(names, func(x, y string) int {
			return b.attrs[x].NameRange.Start.Byte - b.attrs[y].NameRange.Start.Byte
		})
		for _, name := range names {
			a := b.attrs[name]
			if l, ok := r.locals[name]; ok {
				r.addf(a.NameRange, fmt.Sprintf("The first is on line %d; give one of them another name.", l.attr.NameRange.Start.Line),
					"local %q is declared a second time", name)
				continue
			}
			r.locals[name] = &local{attr: a, value: cty.DynamicVal}
			order = append(order, name)
		}
	}
	for _, name := range order {
		r.local(name, r.locals[name])
	}
}

func (r *reading) pipeline(b *block, c *pipeline.Config) {
	if a := b.attrs["name"]; a != nil {
		if s, ok := r.str(b, "name"); ok {
			if strings.TrimSpace(s) == "" || strings.ContainsFunc(s, unicode.IsControl) {
				r.add(a.Expr.Range(), "name is empty or holds control characters", "Write a name that fits on one line.")
			}
			c.Name = s
		}
	}
	if a := b.attrs["concurrency"]; a != nil {
		c.Concurrency, _ = r.number(a, 1, 0)
	}
	if a := b.attrs["keep_runs"]; a != nil {
		c.KeepRuns, _ = r.number(a, 1, 0)
	}
	c.PassEnv = r.strs(b, "pass_env", `["NAME", "PREFIX_*"]`, r.passName)
}

func (r *reading) job(b *block, n *namesOfFile) *pipeline.Job {
	j := &pipeline.Job{Name: b.name, Pos: r.pos(b.at)}
	a := r.need(b, "tasks", "Write tasks = [task.NAME].", "job %q has no tasks", b.name)
	if a == nil {
		return j
	}
	all := r.refs(a, n)
	j.Tasks = all.names
	if len(all.refs) == 0 && all.fine && empty(a.Expr) {
		r.add(a.Expr.Range(), "tasks is empty", "Name at least one task: tasks = [task.NAME].")
	}
	return j
}

func empty(list hcl.Expression) bool {
	parts, diags := hcl.ExprList(list)
	return !diags.HasErrors() && len(parts) == 0
}
