// The state of a repository: HEAD, refs, index, and what differs from HEAD.

package git

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git's object ids
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// Head returns the commit and the branch; both empty before the first commit, branch empty when detached.
func (r *Repo) Head(ctx context.Context) (commit, branch string, err error) {
	commit, ref, err := r.head(ctx)
	if err != nil || commit == "" {
		return "", "", err
	}
	return commit, strings.TrimPrefix(ref, "refs/heads/"), nil
}

// head returns the commit, empty before the first, and the ref that HEAD names, empty when detached.
func (r *Repo) head(ctx context.Context) (commit, ref string, err error) {
	out, err := r.run(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil && exitCode(err) != 1 {
		return "", "", err
	}
	ref = strings.TrimSuffix(string(out), "\n")
	out, err = r.run(ctx, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	if err != nil && exitCode(err) != 1 {
		return "", "", err
	}
	return strings.TrimSpace(string(out)), ref, nil
}

// Refs returns all refs of the work tree, sorted by name, symbolic ones resolved: a line "<object> <name>" for each,
// as in packed-refs.
func (r *Repo) Refs(ctx context.Context) ([]byte, error) {
	return r.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)")
}

// State returns one digest over ls-files -s, HEAD and all refs.
func (r *Repo) State(ctx context.Context) (string, error) {
	index, err := r.run(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return "", err
	}
	commit, ref, err := r.head(ctx)
	if err != nil {
		return "", err
	}
	refs, err := r.Refs(ctx)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "index %d\n%sHEAD %q %q\n%s", len(index), index, commit, ref, refs)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Dirty lists the paths (of those given; all when none are) that differ from HEAD: staged, changed, untracked. It
// runs no filter: where a filter would be needed to know, the stat data of the index decides.
func (r *Repo) Dirty(ctx context.Context, paths ...string) ([]string, error) {
	dirty, _, err := r.dirty(ctx, false, paths...)
	return dirty, err
}

// dirty is Dirty. With doubts it returns besides what differs only for one who compares bytes and modes: see Comparison.
func (r *Repo) dirty(ctx context.Context, doubts bool, paths ...string) (dirty, doubtful []string, err error) {
	only, among := append([]string{"--"}, paths...), func(string) bool { return true }
	if len(paths) > maxNamed {
		only, among = nil, within(paths)
	}
	commit, _, err := r.head(ctx)
	if err != nil {
		return nil, nil, err
	}
	staged := []string{"ls-files", "-z"}
	if commit != "" {
		staged = []string{"diff-index", "--cached", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", commit}
	}
	for _, args := range [][]string{staged, {"ls-files", "-z", "-o", "--exclude-standard"}} {
		out, err := r.run(ctx, append(args, only...)...)
		if err != nil {
			return nil, nil, err
		}
		dirty = append(dirty, split(out)...)
	}
	dirty = slices.DeleteFunc(dirty, isOurs)
	changed, doubtful, err := r.changed(ctx, doubts, only)
	if err != nil {
		return nil, nil, err
	}
	dirty = slices.DeleteFunc(append(dirty, changed...), func(name string) bool { return !among(name) })
	slices.Sort(dirty)
	return slices.Compact(dirty), doubtful, nil
}

// maxNamed is how many paths git is asked for by name. It compares each of them with each file it knows, and a command
// line has an end.
const maxNamed = 256

// within reports of a name whether it is one of paths, or below one.
func within(paths []string) func(name string) bool {
	all := make(map[string]bool, len(paths))
	for _, p := range paths {
		all[p] = true
	}
	return func(name string) bool {
		for ; name != "." && name != "/"; name = path.Dir(name) {
			if all[name] {
				return true
			}
		}
		return false
	}
}

// isOurs reports whether a path is in the folder of the records: for a moment, when it is new, nothing in it is ignored.
func isOurs(path string) bool { return strings.Contains("/"+path, "/.async/") }

// changed lists what differs between the index and the files. git itself looks into submodules by running git there
// with their own configuration, so only their commit is compared.
func (r *Repo) changed(ctx context.Context, doubts bool, only []string) (changed, doubtful []string, err error) {
	off, err := unfiltered(ctx, r.Top)
	if err != nil {
		return nil, nil, err
	}
	config := off
	if doubts {
		config = append(slices.Clip(off), setting{"core.fileMode", "true"})
	}
	differ := []string{
		"diff-files", "--raw", "-z", "--no-renames", "--no-ext-diff", "--no-abbrev", "--ignore-submodules=dirty",
	}
	out, err := call{dir: r.Top, config: config, timeout: long, args: append(differ, only...)}.run(ctx)
	if err != nil {
		return nil, nil, err
	}
	modes := map[string]bool{}   // the executable bit differs, of files
	maybe := map[string]string{} // only the stat data differs so far: path → object id
	fields := split(out)
	for i := 0; i+1 < len(fields); i += 2 {
		f, name := strings.Fields(fields[i]), fields[i+1]
		switch {
		case len(f) == 5 && f[4] == "M" && f[0] == ":"+f[1] && f[0] != ":160000":
			maybe[name] = f[2]
		case doubts && len(f) == 5 && f[4] == "M" && strings.HasPrefix(f[0], ":100") && strings.HasPrefix(f[1], "100"):
			maybe[name], modes[name] = f[2], true
		default:
			changed = append(changed, name)
		}
	}
	if len(modes) > 0 {
		said, err := getConfig(ctx, r.Top, "--type=bool", "core.fileMode")
		if err != nil {
			return nil, nil, err
		}
		if strings.TrimRight(string(said), "\x00\n") != "false" {
			for name := range modes {
				changed = append(changed, name)
				delete(maybe, name)
			}
		}
	}
	if len(maybe) == 0 {
		return changed, nil, nil
	}
	same, bytes, err := r.same(ctx, maybe, off)
	for name := range maybe {
		switch {
		case !same[name]:
			changed = append(changed, name)
		case doubts && (!bytes[name] || modes[name]):
			doubtful = append(doubtful, name)
		}
	}
	return changed, doubtful, err
}

// same returns those of the paths whose content is that of their object: as it is, or after git's own conversion of
// line ends; with a filter in between, the stat data of the index decides. bytes has those that are so as they are.
func (r *Repo) same(ctx context.Context, ids map[string]string, off []setting) (same, bytes map[string]bool, err error) {
	same, bytes = map[string]bool{}, map[string]bool{}
	var rest []string
	for name, id := range ids {
		got, err := blob(filepath.Join(r.Top, name), len(id))
		if err != nil {
			return nil, nil, err
		}
		if got == id {
			same[name], bytes[name] = true, true
		} else {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	for part := range slices.Chunk(rest, 100) {
		facts, err := r.attribute(ctx, "filter", part...)
		if err != nil {
			return nil, nil, err
		}
		filtered := map[string]bool{}
		for i := 0; i+2 < len(facts); i += 3 {
			driver := "filter." + facts[i+2]
			filtered[facts[i]] = slices.ContainsFunc(off, func(s setting) bool {
				return strings.HasPrefix(s[0], driver+".")
			})
		}
		for _, name := range part {
			if filtered[name] {
				if same[name], err = r.untouched(ctx, name); err != nil {
					return nil, nil, err
				}
				continue
			}
			if info, err := os.Lstat(filepath.Join(r.Top, name)); err != nil || !info.Mode().IsRegular() {
				continue
			}
			out, err := call{dir: r.Top, config: off, timeout: long, args: []string{"hash-object", "--", name}}.run(ctx)
			switch _, there := os.Lstat(filepath.Join(r.Top, name)); {
			case unixat.IsNotExist(there):
				continue
			case err != nil:
				return nil, nil, err
			}
			same[name] = strings.TrimSpace(string(out)) == ids[name]
		}
	}
	return same, bytes, nil
}

// attribute returns path, name and value of an attribute for each path, one after the other.
func (r *Repo) attribute(ctx context.Context, name string, paths ...string) ([]string, error) {
	stdin := []byte(strings.Join(paths, "\x00") + "\x00")
	out, err := call{dir: r.Top, args: []string{"check-attr", "-z", "--stdin", name}, stdin: stdin}.run(ctx)
	return split(out), err
}

var statLine = lazily.Regexp(`(?s)\n?\s*mtime: (\d+):(\d+)\n.*\ssize: (\d+)\s`)

// untouched reports whether size and modification time of a file are those that the index remembers.
func (r *Repo) untouched(ctx context.Context, name string) (bool, error) {
	out, err := r.run(ctx, "ls-files", "-z", "--debug", "--", name)
	if err != nil {
		return false, err
	}
	m := statLine().FindSubmatch(bytes.TrimPrefix(out, []byte(name+"\x00")))
	if m == nil {
		return false, nil
	}
	info, err := os.Lstat(filepath.Join(r.Top, name))
	if unixat.IsNotExist(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	at := info.ModTime()
	return string(m[1]) == strconv.FormatInt(at.Unix(), 10) && string(m[2]) == strconv.Itoa(at.Nanosecond()) &&
		string(m[3]) == strconv.FormatInt(info.Size(), 10), nil
}

// blob returns git's object id of a file as it is (of a symlink, of its text), or "" of something else and of a file that
// is gone; digits says which hash.
func blob(file string, digits int) (string, error) {
	info, err := os.Lstat(file)
	var data []byte
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		data, err = os.ReadFile(file)
	case info.Mode().Type() == os.ModeSymlink:
		var text string
		text, err = os.Readlink(file)
		data = []byte(text)
	default:
		return "", nil
	}
	switch {
	case unixat.IsNotExist(err):
		return "", nil
	case err != nil:
		return "", err
	}
	h := sha1.New() //nolint:gosec // git's object ids
	if digits == sha256.Size*2 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)), nil
}
