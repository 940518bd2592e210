package cache

// What programs print about themselves (tools), which counts in their place.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// tools remembers answers, for those who may run nothing. Each command is asked once a run, and again for a task when one
// that it depends on has run meanwhile: that one may have installed another version.
type tools struct {
	remembered[string]                    // digests of answers
	now                map[string]*answer // those of this run, by the question and the tasks that ran before it
}

// An answer is the digest of what a command printed in this run, or "" as long as it is not known.
type answer struct {
	mu   sync.Mutex // locked while the command runs: others with the same question wait for it
	said string
}

// tool returns a digest of what a tool of a task prints.
func (c *Cache) tool(ctx context.Context, t *pipeline.Task, tool pipeline.Tool, env map[string]string) (string, error) {
	shown := strings.Join(tool.Argv, " ")
	b, err := json.Marshal([]any{tool.Argv, t.Dir, env})
	if err != nil {
		return "", err
	}
	question := reapi.DigestOf(b).Hash
	a, known := c.tools.answer(question+c.views.ranBefore(t), question)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.said != "":
		return a.said, nil
	case ctx.Err() != nil: // it ended while another task asked
		return "", context.Cause(ctx)
	case c.Ask == nil && known != "":
		return known, nil
	case c.Ask == nil:
		return "", fmt.Errorf("what %q prints is not known until the task runs", shown)
	}
	out, err := c.Ask(ctx, t, tool.Argv)
	if err != nil {
		return "", fmt.Errorf("tools: %q: %w", shown, err)
	}
	a.said = reapi.DigestOf(out).Hash
	c.tools.mu.Lock()
	defer c.tools.mu.Unlock()
	c.tools.set(question, a.said)
	return a.said, nil
}

// answer returns the answer of this run to what was asked, and that of an earlier run to the question, or "".
func (t *tools) answer(asked, question string) (a *answer, known string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a = t.now[asked]
	if a == nil {
		a = &answer{}
		t.now[asked] = a
	}
	return a, t.known[question]
}
