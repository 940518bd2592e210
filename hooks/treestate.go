package hooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A treeState is the user's tree at one moment: files, modes, git's index and refs, and what of .git could run code
// later. Two of them show whether anything changed while a hook worked.
type treeState struct {
	files  *tree.Manifest
	git    string // State: index, HEAD, refs
	gitCfg map[string]string
	mode   fs.FileMode // of the top itself
	digest string
}

// readTree reads the tree of root. An earlier state, or nil, saves reading unchanged files again.
func readTree(ctx context.Context, root string, known *treeState) (*treeState, error) {
	top := root
	s := &treeState{gitCfg: map[string]string{}}
	repo, err := git.Of(ctx, top)
	if err != nil && !errors.Is(err, git.ErrNone) {
		return nil, err
	}
	if err == nil {
		top = repo.Top
		if s.git, err = repo.State(ctx); err != nil {
			return nil, err
		}
		if s.gitCfg, err = gitFolder(repo); err != nil {
			return nil, err
		}
	}
	// Our own records may lie in a sub-folder of the tree.
	o := tree.Options{Skip: func(path string, isDir bool) bool { return isDir && filepath.Base(path) == ".async" }}
	if known != nil {
		o.Known = known.files
	}
	if s.files, err = tree.Walk(ctx, top, o); err != nil {
		return nil, err
	}
	info, err := os.Stat(top)
	if err != nil {
		return nil, err
	}
	s.mode = info.Mode()
	sum := sha256.New() // a hash never refuses
	fmt.Fprintf(sum, "%o\n", s.mode)
	for _, e := range s.files.Entries {
		fmt.Fprintf(sum, "%q %o %s\n", e.Path, e.Mode, e.Digest)
	}
	fmt.Fprintf(sum, "%q\n", s.git)
	for _, path := range slices.Sorted(maps.Keys(s.gitCfg)) {
		fmt.Fprintf(sum, "%q\n", path+"="+s.gitCfg[path])
	}
	s.digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// compare returns the paths that differ, relative to the top of the tree.
func (s *treeState) compare(after *treeState) []string {
	changed := []string{}
	for _, c := range tree.Compare(s.files, after.files) {
		changed = append(changed, c.Path)
	}
	// Landlock does not prevent a change of permissions, so they are compared, too, those of folders among them.
	for _, e := range after.files.Entries {
		was, known := s.files.Find(e.Path)
		if known && was.Mode != e.Mode || !known && e.Mode.IsDir() {
			changed = append(changed, e.Path)
		}
	}
	for _, e := range s.files.Entries {
		if _, still := after.files.Find(e.Path); !still && e.Mode.IsDir() {
			changed = append(changed, e.Path)
		}
	}
	if s.mode != after.mode {
		changed = append(changed, ".")
	}
	for path, digest := range after.gitCfg {
		if s.gitCfg[path] != digest {
			changed = append(changed, path)
		}
	}
	for path := range s.gitCfg {
		if _, still := after.gitCfg[path]; !still {
			changed = append(changed, path)
		}
	}
	if s.git != after.git {
		changed = append(changed, ".git (index, HEAD or refs)")
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}

// gitFolder returns the digests of what in a repository's .git can make git run something: configuration, hooks,
// info.
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
