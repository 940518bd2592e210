// The files of a work tree: tracked, untracked, ignored.

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
	"sync"
)

// What begins the line of a submodule, and of a symbolic link, in ls-files -s.
const (
	gitlink = "160000 "
	symlink = "120000 "
)

// Tracks reports whether the index has path, relative to Top, or anything below it.
func (r *Repo) Tracks(ctx context.Context, path string) (bool, error) {
	tracked, err := r.lsFiles(ctx, "--", path)
	return len(tracked) > 0, err
}

// Submodules lists the paths of the index that are repositories of their own and are checked out with a .git.
func (r *Repo) Submodules(ctx context.Context) ([]string, error) {
	all, err := r.entries(ctx, gitlink)
	return slices.DeleteFunc(all, func(name string) bool { return !r.nested(name) }), err
}

// entries lists the paths of the index of one mode, sorted.
func (r *Repo) entries(ctx context.Context, mode string) ([]string, error) {
	listed, err := r.lsFiles(ctx, "-s")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, line := range listed {
		if entry, name, _ := strings.Cut(line, "\t"); strings.HasPrefix(entry, mode) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil // of an unmerged path there are several lines
}

// ignoresFolder reports whether the folder dir, an absolute path below Top, is ignored as a whole: git tracks
// nothing in it and takes nothing from it.
func (r *Repo) ignoresFolder(ctx context.Context, dir string) (bool, error) {
	rel, err := filepath.Rel(r.Top, dir)
	if err != nil || rel == "." {
		return false, err
	}
	_, err = r.run(ctx, "check-ignore", "-q", "--", "./"+rel)
	if exitCode(err) == 1 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	tracks, err := r.Tracks(ctx, rel)
	return !tracks, err
}

func (r *Repo) lsFiles(ctx context.Context, what ...string) ([]string, error) {
	out, err := r.run(ctx, append([]string{"ls-files", "-z"}, what...)...)
	return split(out), err
}

// Ignored lists what git ignores, relative to Top, only the topmost paths; those of folders end in a slash. What is in
// the index is never in it.
func (r *Repo) Ignored(ctx context.Context) ([]string, error) {
	all, err := r.lsFiles(ctx, "-o", "-i", "--exclude-standard", "--directory")
	slices.Sort(all)
	return onlyTopmost(all), err
}

// IgnoredOf returns those of paths, relative to Top, that git ignores and does not track.
func (r *Repo) IgnoredOf(ctx context.Context, paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	names := []byte("./" + strings.Join(paths, "\x00./") + "\x00") // a leading colon would be read as magic
	out, err := call{dir: r.Top, stdin: names, args: []string{"check-ignore", "-z", "--stdin"}}.run(ctx)
	if err != nil && exitCode(err) != 1 { // 1: none of them
		return nil, err
	}
	for _, name := range split(out) {
		ignored[strings.TrimPrefix(name, "./")] = true
	}
	return ignored, nil
}

// pathCache finds files below top without following symlinks, and remembers folders.
type pathCache struct {
	top  string
	real map[string]bool
}

func (s *pathCache) lstat(name string) (fs.FileInfo, bool) {
	if !s.isFolder(path.Dir(name)) {
		return nil, false
	}
	info, err := os.Lstat(filepath.Join(s.top, name))
	return info, err == nil
}

func (s *pathCache) isFolder(dir string) bool {
	known, ok := s.real[dir]
	if !ok {
		info, ok := s.lstat(dir)
		known = ok && info.IsDir()
		s.real[dir] = known
	}
	return known
}

// A Census lists the files of a work tree and of the repositories nested in it, as git knows them. A nested repository
// is walked like a folder. Paths are relative to Top, lists are sorted.
type Census struct {
	// tracked, or not ignored; a tracked file may be absent, or a folder now
	Files   []string
	Tracked []string // paths in the index of the work tree itself
	Ignored []string // as ls-files -oi --exclude-standard --directory: a folder is one path that ends in a slash
}

// Census takes a census with two concurrent calls of git. It calls lstat only for nested repositories.
func (r *Repo) Census(ctx context.Context) (*Census, error) {
	c := &Census{}
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() { c.Ignored, errs[1] = r.lsFiles(ctx, "-o", "-i", "--exclude-standard", "--directory") })
	listed, err := r.lsFiles(ctx, "-t", "-s", "-o", "--exclude-standard")
	both.Wait()
	if err := errors.Join(err, errs[1]); err != nil {
		return nil, err
	}
	c.Files, c.Tracked = make([]string, 0, len(listed)), make([]string, 0, len(listed))
	var nested []string
	for _, line := range listed {
		tag, name, _ := strings.Cut(line, " ")
		facts := ""
		if tag != "?" { // it is in the index
			facts, name, _ = strings.Cut(name, "\t")
			c.Tracked = append(c.Tracked, name)
		}
		dir, folder := strings.CutSuffix(name, "/")
		if folder || strings.HasPrefix(facts, gitlink) {
			nested = append(nested, dir)
		} else {
			c.Files = append(c.Files, name)
		}
	}
	c.Tracked = slices.Compact(c.Tracked) // of an unmerged path it has several
	slices.Sort(nested)
	nested = slices.Compact(nested)
	files := pathCache{top: r.Top, real: map[string]bool{".": true}}
	for _, name := range nested {
		info, ok := files.lstat(name)
		switch {
		case !ok:
		case !info.IsDir():
			c.Files = append(c.Files, name)
		default:
			if err := c.addNested(ctx, r, name); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(c.Files)
	c.Files = slices.Compact(c.Files)
	slices.Sort(c.Ignored)
	c.Ignored = onlyTopmost(c.Ignored)
	return c, nil
}

// onlyTopmost removes a folder that is listed together with its contents: they are ignored, not the folder itself.
func onlyTopmost(ignored []string) []string {
	kept := ignored[:0]
	for i, p := range ignored {
		if i+1 < len(ignored) && (p == ignored[i+1] ||
			strings.HasSuffix(p, "/") && strings.HasPrefix(ignored[i+1], p)) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// addNested adds the files of the repository at name. What git cannot read as a repository is walked as a folder.
func (c *Census) addNested(ctx context.Context, r *Repo, name string) error {
	top := filepath.Join(r.Top, name)
	sub, err := r.submodule(ctx, name)
	if err != nil {
		return err
	}
	if sub != nil {
		if in, err := sub.Census(ctx); err == nil {
			for _, p := range in.Files {
				c.Files = append(c.Files, name+"/"+p)
			}
			for _, p := range in.Ignored {
				c.Ignored = append(c.Ignored, name+"/"+p)
			}
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	err = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
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
		c.Files = append(c.Files, filepath.ToSlash(rel))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// submodule returns the repository at name, or nil where git reads none there.
func (r *Repo) submodule(ctx context.Context, name string) (*Repo, error) {
	if !r.nested(name) {
		return nil, nil
	}
	at := filepath.Join(r.Top, name)
	sub, err := Find(ctx, at)
	if err != nil || sub.Top != at {
		return nil, ctx.Err()
	}
	return sub, nil
}

// nested reports whether name is a repository of its own.
func (r *Repo) nested(name string) bool {
	files := pathCache{top: r.Top, real: map[string]bool{".": true}}
	info, ok := files.lstat(name)
	if !ok || !info.IsDir() {
		return false
	}
	_, err := os.Lstat(filepath.Join(r.Top, name, ".git"))
	return err == nil
}
