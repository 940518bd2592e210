package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// A fix in an answer (output = "diff"): the last complete unified diff of it, applied strictly to a copy as the agent
// was given it. So what is proposed is the base and the diff, and nothing else:
//
//   - What the agent changed in its copy besides is no part of it. It is kept with the attempt, and said.
//   - A diff that cannot be read or applied, in whatever part, changes nothing; why goes into the next attempt, if the
//     budget has one.
//   - Only where no diff can be applied does what the agent changed in its copy count, as with output = "tree":
//     a difference is always verified and proposed.

// A noDiff says why an answer gives no fix. The kind is empty when the agent says that there is none.
type noDiff struct {
	kind failure.Kind
	why  string
}

func (e *noDiff) Error() string { return e.why }

// takeAnswer puts the difference that the diff in an answer makes in the place of what the agent changed in its copy, if
// the answer holds one.
func (h *healing) takeAnswer(ctx context.Context, n int, l *left) error {
	changes, omitted, err := h.answered(ctx, l.turn)
	var none *noDiff
	switch {
	case err == nil:
		own := l.changes
		l.changes, l.omitted = changes, omitted
		return h.keepOwn(n, own, changes)
	case !errors.As(err, &none):
		return err
	}
	if none.kind == "" {
		return nil
	}
	if none.kind == failure.OutputInvalid {
		l.refused = none.why + "\n"
	}
	switch {
	case l.turn.Kind != "":
		l.turn.Evidence += "; " + none.why
	case l.refused != "" || len(l.changes) == 0:
		l.turn.Kind, l.turn.Evidence = none.kind, none.why
	}
	if len(l.changes) > 0 {
		said := none.why + "; what counts is what the agent changed in its copy"
		h.note(fmt.Sprintf("attempt %d: %s", n, said))
		h.step("%s: %s", h.now, said)
	}
	return nil
}

// answered is the difference that the diff in an answer makes in a fresh copy, and what of it no patch takes. A *noDiff
// means that there is none.
func (h *healing) answered(ctx context.Context, turn agent.Turn) ([]patch.Change, []tree.Omitted, error) {
	wanted, err := h.readAnswer(turn)
	if err != nil {
		return nil, nil, err
	}
	c, err := h.base.Copy(ctx, filepath.Join(h.homes.Work, "diff"))
	if err != nil {
		return nil, nil, err
	}
	defer h.tidy(c.Close)
	if err := c.Put(wanted); err != nil {
		return nil, nil, &noDiff{failure.OutputInvalid, "the diff of the answer cannot be applied: " + err.Error()}
	}
	changes, omitted, err := c.Changes(ctx)
	if err == nil && len(changes) == 0 {
		err = &noDiff{failure.PatchEmpty, "the diff of the answer changes nothing that a patch can hold"}
	}
	return changes, omitted, err
}

// readAnswer gives the changes that the diff in an answer makes to the base.
func (h *healing) readAnswer(turn agent.Turn) ([]patch.Change, error) {
	d, found := agent.LastDiff(turn.Text)
	switch {
	case !found && turn.Control != nil && turn.Control.Outcome == agent.Fixed:
		return nil, &noDiff{failure.PatchEmpty, "the agent says fixed, and its answer holds no unified diff"}
	case !found && turn.Control != nil:
		return nil, &noDiff{}
	case !found && strings.TrimSpace(turn.Text) == "":
		return nil, &noDiff{failure.NoOutput, "the agent said nothing"}
	case !found:
		return nil, &noDiff{failure.VerdictAmbiguous, "the answer holds neither a unified diff nor a control object (" + turn.Problem + ")"}
	case d.Problem != "":
		return nil, &noDiff{failure.OutputInvalid, "the diff of the answer cannot be read: " + d.Problem}
	case isCut(turn.Text, d):
		return nil, &noDiff{failure.OutputTruncated, fmt.Sprintf("only the last %d KiB of an answer are read, and the diff may begin before them", agent.TailLimit>>10)}
	}
	changes, err := applied(d.Text, h.base)
	if d.CRLF != "" && errors.Is(err, patch.ErrConflict) {
		if c, e := applied(d.CRLF, h.base); e == nil {
			return c, nil
		}
	}
	if err != nil {
		return nil, &noDiff{failure.OutputInvalid, fmt.Sprintf("the diff in line %d of the answer cannot be applied: %v", d.Line, err)}
	}
	return changes, nil
}

func applied(diff string, base *scratch.Base) ([]patch.Change, error) {
	return patch.Changes([]byte(diff), base.Read)
}

// isCut says whether the front of an answer is missing, and d may be what is left of a longer diff: nothing stands
// before it but lines that a diff may have.
func isCut(answer string, d agent.Diff) bool {
	if len(answer) < agent.TailLimit-8 {
		return false
	}
	before := strings.SplitAfterN(answer, "\n", d.Line)[:d.Line-1]
	return !slices.ContainsFunc(before[min(1, len(before)):], func(l string) bool {
		return strings.TrimSpace(l) != "" && !strings.Contains(" +-@\\", l[:1])
	})
}

// keepOwn stores what the agent changed in its copy beside its diff.
func (h *healing) keepOwn(n int, own, proposed []patch.Change) error {
	if len(own) == 0 || sameChanges(own, proposed) {
		return nil
	}
	text, err := patch.Encode(own)
	if err != nil {
		return err
	}
	rel, err := h.draft.KeepFile(n, "changed-besides", bytes.NewReader(text))
	if err != nil {
		return err
	}
	said := fmt.Sprintf("the agent changed %s of its copy besides; only the diff in its answer counts; kept as %s", english.Count(len(own), "file"), rel)
	h.note(fmt.Sprintf("attempt %d: %s", n, said))
	h.step("%s: %s", h.now, said)
	return nil
}

func sameChanges(a, b []patch.Change) bool {
	return slices.EqualFunc(a, b, func(x, y patch.Change) bool {
		if x.Path != y.Path || (x.After == nil) != (y.After == nil) {
			return false
		}
		return x.After == nil || x.After.Mode.Type() == y.After.Mode.Type() && x.After.Mode&0o100 == y.After.Mode&0o100 && bytes.Equal(x.After.Data, y.After.Data)
	})
}
