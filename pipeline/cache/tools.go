package cache

// What programs print about themselves (tools), which counts in their place.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// tools remembers answers, for those who may run nothing. Each command is asked once a run; mu is locked while it runs.
type tools struct {
	remembered[string]                   // digests of answers
	now                map[string]string // those of this run
}

// tool returns a digest of what a tool of a task prints.
func (c *Cache) tool(ctx context.Context, t *pipeline.Task, tool pipeline.Tool, env map[string]string) (string, error) {
	shown := strings.Join(tool.Argv, " ")
	b, err := json.Marshal([]any{tool.Argv, t.Dir, env})
	if err != nil {
		return "", err
	}
	question := reapi.DigestOf(b).Hash
	c.tools.mu.Lock()
	defer c.tools.mu.Unlock()
	if said, ok := c.tools.now[question]; ok {
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
	c.tools.now[question] = said
	c.tools.set(question, said)
	return said, nil
}
