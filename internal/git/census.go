// What git says of all names in a work tree at once: two questions, asked at one time, for those who look at the files themselves.

package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A Census is what git says of the names in a work tree and in the repositories nested in it. Paths are relative to Top, lists sorted.
type Census struct {
	Files   []string // tracked, or not ignored; a name that is tracked need not stand there, or a folder took its place
	Tracked []string // what the index of the work tree itself holds
	Ignored []string // as Ignored says it
}

// Census takes one. No file that git names is looked at, only the places of nested repositories are.
func (r *Repo) Census(ctx context.Context) (*Census, error) {
	c := &Census{}
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() { c.Ignored, errs[1] = r.list(ctx, "-o", "-i", "--exclude-standard", "--directory") })
	listed, err := r.list(ctx, "-t", "-s", "-o", "--exclude-standard")
	both.Wait()
	if err := errors.Join(err, errs[1]); err != nil {
		return nil, err
	}
	c.Files, c.Tracked = make([]string, 0, len(listed)), make([]string, 0, len(listed))
	var nested []string
	for _, line := range listed {
		tag, name, _ := strings.Cut(line, " ")
		facts := ""
		if tag != "?" { // what the index holds
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
	stands := standing{top: r.Top, real: map[string]bool{".": true}}
	for _, name := range nested {
		info, ok := stands.look(name)
		switch {
		case !ok:
		case !info.IsDir():
			c.Files = append(c.Files, name)
		default:
			if err := c.inside(ctx, r, name); err != nil {
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

// onlyTopmost drops a folder that is listed together with what it holds: it is not ignored itself, all it holds is.
func onlyTopmost(ignored []string) []string {
	kept := ignored[:0]
	for i, p := range ignored {
		if i+1 < len(ignored) && (p == ignored[i+1] || strings.HasSuffix(p, "/") && strings.HasPrefix(ignored[i+1], p)) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// inside adds what the repository at name says; what git cannot read as one is walked as a folder.
func (c *Census) inside(ctx context.Context, r *Repo, name string) error {
	top := filepath.Join(r.Top, name)
	if r.nested(name) {
		sub, err := Find(ctx, top)
		if err == nil && sub.Top == top {
			if in, err := sub.Census(ctx); err == nil {
				for _, p := range in.Files {
					c.Files = append(c.Files, name+"/"+p)
				}
				for _, p := range in.Ignored {
					c.Ignored = append(c.Ignored, name+"/"+p)
				}
				return nil
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
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
		c.Files = append(c.Files, filepath.ToSlash(rel))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
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
