package files

import (
	"context"
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/git"
)

// Since returns the commit in which HEAD left base, a revision or empty (see git.Repo.Base), with the name of base, and the
// paths in root that differ between it and the work tree. They are relative to root, which is a real path; that of a
// folder (a submodule) ends in a slash.
func Since(ctx context.Context, repo *git.Repo, base, root string) (commit, name string, paths []string, err error) {
	commit, name, err = repo.Base(ctx, base)
	if err != nil {
		return "", "", nil, err
	}
	differ, err := repo.Since(ctx, commit)
	if err != nil {
		return "", "", nil, err
	}
	for _, d := range differ {
		rel, ok := InRoot(root, filepath.Join(repo.Top, filepath.FromSlash(d.Path)))
		if !ok {
			continue
		}
		if info, err := os.Lstat(filepath.Join(root, rel)); err == nil && info.IsDir() {
			rel += "/"
		}
		paths = append(paths, rel)
	}
	return commit, name, paths, nil
}

// InRoot returns a path relative to root, with slashes, and whether it is in root. Both are real paths.
func InRoot(root, at string) (rel string, ok bool) {
	rel, err := filepath.Rel(root, at)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}
