// A patch that a person edits before it is applied.

package apply

import (
	"context"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// Selected gives the text of what o chooses of the patch, for an editor. The record is checked as for an apply; the tree
// is not looked at.
func (t Tree) Selected(ctx context.Context, p *fix.Proposal, o Options) ([]byte, error) {
	w := &work{tree: t, proposal: p, what: toApply}
	parsed, err := w.believe(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := namedFlags(p, o.Accept); err != nil {
		return nil, err
	}
	chosen, err := choose(parsed.Paths(), o, w.top)
	if err != nil {
		return nil, err
	}
	return patch.Select(p.Diff, func(path string, n int) bool {
		parts := chosen[path]
		return n < len(parts) && parts[n]
	})
}

// A made is what an edited patch makes of a base; a nil file is a path that is not there.
type made struct{ file *patch.File }

// edit takes an edited patch in the place of what was chosen: only the paths that were chosen, and safe ones. What is
// edited counts as applied path by path, whatever hunks it has.
func (w *work) edit(text []byte) error {
	counted, err := patch.Recount(text)
	if err != nil {
		return refused("the edited patch: %w", err)
	}
	parsed, err := patch.Parse(counted)
	if err != nil {
		return refused("the edited patch: %w", err)
	}
	if len(parsed.Files) == 0 {
		return refused("nothing is left of the edited patch")
	}
	chosen := w.files
	var aims []aim
	for _, g := range parsed.Paths() {
		if err := safePath(g.Path); err != nil {
			return refused("the edited patch: %w", err)
		}
		a := w.aimOf(g.Path)
		if a == nil {
			return refused("the edited patch touches %q, which was not chosen; it may touch: %s", g.Path, english.List(chosen, 10))
		}
		mine := *a
		mine.edited, mine.parts = &g, every(len(a.parts))
		aims = append(aims, mine)
	}
	slices.SortFunc(aims, func(a, b aim) int { return slices.Compare([]string{a.path}, []string{b.path}) })
	w.aims, w.files, w.Hunks = aims, nil, nil
	for _, a := range aims {
		w.files = append(w.files, a.path)
	}
	w.Edited, w.PatchDigest = true, recordfile.Digest(counted)
	return nil
}

// nextEdited is next for an edited patch: it is made for what the fix found.
func (w *work) nextEdited(ctx context.Context, a *aim, h held) (next, error) {
	base, ok := h.file, h.holds(a.before)
	if !ok {
		base, ok = w.contents(a, a.before)
	}
	if !ok {
		return next{why: notKept}, nil
	}
	n := len(a.edited.Parts())
	to, err := a.edited.Splice(base, make([]bool, n), every(n))
	if err != nil {
		return next{}, refused("the edited patch: %w", err)
	}
	switch end := fix.ContentOf(to); {
	case h.holds(end):
		return next{there: true}, nil
	case h.holds(a.before), a.before == nil && h.dir:
		return next{to: to}, nil
	case !w.threeWay:
		return next{why: difference(h, a.before)}, nil
	}
	return w.merge(ctx, a, h, &made{to})
}
