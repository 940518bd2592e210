// Reject: a person says no to a proposal.

package apply

import (
	"context"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"slices"
	"strings"
	"unicode/utf8"
)

// Rejected is what Reject did (or would do).
type Rejected struct {
	Already bool     // somebody had rejected it before: nothing is written
	Applied []string // files that stay as the fix made them, because only some of it was applied
}

// MaxReason is how much of a reason is kept, in bytes.
const MaxReason = 4 << 10

// Reject records that a person does not want a proposal: it is no longer open, Apply refuses it, and its run may be removed. A
// fix that is applied is refused with ErrRefused: it is reverted first. Of o it takes DryRun and By. reason may be empty, and holds
// no secret: the caller sees to that.
func (t Tree) Reject(ctx context.Context, p *fix.Proposal, reason string, o Options) (Rejected, error) {
	var r Rejected
	_, err := t.alone(ctx, o.DryRun, func() (Applied, error) { return Applied{}, t.reject(p, reason, o, &r) })
	return r, inOtherWords(err, "not rejected", "")
}

func (t Tree) reject(p *fix.Proposal, reason string, o Options, r *Rejected) error {
	if p.Name == "" {
		return refused("the proposal was not read from the store")
	}
	if err := p.CheckFolders(); err != nil {
		return refused("%w", err)
	}
	decisions, err := fix.ReadState(p.StatePath(), p.Digest)
	if err != nil {
		return refused("%w", err)
	}
	is, in := fix.DispositionOf(&p.Fix, decisions)
	r.Applied = in
	switch is {
	case fix.None:
		return refused("the healing of task %s in run %s ended as %s; there is no proposal to reject", p.Task, p.Run, p.State)
	case fix.Applied:
		return refused("it is applied; take it back first: async-pipeline fix revert %s %s", p.Run, quoted(p.Called))
	case fix.Superseded:
		return refused("a later fix took its place at %s: it is no longer open", decisions[len(decisions)-1].At)
	case fix.Rejected:
		r.Already = true
		return nil
	}
	if err := p.CheckRun(); err != nil {
		return refused("%w", err)
	}
	if o.DryRun {
		return nil
	}
	return fix.AddState(p.StatePath(), p.Digest, fix.StateChange{By: o.By, To: fix.Rejected, Files: paths(p.Patch.Files), Reason: brief(reason)})
}

// paths are those of a patch, as the record has them.
func paths(all []fix.PatchFile) []string {
	var names []string
	for _, f := range all {
		names = append(names, f.Path)
	}
	slices.Sort(names)
	return names
}

// brief is a reason without white space around it, cut where it is too long.
func brief(reason string) string {
	reason = strings.TrimSpace(strings.ToValidUTF8(reason, "\uFFFD"))
	if len(reason) <= MaxReason {
		return reason
	}
	cut := MaxReason - len("…")
	for !utf8.RuneStart(reason[cut]) {
		cut--
	}
	return reason[:cut] + "…"
}
