package hooks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/digest"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A treeState is the user's tree at one moment: files, modes, git's index and refs, and what of .git could run code
// later. Two of them show whether anything changed while a hook worked.
type treeState struct {
	files  *tree.Manifest
	paths  map[string]string // what is at each path, relative to the top: mode and digest
	digest string            // of all that
}

// mostRead is how many bytes a file may have whose content is compared. Of one with more, such as the image of a disk, its
// size, times and inode are. A write changes one of these, and so does a link or another owner.
const mostRead = 256 << 20

// readTree reads the tree of root. An earlier walk, or nil, saves reading unchanged files again.
func readTree(ctx context.Context, root string, known *tree.Manifest) (*treeState, error) {
	s := &treeState{paths: map[string]string{}}
	top := root
	switch repo, err := git.Of(ctx, root); {
	case err == nil:
		top = repo.Top
		if s.paths[".git (index, HEAD or refs)"], err = repo.State(ctx); err != nil {
			return nil, err
		}
		if err := s.addGitFolder(repo); err != nil {
			return nil, err
		}
	case !errors.Is(err, git.ErrNone):
		return nil, err
	}
	// Our own records may be in a sub-folder of the tree.
	o := tree.Options{Skip: func(path string, isDir bool) bool { return isDir && filepath.Base(path) == ".async" }}
	o.Known, o.Most = known, mostRead
	var err error
	if s.files, err = tree.Walk(ctx, top, o); err != nil {
		return nil, err
	}
	info, err := os.Stat(top)
	if err != nil {
		return nil, err
	}
	// Landlock does not prevent a change of permissions, so all modes are compared, those of folders too.
	s.paths["."] = info.Mode().String()
	for _, e := range s.files.Entries {
		s.paths[e.Path] = e.Mode.String() + " " + e.Digest
	}
	for _, e := range s.files.Omitted {
		if e.Why == "oversize" {
			s.paths[e.Path], _ = tree.Facts(filepath.Join(top, filepath.FromSlash(e.Path))) // empty: it is gone by now
		}
	}
	sum := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(s.paths)) {
		fmt.Fprintf(sum, "%q %s\n", path, s.paths[path]) // a hash never returns an error
	}
	s.digest = digest.Text(sum.Sum(nil))
	return s, nil
}

// compare returns the paths that differ, relative to the top of the tree.
func (s *treeState) compare(after *treeState) []string {
	changed := []string{}
	for path, was := range s.paths {
		if after.paths[path] != was {
			changed = append(changed, path)
		}
	}
	for path := range after.paths {
		if _, known := s.paths[path]; !known {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return changed
}

// addGitFolder adds what in a repository's .git can make git run something: configuration, hooks, info.
func (s *treeState) addGitFolder(repo *git.Repo) error {
	for _, at := range []struct{ dir, name string }{
		{repo.Common, "config"},
		{repo.Dir, "config.worktree"},
		{repo.Common, "hooks"},
		{repo.Common, "info"},
	} {
		err := filepath.WalkDir(filepath.Join(at.dir, at.name), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil || d.IsDir() {
				return err
			}
			what, err := modeAndText(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(at.dir, path)
			s.paths[".git/"+filepath.ToSlash(rel)] = what
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// modeAndText describes a file by its mode and what is in it, and a link by where it leads and what is there.
func modeAndText(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	what := info.Mode().String()
	if info.Mode().Type() == fs.ModeSymlink {
		text, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		what += " " + text
		if info, err = os.Stat(path); err != nil {
			return what, nil //nolint:nilerr // it leads nowhere
		}
		what += " " + info.Mode().String()
	}
	if info.Mode().IsRegular() {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		what += " " + digest.Of(b)
	}
	return what, nil
}
