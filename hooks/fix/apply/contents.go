package apply

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

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
