package hclfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// tasks reads task blocks.
type tasks struct {
	*commands
	hooks *hooks

	claims      []claim
	answers     []claim
	overlapping map[outputsAt]bool // outputs that have a fault already
}

// instances reads a task block: one task, or an instance for each element. After three instances with faults of
// their own the others are left: they will have the same.
func (r *tasks) instances(b *block, d *declared) []*pipeline.Task {
	defer r.inside(instance{})
	all := make([]*pipeline.Task, 0, d.count)
	faulty := 0
	for i := 0; i < d.count && faulty < 3; i++ {
		before := r.wrong
		r.inside(instance{base: b.name, name: r.names[d.first+i], of: d.of, number: i})
		all = append(all, r.task(b, d))
		if r.wrong > before {
			faulty++
		}
	}
	return all
}

// task reads the instance in progress.
func (r *tasks) task(b *block, d *declared) *pipeline.Task {
	outer := r.touched
	r.touched = newUses()
	defer func() { r.touched = outer }()
	r.touched.add(d.of.touched)
	number := d.first + r.inst.number
	t := &pipeline.Task{Name: r.inst.name, Base: b.name, Pos: r.pos(b.at)}
	t.Description, _ = r.str(b, "description")
	if a := b.attrs["depends_on"]; a != nil {
		all := r.refs(a)
		t.DependsOn = all.names
		r.deps = append(r.deps, refsOf{number, all.refs})
	}
	if work := agentBlock(b); work == nil {
		t.Run = r.command(r.need(b, "run", `Write run = ["program", "argument"] or run = "shell text".`,
			"task %q has nothing to run", b.name))
	}
	t.Env = r.env(b.attrs["env"])
	t.PassEnv = r.strs(b, "pass_env", `["NAME", "PREFIX_*"]`, r.passName)
	t.Dir = r.dir(b)
	r.inputs(b, t)
	t.Outputs = r.globs(b, "outputs", `["bin/**"]`)
	t.Timeout = r.duration(b.attrs["timeout"])
	t.Dotenv = r.dotenv(b)
	agents := 0
	for _, c := range b.blocks {
		if c.word == agentTaskWord { // see agentWork
			continue
		}
		switch c.word.name {
		case "agent":
			if agents++; agents > 1 {
				r.addf(c.at, "A failure has one proposed fix. Put both wishes into one block.",
					"a second on_fail %q of task %q", "agent", b.name)
			}
			t.OnFail = append(t.OnFail, pipeline.Hook{Pos: r.pos(c.at), Agent: r.hooks.agentHook(c, number)})
		case "run":
			t.OnFail = append(t.OnFail, pipeline.Hook{Pos: r.pos(c.at), Run: r.hooks.runHook(c)})
		case "retry":
			t.Retry = r.retry(c)
		case "cache":
			t.Cache = r.cache(c, t)
		case "ready": // see service
		case "scratch":
			t.Scratch.Include = r.globs(c, "include", `["vendor/**"]`)
			t.Scratch.Exclude = r.globs(c, "exclude", `["data/**"]`)
		}
	}
	t.Service = r.service(b)
	r.agentWork(b, t)
	t.Reads = slices.Sorted(maps.Keys(r.touched.files))
	t.Filesets, t.Asked = slices.Sorted(maps.Keys(r.touched.sets)), slices.Sorted(maps.Keys(r.touched.asked))
	if a := b.attrs["outputs"]; a != nil && t.Agent == nil && t.HasInputs() && !t.Cache.Disabled {
		r.claims = append(r.claims, claim{t, a.Range, r.report})
	}
	return t
}

