// Merges three texts by git merge-file.

package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// How git merges a path.
const (
	MergeText   = "text"
	MergeUnion  = "union"  // the lines of both sides
	MergeBinary = "binary" // not at all
)

// MergeAs returns how git would merge a path, relative to Top: one of the words above, or the name of a driver of the
// user's own, which is a program that is not run here.
func (r *Repo) MergeAs(ctx context.Context, path string) (string, error) {
	facts, err := r.attribute(ctx, "merge", path)
	if err != nil {
		return "", err
	}
	value := "unspecified"
	if len(facts) == 3 {
		value = facts[2]
	}
	if value == "unspecified" {
		out, err := getConfig(ctx, r.Top, "--get", "merge.default")
		if err != nil {
			return "", err
		}
		value = strings.TrimSuffix(string(out), "\x00")
	}
	switch value {
	case "", "set":
		return MergeText, nil
	case "unset":
		return MergeBinary, nil
	}
	return value, nil
}

// Merge merges three texts as `git apply --3way` does, with its labels and the user's merge.conflictStyle, which
// is looked up from dir. The number of conflicts, 0 if there is none, is exact up to 127; then merged has git's
// markers. With union the lines of both sides are taken and there is no conflict. Only a temporary folder outside the
// tree is written.
func Merge(ctx context.Context, dir string, ours, base, theirs []byte, union bool) (merged []byte, conflicts int, err error) {
	temp, err := os.MkdirTemp("", "async-pipeline-merge-*")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	args := []string{"merge-file", "-p", "-q"}
	if union {
		args = append(args, "--union")
	}
	for _, label := range []string{"ours", "base", "theirs"} {
		args = append(args, "-L", label)
	}
	for i, text := range [][]byte{ours, base, theirs} {
		name := filepath.Join(temp, fmt.Sprint(i))
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return nil, 0, err
		}
		args = append(args, name)
	}
	merged, err = call{dir: dir, args: args}.run(ctx)
	if n := exitCode(err); n > 0 && n < 128 {
		return merged, n, nil
	}
	return merged, 0, err
}
