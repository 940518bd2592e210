package scratch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// The manifest of a base is in the order of paths, as that of a walk is, also where a name goes on below the slash.
func TestManifestOrder(t *testing.T) {
	t.Parallel()
	top := temp(t)
	write(t, top, map[string]string{"a-b": "1", "a/c-/d": "1", "a/c/d": "1", "a/c!": "1", "a0": "1", "b/a/c": "1", "z": "1", ".a/b": "1", "a!/x": "1"})
	b, err := Make(context.Background(), temp(t), Source{Root: top})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	if !slices.IsSortedFunc(b.Manifest.Entries, func(a, b tree.Entry) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("not in order: %v", b.Manifest.Entries)
	}
	walked, err := tree.Walk(context.Background(), top, tree.Options{})
	must(t, err)
	if got, want := b.Manifest.Digest(), walked.Digest(); got != want || len(b.Manifest.Entries) != len(walked.Entries) {
		t.Errorf("%d entries, digest %s; a walk gives %d, %s", len(b.Manifest.Entries), got, len(walked.Entries), want)
	}
}

// A folder that goes away after the plan was made is not left in a base that is brought up to date.
func TestFolderGoesWhileKeptIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	top, parent := temp(t), temp(t)
	write(t, top, map[string]string{"a": "1", "dir/x": "1", "dir/deep/y": "1"})
	kept := filepath.Join(parent, "kept", "base")
	first, err := Make(ctx, parent, Source{Root: top, Kept: kept})
	must(t, err, first.Close())
	m, err := look(ctx, Source{Root: top})
	must(t, err)
	m.base.holder, err = newFolder(parent, kept)
	must(t, err)
	defer func() { must(t, m.base.Close()) }()
	m.base.Dir = filepath.Join(m.base.holder, "tree")
	m.known, err = recall(m.base.holder, m.base.Top)
	must(t, err)
	if m.known == nil {
		t.Fatal("the base was not kept")
	}
	m.dirty = func() { must(t, os.RemoveAll(filepath.Join(top, "dir"))) }
	must(t, m.fill(ctx))
	if _, err := os.Lstat(filepath.Join(m.base.Dir, "dir")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dir is still there: %v", err)
	}
	if len(m.base.Manifest.Entries) != 1 {
		t.Errorf("the manifest has %v", m.base.Manifest.Entries)
	}
}
