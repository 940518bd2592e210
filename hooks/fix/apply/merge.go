package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// maxMerge is the largest file that is merged, or searched for hunks that it has, in bytes.
const maxMerge = 64 << 20

// A Conflict is one file that is not as it should be, or cannot be merged.
type Conflict struct {
	Path    string
	Why     string        // in a word or a few
	Clashes []patch.Clash // as git marks them; Line is the file's own
}

// Conflicts is an ErrRefused and an ErrConflict: what prevents a merge. Nothing was written.
type Conflicts struct {
	Files []Conflict
	err   error
}

func (c *Conflicts) Error() string { return c.err.Error() }
func (c *Conflicts) Unwrap() error { return c.err }

// notKept tells why a content that a merge needs is not there.
const notKept = "its old content is not kept (over 64 MiB in all, or it has a secret)"

// An edited is the outcome of an edited patch; a nil file is a path that is not there.
type edited struct{ file *patch.File }

// merge finds the outcome for a path that is neither as the fix found it nor as the fix makes it. made is nil where
// the patch was not edited.
func (t *target) merge(ctx context.Context, now node, made *edited) (outcome, error) {
	switch {
	case now.dir || now.other || now.long:
		_, to := t.ends()
		return outcome{why: difference(now, to)}, nil
	case t.back:
		return t.mergeBack(ctx, now)
	}
	base, ok := t.contents(t.before)
	if !ok {
		return outcome{why: notKept}, nil
	}
	if made == nil {
		to, err := t.group.Splice(base, make([]bool, len(t.parts)), t.parts)
		if err != nil {
			return outcome{}, refused("%s: %w", t.PatchPath(), err)
		}
		made = &edited{to}
	}
	return t.three(ctx, base, now.file, made.file)
}

// mergeBack takes every step of the fix out of what the path holds, the last one first.
func (t *target) mergeBack(ctx context.Context, now node) (outcome, error) {
	is, merged := now.file, false
	for _, step := range slices.Backward(t.history[t.path]) {
		before, ok := t.contents(step.Before)
		after, also := t.contents(step.After)
		if !ok || !also {
			return outcome{why: notKept}, nil
		}
		o, err := t.three(ctx, after, is, before)
		if err != nil || o.why != "" {
			return o, err
		}
		if !o.there {
			is, merged = o.to, true
		}
	}
	return outcome{there: !merged, to: is, merged: merged}, nil
}

// three merges two changes of base: ours, which the path has, and theirs.
func (t *target) three(ctx context.Context, base, ours, theirs *patch.File) (outcome, error) {
	m := patch.Three(base, ours, theirs)
	result := m.Result
	switch {
	case m.Refused != "":
		return outcome{why: m.Refused}, nil
	case m.Texts:
		var before []byte
		if base != nil {
			before = base.Data
		}
		text, o, err := t.mergeTexts(ctx, before, ours.Data, theirs.Data)
		if err != nil || o.why != "" {
			return o, err
		}
		result = &patch.File{Mode: m.Mode, Data: text}
	}
	if equal(fix.ContentOf(ours), fix.ContentOf(result)) {
		return outcome{there: true}, nil
	}
	return outcome{to: result, merged: true}, nil
}

// mergeTexts has git merge two changes of a text, as the path's merge attribute asks.
func (t *target) mergeTexts(ctx context.Context, base, ours, theirs []byte) ([]byte, outcome, error) {
	as := git.MergeText
	if t.repo != nil {
		var err error
		if as, err = t.repo.MergeAs(ctx, t.path); err != nil {
			return nil, outcome{}, err
		}
	}
	switch as {
	case git.MergeText, git.MergeUnion:
	case git.MergeBinary:
		return nil, outcome{why: "its merge attribute forbids merging, and both sides changed it"}, nil
	default:
		return nil, outcome{why: fmt.Sprintf("its merge attribute names %q, a program of your own, which is not run here",
			as)}, nil
	}
	text, conflicts, err := git.Merge(ctx, t.top, ours, base, theirs, as == git.MergeUnion)
	if err == nil && conflicts > 0 {
		return nil, outcome{why: "conflict", clashes: patch.Clashes(ours, text)}, nil
	}
	return text, outcome{}, err
}

// A conflicting lists the files that prevent an apply or a revert.
type conflicting []Conflict

func (c conflicting) paths() []string {
	var all []string
	for _, f := range c {
		all = append(all, f.Path)
	}
	return all
}

// named returns the paths, each with why; changed tells of some who changed them.
func (c conflicting) named(changed map[string]string) string {
	var all []string
	for _, f := range c {
		why := f.Why
		if by := changed[f.Path]; by != "" && why == "changed" {
			why += ": " + by
		}
		all = append(all, fmt.Sprintf("%s (%s)", f.Path, why))
	}
	return english.List(all, 10)
}

// conflict tells what prevents the plan and what to do.
func (p *plan) conflict(ctx context.Context, fixes *fix.Store, c conflicting) error {
	if p.kind == toRevert {
		return p.conflictBack(c)
	}
	paths, changed := c.paths(), changedBy(fixes, p.Proposal, c.paths())
	names, before := c.named(changed), ""
	if slices.ContainsFunc(p.targets, func(t target) bool { return slices.Contains(paths, t.path) && t.extent().Any() }) {
		before = "it was applied before; since then: "
	}
	heal := "have a new fix proposed: " + fixes.Command("heal", p.Run, p.Task)
	if clash := slices.ContainsFunc(c, func(f Conflict) bool { return len(f.Clashes) > 0 }); p.threeWay || clash {
		byHand := "\n"
		if p.repo != nil && clash {
			byHand = "\nresolve them by hand: commit your own edits, then git apply --3way " +
				quoted(p.PatchPath()) + "\nor "
		}
		return &Conflicts{c, refused("%s%w, and cannot be merged: %s; nothing was written%s"+
			"choose the rest with --files or --hunk, change the patch with --3way --edit, or %s",
			before, ErrConflict, names, byHand, heal)}
	}
	merge, undo := "merge it in with --3way, or ", ""
	var dirty []string
	if p.repo != nil {
		dirty, _ = p.repo.Dirty(ctx, paths...) // only for the advice
	}
	if len(dirty) > 0 {
		merge = "merge it in with --3way --allow-dirty, or "
	}
	if own := slices.DeleteFunc(dirty, func(name string) bool { return changed[name] != "" }); len(own) > 0 {
		undo = "undo or stash your uncommitted edits of " + english.List(own, 10) + " and apply again, "
	}
	return refused("%s%w: %s; %s%s%s", before, ErrConflict, names, undo, merge, heal)
}

func (p *plan) conflictBack(c conflicting) error {
	paths, only := c.paths(), ""
	if slices.ContainsFunc(p.files, func(name string) bool { return !slices.Contains(paths, name) }) {
		only = "; the others can be reverted with --files"
	}
	names := c.named(nil)
	if p.threeWay {
		return &Conflicts{c, refused("%w, and the fix cannot be taken out of them: %s; nothing was written; "+
			"put them right by hand%s", ErrConflict, names, only)}
	}
	return refused("%w: %s; --3way takes the fix out of them and leaves the rest%s", ErrConflict, names, only)
}
