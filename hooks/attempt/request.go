package attempt

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/budget"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// request is what the agent is asked, in the copy at dir.
func (q *Request) request(ctx context.Context, box sandbox.Box, dir string, raw io.Writer) agent.Request {
	pack, err := q.Pack(ctx)
	if err != nil {
		q.Progress.Note("context pack: " + err.Error())
	}
	f, now := q.Failure, q.Budget.Attempt()
	r := q.basic(box, dir, raw)
	// A command may hold a secret: checks may be given it, an agent never is.
	r.Prompt = q.Redact.String(agent.Prompt(agent.PromptParts{
		Person: q.Hook.Prompt, Task: f.Task.Name, Command: failedtask.CommandLine(f.Task), Dir: r.Dir,
		Attempt: now.Number, Attempts: now.Of, Left: q.Budget.LeftForAgent(), Protect: q.Hook.Protect, Tail: q.Told.Tail,
		Again: q.Told.Again, Diff: q.Hook.Output == "diff", Sub: q.Base.Sub,
	}))
	r.Pack = pack
	r.Check = func(ctx context.Context, out io.Writer) (bool, error) {
		got, err := f.Check(ctx, f.Task, box, out, 0)
		return err == nil && got.Status == record.Passed, err
	}
	return r
}

// basic is what the turn and the finalizer are both given.
func (q *Request) basic(box sandbox.Box, dir string, raw io.Writer) agent.Request {
	f := q.Failure
	r := agent.Request{
		Attempt: q.Number, Dir: box.At(f.Config.Root), Env: q.environment(box), Idle: q.Idle,
		Exec: func(ctx context.Context, c agent.Command) (agent.Exit, error) { return exec(ctx, box, c) },
		Note: func(l agent.Line) {
			if err := q.Draft.Transcript(q.Number, l.Type, l.Data); err != nil {
				q.Progress.Note("transcript: " + err.Error())
			}
		},
		Secrets: q.Redact,
		Raw:     raw,
		Copy:    filepath.Join(dir, filepath.FromSlash(q.Base.Sub)),
		Top:     dir,
		Run:     f.Task.Run.Words(),
		RunDir:  box.At(filepath.Join(f.Config.Root, filepath.FromSlash(f.Task.Dir))),
		Allow:   q.Hook.Allow,
		Notice:  func(text string) { q.Progress.Step("%s", text) },
	}
	r.Tokens, r.CostUSD = q.Budget.Caps()
	return r
}

// exec runs a command of the agent's in its box.
func exec(ctx context.Context, box sandbox.Box, c agent.Command) (agent.Exit, error) {
	r, err := box.Run(ctx, sandbox.Command{
		Argv: c.Argv, Dir: c.Dir, Env: c.Env, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Idle: c.Idle,
	})
	wall := errors.Is(context.Cause(ctx), budget.ErrWallClock)
	return agent.Exit{
		Code: r.ExitCode, Signal: r.Signal, TimedOut: r.TimedOut || wall && (r.Cancelled || err != nil),
		IdledOut: r.IdledOut, Cancelled: r.Cancelled && !wall, ProcessesLeft: r.ProcessesLeft, Duration: r.Duration,
	}, err
}

// environment is built from nothing: what any program needs, the agent's own home and caches, and what box adds.
func (q *Request) environment(box sandbox.Box) []string {
	var env []string
	for _, kv := range q.Homes.Environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH", name == "USER", name == "LANG", name == "TZ", name == "TERM", strings.HasPrefix(name, "LC_"):
			env = append(env, kv)
		}
	}
	env = append(env, "HOME="+box.Home, "TMPDIR="+box.Tmp,
		"ASYNC_PIPELINE_RUN_ID="+q.Failure.Run.ID, "ASYNC_PIPELINE_TASK="+q.Failure.Task.Name)
	return append(env, box.Env...)
}
