package cache

// What programs print about themselves (tools), which counts in their place.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// tools remembers answers, for those who may run nothing. Each command is asked once a run, and again for a task when one
// that it depends on has run meanwhile: that one may have installed another version. mu is locked while it runs.
type tools struct {
	remembered[string]                   // digests of answers
	now                map[string]string // those of this run, by the question and the tasks that ran before it
}

// tool returns a digest of what a tool of a task prints.
func (c *Cache) tool(ctx context.Context, t *pipeline.Task, tool pipeline.Tool, env map[string]string) (string, error) {
	shown := strings.Join(tool.Argv, " ")
	b, err := json.Marshal([]any{tool.Argv, t.Dir, env})
	if err != nil {
		return "", err
	}
	question := reapi.DigestOf(b).Hash
	asked := question + c.ranBefore(t)
	c.tools.mu.Lock()
	defer c.tools.mu.Unlock()
	if said, ok := c.tools.now[asked]; ok {
		return said, nil
	}
	if c.Ask == nil {
		if said, ok := c.tools.known[question]; ok {
			return said, nil
		}
		return "", fmt.Errorf("what %q prints is not known until the task runs", shown)
	}
	out, err := c.Ask(ctx, t, tool.Argv)
	if err != nil {
		return "", fmt.Errorf("tools: %q: %w", shown, err)
	}
	said := reapi.DigestOf(out).Hash
	c.tools.now[asked] = said
	c.tools.set(question, said)
	return said, nil
}

// Ran must be called when a task has ended that was carried out, before its dependants begin.
func (c *Cache) Ran(t *pipeline.Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ran == nil {
		c.ran = map[string]bool{}
	}
	c.ran[t.Name] = true
}

// ranBefore returns the names of those that t depends on and that have run, or put back outputs, in this run.
func (c *Cache) ranBefore(t *pipeline.Task) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	if len(c.ran) > 0 {
		for _, d := range c.dependencies(t) {
			if c.ran[d.Name] {
				names = append(names, d.Name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}
