// Revert: taking an applied fix out of the tree again.

package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

// Revert undoes what Apply wrote, all files or none, by the same journal: of o it takes Files, Dir, ThreeWay, DryRun and By. A file
// must hold what was applied; with ThreeWay the fix is taken out of what it holds now. What is refused is ErrRefused, and
// ErrConflict where it applies; that nothing is applied is refused too. A file that is as it was before the fix, because somebody put
// it back, is only recorded.
func (t Tree) Revert(ctx context.Context, p *fix.Proposal, o Options) (Applied, error) {
	done, err := t.alone(ctx, o.DryRun, func() (Applied, error) {
		w, err := t.checkRevert(ctx, p, o)
		if err != nil {
			return Applied{}, err
		}
		defer w.place.close()
		return w.done(), w.carryOut(ctx, o.DryRun)
	})
	return done, inOtherWords(err, "not reverted", "the files do not hold what was applied")
}

func (t Tree) checkRevert(ctx context.Context, p *fix.Proposal, o Options) (*work, error) {
	w := &work{tree: t, proposal: p, what: toRevert, by: o.By, threeWay: o.ThreeWay}
	parsed, err := w.believe(ctx)
	if err != nil {
		return nil, err
	}
	all := parsed.Paths()
	chosen, err := choose(all, Options{Files: o.Files, Dir: o.Dir}, w.top)
	if err != nil {
		return nil, err
	}
	var not []string
	for _, g := range all {
		if chosen[g.Path] == nil {
			continue
		}
		switch stood := w.stood[fix.AsStored(g.Path)]; {
		case stood.All:
		case stood.Any() && len(stood.Hunks) == len(g.Parts()):
			chosen[g.Path] = stood.Hunks
		default:
			not = append(not, g.Path)
			delete(chosen, g.Path)
		}
	}
	slices.Sort(not)
	switch {
	case o.Files != nil && len(not) > 0:
		return nil, refused("it is not applied to: %s", english.List(not, 10))
	case len(chosen) == 0:
		return nil, refused("it is not applied (this fix is %s)%s", w.disposition, t.appliedBeside(p))
	}
	w.aim(all, chosen)
	if w.place, err = openPlace(w.top); err != nil {
		return nil, err
	}
	err = w.present(ctx)
	if err == nil {
		err = w.writable()
	}
	if err != nil {
		w.place.close()
		return nil, err
	}
	return w, nil
}

// appliedBeside says which other healing of the same task and run is in the tree; empty: none.
func (t Tree) appliedBeside(p *fix.Proposal) string {
	counts, others, _ := t.Fixes.InRun(p.Run) // only for the advice
	for _, o := range slices.Concat(counts, others) {
		if o.Task == p.Task && o.Name != p.Name && len(o.Applied)+len(fix.Partly(&o.Fix, o.Decided)) > 0 {
			return fmt.Sprintf("; another fix of this task is: async-pipeline fix revert %s %s", p.Run, quoted(o.Called))
		}
	}
	return ""
}

// A worded is an error in other words.
type worded struct {
	text string
	err  error
}

func (w *worded) Error() string { return w.text }
func (w *worded) Unwrap() error { return w.err }

// inOtherWords says of an error of the checks that something else than an apply was refused, and perhaps what conflicts.
func inOtherWords(err error, refusal, conflict string) error {
	if !errors.Is(err, fix.ErrRefused) {
		return err
	}
	text := strings.Replace(err.Error(), fix.ErrRefused.Error(), refusal, 1)
	if conflict != "" {
		text = strings.Replace(text, fix.ErrConflict.Error(), conflict, 1)
	}
	return &worded{text, err}
}
