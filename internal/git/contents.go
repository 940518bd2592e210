// What a commit holds: for those who make its files once more.

package git

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// objectID is what git names an object by; nothing else is passed on where one is asked for.
var objectID = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// HasCommit reports whether the repository holds a commit, by its full id, with the files of it.
func (r *Repo) HasCommit(ctx context.Context, id string) (bool, error) {
	if !objectID.MatchString(id) {
		return false, fmt.Errorf("%q is not the full id of a commit", id)
	}
	_, err := call{dir: r.Top, args: []string{"cat-file", "-e", id + "^{tree}"}}.run(ctx)
	if exitCode(err) > 0 { // it is not here, or no commit
		return false, nil
	}
	return err == nil, err
}

// A Blob is a file or a symlink of a commit.
type Blob struct {
	Path string // relative to the top of the repository; bytes
	ID   string
	Size int64 // bytes
}

// Blobs lists the files and symlinks of a commit. Submodules are not among them.
func (r *Repo) Blobs(ctx context.Context, commit string) ([]Blob, error) {
	if !objectID.MatchString(commit) {
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
		all = append(all, Blob{name, f[2], size})
	}
	return all, nil
}

// batch bounds what one call of git gives, in bytes; a single larger blob is given all the same.
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

// StandAt makes HEAD of our copy name a commit and the index hold it, whatever they were. The files are not touched.
func (r *Repo) StandAt(ctx context.Context, commit string) error {
	if !objectID.MatchString(commit) {
		return fmt.Errorf("%q is not the full id of a commit", commit)
	}
	off, err := unfiltered(ctx, r.Top)
	if err != nil {
		return err
	}
	if _, err := (call{dir: r.Top, args: []string{"update-ref", "--no-deref", "HEAD", commit}}).run(ctx); err != nil {
		return err
	}
	_, err = call{dir: r.Top, config: off, timeout: long, args: []string{"read-tree", "--reset", commit}}.run(ctx)
	return err
}
