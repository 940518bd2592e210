package apply

import (
	"context"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// Selected returns the text of what o selects of the patch, for an editor. It checks the record as Apply does, but
// not the tree.
func (t Tree) Selected(ctx context.Context, p *fix.Proposal, o Options) ([]byte, error) {
	_, chosen, err := t.selection(ctx, p, &o)
	if err != nil {
		return nil, err
	}
	return patch.Select(p.Diff, func(path string, n int) bool {
		parts := chosen[path]
		return n < len(parts) && parts[n]
	})
}

// edit replaces what was selected by an edited patch. It may touch only selected paths. What is edited counts as
// applied file by file, whatever hunks it has.
func (p *plan) edit(text []byte) error {
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
	var targets []target
	var files []string
	for _, g := range parsed.Paths() {
		n := slices.Index(p.files, g.Path) // files and targets have one order
		if n < 0 {
			return refused("the edited patch touches %q, which was not chosen; it may touch: %s", g.Path,
				english.List(p.files, 10))
		}
		t := p.targets[n]
		t.edited, t.parts = &g, all(len(t.parts))
		targets, files = append(targets, t), append(files, g.Path)
	}
	slices.SortFunc(targets, func(a, b target) int { return strings.Compare(a.path, b.path) })
	slices.Sort(files)
	p.targets, p.files, p.Hunks = targets, files, nil
	p.Edited, p.PatchDigest = true, recordfile.Digest(counted)
	return nil
}

// outcomeEdited is outcome for an edited patch, which is made for what the fix found.
func (t *target) outcomeEdited(ctx context.Context, now node) (outcome, error) {
	base, ok := now.file, now.is(t.before)
	if !ok {
		base, ok = t.contents(t.before)
	}
	if !ok {
		return outcome{why: notKept}, nil
	}
	n := len(t.edited.Parts())
	to, err := t.edited.Splice(base, make([]bool, n), all(n))
	if err != nil {
		return outcome{}, refused("the edited patch: %w", err)
	}
	switch {
	case now.is(fix.ContentOf(to)):
		return outcome{there: true}, nil
	case now.is(t.before), t.before == nil && now.dir:
		return outcome{to: to}, nil
	case !t.threeWay:
		return outcome{why: difference(now, t.before)}, nil
	}
	return t.merge(ctx, now, &edited{to})
}
