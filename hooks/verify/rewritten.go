package verify

import (
	"bytes"
	"context"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Code that is checked can change the check while it runs: write the file that a test compares with, or one that the
// runner loads. So the check files in the copy are compared with what was put there when the check has ended. What the
// check changes without the patch too does not count: some tests write files that git has.

// rewritten returns the check files that differ from what was put in a copy, and new ones that runners load by
// themselves. The wall clock goes on: another check may run.
func rewritten(ctx context.Context, p part, at *place) (names []string, err error) {
	now, omitted, err := at.copy.Changes(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range omitted { // a check file that became a pipe, or much too large
		if p.checks.Has(o.Path) && p.checks.Class(o.Path) > 0 {
			names = append(names, o.Path)
		}
	}
	put := map[string]patch.Change{}
	for _, c := range p.changes {
		put[c.Path] = c
	}
	for _, c := range now {
		was := c.Before
		if c, ok := put[c.Path]; ok {
			was = c.After
		}
		delete(put, c.Path)
		names = append(names, p.checks.changed(c.Path, was, c.After)...)
	}
	for _, c := range put { // they are as in the base now
		names = append(names, p.checks.changed(c.Path, c.After, c.Before)...)
	}
	slices.Sort(names)
	return names, nil
}

// A checkFiles is the check files of the base.
type checkFiles struct{ *checkfile.Checks }

// changed returns file if it belongs to the check and its content differs.
func (c checkFiles) changed(file string, was, now *patch.File) []string {
	if checkfile.IsObject(file) { // a check that compiles writes it anew
		return nil
	}
	if c.Checks == nil || was == nil && now == nil || was != nil && now != nil && was.Mode.Type() == now.Mode.Type() && bytes.Equal(was.Data, now.Data) {
		return nil
	}
	counts := c.LoadedWhenNew(file)
	if was != nil {
		parts := c.Parts(patch.Change{Path: file, Before: was, After: now})
		counts = c.Class(file) > 0 || slices.ContainsFunc(parts, func(p checkfile.Part) bool { return p.Check })
	}
	if !counts {
		return nil
	}
	return []string{file}
}

// changedItself tells which check files the check changed while it ran as p and ended as o, if there are any.
func (q *verification) changedItself(ctx context.Context, p part, o *outcome) fix.Reason {
	if len(o.rewritten) == 0 {
		return fix.Reason{}
	}
	plain := p
	plain.name, plain.what, plain.changes = "without-patch", "what the check itself changes", nil
	before := q.copy(ctx, plain)
	if before.reason.Code == noTime || before.reason.Code == notRun { // what it changes by itself is not known
		return before.reason
	}
	left := slices.DeleteFunc(slices.Clone(o.rewritten), func(name string) bool { return slices.Contains(before.rewritten, name) })
	if len(left) == 0 {
		return fix.Reason{}
	}
	return fix.Reason{Code: checkRewritten, Words: "with the patch, " + english.List(left, mostNamed) + " changed while the check ran"}
}
