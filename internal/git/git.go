// Package git runs git, and is the only package that does. It changes nothing except in scratch copies, and runs no
// hook, filter, fsmonitor, external diff, pager or alias that is configured.
package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNone means that dir is in no git work tree, or that git is not installed. ErrNotInstalled is the second of these.
var (
	ErrNone         = errors.New("not in a git work tree")
	ErrNotInstalled = fmt.Errorf("%w: git is not installed (no git on PATH)", ErrNone)
)

// A Repo is one work tree.
type Repo struct {
	Top    string // absolute, symlinks resolved: the work tree's top
	Dir    string // the git folder of this work tree
	Common string // the folder of objects and refs; Dir unless this is a linked work tree
}

// Find returns the work tree that contains dir, or ErrNone. A bare repository is ErrNone. git is not asked where no
// folder above can be a repository.
func Find(ctx context.Context, dir string) (*Repo, error) {
	if _, err := lookup(); err != nil {
		return nil, err
	}
	if noneAbove(dir) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	ask := func(args ...string) (string, error) {
		out, err := call{dir: dir, args: append([]string{"rev-parse", "--path-format=absolute"}, args...)}.run(ctx)
		return strings.TrimSuffix(string(out), "\n"), err
	}
	r := &Repo{}
	parts := []struct {
		to     *string
		option string
	}{{&r.Top, "--show-toplevel"}, {&r.Dir, "--git-dir"}, {&r.Common, "--git-common-dir"}}
	out, err := ask("--is-inside-work-tree", parts[0].option, parts[1].option, parts[2].option)
	if err != nil {
		return nil, noRepo(dir, err)
	}
	inside, rest, _ := strings.Cut(out, "\n")
	if inside != "true" {
		return nil, fmt.Errorf("%s: %w (its work tree is elsewhere)", dir, ErrNone)
	}
	lines := strings.Split(rest, "\n")
	for i, p := range parts {
		if len(lines) == len(parts) {
			*p.to = lines[i]
		} else if *p.to, err = ask(p.option); err != nil { // a line end in a path: asked one by one
			return nil, noRepo(dir, err)
		}
	}
	for _, p := range []*string{&r.Top, &r.Dir, &r.Common} {
		if *p, err = filepath.EvalSymlinks(*p); err != nil {
			return nil, fmt.Errorf("git repository of %s: %w", dir, err)
		}
	}
	return r, nil
}

// noneAbove reports whether neither dir nor a folder above it, by the real path, has what every git folder and work
// tree has.
func noneAbove(dir string) bool {
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if at, err = filepath.Abs(at); err != nil {
		return false
	}
	for ; ; at = filepath.Dir(at) {
		for _, sign := range []string{".git", "HEAD"} {
			if _, err := os.Lstat(filepath.Join(at, sign)); !errors.Is(err, fs.ErrNotExist) {
				return false
			}
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}

// Of returns the work tree of the root of a pipeline, or ErrNone. A root that the repository around it ignores, such
// as a folder in a home directory under git, is in no work tree.
func Of(ctx context.Context, root string) (*Repo, error) {
	r, err := Find(ctx, root)
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	ignored, err := r.ignoresFolder(ctx, root)
	if err != nil {
		return nil, err
	}
	if ignored {
		return nil, fmt.Errorf("%s: %w (the repository at %s ignores it)", root, ErrNone, r.Top)
	}
	return r, nil
}

// noRepo returns ErrNone if there is no repository, and advice if git refuses to use it.
func noRepo(dir string, err error) error {
	if errors.Is(err, ErrNone) {
		return err
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return err
	}
	switch {
	case strings.Contains(f.stderr, "dubious ownership"), strings.Contains(f.stderr, "unsafe repository"):
		return fmt.Errorf("git refuses the repository of %s because another user owns it; if you trust it: git config --global --add safe.directory %s", dir, dir)
	case strings.Contains(f.stderr, "must be run in a work tree"):
		return fmt.Errorf("%s: %w (bare repository or git's own folder)", dir, ErrNone)
	case strings.Contains(f.stderr, "not a git repository"):
		return fmt.Errorf("%s: %w", dir, ErrNone)
	}
	return err
}
