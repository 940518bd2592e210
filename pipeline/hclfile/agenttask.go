package hclfile

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// agentTaskTime is how long the agent of a task may work if its budget does not say.
const agentTaskTime = 5 * time.Minute

// agentBlock returns the agent block of a task, or nil.
func agentBlock(b *block) *block {
	if i := slices.IndexFunc(b.blocks, func(c *block) bool { return c.word == agentTaskWord }); i >= 0 {
		return b.blocks[i]
	}
	return nil
}

// agentWork reads the agent block of a task, if it has one, and refuses what does nothing beside it. The other parts
// of the task are read already.
func (r *tasks) agentWork(b *block, t *pipeline.Task) {
	c := agentBlock(b)
	if c == nil {
		return
	}
	r.besideAgent(b)
	w := &pipeline.AgentWork{Budget: pipeline.Budget{Attempts: 1, WallClock: agentTaskTime}}
	t.Agent = w
	if a := r.need(c, "use", "Write use = agent.NAME.", "the agent block of task %q names no agent", b.name); a != nil {
		if to, _, ok := r.ref(a.Expr, "agent", a.Name); ok {
			w.Use = to.d.name
		}
	}
	const example = `Write prompt = "What is to be done." or prompt = file("prompt.md").`
	if a := r.need(c, "prompt", example, "the agent block of task %q has no prompt", b.name); a != nil {
		var ok bool
		if w.Prompt, ok = r.str(c, "prompt"); ok && strings.TrimSpace(w.Prompt) == "" {
			r.add(a.Expr.Range(), "prompt is empty", example)
		}
	}
	if a := c.attrs["stdout_to"]; a != nil {
		if w.StdoutTo = r.answerFile(c); w.StdoutTo != "" {
			t.Outputs = []string{w.StdoutTo}
			r.answers = append(r.answers, claim{t, a.Expr.Range(), r.report})
		}
	}
	for _, d := range c.of("budget") { // one at most
		if a := d.attrs["wall_clock"]; a != nil {
			w.Budget.WallClock = r.duration(a)
		}
		w.Budget.Tokens = r.tokens(d.attrs["tokens"])
		w.Budget.CostUSD = r.dollars(d.attrs["cost_usd"])
	}
	r.agentCache(b, t)
}

// besideAgent refuses what does nothing in a task that an agent does.
func (r *tasks) besideAgent(b *block) {
	refuse := func(at hcl.Range, what, why string) { r.addf(at, why, "a task that an agent does has no %s", what) }
	const inAgent = "What the agent gets of the environment is written in its own block, at the top of the file: env, pass_env, files."
	for name, why := range map[string]string{
		"env": inAgent, "pass_env": inAgent, "dotenv": inAgent,
		"dir":     "The agent works in a copy of the whole tree. Name the folder in the prompt.",
		"outputs": "Its answer goes to the file that stdout_to names, and what it changes into a patch.",
		"service": "An agent ends.",
		"strict":  "What an agent reads is not seen.",
		"tools":   "It runs no program of its own.",
	} {
		if a := b.attrs[name]; a != nil {
			refuse(a.NameRange, name, why)
		}
	}
	if a := b.attrs["inputs"]; a != nil && hcl.ExprAsKeyword(a.Expr) == auto {
		refuse(a.NameRange, "inputs = auto", "What an agent reads is not seen. List the files that decide its work.")
	}
	if a := b.attrs["run"]; a != nil {
		r.addf(a.NameRange, "Take one of them out; a second task can depend on this one.", "task %q has both run and an agent block", b.name)
	}
	for _, c := range b.blocks {
		switch {
		case c.word == agentTaskWord:
		case c.word.name == "retry":
			refuse(c.at, "retry", "Another try would cost as much again. An agent recovers from failures of its provider by itself.")
		case c.word.name == "agent":
			refuse(c.at, `on_fail "agent"`, "A fix is judged by running a command again, and here there is none.")
		}
	}
}

