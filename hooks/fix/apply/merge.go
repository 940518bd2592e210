// Merging three ways: the fix into files that are no longer as it found them, and a fix out of files that were edited since.

package apply

import (
	"context"
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// maxMerge is the largest file that is merged, or looked at for hunks that it has, in bytes.
const maxMerge = 64 << 20

// A Conflict is one file that cannot be merged.
type Conflict struct {
	Path    string
	Why     string        // empty where Clashes say it
	Clashes []patch.Clash // as git marks them; Line is the file's own
}

// Conflicts is an ErrRefused and an ErrConflict: what stands in the way of a merge. Nothing was written.
type Conflicts struct {
	Files []Conflict
	err   error
}

func (c *Conflicts) Error() string { return c.err.Error() }
func (c *Conflicts) Unwrap() error { return c.err }

// merge is next for a path that is neither as the fix found it nor as it makes it. made is what an edited patch makes of
// the base; nil where it was not edited.
func (w *work) merge(ctx context.Context, a *aim, h held, made *made) (next, error) {
	switch {
	case h.dir || h.other || h.long:
		_, to := a.ends()
		return next{why: difference(h, to)}, nil
	case a.back:
		return w.mergeBack(ctx, a, h)
	}
	base, ok := w.contents(a, a.before)
	if !ok {
		return next{why: notKept}, nil
	}
	if made == nil {
		to, err := a.group.Splice(base, make([]bool, len(a.parts)), a.parts)
		if err != nil {
			return next{}, refused("%s: %w", w.proposal.PatchPath(), err)
		}
		return w.three(ctx, a.path, base, h.file, to)
	}
	return w.three(ctx, a.path, base, h.file, made.file)
}

// notKept says why a content that a merge needs is not there.
const notKept = "what it held is not kept (over 64 MiB in all, or it holds a secret)"

// mergeBack takes every step of the fix out of what the path holds, the last one first.
func (w *work) mergeBack(ctx context.Context, a *aim, h held) (next, error) {
	now, merged := h.file, false
	steps := w.history[a.path]
	for i := len(steps) - 1; i >= 0; i-- {
		before, ok := w.contents(a, steps[i].Before)
		after, also := w.contents(a, steps[i].After)
		if !ok || !also {
			return next{why: notKept}, nil
		}
		n, err := w.three(ctx, a.path, after, now, before)
		if err != nil || n.why != "" {
			return n, err
		}
		if !n.there {
			now, merged = n.to, true
		}
	}
	return next{there: !merged, to: now, merged: merged}, nil
}

// three merges what became of base with what is to become of it.
func (w *work) three(ctx context.Context, path string, base, ours, theirs *patch.File) (next, error) {
	m := patch.Three(base, ours, theirs)
	switch {
	case m.Refused != "":
		return next{why: m.Refused}, nil
	case !m.Texts:
		return w.becomes(ours, m.Result), nil
	}
	as := git.MergeText
	if w.repo != nil {
		var err error
		if as, err = w.repo.MergeAs(ctx, path); err != nil {
			return next{}, err
		}
	}
	switch as {
	case git.MergeText, git.MergeUnion:
	case git.MergeBinary:
		return next{why: "its merge attribute says that it is not merged, and both sides changed it"}, nil
	default:
		return next{why: fmt.Sprintf("its merge attribute names %q, a program of your own, which is not run here", as)}, nil
	}
	var before []byte
	if base != nil {
		before = base.Data
	}
	text, conflicts, err := git.Merge(ctx, w.top, ours.Data, before, theirs.Data, as == git.MergeUnion)
	if err != nil {
		return next{}, err
	}
	if conflicts > 0 {
		return next{why: "conflict", clashes: patch.Clashes(ours.Data, text)}, nil
	}
	return w.becomes(ours, &patch.File{Mode: m.Mode, Data: text}), nil
}

// becomes is next for a merge that succeeded.
func (w *work) becomes(ours, result *patch.File) next {
	if equal(fix.ContentOf(ours), fix.ContentOf(result)) {
		return next{there: true}
	}
	return next{to: result, merged: true}
}

// Unfit are the paths that keep an apply from being done.
type unfit struct {
	paths []string
	files []Conflict
}

func (u *unfit) add(path string, n next) {
	u.paths = append(u.paths, path)
	u.files = append(u.files, Conflict{Path: path, Why: n.why, Clashes: n.clashes})
}

// named are the paths, each with a word.
func (u *unfit) named(changed map[string]string) []string {
	var all []string
	for _, f := range u.files {
		why := f.Why
		if by := changed[f.Path]; by != "" && why == "changed" {
			why += ": " + by
		}
		all = append(all, fmt.Sprintf("%s (%s)", f.Path, why))
	}
	return all
}

// clash says whether git would leave markers somewhere.
func (u *unfit) clash() bool {
	for _, f := range u.files {
		if len(f.Clashes) > 0 {
			return true
		}
	}
	return false
}

// conflict says what stands in the way and what to do.
func (w *work) conflict(ctx context.Context, u *unfit) error {
	var dirty []string
	if w.repo != nil {
		dirty, _ = w.repo.Dirty(ctx, u.paths...) // only for the advice
	}
	if w.what == toRevert {
		return w.conflictBack(u)
	}
	changed := w.tree.changedBy(w.proposal, u.paths)
	before := ""
	for _, name := range u.paths {
		if w.stood[fix.AsStored(name)].Any() {
			before = "it was applied before; since then: "
		}
	}
	heal := "have a new fix proposed: async-pipeline heal " + w.proposal.Run + " " + quoted(w.proposal.Task)
	names := english.List(u.named(changed), 10)
	if w.threeWay {
		byHand := ""
		if u.clash() {
			byHand = "\nresolve them by hand: commit your own edits, then git apply --3way " + quoted(w.proposal.PatchPath())
		}
		return &Conflicts{u.files, refused("%s%w, and cannot be merged: %s; nothing was written%s\nor choose the rest with --files or --hunk, change the patch with --3way --edit, or %s",
			before, fix.ErrConflict, names, byHand, heal)}
	}
	merge, undo := "merge it in with --3way, or ", ""
	var own []string // edits of the person's own
	for _, name := range dirty {
		if changed[name] == "" {
			own = append(own, name)
		}
	}
	if len(own) > 0 {
		undo = "undo or stash your uncommitted edits of " + english.List(own, 10) + " and apply again, "
	}
	if len(dirty) > 0 {
		merge = "merge it in with --3way --allow-dirty, or "
	}
	return refused("%s%w: %s; %s%s%s", before, fix.ErrConflict, names, undo, merge, heal)
}

// conflictBack is conflict for a revert.
func (w *work) conflictBack(u *unfit) error {
	var rest []string
	for _, name := range w.files {
		if !strings.Contains("\x00"+strings.Join(u.paths, "\x00")+"\x00", "\x00"+name+"\x00") {
			rest = append(rest, name)
		}
	}
	only := ""
	if len(rest) > 0 {
		only = "; the others can be reverted with --files"
	}
	names := english.List(u.named(nil), 10)
	if w.threeWay {
		return &Conflicts{u.files, refused("%w, and the fix cannot be taken out of them: %s; nothing was written; put them right by hand%s", fix.ErrConflict, names, only)}
	}
	return refused("%w: %s; --3way takes the fix out of them and leaves the rest%s", fix.ErrConflict, names, only)
}
