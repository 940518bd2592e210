package apply

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

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
		before := fix.Extents(f, changes[:i])
		for _, p := range f.Patch.Files {
			name := p.FullPath()
			var part *fix.Part
			if h := slices.IndexFunc(c.Hunks, func(h fix.Part) bool { return h.Path == p.Path }); h >= 0 {
				part = &c.Hunks[h]
			}
			switch n := slices.IndexFunc(c.Wrote, func(w fix.Wrote) bool { return w.FullPath() == name }); {
			case len(c.Files) > 0 && !slices.Contains(c.Files, p.Path):
			case c.To == fix.Reverted:
				delete(steps, name)
			case n >= 0 && (before[p.Path].All || part != nil && before[p.Path].Has(part.AddTo(fix.Extent{}).Hunks)):
				steps[name] = []step{{c.Wrote[n], part}}
			case n >= 0:
				steps[name] = append(steps[name], step{c.Wrote[n], part})
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
		t := &p.targets[slices.Index(p.files, m.path)]
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
