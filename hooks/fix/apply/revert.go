package apply

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

// Revert undoes what Apply wrote, all files or none, with the same journal. Of o it uses Files, Dir, ThreeWay,
// DryRun and By. A file must be as it was applied; with ThreeWay the fix is taken out of what the file holds now.
// Where somebody put a file back to what it was before the fix, that is only recorded. Errors are as those of Apply;
// it is ErrRefused too when nothing is applied.
func (t Tree) Revert(ctx context.Context, p *fix.Proposal, o Options) (Applied, error) {
	done, err := t.carryOut(ctx, o.DryRun, func() (*plan, error) { return t.planRevert(ctx, p, o) })
	return done, inOtherWords(err, "not reverted", "the files do not hold what was applied")
}

func (t Tree) planRevert(ctx context.Context, p *fix.Proposal, o Options) (*plan, error) {
	r, err := t.record(ctx, p, toRevert)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(r.groups, Options{Files: o.Files, Dir: o.Dir}, r.top)
	if err != nil {
		return nil, err
	}
	var not []string
	for path, parts := range chosen {
		switch e := r.extents[fix.AsStored(path)]; {
		case e.All:
		case e.Any() && len(e.Hunks) == len(parts):
			chosen[path] = e.Hunks
		default:
			not = append(not, path)
			delete(chosen, path)
		}
	}
	slices.Sort(not)
	switch {
	case o.Files != nil && len(not) > 0:
		return nil, refused("it is not applied to: %s", english.List(not, 10))
	case len(chosen) == 0:
		return nil, refused("it is not applied (this fix is %s)%s", r.disposition, t.appliedBeside(p))
	}
	pl := newPlan(r, toRevert, Options{By: o.By, ThreeWay: o.ThreeWay}, chosen)
	return pl.checked(func() error {
		if err := pl.compare(ctx, t.Fixes); err != nil {
			return err
		}
		return pl.writable()
	})
}

// appliedBeside tells which other fix of the same task and run is in the tree; "": none.
func (t Tree) appliedBeside(p *fix.Proposal) string {
	counts, others, _ := t.Fixes.InRun(p.Run) // only for the advice
	for _, o := range slices.Concat(counts, others) {
		if o.Task == p.Task && o.Name != p.Name && o.InTheTree() {
			return "; another fix of this task is: " + t.Fixes.Command("fix", "revert", p.Run, o.Called)
		}
	}
	return ""
}

// A reworded is an error with another message.
type reworded struct {
	text string
	err  error
}

func (r *reworded) Error() string { return r.text }
func (r *reworded) Unwrap() error { return r.err }

// inOtherWords replaces the words of an ErrRefused about an apply, and perhaps those about a conflict.
func inOtherWords(err error, refusal, conflict string) error {
	if !errors.Is(err, ErrRefused) {
		return err
	}
	text := strings.Replace(err.Error(), ErrRefused.Error(), refusal, 1)
	if conflict != "" {
		text = strings.Replace(text, ErrConflict.Error(), conflict, 1)
	}
	return &reworded{text, err}
}
