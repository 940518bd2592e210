// What earlier applies wrote, of this fix and of others.

package apply

import (
	"fmt"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"slices"
)

// historyOf gives what the applies of a fix made of each path since it was last reverted, oldest first. A file that was
// there already, by somebody's hand, counts as written as the record has it. What is written once more had been put back
// by hand: it begins anew.
func historyOf(f *fix.Fix, all []fix.StateChange) map[string][]fix.Wrote {
	steps := map[string][]fix.Wrote{}
	for i, d := range all {
		if d.To != fix.Applied && d.To != fix.Reverted {
			continue
		}
		stood := fix.Extents(f, all[:i])
		for _, p := range f.Patch.Files {
			name := fix.FullPath(p.Path, p.PathBytes)
			switch n := slices.IndexFunc(d.Wrote, func(w fix.Wrote) bool { return fix.FullPath(w.Path, w.PathBytes) == name }); {
			case len(d.Files) > 0 && !slices.Contains(d.Files, p.Path):
			case d.To == fix.Reverted:
				delete(steps, name)
			case n >= 0 && addsNothing(d.Hunks, p.Path, stood[p.Path]):
				steps[name] = []fix.Wrote{d.Wrote[n]}
			case n >= 0:
				steps[name] = append(steps[name], d.Wrote[n])
			case len(steps[name]) == 0 && !slices.ContainsFunc(d.Hunks, func(h fix.Part) bool { return h.Path == p.Path }):
				steps[name] = []fix.Wrote{{Path: p.Path, PathBytes: p.PathBytes, Before: p.Before, After: p.After}}
			}
		}
	}
	return steps
}

// addsNothing says that what a decision applies of a path stood there before, as far as anybody knew.
func addsNothing(hunks []fix.Part, path string, stood fix.Extent) bool {
	n := slices.IndexFunc(hunks, func(h fix.Part) bool { return h.Path == path })
	return stood.All || n >= 0 && !slices.ContainsFunc(hunks[n].Hunks, func(i int) bool {
		return i < 1 || i > len(stood.Hunks) || !stood.Hunks[i-1]
	})
}

// wroteIt says whether a path holds what an earlier apply made of it with all that is chosen now.
func (w *work) wroteIt(a *aim, h held) bool {
	steps := w.history[a.path]
	return len(steps) > 0 && w.covers(*a) && h.holds(steps[len(steps)-1].After)
}

// chained is next for the way back of a path that holds what the last apply made of it, when each began where the one
// before ended.
func (w *work) chained(a *aim, h held) (next, bool, error) {
	steps := w.history[a.path]
	if len(steps) == 0 || !h.holds(steps[len(steps)-1].After) {
		return next{}, false, nil
	}
	for i := 1; i < len(steps); i++ {
		if !equal(steps[i-1].After, steps[i].Before) {
			return next{}, false, nil // somebody edited it in between
		}
	}
	to, ok := w.contents(a, steps[0].Before)
	return next{to: to}, ok, nil
}

// changedBy says of paths which other fix was the first that an apply wrote to them after p was proposed, in words.
func (t Tree) changedBy(p *fix.Proposal, paths []string) map[string]string {
	by, first := map[string]string{}, map[string]string{}
	runs, _ := t.Fixes.Runs() // only for the advice
	for _, run := range runs {
		all, _ := t.Fixes.Healings(run)
		for _, q := range all {
			if q.Patch == nil || len(q.Decided) == 0 || q.Dir == p.Dir && q.Name == p.Name {
				continue
			}
			steps := historyOf(&q.Fix, q.Decided)
			for _, path := range paths {
				at := writtenAt(q.Decided, fix.AsStored(path))
				if len(steps[path]) == 0 || at <= p.CreatedAt || by[path] != "" && at >= first[path] {
					continue
				}
				first[path] = at
				by[path] = fmt.Sprintf("the fix for %s of run %s was applied to it", q.Task, q.Run)
			}
		}
	}
	return by
}

// writtenAt is when a path was last decided on to be applied.
func writtenAt(all []fix.StateChange, path string) string {
	for _, d := range slices.Backward(all) {
		if d.To == fix.Applied && (len(d.Files) == 0 || slices.Contains(d.Files, path)) {
			return d.At
		}
	}
	return ""
}
