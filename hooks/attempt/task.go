package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// IdleLimit is how long an agent may be silent, where nobody says.
const IdleLimit = 2 * time.Minute

// cutMargin is how much of the beginning of an answer that was cut is left out, in bytes: more than a secret is long, also
// in its encodings.
const cutMargin = 64 << 10

// A TaskResult is how the agent of a task ended.
type TaskResult struct {
	Row     fix.Attempt    // for the record; its Rescue is the patch, its Kind null where the task has passed
	Answer  string         // what the agent said last, without secrets and control characters
	Omitted []tree.Omitted // what it changed and the patch cannot hold
	Exit    agent.Exit
}

// isTask reports whether the agent does a task, and repairs none.
func (q *Request) isTask() bool { return q.Failure.Task.Agent != nil }

// Task lets the agent of an agent task work once. Failure has the task, its configuration, and of the run the ID. The
// only error is ErrNotStarted: all others are kinds of the row.
func Task(ctx context.Context, q Request) (TaskResult, error) {
	r := Result{Row: fix.Attempt{
		Number: q.Number, Agent: q.Agent.Name(), StartedAt: timestamp.Now(), Sandbox: string(q.Homes.Box.Tier),
	}}
	l, err := q.turn(ctx, &r)
	r.Row.DurationMS = max(1, r.Took.Milliseconds()) // 0 means that it is not known
	switch {
	case errors.Is(err, ErrNotStarted) || errors.Is(err, context.Canceled):
		return TaskResult{}, ErrNotStarted
	case err != nil:
		r.fails(failure.ScratchFailed, q.Redact.String(err.Error()))
		return TaskResult{Row: r.Row, Exit: l.turn.Exit}, nil
	}
	text, cut := q.Redact.String(l.turn.Text), len(l.turn.Text) >= agent.TailLimit-utf8.UTFMax
	if cut { // it may begin with the end of a secret, which is no secret that could be found
		text = strings.ToValidUTF8(text[min(len(text), cutMargin):], "")
	}
	// Without control characters a value may be whole that was not before.
	answer := redact.Keys(q.Redact.String(agent.Answer(text)))
	if cut {
		answer = fmt.Sprintf("[async-pipeline: these are the last %d KiB; the transcript has more]\n", (agent.TailLimit-cutMargin)>>10) + answer
	}
	t := TaskResult{Answer: answer, Omitted: append(l.omitted, r.Left...), Exit: l.turn.Exit}
	kind, evidence := l.turn.Kind, l.turn.Evidence
	switch kind {
	case failure.WallTimeout:
		evidence = fmt.Sprintf("still at work after %s, the wall_clock of its budget", q.Budget.Limit.WallClock)
	case "", failure.NoOutput, failure.EmptyOutput: // it ended well
		kind, evidence = q.speechless(t.Answer, len(l.changes) > 0 || len(l.omitted) > 0)
	}
	if kind != "" {
		r.fails(kind, q.Redact.String(evidence))
	}
	t.Row = r.Row
	return t, nil
}

// speechless returns the kind of a turn that ended well and gave nothing that the task is for.
func (q *Request) speechless(answer string, changed bool) (failure.Kind, string) {
	to := q.Failure.Task.Agent.StdoutTo
	switch {
	case answer != "":
		return "", ""
	case to != "":
		return failure.NoOutput, "the agent said nothing, so that " + to + " would be empty"
	case !changed:
		return failure.NoOutput, "the agent said nothing and changed nothing"
	}
	return "", ""
}

// taskRequest returns what the agent of a task is asked to do in the copy at dir.
func (q *Request) taskRequest(box sandbox.Box, dir string, raw io.Writer) agent.Request {
	r := q.basic(box, dir, raw)
	r.Task, r.Run, r.RunDir = true, nil, ""
	t := q.Failure.Task
	r.Prompt = redact.Keys(q.Redact.String(agent.TaskPrompt(agent.TaskParts{
		Person: t.Agent.Prompt, Task: t.Name, Dir: r.Dir, Left: q.Budget.LeftForAgent(), To: t.Agent.StdoutTo,
	})))
	return r
}
