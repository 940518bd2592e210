// Package apply writes fixes into the user's tree and takes them out again. Nothing else writes source files there,
// and only a person's command may call Apply, Revert and Reject.
//
// All checks come first. Then all files are written, or none: a journal and the original files in .async/apply let
// the next command complete or undo what was interrupted. Package fix documents the files.
package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// Errors to test for. An error of a check is ErrRefused, and the message tells which check and what to do.
var (
	ErrRefused = errors.New("not applied")
	// always ErrRefused too, like the next two
	ErrConflict = errors.New("the files are no longer as the fix found them")
	ErrDirty    = errors.New("touched files have uncommitted changes")
	ErrFlagged  = errors.New("flagged items need --accept")
	ErrUse      = errors.New("nothing was done") // Options name something that the fix does not have; never ErrRefused
)

// errUnrecorded means that the files are written, but that this could not be recorded.
var errUnrecorded = errors.New("the files are written, but not yet recorded (the next command does it)")

// refused returns an ErrRefused.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRefused}, args...)...)
}

// misused returns an ErrUse.
func misused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUse}, args...)...)
}

// Options of Apply. No option, here or anywhere else, applies a fix without a person.
type Options struct {
	Files      []string    // only these paths of the patch; nil: all
	Hunks      []string    // only these hunks, "PATH:N" or, of a patch of one file, "N"; besides Files
	Dir        string      // absolute: Files and Hunks are relative to it; empty: they are paths of the patch
	Edited     []byte      // what a person made of the text that Selected returned; nil: the patch as it was proposed
	ThreeWay   bool        // merge into files that are no longer as the fix found them
	AllowDirty bool        // overwrite uncommitted changes
	Accept     []string    // ids or rules of flags, each entry one or several with commas
	DryRun     bool        // make all checks and write nothing
	By         string      // who applies, for the record
	Secrets    *redact.Set // contents that hold one are not kept for a revert; nil: none is known
}

// some reports whether only a part of the patch is selected.
func (o Options) some() bool { return o.Files != nil || o.Hunks != nil }

// Applied is what Apply or Revert did, or would do.
type Applied struct {
	Files   []string   // sorted
	Already bool       // every file was in place: nothing was written
	Note    string     // what the person should know of this fix; may be empty
	Parts   []fix.Part // those of Files of which only some hunks were selected
	Merged  []string   // those of Files that were merged three ways
	Dirty   []string   // those of Files with uncommitted changes, which AllowDirty overwrote
	Since   []string   // those of Files that hold what was applied before, and were edited elsewhere since
	Found   []string   // those of Files that somebody had made so before the apply: neither apply nor revert writes them
	At      string     // when Since were applied; empty without Since
	Edited  bool
	Rest    bool // after this, a part of the fix is still not applied
}

// Apply makes all checks, then writes all selected files or none. An error is ErrRefused or ErrUse where nothing was
// written; a merge that conflicts is a *Conflicts. With an error and Applied.Files, the files are written and only
// the record of it is missing: the next command adds it.
func (t Tree) Apply(ctx context.Context, p *fix.Proposal, o Options) (Applied, error) {
	return t.carryOut(ctx, o.DryRun, func() (*plan, error) { return t.planApply(ctx, p, o) })
}

// carryOut makes a plan, writes what is planned, and records it. A dry run ends with the plan.
func (t Tree) carryOut(ctx context.Context, dry bool, planned func() (*plan, error)) (Applied, error) {
	return t.locked(ctx, dry, func() (Applied, error) {
		p, err := planned()
		if err != nil {
			return Applied{}, err
		}
		defer p.tree.close()
		done := p.done()
		if !dry {
			err = t.write(ctx, p)
		}
		return done, err
	})
}

func (t Tree) write(ctx context.Context, p *plan) error {
	switch {
	case len(p.moves) > 0:
	case p.recorded():
		return nil
	default:
		return fix.AddState(p.StatePath(), p.Digest, p.journal().stateChange())
	}
	if err := ctx.Err(); err != nil { // from here on it is quick, and is not interrupted
		return err
	}
	return t.transaction(p.tree).run(p)
}

// done is what carrying out the plan comes to.
func (p *plan) done() Applied {
	after := fix.StateChange{To: fix.Applied, Files: asStored(p.files), Details: p.Details}
	is, _ := fix.DispositionOf(&p.Fix, append(slices.Clone(p.changes), after))
	done := Applied{
		Files: p.files, Already: len(p.moves) == 0, Parts: p.Hunks, Merged: p.Merged, Dirty: p.dirty, Since: p.since, Found: p.found,
		Edited: p.Edited, Rest: is != fix.Applied,
	}
	if p.kind == toApply {
		done.Note = note(&p.Fix)
	}
	for _, name := range p.since {
		done.At = max(done.At, appliedAt(p.changes, name))
	}
	return done
}

// asStored returns paths as they are read back from JSON.
func asStored(paths []string) []string {
	var all []string
	for _, p := range paths {
		all = append(all, fix.AsStored(p))
	}
	return all
}

// note returns what a person should know before relying on a fix that is not verified.
func note(p *fix.Fix) string {
	verdict := "unverified"
	if p.Verdict != nil {
		verdict = *p.Verdict
	}
	if verdict == "verified" {
		return ""
	}
	note := "this fix is " + verdict
	if p.Verification != nil && p.Verification.Reason != nil {
		note += ": " + *p.Verification.Reason
	}
	return note
}
