// What changed since a commit.

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// ErrGone means that the repository does not have a commit (any more).
var ErrGone = errors.New("git does not have the commit")

// A Difference is a path that differs between a commit and the work tree.
type Difference struct {
	Path   string // relative to Top
	Change string // added | removed | changed
}

var commitID = lazily.Regexp(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// Since lists what differs between a commit and the work tree as it is now, whether it was committed since or not,
// sorted by path. Filters are treated as by Dirty. ErrGone: there is no such commit here.
func (r *Repo) Since(ctx context.Context, commit string) ([]Difference, error) {
	all, _, err := r.since(ctx, commit)
	return all, err
}

// since is Since, and returns what is doubtful besides: see Comparison.
func (r *Repo) since(ctx context.Context, commit string) (all []Difference, doubtful []string, err error) {
	if !commitID().MatchString(commit) {
		return nil, nil, fmt.Errorf("%w %.60q", ErrGone, commit)
	}
	if _, err := r.run(ctx, "cat-file", "-e", commit+"^{commit}"); err != nil {
		if exitCode(err) > 0 {
			return nil, nil, fmt.Errorf("%w %s", ErrGone, commit)
		}
		return nil, nil, err
	}
	head, _, err := r.head(ctx)
	if err != nil {
		return nil, nil, err
	}
	was := map[string]string{} // by path: the object id in the commit, "" where absent; of what may differ
	if head != commit {
		if err := r.committed(ctx, commit, head, was); err != nil {
			return nil, nil, err
		}
	}
	dirty, doubtful, err := r.dirty(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	var held map[string]bool
	for _, path := range dirty {
		if _, known := was[path]; known {
			continue
		}
		if held == nil {
			if held, err = r.paths(ctx, commit); err != nil {
				return nil, nil, err
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
		case id != "" && !r.hasContent(path, id):
			all = append(all, Difference{path, "changed"})
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return all, doubtful, nil
}

// unknown replaces an object id that was not asked for.
const unknown = "?"

// committed records the paths in which two commits differ; an empty head has no files.
func (r *Repo) committed(ctx context.Context, commit, head string, was map[string]string) error {
	if head == "" {
		held, err := r.paths(ctx, commit)
		for path := range held {
			was[path] = unknown
		}
		return err
	}
	out, err := call{dir: r.Top, timeout: long, args: []string{
		"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff",
		"--ignore-submodules=dirty", // their commits count, whatever is configured
		commit, head,
	}}.run(ctx)
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

// hasContent reports whether a file has the content of an object: changed, and changed back.
func (r *Repo) hasContent(path, id string) bool {
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

// HasCommit reports whether the repository has a commit, by its full id, and its files.
func (r *Repo) HasCommit(ctx context.Context, id string) (bool, error) {
	if !commitID().MatchString(id) {
		return false, fmt.Errorf("%q is not the full id of a commit", id)
	}
	_, err := r.run(ctx, "cat-file", "-e", id+"^{tree}")
	if exitCode(err) > 0 { // it is not here, or no commit
		return false, nil
	}
	return err == nil, err
}

// A Blob is a file or a symlink of a commit.
type Blob struct {
	Path string // relative to the top of the repository; bytes
	Mode string // 100644 | 100755 | 120000
	ID   string
	Size int64 // bytes
}

// Blobs lists the files and symlinks of a commit. Submodules are not among them.
func (r *Repo) Blobs(ctx context.Context, commit string) ([]Blob, error) {
	if !commitID().MatchString(commit) {
		return nil, fmt.Errorf("%q is not the full id of a commit", commit)
	}
	out, err := call{dir: r.Top, timeout: long, args: []string{"ls-tree", "-r", "-z", "-l", "--full-tree", commit}}.run(ctx)
	if err != nil {
		return nil, err
	}
	var all []Blob
	for _, line := range split(out) {
		facts, name, ok := strings.Cut(line, "\t")
		f := strings.Fields(facts) // mode, type, id, size
		if !ok || len(f) != 4 {
			return nil, fmt.Errorf("git ls-tree in %s: %q is not understood", r.Top, line)
		}
		if f[1] != "blob" {
			continue
		}
		size, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git ls-tree in %s: %q is not understood", r.Top, line)
		}
		all = append(all, Blob{name, f[0], f[2], size})
	}
	return all, nil
}

// batch bounds the output of one call of git, in bytes, except for a single larger blob.
const batch = 64 << 20

// Contents calls each with the content of every blob, as it is stored: no filter runs. What git lost is left out.
func (r *Repo) Contents(ctx context.Context, blobs []Blob, each func(Blob, []byte) error) error {
	for len(blobs) > 0 {
		n, size := 0, int64(0)
		var ids bytes.Buffer
		for n < len(blobs) && (n == 0 || size+blobs[n].Size <= batch) {
			size += blobs[n].Size
			fmt.Fprintln(&ids, blobs[n].ID)
			n++
		}
		out, err := call{dir: r.Top, timeout: long, stdin: ids.Bytes(), args: []string{"cat-file", "--batch"}}.run(ctx)
		if err != nil {
			return err
		}
		for _, b := range blobs[:n] {
			head, rest, ok := bytes.Cut(out, []byte("\n"))
			f := strings.Fields(string(head)) // id, type, size; or id, "missing"
			if ok && len(f) == 2 && f[1] == "missing" {
				out = rest
				continue
			}
			if !ok || len(f) != 3 || int64(len(rest)) < b.Size+1 || f[2] != strconv.FormatInt(b.Size, 10) {
				return fmt.Errorf("git cat-file in %s: %q is not understood", r.Top, head)
			}
			if err := each(b, rest[:b.Size:b.Size]); err != nil {
				return err
			}
			out = rest[b.Size+1:]
		}
		blobs = blobs[n:]
	}
	return nil
}
