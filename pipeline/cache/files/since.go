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

// Changes are what differs between a commit and the work tree. Paths are relative to the root.
type Changes struct {
	Base, Commit string   // the name of what was asked for, and the commit in which HEAD left it
	Paths        []string // what differs. That of a folder (a submodule whose commit differs) ends in a slash
	Folders      []string // that are new or gone: see git.Comparison
	Doubtful     []string // what may differ and git does not report: see git.Comparison; and links to such a file, to nothing, or out of the repository
}

// Since returns what differs in root, a real path, since HEAD left base, a revision or empty (see git.Repo.Base). A symbolic
// link differs, too, where what it leads to does.
func Since(ctx context.Context, repo *git.Repo, base, root string) (*Changes, error) {
	commit, name, err := repo.Base(ctx, base)
	if err != nil {
		return nil, err
	}
	compared, err := repo.Compare(ctx, commit)
	if err != nil {
		return nil, err
	}
	changed, doubtful := map[string]bool{}, map[string]bool{}
	at := func(p string) string { return filepath.Join(repo.Top, filepath.FromSlash(p)) }
	for _, p := range compared.Changed {
		changed[at(p)] = true
	}
	for _, p := range compared.Doubtful {
		doubtful[at(p)] = true
	}
	if err := follow(ctx, repo, compared.Links, changed, doubtful); err != nil {
		return nil, err
	}
	in := func(all map[string]bool) (paths []string) {
		for _, at := range slices.Sorted(maps.Keys(all)) {
			rel, ok := InRoot(root, at)
			if !ok {
				continue
			}
			if info, err := os.Lstat(filepath.Join(root, rel)); err == nil && info.IsDir() {
				rel += "/"
			}
			paths = append(paths, rel)
		}
		return paths
	}
	found := &Changes{Base: name, Commit: commit, Paths: in(changed), Doubtful: in(doubtful)}
	for _, p := range compared.Folders {
		if rel, ok := InRoot(root, at(p)); ok && rel != "." {
			found.Folders = append(found.Folders, rel)
		}
	}
	return found, nil
}

// follow adds to the changed and to the doubtful paths the links that lead to one of them, also by way of other links, and to
// the doubtful ones those that lead to what git does not know.
func follow(ctx context.Context, repo *git.Repo, links []string, changed, doubtful map[string]bool) error {
	among := func(all map[string]bool) func(p string) bool {
		return func(p string) bool {
			for ; p != repo.Top && p != filepath.Dir(p); p = filepath.Dir(p) { // of a submodule only the folder is known
				if all[p] {
					return true
				}
			}
			return false
		}
	}
	var more [2][]string
	targets := map[string][]string{} // links by where they lead in the repository
	for _, name := range links {
		at := filepath.Join(repo.Top, filepath.FromSlash(name))
		switch {
		case len(changed) > 0 && access.LeadsTo(at, among(changed)):
			more[0] = append(more[0], at)
			continue
		case len(doubtful) > 0 && access.LeadsTo(at, among(doubtful)):
			more[1] = append(more[1], at)
			continue
		}
		to, err := filepath.EvalSymlinks(at)
		if rel, ok := InRoot(repo.Top, to); err == nil && ok {
			targets[rel] = append(targets[rel], at)
		} else { // also where nothing is there any more
			more[1] = append(more[1], at)
		}
	}
	unseen, err := repo.Unseen(ctx, slices.Sorted(maps.Keys(targets)))
	if err != nil {
		return err
	}
	for to := range unseen {
		more[1] = append(more[1], targets[to]...)
	}
	for i, all := range []map[string]bool{changed, doubtful} {
		for _, at := range more[i] {
			all[at] = true
		}
	}
	return nil
}

// InRoot returns a path relative to root, with slashes, and whether it is in root. Both are real paths.
func InRoot(root, at string) (rel string, ok bool) {
	rel, err := filepath.Rel(root, at)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}
