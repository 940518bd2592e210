package hclfile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/internal/policy"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// hooks reads on_fail blocks.
type hooks struct{ *commands }

// agentHook reads on_fail "agent" of a task.
func (r *hooks) agentHook(b *block, task int) *pipeline.AgentHook {
	h := &pipeline.AgentHook{}
	if a := r.need(b, "use", "Write use = agent.NAME.", "on_fail %q of task %q names no agent", "agent",
		r.inst.base); a != nil {
		if to, _, ok := r.ref(a.Expr, "agent", a.Name); ok {
			h.Use = to.d.name
		}
	}
	h.Prompt, _ = r.str(b, "prompt")
	h.Output = r.output(b)
	h.Protect = r.globs(b, "protect", `["**/*_test.go"]`)
	h.Allow = r.allow(b)
	if a := b.attrs["verify"]; a != nil {
		all := r.refs(a)
		r.verifies = append(r.verifies, verifying{a.Expr.Range(), all.names})
		for _, name := range all.names {
			if name != r.inst.name { // it is verified in any case
				h.Verify = append(h.Verify, name)
			}
		}
		r.verify = append(r.verify, refsOf{task, all.refs})
	}
	h.Fallback = r.fallback(b.attrs["fallback"], h.Use)
	if a := b.attrs["allow"]; a != nil {
		r.allows = append(r.allows, allowing{a.NameRange, append([]string{h.Use}, h.Fallback...)})
	}
	if a := b.attrs["reviewer"]; a != nil {
		if to, _, ok := r.ref(a.Expr, "agent", a.Name); ok {
			h.Reviewer = to.d.name
		}
	}
	h.PassSecrets = r.boolean(b, "pass_secrets")
	h.CI = r.boolean(b, "ci")

	const example = "Write budget { … } with attempts = 1 and wall_clock = \"5m\" in it."
	budgets := b.of("budget")
	if len(budgets) == 0 && !b.faulty {
		r.addf(b.at, example, "on_fail %q of task %q has no budget: there is no unlimited one", "agent", r.inst.base)
	}
	for _, c := range budgets {
		h.Budget.Attempts = r.number(r.need(c, "attempts", "Write attempts = 1.",
			"the budget has no attempts: there is no unlimited budget"), 1, 5)
		h.Budget.WallClock = r.duration(r.need(c, "wall_clock", `Write wall_clock = "5m".`,
			"the budget has no wall_clock: there is no unlimited budget"))
		h.Budget.Tokens = r.tokens(c.attrs["tokens"])
		h.Budget.CostUSD = r.dollars(c.attrs["cost_usd"])
	}
	return h
}

// output reads how an agent returns its fix.
func (r *hooks) output(b *block) string {
	s, ok := r.str(b, "output")
	if ok && s != "tree" && s != "diff" {
		r.addf(b.attrs["output"].Expr.Range(),
			`Write "tree" where the agent edits the copy, "diff" where it prints a unified diff.`,
			"output cannot be %q", s)
	}
	return cmp.Or(s, "tree")
}

// runHook reads on_fail "run" of a task.
func (r *hooks) runHook(b *block) *pipeline.RunHook {
	h := &pipeline.RunHook{}
	h.Run = r.command(r.need(b, "run", `Write run = ["./notify.sh"].`, "on_fail %q of task %q has nothing to run",
		"run", r.inst.base))
	h.Timeout = r.duration(b.attrs["timeout"])
	return h
}

// fallback reads the agents that are asked when the one before fails.
func (r *hooks) fallback(a *hcl.Attribute, use string) (names []string) {
	if a == nil {
		return nil
	}
	parts, diags := hcl.ExprList(a.Expr)
	if diags.HasErrors() {
		r.addf(a.Expr.Range(), fmt.Sprintf("Write %s = [agent.NAME].", a.Name),
			"%s must be a list of references, written out", a.Name)
		return nil
	}
	for _, p := range parts {
		to, _, ok := r.ref(p, "agent", a.Name)
		if !ok {
			continue
		}
		if name := to.d.name; name == use || slices.Contains(names, name) {
			r.addf(p.Range(), "Each agent is asked once.", "agent %q is named twice", name)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// An allowing is a hook that has allow, and the agents that it asks.
type allowing struct {
	at     hcl.Range
	agents []string
}

// allow reads the patterns of commands that an agent may run.
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
			one := &hcl.Attribute{Name: a.Name, Expr: p, NameRange: a.NameRange, Range: p.Range()}
			if words, ok := r.items(one, example); ok {
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
		s, ok := r.openText(w.Value, w.at, "a word of allow")
		if !ok {
			return nil, false
		}
		p = append(p, s)
	}
	const do = `Write a program and its arguments: ["go", "test", "**"].`
	if len(p) == 0 {
		r.addf(at, do, "allow contains an empty pattern")
		return nil, false
	}
	word, err := policy.CheckPattern(p)
	if err != nil {
		r.addf(words[word].at, do, "a pattern of allow cannot be used: %v", err)
	}
	return p, err == nil
}

// binds warns of an allow that restricts no agent of its hook: a program of its own runs what it likes.
func (r *hooks) binds(c *pipeline.Config) {
	for _, h := range r.allows {
		programs := !slices.ContainsFunc(h.agents, func(name string) bool {
			a := c.Agent(name)
			return a == nil || a.Command == nil && a.CLI == nil // with a provider, or faulty
		})
		if programs {
			r.warn(h.at, "allow binds no agent of this hook", "It is for agents with a provider. "+
				"A command or a CLI runs what it likes in its copy: leave allow out, or use an agent with a provider.")
		}
	}
}
