// Which files a work tree holds: tracked, untracked, ignored.

package git

import (
	"context"
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
	c, err := r.Census(ctx)
	if err != nil {
		return nil, err
	}
	stands := standing{top: r.Top, real: map[string]bool{".": true}}
	return slices.DeleteFunc(c.Files, func(name string) bool {
		info, ok := stands.look(name)
		return !ok || info.IsDir() // a folder in the place of a tracked file: what it holds is listed by itself
	}), nil
}

// Ignored lists paths that git ignores and that stand there, folders as one path ending in a slash (ls-files -oi --exclude-standard --directory).
func (r *Repo) Ignored(ctx context.Context) ([]string, error) {
	c, err := r.Census(ctx)
	if err != nil {
		return nil, err
	}
	return c.Ignored, nil
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
	listed, err := r.list(ctx, "-s")
	if err != nil {
		return nil, err
	}
	var links []string
	for _, line := range listed {
		_, name, _ := strings.Cut(line, "\t")
		if strings.HasPrefix(line, gitlink) && r.nested(name) {
			links = append(links, name)
		}
	}
	slices.Sort(links)
	return slices.Compact(links), nil // of an unmerged path there are several lines
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
