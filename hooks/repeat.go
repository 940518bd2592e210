package hooks

import (
	"context"
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
)

// MostOpen is how many proposals may wait for a decision before runs make no more. The verb heal ignores it: who
// types it asks for one more.
const MostOpen = 20

// repeated returns why nothing is started for a failure that was seen before; empty: it is. What a person asked for
// is not prevented by older proposals. A second hook of the same task is prevented by the proposal of the first.
func (j *job) repeated(ctx context.Context) string {
	fixes := j.fixes()
	alike, opened, _ := fixes.Earlier(j.print) // fix list reports what cannot be read
	var newer *fix.Proposal                    // the newest that was applied
	for _, p := range alike {
		if j.typed && p.CreatedAt < j.began {
			continue
		}
		if p.Disposition == "applied" && newer == nil {
			newer = p
		}
		fits, err := apply.Tree{Fixes: fixes}.Fits(ctx, p)
		if err != nil || !fits {
			continue // a new proposal takes its place
		}
		switch {
		case p.Disposition == "open":
			return "open_proposal: run " + p.Run + " has a proposal for this failure, which is still open"
		case p.Disposition != "rejected":
		case newer == nil:
			return "rejected_proposal: the proposal of run " + p.Run +
				" for this failure was rejected, and its files have not changed since"
		default:
			// The decision that was made last counts.
			if back := j.putBack(ctx, fixes, newer); back != "" {
				return "applied_proposal: the fix of run " + newer.Run +
					" for this failure was applied, and is no longer in the tree; apply it again with: " + back
			}
		}
	}
	for _, p := range alike {
		if p.Disposition == "applied" {
			j.log.Note("the fix of run " + p.Run + " was applied for this same failure")
			if back := j.putBack(ctx, fixes, p); back != "" {
				j.log.Note("it is no longer in the tree; apply it again with: " + back)
			}
			break
		}
	}
	if opened >= MostOpen && !j.typed {
		return fmt.Sprintf("open_limit: %d proposals are open: apply or reject some of them (async-pipeline fix list)",
			opened)
	}
	return ""
}

// putBack returns the command that applies an applied fix again, where it fits and is no longer in the tree; empty:
// else.
func (j *job) putBack(ctx context.Context, fixes *fix.Store, p *fix.Proposal) string {
	p, err := fixes.Find(p.Run, p.Task)
	if err != nil {
		return ""
	}
	r := apply.Tree{Fixes: fixes}.Ready(ctx, p)
	if r.Conflict != nil || r.Refused != nil || r.Nothing {
		return ""
	}
	back := "async-pipeline fix apply " + p.Run + " " + word(p.Task)
	for _, f := range p.Flags {
		back += " --accept " + word(f.ID)
	}
	return back
}

// word returns a task's name as a person types it in a shell.
func word(name string) string {
	if strings.ContainsAny(name, "\"'[] $") {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

// supersede marks the proposals that the one just sealed replaces. Where that cannot be written both stay open.
func (j *job) supersede(ctx context.Context, f *fix.Fix) {
	fixes := j.fixes()
	if err := (apply.Tree{Fixes: fixes}).Supersede(context.WithoutCancel(ctx), f); err != nil {
		j.log.Step("an older proposal could not be marked as superseded: %s", err)
	}
}
