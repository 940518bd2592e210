package files

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/access"
	"github.com/async-pipeline/async-pipeline/internal/git"
)

// Since returns the commit in which HEAD left base, a revision or empty (see git.Repo.Base), with the name of base, and the
// paths in root that differ between it and the work tree. They are relative to root, which is a real path; that of a
// folder (a submodule) ends in a slash. A symbolic link differs, too, where what it leads to does.
func Since(ctx context.Context, repo *git.Repo, base, root string) (commit, name string, paths []string, err error) {
	commit, name, err = repo.Base(ctx, base)
	if err != nil {
		return "", "", nil, err
	}
	differ, err := repo.Since(ctx, commit)
	if err != nil {
		return "", "", nil, err
	}
	changed := make(map[string]bool, len(differ))
	for _, d := range differ {
		changed[filepath.Join(repo.Top, filepath.FromSlash(d.Path))] = true
	}
	if err := follow(ctx, repo, changed); err != nil {
		return "", "", nil, err
	}
	for _, at := range slices.Sorted(maps.Keys(changed)) {
		rel, ok := InRoot(root, at)
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

// follow adds to the changed paths the links that lead to one of them, also by way of other links.
func follow(ctx context.Context, repo *git.Repo, changed map[string]bool) error {
	if len(changed) == 0 {
		return nil
	}
	links, err := repo.Links(ctx)
	if err != nil {
		return err
	}
	var leading []string
	for _, name := range links {
		at := filepath.Join(repo.Top, filepath.FromSlash(name))
		if access.LeadsTo(at, func(p string) bool { return changed[p] }) {
			leading = append(leading, at)
		}
	}
	for _, at := range leading {
		changed[at] = true
	}
	return nil
}

// InRoot returns a path relative to root, with slashes, and whether it is in root. Both are real paths.
func InRoot(root, at string) (rel string, ok bool) {
	rel, err := filepath.Rel(root, at)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}
