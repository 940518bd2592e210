// Which files a work tree holds: tracked, untracked, ignored.

package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// gitlink begins what Tracked says of a submodule.
const gitlink = "160000 "

// Files lists what git tracks and still stands there, plus what it does not ignore, relative to Top, sorted. Nested repositories are walked like folders.
func (r *Repo) Files(ctx context.Context) ([]string, error) {
	listed, err := r.list(ctx, "-c", "-o", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	var files []string
	var tracked map[string]string
	stands := standing{top: r.Top, real: map[string]bool{".": true}}
	for _, p := range listed {
		name := strings.TrimSuffix(p, "/")
		info, ok := stands.look(name)
		if !ok {
			continue
		}
		if !info.IsDir() {
			files = append(files, name)
			continue
		}
		if name == p { // a submodule, or a tracked file whose place a folder took: what that holds is listed by itself
			if tracked == nil {
				if tracked, err = r.Tracked(ctx); err != nil {
					return nil, err
				}
			}
			if !strings.HasPrefix(tracked[name], gitlink) {
				continue
			}
		}
		more, err := r.inside(ctx, name)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// Ignored lists paths that git ignores and that stand there, folders as one path ending in a slash (ls-files -oi --exclude-standard --directory).
func (r *Repo) Ignored(ctx context.Context) ([]string, error) {
	ignored, err := r.list(ctx, "-o", "-i", "--exclude-standard", "--directory")
	if err != nil {
		return nil, err
	}
	others, err := r.list(ctx, "-o", "--exclude-standard", "--directory")
	if err != nil {
		return nil, err
	}
	links, err := r.Submodules(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range append(links, others...) {
		name := strings.TrimSuffix(p, "/")
		if !r.nested(name) {
			continue
		}
		sub, err := Find(ctx, filepath.Join(r.Top, name))
		if err != nil || sub.Top != filepath.Join(r.Top, name) {
			continue
		}
		more, err := sub.Ignored(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			ignored = append(ignored, name+"/"+p)
		}
	}
	slices.Sort(ignored)
	// A folder that is listed together with what it holds is not ignored itself: all it holds is.
	kept := ignored[:0]
	for i, p := range ignored {
		if i+1 < len(ignored) && (p == ignored[i+1] || strings.HasSuffix(p, "/") && strings.HasPrefix(ignored[i+1], p)) {
			continue
		}
		kept = append(kept, p)
	}
	return kept, nil
}

// Tracked lists what the index holds with a digest (mode and object id) a path.
func (r *Repo) Tracked(ctx context.Context) (map[string]string, error) {
	out, err := call{dir: r.Top, args: []string{"ls-files", "-s", "-z"}}.run(ctx)
	if err != nil {
		return nil, err
	}
	tracked := map[string]string{}
	for _, line := range split(out) {
		facts, name, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		if old := tracked[name]; old != "" { // unmerged: one line a stage
			facts = old + "\n" + facts
		} else if mode, rest, _ := strings.Cut(facts, " "); strings.HasSuffix(rest, " 0") {
			facts = mode + " " + strings.TrimSuffix(rest, " 0")
		}
		tracked[name] = facts
	}
	return tracked, nil
}

// Tracks says whether the index holds path, relative to Top, or anything below it.
func (r *Repo) Tracks(ctx context.Context, path string) (bool, error) {
	tracked, err := r.list(ctx, "--", path)
	return len(tracked) > 0, err
}

// Submodules lists the paths of the index that are repositories of their own and stand there with a .git.
func (r *Repo) Submodules(ctx context.Context) ([]string, error) {
	tracked, err := r.Tracked(ctx)
	if err != nil {
		return nil, err
	}
	var links []string
	for name, facts := range tracked {
		if strings.HasPrefix(facts, gitlink) && r.nested(name) {
			links = append(links, name)
		}
	}
	slices.Sort(links)
	return links, nil
}

// ignoresFolder says whether the folder dir, an absolute path below Top, is ignored as a whole: git tracks nothing in it and takes nothing from it.
func (r *Repo) ignoresFolder(ctx context.Context, dir string) (bool, error) {
	rel, err := filepath.Rel(r.Top, dir)
	if err != nil || rel == "." {
		return false, err
	}
	_, err = call{dir: r.Top, args: []string{"check-ignore", "-q", "--", "./" + rel}}.run(ctx)
	if exitCode(err) == 1 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	tracked, err := r.list(ctx, "--", rel)
	return len(tracked) == 0, err
}

func (r *Repo) list(ctx context.Context, what ...string) ([]string, error) {
	out, err := call{dir: r.Top, args: append([]string{"ls-files", "-z"}, what...)}.run(ctx)
	return split(out), err
}

// nested says whether a repository of its own stands at name.
func (r *Repo) nested(name string) bool {
	stands := standing{top: r.Top, real: map[string]bool{".": true}}
	info, ok := stands.look(name)
	if !ok || !info.IsDir() {
		return false
	}
	_, err := os.Lstat(filepath.Join(r.Top, name, ".git"))
	return err == nil
}

// inside asks the repository at name; what git cannot read as one is walked as a folder.
func (r *Repo) inside(ctx context.Context, name string) ([]string, error) {
	top := filepath.Join(r.Top, name)
	if r.nested(name) {
		sub, err := Find(ctx, top)
		if err == nil && sub.Top == top {
			files, err := sub.Files(ctx)
			if err == nil {
				for i := range files {
					files[i] = name + "/" + files[i]
				}
				return files, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	var files []string
	err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return err
		case d.Name() == ".git" && p != top && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || d.Name() == ".git":
			return nil
		}
		rel, err := filepath.Rel(r.Top, p)
		files = append(files, filepath.ToSlash(rel))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return files, err
}

// standing answers whether a path stands below top without a symlink on the way, and remembers folders.
type standing struct {
	top  string
	real map[string]bool
}

func (s *standing) look(name string) (fs.FileInfo, bool) {
	if !s.folder(path.Dir(name)) {
		return nil, false
	}
	info, err := os.Lstat(filepath.Join(s.top, name))
	return info, err == nil
}

func (s *standing) folder(dir string) bool {
	known, ok := s.real[dir]
	if !ok {
		info, stands := s.look(dir)
		known = stands && info.IsDir()
		s.real[dir] = known
	}
	return known
}
