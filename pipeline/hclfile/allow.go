package hclfile

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// An allowing is a hook that has allow, and the agents that it asks.
type allowing struct {
	at     hcl.Range
	agents []string
}

// allow reads the patterns of commands that an agent may run. Options.Pattern checks them.
func (r *hooks) allow(b *block) [][]string {
	const example = `[["go", "test", "**"]]`
	a := b.attrs["allow"]
	if a == nil {
		return nil
	}
	var all [][]string
	add := func(words []item, at hcl.Range) {
		if p, ok := r.pattern(words, at); ok {
			all = append(all, p)
		}
	}
	if parts, diags := hcl.ExprList(a.Expr); !diags.HasErrors() {
		for _, p := range parts {
			if words, ok := r.items(&hcl.Attribute{Name: a.Name, Expr: p, NameRange: a.NameRange, Range: p.Range()}, example); ok {
				add(words, p.Range())
			}
		}
		return all
	}
	items, _ := r.items(a, example)
	for _, i := range items {
		if words, ok := r.elements(i.Value, a, example); ok {
			add(words, i.at)
		}
	}
	return all
}

// pattern reads one of them.
func (r *hooks) pattern(words []item, at hcl.Range) ([]string, bool) {
	p := make([]string, 0, len(words))
	for _, w := range words {
		v, ok := r.open(w.Value, w.at, "allow")
		if !ok {
			return nil, false
		}
		s, ok := r.plain(v, w.at, "a word of allow")
		if !ok {
			return nil, false
		}
		p = append(p, s)
	}
	if len(p) == 0 {
		r.addf(at, `Write a program and its arguments: ["go", "test", "**"].`, "allow contains an empty pattern")
		return nil, false
	}
	if r.check == nil {
		return p, true
	}
	if word, err := r.check(p); err != nil {
		if word >= 0 && word < len(words) {
			at = words[word].at
		}
		r.addf(at, `Write a program and its arguments: ["go", "test", "**"].`, "a pattern of allow cannot be used: %v", err)
		return nil, false
	}
	return p, true
}

// binds warns of an allow that restricts no agent of its hook: a program of its own runs what it likes.
func (r *hooks) binds(c *pipeline.Config) {
	for _, h := range r.allows {
		programs := !slices.ContainsFunc(h.agents, func(name string) bool {
			a := c.Agent(name)
			return a == nil || a.Command == nil // with a provider, or faulty
		})
		if programs {
			r.warn(h.at, "allow binds no agent of this hook", "It is for agents with a provider. A command runs what it likes in its copy: leave allow out, or use an agent with a provider.")
		}
	}
}
