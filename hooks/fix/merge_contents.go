// Contents by their digest: what the fix found, what an apply wrote, what it took away.

package fix

import (
	"bytes"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// folderOf is where contents of a kind are: base (before the agent) or applied (what no other record gives back).
func (p *Proposal) folderOf(kind string) string {
	return filepath.Join(p.Dir, "fixes", p.name, kind)
}

// contents gives what a path held: from the record, or made from the patch. nil and true is a path that was not there.
func (w *work) contents(a *aim, c *Content) (*patch.File, bool) {
	if c == nil {
		return nil, true
	}
	if f, ok := w.proposal.kept(c); ok {
		return f, true
	}
	n := len(a.parts)
	none, all := make([]bool, n), every(n)
	switch {
	case equal(c, a.after) && a.before == nil:
		f, err := a.group.Splice(nil, none, all)
		return f, err == nil && held{file: f}.holds(c)
	case equal(c, a.after):
		base, ok := w.proposal.kept(a.before)
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

// kept gives a content that is stored with the fix.
func (p *Proposal) kept(c *Content) (*patch.File, bool) {
	sum := strings.TrimPrefix(c.Digest, "sha256:")
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 32 {
		return nil, false
	}
	for _, kind := range []string{"base", "applied"} {
		dir := p.folderOf(kind)
		if realFolders(dir) != nil {
			continue
		}
		b, err := readFile(filepath.Join(dir, sum), maxPatch)
		if err != nil {
			continue
		}
		f := &patch.File{Mode: 0o644, Data: b}
		switch c.Mode {
		case "100755":
			f.Mode = 0o755
		case "120000":
			f.Mode = fs.ModeSymlink | 0o777
		}
		if (held{file: f}).holds(c) { // one flipped byte, and it is none
			return f, true
		}
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
			if _, ok := w.contents(a, contentOf(f)); ok {
				continue
			}
			if _, secret := w.secrets.Find(f.Data); secret {
				continue
			}
			if err := makeFolder(filepath.Dir(p.folderOf("applied"))); err != nil {
				return err
			}
			if err := makeFolder(p.folderOf("applied")); err != nil {
				return err
			}
			path := filepath.Join(p.folderOf("applied"), strings.TrimPrefix(digest(f.Data), "sha256:"))
			if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, f.Data) {
				continue
			}
			if err := writeFile(path, f.Data, true); err != nil {
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
