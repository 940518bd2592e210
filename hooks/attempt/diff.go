package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// With output = "diff" the fix is in the answer: the last complete unified diff of it, applied strictly to a copy as
// the agent was given it. So what is proposed is the base and the diff, and nothing else:
//
//   - What the agent changed in its copy is not part of it. That is kept with the attempt, and reported.
//   - A diff of which any part cannot be read or applied changes nothing. Why goes into the next attempt, if the budget has
//     one.
//   - Only where no diff can be applied does what the agent changed in its copy count, as with output = "tree": a difference
//     is always verified and proposed.

// A noDiff tells why an answer contains no fix. The kind is empty if the agent itself reports that there is none.
type noDiff struct {
	kind failure.Kind
	why  string
}

func (e *noDiff) Error() string { return e.why }

// takeAnswer replaces what the agent changed in its copy by what the diff in its answer changes, if there is one.
func (q *Request) takeAnswer(ctx context.Context, l *left) error {
	changes, omitted, err := q.answered(ctx, l.turn)
	if err == nil {
		own := l.changes
		l.changes, l.omitted = changes, omitted
		return q.keepOwn(own, changes)
	}
	none, ok := errors.AsType[*noDiff](err)
	switch {
	case !ok:
		return err
	case none.kind == "":
		return nil
	case none.kind == failure.OutputInvalid:
		l.refused = none.why + "\n"
	}
	switch {
	case l.turn.Kind != "":
		l.turn.Evidence += "; " + none.why
	case l.refused != "" || len(l.changes) == 0:
		l.turn.Kind, l.turn.Evidence = none.kind, none.why
	}
	if len(l.changes) > 0 {
		q.tell(none.why + "; using what the agent changed in its copy")
	}
	return nil
}

// answered returns the difference that the diff in an answer makes in a fresh copy, and what of it no patch can hold.
// The error is a *noDiff where there is none.
func (q *Request) answered(ctx context.Context, turn agent.Turn) ([]patch.Change, []tree.Omitted, error) {
	wanted, err := readAnswer(turn, q.Base)
	if err != nil {
		return nil, nil, err
	}
	c, err := q.Homes.Copy(ctx, q.Base, "diff", false)
	if err != nil {
		return nil, nil, err
	}
	defer q.Progress.Tidy(c.Close)
	if err := c.Put(wanted); err != nil {
		return nil, nil, &noDiff{failure.OutputInvalid, "the diff of the answer cannot be applied: " + err.Error()}
	}
	changes, omitted, err := c.Changes(ctx)
	if err == nil && len(changes) == 0 {
		err = &noDiff{failure.PatchEmpty, "the diff in the answer changes nothing that a patch can contain"}
	}
	return changes, omitted, err
}

// readAnswer returns the changes that the diff in an answer makes to the base.
func readAnswer(turn agent.Turn, base *scratch.Base) ([]patch.Change, error) {
	d, found := agent.LastDiff(turn.Text)
	switch {
	case !found && turn.Control != nil && turn.Control.Outcome == agent.Fixed:
		return nil, &noDiff{failure.PatchEmpty, "the agent says fixed, but its answer has no unified diff"}
	case !found && turn.Control != nil:
		return nil, &noDiff{}
	case !found && strings.TrimSpace(turn.Text) == "":
		return nil, &noDiff{failure.NoOutput, "the agent said nothing"}
	case !found:
		why := "the answer has neither a unified diff nor a report (" + turn.Problem + ")"
		return nil, &noDiff{failure.VerdictAmbiguous, why}
	case d.Problem != "":
		return nil, &noDiff{failure.OutputInvalid, "the diff of the answer cannot be read: " + d.Problem}
	case isCut(turn.Text, d):
		why := fmt.Sprintf("only the last %d KiB of an answer are read, and the diff may begin before them",
			agent.TailLimit>>10)
		return nil, &noDiff{failure.OutputTruncated, why}
	}
	changes, err := patch.Changes([]byte(d.Text), base.Read)
	if d.CRLF != "" && errors.Is(err, patch.ErrConflict) {
		if c, e := patch.Changes([]byte(d.CRLF), base.Read); e == nil {
			return c, nil
		}
	}
	if err != nil {
		why := fmt.Sprintf("the diff in line %d of the answer cannot be applied: %v", d.Line, err)
		return nil, &noDiff{failure.OutputInvalid, why}
	}
	return changes, nil
}

// isCut reports whether the front of an answer may be missing, so that d may be the end of a longer diff: there is
// nothing before it but lines that a diff may have.
func isCut(answer string, d agent.Diff) bool {
	if len(answer) < agent.TailLimit-8 {
		return false
	}
	before := strings.SplitAfterN(answer, "\n", d.Line)[:d.Line-1]
	return !slices.ContainsFunc(before[min(1, len(before)):], func(l string) bool {
		return strings.TrimSpace(l) != "" && !strings.Contains(" +-@\\", l[:1])
	})
}

// keepOwn stores what the agent changed in its copy besides its diff.
func (q *Request) keepOwn(own, proposed []patch.Change) error {
	if len(own) == 0 || patch.Same(own, proposed) {
		return nil
	}
	rel, err := q.Draft.KeepPatch(q.Number, "changed-besides", own)
	if err != nil {
		return err
	}
	q.tell(fmt.Sprintf("the agent changed %s of its copy besides; only the diff in its answer is used; kept as %s",
		english.Count(len(own), "file"), rel))
	return nil
}

// tell notes and shows something of this try.
func (q *Request) tell(text string) {
	q.Progress.Note(fmt.Sprintf("attempt %d: %s", q.Number, text))
	q.Progress.Step("%s: %s", q.Budget.Attempt(), text)
}
