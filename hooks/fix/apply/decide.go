package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// Rejected is what Reject did, or would do.
type Rejected struct {
	Already bool     // somebody had rejected it before: nothing is written
	Applied []string // files that stay as the fix made them, because only a part of it was applied
}

// MaxReason is how much of a reason is kept, in bytes.
const MaxReason = 4 << 10

// Reject records that a person does not want a fix: it is no longer open, Apply refuses it, and its run may be
// removed. A fix that is applied is ErrRefused: it is to be reverted first. Of o it uses DryRun and By. reason may
// be empty; the caller removes secrets from it.
func (t Tree) Reject(ctx context.Context, p *fix.Proposal, reason string, o Options) (r Rejected, err error) {
	_, err = t.locked(ctx, o.DryRun, func() (Applied, error) {
		r, err = t.reject(p, reason, o)
		return Applied{}, err
	})
	return r, inOtherWords(err, "not rejected", "")
}

func (t Tree) reject(p *fix.Proposal, reason string, o Options) (Rejected, error) {
	changes, err := readState(p)
	if err != nil {
		return Rejected{}, err
	}
	is, in := fix.DispositionOf(&p.Fix, changes)
	r := Rejected{Applied: in}
	switch is {
	case fix.None:
		return r, refused("no fix is proposed for task %s of run %s (%s); there is nothing to reject", p.Task,
			p.Run, p.State)
	case fix.Applied:
		return r, refused("it is applied; take it back first: %s", t.Fixes.Command("fix", "revert", p.Run, p.Called))
	case fix.Superseded:
		return r, refused("a later fix took its place at %s: it is no longer open", fix.LastTo(changes, is).At)
	case fix.Rejected:
		r.Already = true
		return r, nil
	}
	if err := p.CheckRun(); err != nil {
		return r, refused("%w", err)
	}
	if o.DryRun {
		return r, nil
	}
	var files []string
	for _, f := range p.Patch.Files {
		files = append(files, f.Path)
	}
	slices.Sort(files)
	return r, fix.AddState(p.StatePath(), p.Digest, fix.StateChange{
		By: o.By, To: fix.Rejected, Files: files,
		Reason: brief(reason),
	})
}

// brief trims a reason and cuts one that is too long.
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

// supersedeWait is how long Supersede waits for another process that applies right now.
const supersedeWait = 10 * time.Second

// Supersede marks the open fixes that a newer one takes the place of: those of the same failure, in any run, and
// those of an earlier fix of the same task in the same run. newer is sealed and proposed. What cannot be read is
// left alone.
func (t Tree) Supersede(ctx context.Context, newer *fix.Fix) (err error) {
	if newer.State != fix.Proposed {
		return nil
	}
	old := slices.DeleteFunc(t.Fixes.All(), func(p *fix.Proposal) bool {
		alike := newer.Fingerprint != nil && p.Fingerprint != nil && *p.Fingerprint == *newer.Fingerprint
		same := p.Run == newer.Run && p.Task == newer.Task
		itself := p.Patch != nil && p.Run == newer.Run && p.Patch.Path == newer.Patch.Path
		return p.Disposition != fix.Open || p.Fault != nil || !alike && !same || itself
	})
	if len(old) == 0 {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, supersedeWait)
	defer cancel()
	lock, err := t.lock(wait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	reason := fmt.Sprintf("run %s has a newer proposal for the same failure of task %s", newer.Run, newer.Task)
	var errs []error
	for _, p := range old {
		// Somebody may have decided while we waited.
		changes, err := fix.ReadState(p.StatePath(), p.Digest)
		if is, _ := fix.DispositionOf(&p.Fix, changes); err == nil && is == fix.Open {
			err = fix.AddState(p.StatePath(), p.Digest, fix.StateChange{To: fix.Superseded, Reason: reason})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
