package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// The finalizer is one question after a turn that ended well and without a control object. The difference is stored
// by then and never depends on the answer; what the question's turn changes is thrown away with its copy.

// turnVariable tells a program that it is asked for its control object only.
const turnVariable = "ASYNC_PIPELINE_TURN"

// finalize asks, where that is called for, and puts the control object into the turn. It returns nil where it was
// not.
func (q *Request) finalize(ctx context.Context, l *left) *fix.Finalizer {
	t := &l.turn
	ended := t.Kind == "" || t.Kind == failure.EmptyOutput
	switch {
	case !ended || t.Control != nil || t.Exit.Cancelled || q.over(ctx):
		return nil
	case t.Kind == "" && strings.TrimSpace(t.Text) == "" && t.Resume == nil:
		return nil // it said nothing at all: no_output, for its policy
	}
	f := &fix.Finalizer{Result: "skipped"}
	if why := cmp.Or(q.Budget.ShortForReport(len(l.changes) > 0), q.Budget.Spent()); why != "" {
		f.Reason = new("budget: " + why)
		return f
	}
	q.Progress.Step("%s ended without a report (%s); asking for it once", q.Budget.Attempt(), firstSentence(t.Problem))
	answer, err := q.question(ctx, l, f)
	q.Budget.Add(answer) // zero where the turn could not be carried out: what it used is not known
	if err != nil {
		f.Result, f.Reason = "failed", new(q.Redact.String(err.Error()))
		return f
	}
	f.Tokens = fix.Tokens(answer.Tokens)
	f.CostUSD, f.CostAtLeast, f.Requests = answer.CostUSD, answer.CostAtLeast, answer.Requests
	switch {
	case q.over(ctx) || answer.Exit.Cancelled: // what comes while we end is not taken
		f.Result, f.Reason = "failed", new("ended before it answered")
	case answer.Kind != "" && answer.Control == nil:
		f.Result, f.Kind, f.Reason = "failed", new(string(answer.Kind)), new(q.Redact.String(whyNone(answer, f.DurationMS)))
		l.bar(answer, q.Redact.String)
	case answer.Control == nil:
		f.Result, f.Reason = "invalid", new(q.Redact.String(answer.Problem))
	default:
		f.Result = "recovered"
		t.Control = answer.Control
		if t.Kind == failure.EmptyOutput {
			t.Kind, t.Evidence = "", ""
		}
		q.Progress.Step("%s: the report came", q.Budget.Attempt())
	}
	return f
}

// bar notes a kind that means that the agent cannot be used at all. It applies to the turn before, too, but for a difference
// that holds.
func (l *left) bar(answer agent.Turn, clean func(string) string) {
	t := &l.turn
	if !answer.Kind.Barred() {
		return
	}
	evidence := answer.Evidence + "; when asked for its report, because " + t.Problem
	if len(l.changes) == 0 {
		t.Kind, t.RetryAfter, t.Evidence = answer.Kind, answer.RetryAfter, evidence
		return
	}
	l.barred = agent.Turn{Kind: answer.Kind, RetryAfter: answer.RetryAfter, Evidence: clean(evidence)}
}

// question takes the one turn: in the same conversation where the agent keeps it, else in a new one that is shown the
// answer. It adds to f how long that took, and whether the agent edited something.
func (q *Request) question(ctx context.Context, l *left, f *fix.Finalizer) (answer agent.Turn, err error) {
	c, err := q.Homes.Copy(ctx, q.Base, "finalizer", q.Agent.Here())
	if err != nil {
		return answer, err
	}
	defer q.tidy(c)
	if err := q.Homes.Copying(func() error { return c.Put(l.changes) }); err != nil {
		return answer, err
	}
	box, err := q.Homes.AgentBox(q.Base, c, q.Caches, nil)
	if err != nil {
		return answer, err
	}
	r := q.basic(box, c.Dir, io.Discard)
	r.ReadOnly = true
	r.Env = append(r.Env, turnVariable+"=finalizer")
	parts := agent.FinalizerParts{Task: q.Failure.Task.Name, Problem: l.turn.Problem, Changed: statOf(l.changes)}
	take := q.Agent.Turn
	if l.turn.Resume != nil {
		take = l.turn.Resume
	} else {
		parts.Answer = l.turn.Text
	}
	r.Prompt = q.Redact.String(agent.Finalizer(parts))
	note := r.Note
	note(agent.Line{Type: "finalizer", Data: map[string]any{"problem": l.turn.Problem, "resumed": l.turn.Resume != nil}})

	work, cancel := q.Budget.ForReport(ctx, len(l.changes) > 0)
	defer cancel()
	started := time.Now()
	answer, err = take(work, r)
	f.DurationMS = time.Since(started).Milliseconds()
	if err != nil {
		return answer, err
	}
	err = q.Homes.Copying(func() error {
		now, _, err := c.Changes(context.WithoutCancel(ctx))
		f.Edited = err == nil && !patch.Same(now, l.changes)
		return err
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		q.Progress.Note("the copy that the agent was asked for its report in could not be read: " + err.Error())
	}
	return answer, nil
}

// whyNone returns why a question got no answer. An agent that had no time left had only what the question was given.
func whyNone(answer agent.Turn, tookMS int64) string {
	if answer.Exit.TimedOut || answer.Kind == failure.WallTimeout {
		return fmt.Sprintf("no answer in %s, all the time that there was for the question", (time.Duration(tookMS) * time.Millisecond).Round(100*time.Millisecond))
	}
	return answer.Evidence
}

// statOf lists what changed, a line each.
func statOf(changes []patch.Change) []string {
	const most = 50
	var lines []string
	for _, c := range changes[:min(len(changes), most)] {
		word := "modified"
		switch {
		case c.Before == nil:
			word = "added"
		case c.After == nil:
			word = "deleted"
		}
		lines = append(lines, word+" "+c.Path)
	}
	if more := len(changes) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

// sentence matches a text to its end, or to a "; " that is not in quotes.
var sentence = lazily.Regexp(`^((?:"(?:\\.|[^"\\])*"|[^"])*?)(?:; |$)`)

// firstSentence returns what is wrong, without what can be done about it. The record has the whole text.
func firstSentence(text string) string {
	if m := sentence().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	first, _, _ := strings.Cut(text, "; ") // a quotation was cut, and has no end
	return first
}
