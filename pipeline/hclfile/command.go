package hclfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// commands reads attributes that are a command, and env.
type commands struct{ *references }

// command reads an attribute that is a command, as run: a list is argv, text is for the shell.
func (r *commands) command(a *hcl.Attribute) pipeline.Command {
	if a == nil {
		return pipeline.Command{}
	}
	const example = `["program", "argument"]`
	do := fmt.Sprintf(`Write %[1]s = %[2]s or %[1]s = "shell text".`, a.Name, example)
	at := a.Expr.Range()
	if _, diags := hcl.ExprList(a.Expr); !diags.HasErrors() {
		items, ok := r.items(a, example)
		return r.argv(a, items, ok, do)
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
			r.addf(at, do, "%s is empty", a.Name)
		}
		return pipeline.Command{Shell: text}
	case plain.IsNull():
		r.open(plain, at, a.Name)
		return pipeline.Command{}
	case t.IsTupleType(), t.IsListType():
		items, ok := r.elements(v.Value, a, example)
		return r.argv(a, items, ok, do)
	}
	r.addf(at, fmt.Sprintf("It is %s. %s", kind(plain), do), "%s must be a list or text", a.Name)
	return pipeline.Command{}
}

// argv reads the words of a command. ok is false where the fault of a word has been reported; do is what to write
// in place of an empty list.
func (r *commands) argv(a *hcl.Attribute, items []item, ok bool, do string) pipeline.Command {
	if len(items) == 0 {
		if ok {
			r.addf(a.Expr.Range(), do, "%s is empty", a.Name)
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

// oneWord refuses a whole command line that is written as one word of an argv: ["go test ./..."]. A path may
// contain spaces.
func (r *commands) oneWord(a *hcl.Attribute, t pipeline.Text, at hcl.Range) {
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
func (r *commands) env(a *hcl.Attribute) []pipeline.EnvVar {
	if a == nil {
		return nil
	}
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
			all = append(all, pipeline.EnvVar{Name: name, Text: t, Written: r.says(t.Value)})
		}
	}
	if pairs, diags := hcl.ExprMap(a.Expr); !diags.HasErrors() {
		for _, p := range pairs {
			key, value := r.eval(p.Key, place{}), r.eval(p.Value, place{})
			if !key.ok {
				continue
			}
			if name, ok := r.openText(key.Value, p.Key.Range(), "a name in env"); ok && value.ok {
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
