package record

import (
	"slices"
	"time"
)

// CriticalPath returns the chain of tasks, each waiting for the one before, that took longest, in the order they
// ran: with unlimited concurrency the run would have taken so long. after returns what each task waits for. Tasks
// that were not started are in no chain, but a chain continues through them (a task may have come from the cache).
// Of several chains that took the same it returns the first, in the order of tasks and of after.
func CriticalPath(tasks []Task, after func(name string) []string) []string {
	p := paths{took: make(map[string]time.Duration, len(tasks)), longest: make(map[string]*chain, len(tasks)), after: after}
	for _, t := range tasks {
		if took, ok := t.Delayed(); ok && t.StartedAt != nil {
			p.took[t.Name] = took + 1 // one that takes no time is still one
		}
	}
	var best *chain
	for _, t := range tasks {
		if c := p.of(t.Name); best == nil || c.sum > best.sum {
			best = c
		}
	}
	var way []string
	for c := best; c != nil; c = c.before {
		if c.name != "" {
			way = append(way, c.name)
		}
	}
	slices.Reverse(way)
	return way
}

// A chain ends with a task; of one that was not started the name is empty.
type chain struct {
	name   string
	sum    time.Duration
	before *chain
}

type paths struct {
	took    map[string]time.Duration // of those that were started
	longest map[string]*chain        // by the task it ends with
	after   func(name string) []string
}

// of returns the longest chain that ends with a task. It ignores cycles, which no graph of a run has.
func (p *paths) of(name string) *chain {
	if c := p.longest[name]; c != nil {
		return c
	}
	c := &chain{}
	p.longest[name] = c
	for _, n := range p.after(name) {
		if before := p.of(n); before != c && (c.before == nil || before.sum > c.before.sum) {
			c.before = before
		}
	}
	if c.before != nil {
		c.sum = c.before.sum
	}
	if d, ran := p.took[name]; ran {
		c.name, c.sum = name, c.sum+d
	}
	return c
}
