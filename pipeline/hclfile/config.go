package hclfile

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A decoder turns the blocks of a file into a Config, with one decoder for each type of block.
type decoder struct {
	*references
	c *pipeline.Config

	variables  *variables
	includer   *includer
	multiplier *multiplier
	tasks      *tasks
	hooks      *hooks
	agents     *agents
}

func newDecoder(r *report, s *source, all *reading) *decoder {
	c := &pipeline.Config{File: all.shown(s.abs), Root: all.shown(filepath.Dir(s.abs))}
	c.Name = filepath.Base(c.Root)
	values := &reader{newEvaluator(r, filepath.Dir(s.abs), c.Root, all)}
	refs := &references{
		reader: values, tasks: make(map[string]*declared), included: make(map[string]*declared),
		agents: make(map[string]*declared),
	}
	run := &commands{refs}
	hooks := &hooks{run}
	return &decoder{
		references: refs, c: c, variables: &variables{values, s, all}, includer: &includer{refs, all, s},
		multiplier: &multiplier{values}, hooks: hooks, agents: &agents{run},
		tasks: &tasks{commands: run, hooks: hooks, overlapping: map[outputsAt]bool{}},
	}
}

// file reads the blocks of the file. Names are declared before anything refers to them.
func (r *decoder) file(top *block) {
	r.variables.read(top.of("variable"))
	r.declareLocals(top.of("locals"))

	entries := make(map[string]hcl.Range) // tasks, jobs and includes share their names: they can be run, and api:test is of an include
	agents := make(map[string]hcl.Range)
	tasks := make(map[*block]*declared)
	files := make(map[*block]*decoder)
	for _, b := range top.blocks {
		switch b.word.name {
		case "task":
			r.name(b, entries)
			r.inside(instance{base: b.name})
			tasks[b] = r.declare(b.name, r.multiplier.multiple(b))
			r.inside(instance{})
			if tasks[b].count == 0 {
				r.c.Empty = append(r.c.Empty, b.name)
			}
		case "job":
			r.name(b, entries)
		case "include":
			files[b] = r.includer.include(b, entries)
		case "agent":
			r.name(b, agents)
			r.references.agents[b.name] = &declared{name: b.name}
		}
	}

	r.includer.strayVars()
	for _, b := range top.of("pipeline") {
		r.pipeline(b)
	}
	for _, b := range top.blocks {
		switch b.word.name {
		case "task":
			r.c.Tasks = append(r.c.Tasks, r.tasks.instances(b, tasks[b])...)
		case "agent":
			r.c.Agents = append(r.c.Agents, r.agents.agent(b))
		case "job":
			r.c.Jobs = append(r.c.Jobs, r.job(b))
		case "include":
			r.take(files[b])
		}
	}
	r.c.Filesets = append(r.c.Filesets, slices.Sorted(maps.Keys(r.ever.sets))...)
	r.c.Asked = append(r.c.Asked, slices.Sorted(maps.Keys(r.ever.asked))...)
	r.c.Found = slices.AppendSeq(r.c.Found, maps.Keys(r.ever.files))
	r.relations()
	r.hooks.verifiable(r.c)
	r.hooks.binds(r.c)
	r.tasks.readsAgents(r.c)
}

// take adds what an included file declares.
func (r *decoder) take(file *decoder) {
	if file == nil {
		return
	}
	c := file.c
	r.c.Included = append(r.c.Included, c.Included...)
	r.c.Filesets, r.c.Asked = append(r.c.Filesets, c.Filesets...), append(r.c.Asked, c.Asked...)
	r.c.Found = append(r.c.Found, c.Found...)
	r.c.Tasks = append(r.c.Tasks, c.Tasks...)
	r.c.Empty = append(r.c.Empty, c.Empty...)
	r.c.Agents = append(r.c.Agents, c.Agents...)
	r.c.Jobs = append(r.c.Jobs, c.Jobs...)
	r.tasks.claims = append(r.tasks.claims, file.tasks.claims...)
	r.tasks.answers = append(r.tasks.answers, file.tasks.answers...)
}

func (r *decoder) declareLocals(blocks []*block) {
	var order []string
	for _, b := range blocks {
		for _, a := range byPlace(b.attrs) {
			name := a.Name
			if l, ok := r.locals[name]; ok {
				r.addf(a.NameRange, fmt.Sprintf("The first is on line %d; give one of them another name.",
					l.attr.NameRange.Start.Line),
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

func (r *decoder) pipeline(b *block) {
	c := r.c
	if s, ok := r.str(b, "name"); ok {
		if strings.TrimSpace(s) == "" || strings.ContainsFunc(s, unicode.IsControl) {
			at := b.attrs["name"].Expr.Range()
			r.add(at, "name is empty or contains control characters", "Write a name that fits on one line.")
		}
		c.Name = s
	}
	c.Concurrency = r.number(b.attrs["concurrency"], 1, 0)
	c.KeepRuns = r.number(b.attrs["keep_runs"], 1, 0)
	c.PassEnv = r.strs(b, "pass_env", `["NAME", "PREFIX_*"]`, r.passName)
}

func (r *decoder) job(b *block) *pipeline.Job {
	j := &pipeline.Job{Name: b.name, Pos: r.pos(b.at)}
	a := r.need(b, "tasks", "Write tasks = [task.NAME].", "job %q has no tasks", b.name)
	if a == nil {
		return j
	}
	all := r.refs(a)
	j.Tasks = all.names
	if parts, _ := hcl.ExprList(a.Expr); len(parts) == 0 && all.fine {
		r.add(a.Expr.Range(), "tasks is empty", "Name at least one task: tasks = [task.NAME].")
	}
	return j
}