// agentCache decides whether the result of a task that an agent does is cached: only if that is asked for.
func (r *tasks) agentCache(b *block, t *pipeline.Task) {
	blocks := b.of("cache")
	if len(blocks) == 0 {
		t.Cache.Disabled = true
		return
	}
	if blocks[0].attrs["enabled"] == nil && !blocks[0].faulty {
		r.addf(blocks[0].at, "Write enabled = true in it.", "the result of task %q, which an agent does, is cached only if that is asked for", b.name)
	}
}

// answerFile reads stdout_to: one file below the root.
func (r *tasks) answerFile(b *block) string {
	const file = `Write the name of a file, such as "review.txt".`
	s, ok := r.str(b, "stdout_to")
	if !ok {
		return ""
	}
	at := b.attrs["stdout_to"].Expr.Range()
	clean, ok := r.inRoot(s, at, "stdout_to", file)
	isConfig := func(name string) bool { return strings.EqualFold(path.Base(clean), name) } // some disks ignore case
	switch first, _, _ := strings.Cut(clean, "/"); {
	case !ok:
	case strings.ContainsAny(s, `*?[]{}\!`):
		r.add(at, "stdout_to contains a pattern", file)
	case clean == "." || strings.HasSuffix(s, "/"):
		r.add(at, "stdout_to names a folder", file)
	case first == ".async":
		r.add(at, "stdout_to is in .async", file)
	case slices.ContainsFunc(strings.Split(clean, "/"), func(name string) bool { return strings.HasPrefix(strings.ToLower(name), ".git") }):
		r.add(at, "stdout_to is a file of git's", file)
	case isConfig(Name) || isConfig(NameJSON):
		r.addf(at, file, "stdout_to is %s, and such a file declares tasks", clean)
	default:
		return clean
	}
	return ""
}

// sharedAnswers adds a fault for each file of stdout_to that another task writes too.
func (r *tasks) sharedAnswers(all []*pipeline.Task) {
	told := map[outputsAt]bool{}
	for _, c := range r.answers {
		for _, t := range all {
			at := outputsAt{c.in, c.at.Start}
			if t == c.task || told[at] || !makes(t.Outputs, c.task.Agent.StdoutTo) {
				continue
			}
			told[at] = true // of many instances the first is told
			c.in.addf(c.at, "Give each its own file.", "tasks %q and %q both make %s", t.Shown(), c.task.Shown(), c.task.Agent.StdoutTo)
		}
	}
}

// makes reports whether outputs name a file.
func makes(outputs []string, file string) bool {
	return slices.ContainsFunc(outputs, func(o string) bool {
		ok, err := doublestar.Match(path.Clean(o), file)
		return ok && err == nil
	})
}

// A verifying is the tasks of one verify.
type verifying struct {
	at    hcl.Range
	names []string
}

// verifiable refuses a verify that names a task that an agent does: no check starts an agent.
func (r *hooks) verifiable(c *pipeline.Config) {
	for _, v := range r.verifies {
		for _, name := range v.names {
			if t := c.Task(name); t != nil && t.Agent != nil {
				r.addf(v.at, "Name tasks that run a command.", "verify names %q, which an agent does", name)
				break
			}
		}
	}
}

// readsAgents makes the program of an agent an input of the tasks that it does, where the project has it.
func (r *tasks) readsAgents(c *pipeline.Config) {
	for _, t := range c.Tasks {
		if t.Agent == nil {
			continue
		}
		a := c.Agent(t.Agent.Use)
		if a == nil || len(a.Command) == 0 {
			continue
		}
		p := path.Clean(a.Command[0].Value)
		if strings.Contains(a.Command[0].Value, "/") && filepath.IsLocal(p) && !slices.Contains(t.Reads, p) {
			t.Reads = append(t.Reads, p)
			slices.Sort(t.Reads)
		}
	}
}
