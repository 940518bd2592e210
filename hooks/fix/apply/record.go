package apply

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A record is a fix whose record was checked: it is whole, of the run beside it, made here, and a proposal.
type record struct {
	*fix.Proposal
	root
	groups      []patch.PathPatch        // what the patch does to each path, sorted
	touched     map[string]fix.PatchFile // every file of the patch, by path
	changes     []fix.StateChange        // what people did with the fix
	disposition string
	extents     map[string]fix.Extent // how much of each file is applied
	history     map[string][]step     // what earlier applies wrote to each file
}

// record checks the record of a fix, before an apply or a revert.
func (t Tree) record(ctx context.Context, p *fix.Proposal, kind string) (*record, error) {
	changes, err := readState(p)
	if err != nil {
		return nil, err
	}
	r := &record{
		Proposal: p, changes: changes, extents: fix.Extents(&p.Fix, changes),
		history: historyOf(&p.Fix, changes),
	}
	r.disposition, _ = fix.DispositionOf(&p.Fix, changes)
	if p.State != fix.Proposed || p.Patch == nil {
		return nil, refused("no fix is proposed for task %s of run %s (%s); there is no patch", p.Task, p.Run, p.State)
	}
	if recordfile.Digest(p.Diff) != p.Patch.Digest {
		return nil, refused("%w: the patch is not the one that was proposed; run heal again", fix.ErrDamaged)
	}
	if kind == toApply {
		if err := t.barred(r); err != nil {
			return nil, err
		}
	}
	if err := fix.Consistent(&p.Fix); err != nil {
		return nil, refused("%w: %w; run heal again", fix.ErrDamaged, err)
	}
	if err := p.CheckRun(); err != nil {
		return nil, refused("%w", err)
	}
	parsed, touched, err := p.ParseDiff()
	if err != nil {
		return nil, refused("%w", err)
	}
	r.groups, r.touched = sorted(parsed), touched
	if r.root, err = t.root(ctx, p); err != nil {
		return nil, err
	}
	if came, err := r.foreign(ctx); err != nil {
		return nil, err
	} else if came {
		return nil, refused("%w", ErrForeign)
	}
	if p.Base != nil && p.Base.Sub != nil && *p.Base.Sub != r.sub {
		return nil, refused("the fix was made with the pipeline's folder at %q of its work tree, now it is at %q; run heal again",
			*p.Base.Sub, r.sub)
	}
	return r, nil
}

// readState reads what people did with a fix that was found in the store.
func readState(p *fix.Proposal) ([]fix.StateChange, error) {
	if p.Name == "" {
		return nil, refused("the proposal was not read from the store")
	}
	if err := p.CheckFolders(); err != nil {
		return nil, refused("%w", err)
	}
	changes, err := fix.ReadState(p.StatePath(), p.Digest)
	if err != nil {
		return nil, refused("%w", err)
	}
	return changes, nil
}

// barred refuses a fix that a person rejected, or that a newer one took the place of.
func (t Tree) barred(r *record) error {
	at := ""
	if c := fix.LastTo(r.changes, r.disposition); c != nil {
		if at = c.At; c.Reason != "" {
			at += fmt.Sprintf(" (%q)", c.Reason)
		}
	}
	switch {
	case r.disposition == fix.Rejected:
		other := ""
		if r.Verified != nil {
			other = "; " + *r.Verified + " is verified: " + t.Fixes.Command("fix", "apply", r.Run, *r.Verified)
		}
		return refused("this fix was rejected at %s; run heal again, or apply %s with git apply%s", at,
			r.PatchPath(), other)
	case r.disposition == fix.Superseded && !r.ByNumber:
		return refused("this fix was superseded at %s; run heal again, or name it by its number to apply it all the same: %s",
			at, t.Fixes.Command("fix", "apply", r.Run, fix.CalledBy(r.Task, r.Name)))
	case r.disposition == fix.Superseded:
		if o := t.inItsPlace(r.Proposal); o != nil {
			return refused("this fix was superseded at %s, and one in its place is in the tree; take that out first: %s",
				at, t.Fixes.Command("fix", "revert", o.Run, fix.CalledBy(o.Task, o.Name)))
		}
	}
	return nil
}

