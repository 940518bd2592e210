package hclfile

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// tasks reads a task block: one task, or an instance for each element. After three instances with faults of their own the
// others are left: they will have the same.
func (r *reading) tasks(b *block, d *declared, n *namesOfFile) []*pipeline.Task {
	defer func() { r.inst = instance{} }()
	all := make([]*pipeline.Task, 0, d.count)
	faulty := 0
	for i := 0; i < d.count && faulty < 3; i++ {
		before := r.wrong
		r.inst = instance{base: b.name, name: n.names[d.first+i], of: d.of, number: i}
		all = append(all, r.task(b, d, n))
		if r.wrong > before {
			faulty++
		}
	}
	return all
}

// task reads the instance in progress.
func (r *reading) task(b *block, d *declared, n *namesOfFile) *pipeline.Task {
	outer := r.touched
	r.touched = newUses()
	defer func() { r.touched = outer }()
	r.touched.add(d.of.touched)
	number := d.first + r.inst.number
	t := &pipeline.Task{Name: r.inst.name, Base: b.name, Pos: r.pos(b.at), Dir: "."}
	t.Description, _ = r.str(b, "description")
	if a := b.attrs["depends_on"]; a != nil {
		all := r.refs(a, n)
		t.DependsOn = all.names
		n.deps = append(n.deps, refsOf{number, all.refs})
	}
	if a := r.need(b, "run", `Write run = ["program", "argument"] or run = "shell text".`, "task %q has nothing to run", b.name); a != nil {
		t.Run = r.command(a)
	}
	if a := b.attrs["env"]; a != nil {
		t.Env = r.env(a)
	}
	t.PassEnv = r.strs(b, "pass_env", `["NAME", "PREFIX_*"]`, r.passName)
	if a := b.attrs["dir"]; a != nil {
		if s, ok := r.str(b, "dir"); ok {
			t.Dir = r.dir(s, a.Expr.Range())
		}
	}
	t.Inputs = r.strs(b, "inputs", `["**/*.go"]`, func(s string, at hcl.Range) (string, bool) { return r.glob(s, at, "inputs") })
	t.Outputs = r.strs(b, "outputs", `["bin/**"]`, func(s string, at hcl.Range) (string, bool) { return r.glob(s, at, "outputs") })
	if a := b.attrs["timeout"]; a != nil {
		t.Timeout, _ = r.duration(a)
	}
	t.Dotenv = r.dotenv(b)
	agents := 0
	for _, c := range b.blocks {
		switch c.word.name {
		case "agent":
			if agents++; agents > 1 {
				r.addf(c.at, "A failure has one proposed fix. Put both wishes into one block.", "a second on_fail %q of task %q", "agent", b.name)
			}
			t.OnFail = append(t.OnFail, pipeline.Hook{Pos: r.pos(c.at), Agent: r.agentHook(c, number, n)})
		case "run":
			t.OnFail = append(t.OnFail, pipeline.Hook{Pos: r.pos(c.at), Run: r.runHook(c)})
		case "retry":
			t.Retry = r.retry(c)
		case "scratch":
			t.Scratch.Include = r.strs(c, "include", `["vendor/**"]`, func(s string, at hcl.Range) (string, bool) { return r.glob(s, at, "include") })
			t.Scratch.Exclude = r.strs(c, "exclude", `["data/**"]`, func(s string, at hcl.Range) (string, bool) { return r.glob(s, at, "exclude") })
		}
	}
	t.Reads = slices.Sorted(maps.Keys(r.touched.files))
	return t
}

// command reads run: a list is argv, text is for the shell.
func (r *reading) command(a *hcl.Attribute) pipeline.Command {
	const example = `["program", "argument"]`
	at := a.Expr.Range()
	if _, diags := hcl.ExprList(a.Expr); !diags.HasErrors() {
		items, ok := r.items(a, example)
		return r.argv(a, items, ok)
	}
	v := r.eval(a.Expr, place{shell: true})
	if !v.ok {
		return pipeline.Command{}
	}
	plain, marks := v.Unmark()
	switch t := plain.Type(); {
	case t == cty.String && !plain.IsNull(), !plain.IsKnown() && len(marks) > 0:
		r.warnVars(a)
		text, ok := r.text(v.Value, at, a.Name)
		text.Value, text.Hidden = strings.ReplaceAll(text.Value, "\r", ""), strings.ReplaceAll(text.Hidden, "\r", "")
		if len(text.Secrets) > 0 {
			r.keepWithoutReturns()
		}
		if ok && len(text.Missing) == 0 && strings.TrimSpace(text.Value) == "" {
			r.addf(at, "Write run = "+example+` or run = "shell text".`, "%s is empty", a.Name)
		}
		return pipeline.Command{Shell: text}
	case plain.IsNull():
		r.open(plain, at, a.Name)
		return pipeline.Command{}
	case t.IsTupleType(), t.IsListType():
		items, ok := r.elements(v.Value, a, example)
		return r.argv(a, items, ok)
	}
	r.addf(at, fmt.Sprintf("It is %s. Write run = %s or run = \"shell text\".", kind(plain), example), "%s must be a list or text", a.Name)
	return pipeline.Command{}
}

