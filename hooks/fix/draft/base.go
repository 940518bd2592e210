package draft

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// maxBase is how much of a base's contents is stored, in bytes in all.
const maxBase = 64 << 20

// A storedBase is base.json while its contents are being stored.
type storedBase struct {
	fix.BaseFile

	bytes int64 // stored so far
	seen  map[string]bool
}

func (b *storedBase) said(sub string, took time.Duration) *fix.Base {
	said := &fix.Base{Tree: b.Tree, Commit: b.Commit, Complete: b.Complete, DurationMS: new(took.Milliseconds())}
	if sub != "" {
		said.Sub = &sub
	}
	return said
}

// StoreBase writes base.json and base/<sha256> before an agent starts. contents are the paths whose content git
// cannot give back. At most 64 MiB are stored in all; the rest is listed as left out, and so is what has a secret.
// read returns nil for a path that is absent.
func (d *Draft) StoreBase(m *tree.Manifest, commit string, contents []string, read func(path string) (*patch.File, error),
) (complete bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := &storedBase{BaseFile: fix.BaseFile{
		SchemaVersion: fix.SchemaVersion, Tree: m.Digest(), Entries: m.Entries,
		Omitted: m.Omitted, LeftOut: []fix.LeftOut{},
	}, seen: map[string]bool{}}
	b.hideNames(d.Secrets)
	fix.Fill(&b.Entries)
	fix.Fill(&b.Omitted)
	if commit != "" {
		b.Commit = &commit
	}
	if err := recordfile.MakeFolder(d.path("/base")); err != nil {
		return false, err
	}
	for _, path := range contents {
		if e, ok := m.Find(path); ok && b.bytes+e.Size > maxBase { // not read only to be left out
			b.leave(d.Secrets.String(path), "oversize", &e.Size)
			continue
		}
		file, err := read(path)
		if err != nil {
			b.leave(d.Secrets.String(path), "unreadable", nil)
			continue
		}
		if file == nil {
			continue
		}
		if err := d.storeContent(b, path, file.Data); err != nil {
			return false, err
		}
	}
	d.base = b
	err = d.writeBase()
	return b.Complete, err
}

// hideNames removes secrets from paths and link targets. An entry that held one is no longer what it was: it counts
// as left out.
func (b *storedBase) hideNames(secrets *redact.Set) {
	b.Entries, b.Omitted = slices.Clone(b.Entries), slices.Clone(b.Omitted)
	for i := range b.Entries {
		e := &b.Entries[i]
		path, link := secrets.String(e.Path), secrets.String(e.Link)
		if path != e.Path || link != e.Link {
			e.Path, e.Link = path, link
			b.leave(path, "secret", &e.Size)
		}
	}
	for i := range b.Omitted {
		b.Omitted[i].Path = secrets.String(b.Omitted[i].Path)
	}
}

// StoreTouched adds the base content of files that a patch touches.
func (d *Draft) StoreTouched(changes []patch.Change) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.base == nil {
		return fmt.Errorf("fix %s: StoreBase comes first", d.Name)
	}
	for _, c := range changes {
		if c.Before == nil {
			continue
		}
		if err := d.storeContent(d.base, c.Path, c.Before.Data); err != nil {
			return err
		}
	}
	return d.writeBase()
}

func (d *Draft) storeContent(b *storedBase, path string, data []byte) error {
	path = d.Secrets.String(path)
	sum := recordfile.Digest(data)
	if b.seen[sum] {
		return nil
	}
	size := int64(len(data))
	if _, secret := d.Secrets.Find(data); secret {
		b.leave(path, "secret", &size)
		return nil
	}
	if b.bytes+size > maxBase {
		b.leave(path, "oversize", &size)
		return nil
	}
	if err := recordfile.Write(filepath.Join(d.path("/base"), strings.TrimPrefix(sum, "sha256:")), data,
		false); err != nil {
		return err
	}
	b.seen[sum] = true
	b.bytes += size
	return nil
}

func (b *storedBase) leave(path, why string, size *int64) {
	for _, l := range b.LeftOut {
		if l.Path == path && bytes.Equal(l.PathBytes, fix.RawPath(path)) {
			return
		}
	}
	b.LeftOut = append(b.LeftOut, fix.LeftOut{Path: path, PathBytes: fix.RawPath(path), Why: why, Size: size})
}

func (d *Draft) writeBase() error {
	d.base.Complete = len(d.base.LeftOut) == 0
	return recordfile.WriteJSON(d.path("/base.json"), d.base, true)
}