// inItsPlace returns a newer fix of the same failure, or another one of the same task and run, that is in the tree.
func (t Tree) inItsPlace(p *fix.Proposal) *fix.Proposal {
	for _, o := range t.Fixes.All() {
		beside := o.Run == p.Run && o.Task == p.Task && o.Name != p.Name
		alike := p.Fingerprint != nil && o.Fingerprint != nil && *o.Fingerprint == *p.Fingerprint
		after := cmp.Compare(o.CreatedAt, p.CreatedAt) >= 0 && o.Run != p.Run
		if (beside || alike && after) && o.InTheTree() {
			return o
		}
	}
	return nil
}

// A step is what one apply wrote to a path.
type step struct {
	fix.Wrote
	part *fix.Part // the selected hunks; nil: all of them
}

// historyOf returns what the applies of a fix wrote to each path since it was last reverted, oldest first. A file
// that somebody had changed the same way by hand counts as written as the record has it. An apply that writes a path
// again begins its history anew: somebody had taken the fix out by hand.
func historyOf(f *fix.Fix, changes []fix.StateChange) map[string][]step {
	steps := map[string][]step{}
	for i, c := range changes {
		if c.To != fix.Applied && c.To != fix.Reverted {
			continue
		}
		before, named, wrote := fix.Extents(f, changes[:i]), c.Named(), map[string]*fix.Wrote{}
		for n := range slices.Backward(c.Wrote) { // the first of a path counts
			wrote[c.Wrote[n].FullPath()] = &c.Wrote[n]
		}
		for _, p := range f.Patch.Files {
			name := p.FullPath()
			part := named.Parts[p.Path]
			switch w := wrote[name]; {
			case !named.Has(p.Path):
			case c.To == fix.Reverted:
				delete(steps, name)
			case w != nil && (before[p.Path].All || part != nil && before[p.Path].Has(part.AddTo(fix.Extent{}).Hunks)):
				steps[name] = []step{{*w, part}}
			case w != nil:
				steps[name] = append(steps[name], step{*w, part})
			case len(steps[name]) == 0 && part == nil:
				w := fix.Wrote{Path: p.Path, PathBytes: p.PathBytes, Before: p.Before, After: p.After}
				steps[name] = []step{{Wrote: w}}
			}
		}
	}
	return steps
}

// changedBy tells of paths which other fix was the first to be applied to them after p was proposed.
func changedBy(fixes *fix.Store, p *fix.Proposal, paths []string) map[string]string {
	by, first := map[string]string{}, map[string]string{}
	for _, q := range fixes.All() {
		if q.Patch == nil || len(q.Decided) == 0 || q.Dir == p.Dir && q.Name == p.Name {
			continue
		}
		steps := historyOf(&q.Fix, q.Decided)
		for _, path := range paths {
			at := appliedAt(q.Decided, path)
			if len(steps[path]) == 0 || at <= p.CreatedAt || by[path] != "" && at >= first[path] {
				continue
			}
			first[path] = at
			by[path] = fmt.Sprintf("the fix for %s of run %s was applied to it", q.Task, q.Run)
		}
	}
	return by
}

// appliedAt returns when a fix was last applied to a path, or "".
func appliedAt(changes []fix.StateChange, path string) string {
	for _, c := range slices.Backward(changes) {
		if c.To == fix.Applied && (len(c.Files) == 0 || slices.Contains(c.Files, fix.AsStored(path))) {
			return c.At
		}
	}
	return ""
}

// maxKept is how much one apply keeps for its revert, in bytes.
const maxKept = 64 << 20

// keepContents stores what a revert will need and nothing else can give back: contents that a merge or an edited
// patch removed or made. Contents that hold a secret, and those beyond 64 MiB, are not stored.
func (p *plan) keepContents() error {
	if p.kind != toApply || len(p.Wrote) == 0 {
		return nil
	}
	left, folder := maxKept, p.Folder("applied")
	for _, m := range p.moves {
		at, _ := slices.BinarySearch(p.files, m.path)
		t := &p.targets[at]
		for _, f := range []*patch.File{m.was, m.to} {
			if f == nil || len(f.Data) > left {
				continue
			}
			if _, ok := t.contents(fix.ContentOf(f)); ok {
				continue
			}
			if _, secret := p.secrets.Find(f.Data); secret {
				continue
			}
			for _, dir := range []string{filepath.Dir(folder), folder} {
				if err := recordfile.MakeFolder(dir); err != nil {
					return err
				}
			}
			file := filepath.Join(folder, strings.TrimPrefix(recordfile.Digest(f.Data), "sha256:"))
			if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, f.Data) {
				continue
			}
			if err := recordfile.Write(file, f.Data, true); err != nil {
				return err
			}
			left -= len(f.Data)
		}
	}
	return nil
}
