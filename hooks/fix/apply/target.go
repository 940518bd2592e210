package apply

import (
	"context"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A target is one path that an apply or a revert is about, and what is to become of it.
type target struct {
	*record
	path          string
	before, after *fix.Content     // as the record has them
	group         patch.PathPatch  // what the patch does to the path
	parts         []bool           // which parts of that are selected
	back          bool             // they are taken out
	threeWay      bool             // into, or out of, a file that was edited
	edited        *patch.PathPatch // what a person made of group; nil: nothing
}

// An outcome is what is to be done about a target: nothing, if it is there; else write what it is to hold, unless
// why tells what prevents that.
type outcome struct {
	there   bool
	since   bool        // it is there, and the file was edited elsewhere since it was applied
	before  bool        // of a revert: it was so before the apply, which wrote nothing
	to      *patch.File // what is written; nil: the path is removed
	merged  bool
	why     string
	clashes []patch.Clash // where git would leave markers
}

// ends returns what the path holds before and after; an edited patch may end elsewhere.
func (t *target) ends() (from, to *fix.Content) {
	if t.back {
		return t.after, t.before
	}
	return t.before, t.after
}

// outcome compares what is at the path with what it is to hold.
func (t *target) outcome(ctx context.Context, now node) (outcome, error) {
	if !t.back { // what applies wrote is done, also what a person had edited out of it
		rest := *t
		rest.parts = t.written(now).Without(t.parts)
		t = &rest
	}
	if t.edited != nil {
		return t.outcomeEdited(ctx, now)
	}
	from, to := t.ends()
	if t.back {
		if before, ok := t.original(); ok && t.asLeft(now) { // not what others had done of the patch before it was applied
			if now.is(before) {
				return outcome{there: true, before: !now.is(to)}, nil
			}
			if to, ok := t.contents(before); ok {
				return outcome{to: to}, nil
			}
		}
	}
	switch {
	case now.is(to) && !now.is(from):
		return outcome{there: true}, nil
	case to == nil && now.dir && t.addsBelow():
		return outcome{there: true}, nil // the patch makes the path a folder, and it is one
	case from == nil && now.dir:
		return t.splice(node{}, slices.Repeat([]bool{t.back}, len(t.parts)))
	case !t.back && t.unchanged(now):
		return outcome{there: true}, nil
	}
	if has, ok := t.partsIn(now); ok {
		return t.splice(now, has)
	}
	done, goesOn := !t.back && t.recorded(), t.continues(now)
	if !t.threeWay && !done && !goesOn {
		return outcome{why: difference(now, from)}, nil
	}
	o, err := t.merge(ctx, now, nil)
	o.since = done && o.there
	if !t.threeWay && !goesOn && !o.since { // what was applied is no longer in the file, or nobody can tell
		return outcome{why: difference(now, from)}, nil
	}
	return o, err
}

// splice adds the selected parts to those that the path has, or takes them out.
func (t *target) splice(now node, has []bool) (outcome, error) {
	want := slices.Clone(has)
	for i, selected := range t.parts {
		if selected {
			want[i] = !t.back
		}
	}
	if slices.Equal(has, want) {
		return outcome{there: true}, nil
	}
	to, err := t.group.Splice(now.file, has, want)
	if err != nil {
		return outcome{}, refused("%s: %w", t.PatchPath(), err)
	}
	end, known := t.after, !slices.Contains(want, false)
	if !slices.Contains(want, true) {
		end, known = t.before, true
	}
	if known && !(node{file: to}).is(end) {
		return outcome{}, refused("%w: the patch does not make of %q what the record says", fix.ErrDamaged, t.path)
	}
	return outcome{to: to}, nil
}

// partsIn returns which parts of the patch a path has; false where it is not the base with some of them.
func (t *target) partsIn(now node) ([]bool, bool) {
	if now.dir || now.other || now.long {
		return nil, false
	}
	isBase := func(f *patch.File) bool { return (node{file: f}).is(t.before) }
	n := len(t.parts)
	// What is recorded comes first: two sets of hunks can make one text.
	if e := t.extent(); e.Any() {
		parts := e.Hunks
		if e.All {
			parts = all(n)
		}
		if len(parts) == n {
			if base, err := t.group.Splice(now.file, parts, make([]bool, n)); err == nil && isBase(base) {
				return parts, true
			}
		}
	}
	return t.group.Holds(now.file, isBase)
}

// extent returns how much of the path is recorded as applied.
func (t *target) extent() fix.Extent { return t.extents[fix.AsStored(t.path)] }

// recorded reports whether the selected parts are recorded as applied.
func (t *target) recorded() bool { return t.extent().Has(t.parts) }

// unchanged reports whether a path is as the last apply left it, and all that is selected was written then.
func (t *target) unchanged(now node) bool { return t.asLeft(now) && t.written(now).Has(t.parts) }

// written returns what applies wrote to a path that is as the last one left it. Earlier ones count as long as each left what
// the next one found: else somebody may have taken their part out by hand.
func (t *target) written(now node) (wrote fix.Extent) {
	if !t.asLeft(now) {
		return wrote
	}
	steps := t.history[t.path]
	for i, s := range slices.Backward(steps) {
		if s.part == nil {
			return fix.Extent{All: true}
		}
		wrote = s.part.AddTo(wrote)
		if i > 0 && !equal(steps[i-1].After, s.Before) {
			break
		}
	}
	return wrote
}

// asLeft reports whether a path is as the last apply left it.
func (t *target) asLeft(now node) bool {
	steps := t.history[t.path]
	return len(steps) > 0 && now.is(steps[len(steps)-1].After)
}

// continues reports whether applies of other parts, and nobody else, made of a path what it is now. They may have been
// edited, so that the patch does not tell where they are.
func (t *target) continues(now node) bool {
	before, ok := t.original()
	return !t.back && ok && equal(before, t.before) && t.asLeft(now) && !t.recorded()
}

// original returns what a path held before the first apply; nil: it was not there. It is not known where somebody edited
// it between two of them.
func (t *target) original() (_ *fix.Content, ok bool) {
	steps := t.history[t.path]
	for i := 1; i < len(steps); i++ {
		if !equal(steps[i-1].After, steps[i].Before) {
			return nil, false
		}
	}
	if len(steps) == 0 {
		return nil, false
	}
	return steps[0].Before, true
}

// addsBelow reports whether the patch, or its way back, adds something below the path.
func (t *target) addsBelow() bool {
	for name, f := range t.touched {
		to := f.After
		if t.back {
			to = f.Before
		}
		if to != nil && strings.HasPrefix(name, t.path+"/") {
			return true
		}
	}
	return false
}

// contents returns what the path held at some time: from the record, or made from the patch. nil and true: nothing.
func (t *target) contents(c *fix.Content) (*patch.File, bool) {
	if c == nil {
		return nil, true
	}
	if f, ok := t.Kept(c); ok {
		return f, true
	}
	n := len(t.parts)
	from, to := make([]bool, n), all(n)
	var base *patch.File
	switch {
	case equal(c, t.after) && t.before == nil:
	case equal(c, t.after):
		var ok bool
		if base, ok = t.Kept(t.before); !ok {
			return nil, false
		}
	case equal(c, t.before) && t.after == nil:
		from, to = to, from
	default:
		return nil, false
	}
	f, err := t.group.Splice(base, from, to)
	return f, err == nil && node{file: f}.is(c)
}

func equal(a, b *fix.Content) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// difference tells in a few words how a path differs from what it should hold.
func difference(now node, want *fix.Content) string {
	switch {
	case now.dir:
		return "a folder now"
	case now.file == nil && !now.other:
		return "gone"
	case want == nil:
		return "is there already"
	case now.file != nil && !now.long && recordfile.Digest(now.file.Data) == want.Digest:
		return "its mode changed"
	}
	return "changed"
}
