// Contents by their digest: what the fix found, what an apply wrote, what it took away.

package apply

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// contents gives what a path held: from the record, or made from the patch. nil and true is a path that was not there.
func (w *work) contents(a *aim, c *fix.Content) (*patch.File, bool) {
	if c == nil {
		return nil, true
	}
	if f, ok := w.proposal.Kept(c); ok {
		return f, true
	}
	n := len(a.parts)
	none, all := make([]bool, n), every(n)
	switch {
	case equal(c, a.after) && a.before == nil:
		f, err := a.group.Splice(nil, none, all)
		return f, err == nil && held{file: f}.holds(c)
	case equal(c, a.after):
		base, ok := w.proposal.Kept(a.before)
		if !ok {
			return nil, false
		}
		f, err := a.group.Splice(base, none, all)
		return f, err == nil && held{file: f}.holds(c)
	case equal(c, a.before) && a.after == nil:
		f, err := a.group.Splice(nil, all, none)
		return f, err == nil && held{file: f}.holds(c)
	}
	return nil, false
}

// maxKept bounds what one apply keeps for its revert, in bytes.
const maxKept = 64 << 20

// keepContents stores what a revert will need and nothing else can give back: contents that a merge or an edited patch
// took away or made. What holds a secret is not stored, nor what goes beyond 64 MiB.
func (w *work) keepContents() error {
	if w.what != toApply || len(w.Wrote) == 0 {
		return nil
	}
	p, left := w.proposal, maxKept
	for _, m := range w.moves {
		a := w.aimOf(m.path)
		for _, f := range []*patch.File{m.was, m.to} {
			if f == nil || len(f.Data) > left {
				continue
			}
			if _, ok := w.contents(a, fix.ContentOf(f)); ok {
				continue
			}
			if _, secret := w.secrets.Find(f.Data); secret {
				continue
			}
			if err := recordfile.MakeFolder(filepath.Dir(p.Folder("applied"))); err != nil {
				return err
			}
			if err := recordfile.MakeFolder(p.Folder("applied")); err != nil {
				return err
			}
			path := filepath.Join(p.Folder("applied"), strings.TrimPrefix(recordfile.Digest(f.Data), "sha256:"))
			if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, f.Data) {
				continue
			}
			if err := recordfile.Write(path, f.Data, true); err != nil {
				return err
			}
			left -= len(f.Data)
		}
	}
	return nil
}

func (w *work) aimOf(path string) *aim {
	for i := range w.aims {
		if w.aims[i].path == path {
			return &w.aims[i]
		}
	}
	return nil
}
