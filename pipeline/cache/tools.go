package cache

// What programs print about themselves (tools), which counts in their place.

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// tools remembers answers. Each command is asked once a run; what it said is stored for those who may run nothing.
type tools struct {
	path string

	mu    sync.Mutex        // guards what follows; locked while a command runs
	now   map[string]string // of this run: digests of answers
	known map[string]string // stored
}

func (t *tools) load(dir string) {
	t.path = filepath.Join(dir, "tools.json")
	t.now = map[string]string{}
	b, err := recordfile.Read(t.path, limitMemory)
	if err != nil || json.Unmarshal(b, &t.known) != nil || t.known == nil {
		t.known = map[string]string{}
	}
}

// tool returns a digest of what a tool of a task prints.
func (c *Cache) tool(ctx context.Context, t *pipeline.Task, tool pipeline.Tool, env map[string]string) (string, error) {
	shown := strings.Join(tool.Argv, " ")
	b, err := json.Marshal([]any{tool.Argv, t.Dir, env})
	if err != nil {
		return "", err
	}
	question := digestOf(b).Hash
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
	said := digestOf(out).Hash
	c.tools.now[question] = said
	if c.tools.known[question] != said && !c.Peek {
		c.tools.known[question] = said
		if b, err := json.Marshal(c.tools.known); err == nil {
			_ = recordfile.Write(c.tools.path, b, false) // without it a dry run knows less
		}
	}
	return said, nil
}