// inputs reads what decides whether the result of a task can be used again.
func (r *tasks) inputs(b *block, t *pipeline.Task) {
	a := b.attrs["inputs"]
	if t.Auto = a != nil && hcl.ExprAsKeyword(a.Expr) == auto; !t.Auto {
		t.Inputs = r.globs(b, "inputs", `["**/*.go"]`)
	}
	for _, name := range []string{"strict", "tools"} {
		if with := b.attrs[name]; with != nil && a == nil {
			r.addf(with.NameRange, `Write inputs = ["src/**"] too: it is about the result of a task that is cached.`, "%s is of no use without inputs", name)
		}
	}
	t.Tools = r.tools(b.attrs["tools"])
	if s := b.attrs["strict"]; s != nil {
		if t.Strict = r.boolean(b, "strict"); t.Strict && t.Auto {
			r.add(s.NameRange, "strict is of no use with inputs = auto", "All that the task reads is an input. Take strict out.")
		}
	}
}

// auto is the word for inputs that are what a task was seen to read.
const auto = "auto"

// tools reads a map of commands.
func (r *tasks) tools(a *hcl.Attribute) []pipeline.Tool {
	const do = `Write tools = { go = ["go", "version"] }.`
	v, ok := r.value(a)
	if !ok || !v.IsKnown() {
		return nil
	}
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		r.addf(a.Expr.Range(), fmt.Sprintf("It is %s. %s", kind(v), do), "%s must be a map", a.Name)
		return nil
	}
	var all []pipeline.Tool
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		words := hcl.Attribute{Name: "tools " + k.AsString(), Expr: a.Expr}
		items, fine := r.elements(e, &words, `["go", "version"]`)
		tool := pipeline.Tool{Name: k.AsString()}
		for _, w := range items {
			s, ok := r.openText(w.Value, w.at, words.Name)
			if fine = fine && ok; fine {
				tool.Argv = append(tool.Argv, s)
			}
		}
		if fine && (tool.Name == "" || len(tool.Argv) == 0 || strings.TrimSpace(tool.Argv[0]) == "") {
			r.add(a.Expr.Range(), "tools has an entry without a program", do)
			fine = false
		}
		if fine {
			all = append(all, tool)
		}
	}
	return all // a map is in the order of its names
}

// retry reads the retry block of a task.
func (r *tasks) retry(b *block) pipeline.Retry {
	var t pipeline.Retry
	t.Attempts = r.number(r.need(b, "attempts", "Write attempts = 2.", "the retry block has no attempts"), 1, 10)
	t.Delay = r.duration(b.attrs["delay"])
	t.OnExit = r.exitCodes(b.attrs["on_exit"])
	return t
}

// cache reads the cache block of a task.
func (r *tasks) cache(b *block, t *pipeline.Task) pipeline.CacheRules {
	on := func(name string, byDefault bool) bool {
		if b.attrs[name] == nil {
			return byDefault
		}
		return r.boolean(b, name)
	}
	rules := pipeline.CacheRules{
		Disabled: !on("enabled", true), NoOutputs: !on("store_outputs", true), CleanOutputs: on("clean_outputs", false),
		TTL: r.duration(b.attrs["ttl"]),
	}
	if !t.HasInputs() && !rules.Disabled {
		r.addf(b.at, `Write inputs = ["src/**"] in the task: what it reads decides whether its result can be used again.`,
			"task %q has a cache block and no inputs", t.Base)
	}
	return rules
}

// dotenv reads the names of a task's files of variables. The files are read when the task is about to run.
func (r *tasks) dotenv(b *block) []string {
	return r.strs(b, "dotenv", `[".env"]`, func(s string, at hcl.Range) (string, bool) {
		const file = `Write the name of a file, such as ".env".`
		clean, ok := r.inRoot(s, at, "a path in dotenv", file)
		switch {
		case !ok:
		case strings.ContainsAny(s, "*?[]{}"):
			r.add(at, "dotenv contains a pattern", "Name each file: which one wins depends on their order.")
		case clean == "." || strings.HasSuffix(s, "/"):
			r.add(at, "dotenv names a folder", file)
		default:
			return clean, true
		}
		return "", false
	})
}
