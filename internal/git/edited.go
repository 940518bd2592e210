package git

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Edited lists those of the paths of files that have uncommitted changes. It is Dirty for one who is about to write them:
// the files of a repository in this one, a submodule too, are compared with what is committed there, and a file that the
// index says is unchanged (assume-unchanged, skip-worktree, stat data that was set back) is read.
func (r *Repo) Edited(ctx context.Context, paths ...string) ([]string, error) {
	var edited []string
	inside := map[string][]string{} // by the top of the innermost repository, relative to r.Top
	for _, name := range paths {
		top := r.innermost(path.Dir(name))
		inside[top] = append(inside[top], name)
	}
	for top, names := range inside {
		of, below := r, ""
		if top != "." {
			at := filepath.Join(r.Top, filepath.FromSlash(top))
			switch found, err := Find(ctx, at); {
			case err == nil && found.Top == at:
				of, below = found, top+"/"
			case err != nil && !errors.Is(err, ErrNone): // else .git is not git's, and the files are this repository's
				return nil, err
			}
		}
		for part := range slices.Chunk(names, maxNamed) {
			for i, name := range part {
				part[i] = strings.TrimPrefix(name, below)
			}
			got, err := of.edited(ctx, part)
			if err != nil {
				return nil, err
			}
			for _, name := range got {
				edited = append(edited, below+name)
			}
		}
	}
	slices.Sort(edited)
	return edited, nil
}

// innermost returns the top of the repository to which a folder belongs, both relative to r.Top.
func (r *Repo) innermost(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(r.Top, filepath.FromSlash(dir), ".git")); err == nil {
			return dir
		}
	}
	return dir
}

// edited is Edited for paths that are of this repository.
func (r *Repo) edited(ctx context.Context, paths []string) ([]string, error) {
	dirty, err := r.Dirty(ctx, paths...)
	if err != nil {
		return nil, err
	}
	out, err := r.run(ctx, append([]string{"ls-files", "-z", "--stage", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, line := range split(out) { // 100644 <id> 0<tab><path>
		facts, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(facts)
		if _, err := os.Lstat(filepath.Join(r.Top, name)); err == nil && len(f) == 3 && f[0] != "160000" {
			ids[name] = f[1]
		}
	}
	off, err := unfiltered(ctx, r.Top)
	if err != nil {
		return nil, err
	}
	same, _, err := r.same(ctx, ids, off)
	for name := range ids {
		if !same[name] && !slices.Contains(dirty, name) {
			dirty = append(dirty, name)
		}
	}
	return dirty, err
}
