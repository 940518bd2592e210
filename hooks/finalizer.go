package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// The finalizer: one question after a turn that ended well and without a control object. The difference is stored by then and
// never depends on the answer; what the question's turn changes is thrown away with its copy.

// turnVariable tells a program that it is asked for its object only.
const turnVariable = "ASYNC_PIPELINE_TURN"

const (
	finalizerLeast = 10 * time.Second // of the wall clock; with less nothing is asked
	finalizerMost  = 2 * time.Minute
)

// finalize asks, where that is called for, and puts the control object into the turn. nil: it was not called for.
func (h *healing) finalize(wall context.Context, number int, l *left) *fix.Finalizer {
	t := &l.turn
	ended := t.Kind == "" || t.Kind == failure.EmptyOutput
	switch {
	case !ended || t.Control != nil || t.Exit.Cancelled || wall.Err() != nil:
		return nil
	case t.Kind == "" && strings.TrimSpace(t.Text) == "" && t.Resume == nil:
		return nil // it said nothing at all: no_output, for its policy
	}
	f := &fix.Finalizer{Result: "skipped"}
	if left := h.remaining(); left < finalizerLeast {
		f.Reason = new(fmt.Sprintf("budget: %s of the wall clock are left", max(0, left).Round(time.Second)))
		return f
	}
	if why := h.spent.over(h.hook.Budget); why != "" {
		f.Reason = new("budget: " + why)
		return f
	}
	h.step("%s ended without its JSON object (%s); it is asked for it once", h.now, firstSentence(t.Problem))
	started := time.Now()
	answer, edited, err := h.question(wall, number, l)
	f.DurationMS = time.Since(started).Milliseconds()
	f.Edited = edited
	h.spent.add(answer) // of a turn that could not be done nobody knows what it used
	if err != nil {
		f.Result, f.Reason = "failed", new(h.e.Redact.String(err.Error()))
		return f
	}
	f.Tokens = fix.Tokens(answer.Tokens)
	f.CostUSD, f.CostAtLeast = answer.CostUSD, answer.CostAtLeast
	switch {
	case wall.Err() != nil || answer.Exit.Cancelled: // what comes while we end is not taken
		f.Result, f.Reason = "failed", new("ended before it answered")
	case answer.Kind != "" && answer.Control == nil:
		f.Result, f.Kind, f.Reason = "failed", new(string(answer.Kind)), new(h.e.Redact.String(answer.Evidence))
		if len(l.changes) == 0 {
			barred(t, answer)
		}
	case answer.Control == nil:
		f.Result, f.Reason = "invalid", new(h.e.Redact.String(answer.Problem))
	default:
		f.Result = "recovered"
		t.Control = answer.Control
		if t.Kind == failure.EmptyOutput {
			t.Kind, t.Evidence = "", ""
		}
		h.step("%s: the JSON object came", h.now)
	}
	return f
}

// barred takes over a kind by which the agent cannot be used at all: it is true of the turn before too.
func barred(t *agent.Turn, answer agent.Turn) {
	if answer.Kind.Barred() {
		t.Kind, t.RetryAfter = answer.Kind, answer.RetryAfter
		t.Evidence = answer.Evidence + "; when it was asked for its JSON object, because " + t.Problem
	}
}

// question takes the one turn: in the same conversation where the agent keeps it, else a new one that is shown the answer.
func (h *healing) question(wall context.Context, number int, l *left) (answer agent.Turn, edited bool, err error) {
	c, err := h.base.Copy(wall, filepath.Join(h.homes.Work, "finalizer"))
	if err != nil {
		return answer, false, err
	}
	defer h.tidy(c.Close)
	if err := c.Put(l.changes); err != nil {
		return answer, false, err
	}
	box, err := h.homes.AgentBox(h.base, c.Dir, h.agentCaches, nil)
	if err != nil {
		return answer, false, err
	}
	r := h.basic(number, box, c.Dir, io.Discard)
	r.ReadOnly = true
	r.Env = append(r.Env, turnVariable+"=finalizer")
	parts := agent.FinalizerParts{Task: h.task.Name, Problem: l.turn.Problem, Changed: statOf(l.changes)}
	take := h.agent.Turn
	if l.turn.Resume != nil {
		take = l.turn.Resume
	} else {
		parts.Answer = l.turn.Text
	}
	r.Prompt = h.e.Redact.String(agent.Finalizer(parts))
	note := r.Note
	note(agent.Line{Type: "finalizer", Data: map[string]any{"problem": l.turn.Problem, "resumed": l.turn.Resume != nil}})

	work, cancel := context.WithDeadlineCause(wall, time.Now().Add(min(finalizerMost, h.remaining())), errWallClock)
	defer cancel()
	answer, err = take(work, r)
	if err != nil {
		return answer, false, err
	}
	now, _, lookErr := c.Changes(context.WithoutCancel(wall))
	if lookErr != nil && !errors.Is(lookErr, context.Canceled) {
		h.note("the copy of the question for a JSON object could not be looked at: " + lookErr.Error())
	}
	return answer, lookErr == nil && !sameChanges(now, l.changes), nil
}

// statOf names what changed, a line each.
func statOf(changes []patch.Change) []string {
	const most = 50
	var lines []string
	for i, c := range changes {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(changes)-most))
			break
		}
		word := "modified"
		switch {
		case c.Before == nil:
			word = "added"
		case c.After == nil:
			word = "deleted"
		}
		lines = append(lines, word+" "+c.Path)
	}
	return lines
}
