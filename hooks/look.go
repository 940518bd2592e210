package hooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A look is the user's tree at one moment: files, modes, git's index and refs, and what of .git could run code later.
// Two of them show whether anything changed while a hook worked.
type look struct {
	files  *tree.Manifest
	git    string // State: index, HEAD, refs
	gitCfg map[string]string
	mode   fs.FileMode // of the top itself
	digest string
}

// lookAt reads the tree; an earlier look saves reading unchanged files again.
func (e *Engine) lookAt(ctx context.Context, known *look) (*look, error) {
	top := e.Config.Root
	l := &look{gitCfg: map[string]string{}}
	repo, err := git.Of(ctx, top)
	if err != nil && !errors.Is(err, git.ErrNone) {
		return nil, err
	}
	if err == nil {
		top = repo.Top
		if l.git, err = repo.State(ctx); err != nil {
			return nil, err
		}
		if l.gitCfg, err = gitFolder(repo); err != nil {
			return nil, err
		}
	}
	// Our own records may lie in a sub-folder of the tree.
	o := tree.Options{Skip: func(_ string, d fs.DirEntry) bool { return d.IsDir() && d.Name() == ".async" }}
	if known != nil {
		o.Known = known.files
	}
	if l.files, err = tree.Walk(ctx, top, o); err != nil {
		return nil, err
	}
	info, err := os.Stat(top)
	if err != nil {
		return nil, err
	}
	l.mode = info.Mode()
	sum := sha256.New() // a hash never refuses
	fmt.Fprintf(sum, "%o\n", l.mode)
	for _, e := range l.files.Entries {
		fmt.Fprintf(sum, "%q %o %s\n", e.Path, e.Mode, e.Digest)
	}
	for _, part := range append([]string{l.git}, flat(l.gitCfg)...) {
		fmt.Fprintf(sum, "%q\n", part)
	}
	l.digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return l, nil
}

// compare names what differs, relative to the top of the tree.
func (l *look) compare(after *look) []string {
	changed := []string{}
	for _, c := range tree.Compare(l.files, after.files) {
		changed = append(changed, c.Path)
	}
	// Landlock does not hold back a change of permissions, so they are looked at too, those of folders among them.
	for _, e := range after.files.Entries {
		was, known := l.files.Find(e.Path)
		if known && was.Mode != e.Mode || !known && e.Mode.IsDir() {
			changed = append(changed, e.Path)
		}
	}
	for _, e := range l.files.Entries {
		if _, still := after.files.Find(e.Path); !still && e.Mode.IsDir() {
			changed = append(changed, e.Path)
		}
	}
	if l.mode != after.mode {
		changed = append(changed, ".")
	}
	for path, digest := range after.gitCfg {
		if l.gitCfg[path] != digest {
			changed = append(changed, path)
		}
	}
	for path := range l.gitCfg {
		if _, still := after.gitCfg[path]; !still {
			changed = append(changed, path)
		}
	}
	if l.git != after.git {
		changed = append(changed, ".git (index, HEAD or refs)")
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}

// gitFolder digests what of a repository's .git can make git run something: configuration, hooks, info.
func gitFolder(repo *git.Repo) (map[string]string, error) {
	digests := map[string]string{}
	for _, at := range []struct{ dir, name string }{
		{repo.Common, "config"},
		{repo.Dir, "config.worktree"},
		{repo.Common, "hooks"},
		{repo.Common, "info"},
	} {
		err := filepath.WalkDir(filepath.Join(at.dir, at.name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(at.dir, path)
			sum := sha256.Sum256(b)
			digests[".git/"+filepath.ToSlash(rel)] = hex.EncodeToString(sum[:])
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return digests, nil
}

func flat(m map[string]string) []string {
	var parts []string
	for k, v := range m {
		parts = append(parts, k+"="+v)
	}
	sort.Strings(parts)
	return parts
}
