// What changed since a commit.

package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
)

// ErrGone means that the repository does not have a commit (any more).
var ErrGone = errors.New("git does not have the commit")

// A Difference is a path in which a commit and the files as they stand do not agree.
type Difference struct {
	Path   string // relative to Top
	Change string // added | removed | changed
}

var commitID = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// Since lists what differs between a commit and the files as they stand now, whether it was committed since or not,
// sorted by path. Filters are treated as by Dirty. ErrGone: there is no such commit here.
func (r *Repo) Since(ctx context.Context, commit string) ([]Difference, error) {
	if !commitID().MatchString(commit) {
		return nil, fmt.Errorf("%w %.60q", ErrGone, commit)
	}
	if _, err := (call{dir: r.Top, args: []string{"cat-file", "-e", commit + "^{commit}"}}).run(ctx); err != nil {
		if exitCode(err) > 0 {
			return nil, fmt.Errorf("%w %s", ErrGone, commit)
		}
		return nil, err
	}
	head, _, err := r.head(ctx)
	if err != nil {
		return nil, err
	}
	was := map[string]string{} // by path: the object id in the commit, "" where absent; of what may differ
	if head != commit {
		if err := r.committed(ctx, commit, head, was); err != nil {
			return nil, err
		}
	}
	dirty, err := r.Dirty(ctx)
	if err != nil {
		return nil, err
	}
	var held map[string]bool
	var all []Difference
	for _, path := range dirty {
		if _, known := was[path]; known {
			continue
		}
		if held == nil {
			if held, err = r.paths(ctx, commit); err != nil {
				return nil, err
			}
		}
		if was[path] = ""; held[path] {
			was[path] = unknown
		}
	}
	for path, id := range was {
		info, err := os.Lstat(filepath.Join(r.Top, path))
		there := err == nil && (!info.IsDir() || r.nested(path))
		switch {
		case id == "" && there:
			all = append(all, Difference{path, "added"})
		case id != "" && !there:
			all = append(all, Difference{path, "removed"})
		case id != "" && !r.isStill(path, id):
			all = append(all, Difference{path, "changed"})
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// unknown stands for an object id that nobody asked for.
const unknown = "?"

// committed notes what two commits do not agree in; an empty head has no files.
func (r *Repo) committed(ctx context.Context, commit, head string, was map[string]string) error {
	if head == "" {
		held, err := r.paths(ctx, commit)
		for path := range held {
			was[path] = unknown
		}
		return err
	}
	out, err := call{dir: r.Top, timeout: long, args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", commit, head}}.run(ctx)
	if err != nil {
		return err
	}
	fields := split(out)
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(fields[i]) // :mode mode id id status
		if len(f) != 5 {
			continue
		}
		was[fields[i+1]] = f[2]
		switch {
		case f[4] == "A":
			was[fields[i+1]] = ""
		case f[4] == "T" || f[0] != ":"+f[1]: // of another type or mode, whatever is in it
			was[fields[i+1]] = unknown
		}
	}
	return nil
}

// isStill reports whether a file has the content of an object: changed, and changed back.
func (r *Repo) isStill(path, id string) bool {
	if id == unknown {
		return false
	}
	now, err := blob(filepath.Join(r.Top, path), len(id))
	return err == nil && now == id
}

// paths returns the files of a commit.
func (r *Repo) paths(ctx context.Context, commit string) (map[string]bool, error) {
	out, err := call{dir: r.Top, timeout: long, args: []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", commit}}.run(ctx)
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, path := range split(out) {
		held[path] = true
	}
	return held, nil
}