func (r *reading) argv(a *hcl.Attribute, items []item, ok bool) pipeline.Command {
	if len(items) == 0 {
		if ok {
			r.addf(a.Expr.Range(), `Write run = ["program", "argument"] or run = "shell text".`, "%s is empty", a.Name)
		}
		return pipeline.Command{}
	}
	c := pipeline.Command{Argv: []pipeline.Text{}}
	for i, part := range items {
		t, fine := r.text(part.Value, part.at, a.Name)
		if ok && fine && i == 0 && len(t.Missing) == 0 && strings.TrimSpace(t.Value) == "" {
			r.addf(part.at, "Its first word is the program.", "%s begins with an empty word", a.Name)
		}
		if fine && len(items) == 1 {
			r.oneWord(a, t, part.at)
		}
		c.Argv = append(c.Argv, t)
	}
	return c
}

// oneWord refuses a whole command line that is written as one word of an argv: ["go test ./..."]. A path may contain spaces.
func (r *reading) oneWord(a *hcl.Attribute, t pipeline.Text, at hcl.Range) {
	words := strings.Fields(t.Value)
	if len(words) < 2 || len(t.Secrets) > 0 || strings.Contains(words[0], "/") {
		return
	}
	do := fmt.Sprintf("Write %s = [%s].", a.Name, strings.Join(english.Quoted(words), ", "))
	switch {
	case a.Name != "run":
	case strings.ContainsAny(t.Value, "'\"`|&;<>$()*?[]\\"):
		do = fmt.Sprintf("Write run = %q for the shell.", t.Value)
	default:
		do = fmt.Sprintf("%s, or run = %q for the shell.", strings.TrimSuffix(do, "."), t.Value)
	}
	r.addf(at, do, "%s is one word with spaces in it, and a list is a program and its arguments", a.Name)
}

// env reads a map of texts, entry by entry where it is written out.
func (r *reading) env(a *hcl.Attribute) []pipeline.EnvVar {
	var all []pipeline.EnvVar
	first := make(map[string]bool)
	add := func(name string, nameAt hcl.Range, v cty.Value, at hcl.Range) {
		switch {
		case !pipeline.IsEnvName(name):
			r.addf(nameAt, pipeline.EnvNameRule, "%q cannot be the name of a variable of the environment", name)
			return
		case first[name]:
			r.addf(nameAt, "Take one of them out.", "env has %s twice", name)
			return
		}
		first[name] = true
		if t, ok := r.text(v, at, "env "+name); ok {
			all = append(all, pipeline.EnvVar{Name: name, Text: t})
		}
	}
	if pairs, diags := hcl.ExprMap(a.Expr); !diags.HasErrors() {
		for _, p := range pairs {
			key, value := r.eval(p.Key, place{}), r.eval(p.Value, place{})
			if !key.ok {
				continue
			}
			k, ok := r.open(key.Value, p.Key.Range(), "a name in env")
			if !ok {
				continue
			}
			name, ok := r.plain(k, p.Key.Range(), "a name in env")
			if ok && value.ok {
				add(name, p.Key.Range(), value.Value, p.Value.Range())
			}
		}
	} else if v := r.eval(a.Expr, place{}); v.ok {
		at := a.Expr.Range()
		m, marks := v.Unmark()
		switch t := m.Type(); {
		case len(marks) > 0:
			r.add(at, "the names in env may not be made from a secret", "Write env = { NAME = secret(\"NAME\") }.")
		case m.IsNull():
			r.open(m, at, a.Name)
		case !t.IsObjectType() && !t.IsMapType():
			r.addf(at, fmt.Sprintf("It is %s. Write env = { NAME = \"value\" }.", kind(m)), "%s must be a map", a.Name)
		default:
			for it := m.ElementIterator(); it.Next(); {
				k, e := it.Element()
				add(k.AsString(), at, e, at)
			}
		}
	}
	slices.SortFunc(all, func(a, b pipeline.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (r *reading) passName(s string, at hcl.Range) (string, bool) {
	if strings.TrimSpace(s) == "" || strings.ContainsAny(s, "=\n\r") || strings.Contains(strings.TrimSuffix(s, "*"), "*") {
		r.addf(at, `Write a name such as "GOFLAGS", or its beginning: "AWS_*".`, "%q is not a name in the environment", s)
		return "", false
	}
	return s, true
}

// dir cleans a folder that must lie inside the root.
func (r *reading) dir(s string, at hcl.Range) string {
	clean := path.Clean(s)
	switch {
	case strings.TrimSpace(s) == "":
		r.add(at, "dir is empty", `Leave it out, or write "." for the root.`)
	case path.IsAbs(s):
		r.add(at, "dir is an absolute path", "It is relative to the folder of PIPELINE.hcl, and inside it.")
	case clean == ".." || strings.HasPrefix(clean, "../"):
		r.add(at, "dir leaves the root", "It is relative to the folder of PIPELINE.hcl, and inside it.")
	}
	return clean
}
