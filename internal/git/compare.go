// What differs from a commit, and what git may not tell of that.

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

// A Comparison is what differs between a commit and the work tree, with what is in its submodules.
type Comparison struct {
	Changed []string // paths relative to Top; that of a submodule is one of them where its commit differs
	Folders []string // that files came to and that are new, or that are gone with the files in them; not those in submodules
	// Doubtful are paths whose bytes or mode are not those of the index although git calls them unchanged: flags of the index,
	// core.fileMode and filters make it so. It is not known since when. All files with a filter that is configured are among
	// them: no filter is run. Of a submodule that git cannot read, and that has files, it is the path of the submodule.
	Doubtful []string
	Links    []string // all symbolic links that git tracks
}

// Compare compares a commit with the work tree. ErrGone: there is no such commit here.
func (r *Repo) Compare(ctx context.Context, commit string) (*Comparison, error) {
	differ, doubtful, err := r.since(ctx, commit)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Doubtful: doubtful}
	for _, d := range differ {
		c.Changed = append(c.Changed, d.Path)
	}
	if c.Folders, err = r.folders(ctx, commit, differ); err != nil {
		return nil, err
	}
	return c, r.lookInto(ctx, c, "")
}

// folders returns Comparison.Folders.
func (r *Repo) folders(ctx context.Context, commit string, differ []Difference) (all []string, err error) {
	var had map[string]bool // folders of the commit; nil: it was not asked
	seen := map[string]bool{".": true}
	for _, d := range differ {
		if d.Change == "changed" {
			continue
		}
		for dir := path.Dir(d.Path); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if had == nil {
				if had, err = r.foldersOf(ctx, commit); err != nil {
					return nil, err
				}
			}
			info, err := os.Lstat(filepath.Join(r.Top, dir))
			if there := err == nil && info.IsDir(); there != had[dir] {
				all = append(all, dir)
			}
		}
	}
	return all, nil
}

// foldersOf returns the folders that a commit has files in.
func (r *Repo) foldersOf(ctx context.Context, commit string) (map[string]bool, error) {
	held, err := r.paths(ctx, commit)
	had := map[string]bool{}
	for p := range held {
		for dir := path.Dir(p); dir != "." && !had[dir]; dir = path.Dir(dir) {
			had[dir] = true
		}
	}
	return had, err
}

// lookInto adds what the index tells of links, hidden files and submodules. prefix is where r is in the work tree of c.
func (r *Repo) lookInto(ctx context.Context, c *Comparison, prefix string) error {
	listed, err := r.lsFiles(ctx, "-v", "-s")
	if err != nil {
		return err
	}
	for _, line := range listed {
		entry, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(entry) // tag, mode, id, stage
		if len(f) != 4 {
			continue
		}
		mode, at := f[1]+" ", filepath.Join(r.Top, name)
		if mode == symlink {
			c.Links = append(c.Links, prefix+name)
		}
		switch hidden := f[0] == "S" || f[0] == strings.ToLower(f[0]); {
		case mode == gitlink:
			sub, err := r.submodule(ctx, name)
			if err != nil {
				return err
			}
			if sub == nil {
				if there, err := os.ReadDir(at); len(there) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
					c.Doubtful = append(c.Doubtful, prefix+name)
				}
				continue
			}
			dirty, doubtful, err := sub.dirty(ctx, true)
			if err != nil {
				return err
			}
			for _, p := range dirty {
				c.Changed = append(c.Changed, prefix+name+"/"+p)
			}
			for _, p := range doubtful {
				c.Doubtful = append(c.Doubtful, prefix+name+"/"+p)
			}
			if err := sub.lookInto(ctx, c, prefix+name+"/"); err != nil {
				return err
			}
		case hidden:
			info, err := os.Lstat(at)
			if errors.Is(err, fs.ErrNotExist) && strings.EqualFold(f[0], "s") {
				continue // of a sparse checkout
			}
			now := ""
			if err == nil {
				now, err = blob(at, len(f[2]))
			}
			if err != nil || now != f[2] || info.Mode().IsRegular() && (info.Mode()&0o100 != 0) != (f[1] == "100755") {
				c.Doubtful = append(c.Doubtful, prefix+name)
			}
		}
	}
	filtered, err := r.filtered(ctx)
	for _, name := range filtered {
		c.Doubtful = append(c.Doubtful, prefix+name)
	}
	return err
}

// filtered returns the files that have a filter which is configured, relative to Top.
func (r *Repo) filtered(ctx context.Context) ([]string, error) {
	filters, err := r.Filters(ctx)
	if err != nil || len(filters) == 0 {
		return nil, err
	}
	var patterns []string
	for _, f := range filters {
		key := strings.TrimPrefix(f[0], "filter.")
		if at := strings.LastIndexByte(key, '.'); at > 0 {
			patterns = append(patterns, ":(top,attr:filter="+key[:at]+")")
		}
	}
	slices.Sort(patterns)
	out, err := call{dir: r.Top, magic: true, args: append([]string{"ls-files", "-z", "--"}, slices.Compact(patterns)...)}.run(ctx)
	return split(out), err
}

// Unseen returns those of paths, relative to Top, that git ignores and does not track; in a submodule, what git ignores
// there. What is behind a link is left out, and what is in a submodule that git cannot read: see Comparison.Doubtful.
func (r *Repo) Unseen(ctx context.Context, paths []string) (map[string]bool, error) {
	submodules, err := r.entries(ctx, gitlink)
	if err != nil {
		return nil, err
	}
	folders := pathCache{top: r.Top, real: map[string]bool{".": true}}
	var own []string
	inside := map[string][]string{} // by submodule, relative to it
	for _, p := range paths {
		if p == "" || p == "." || !filepath.IsLocal(p) || !folders.isFolder(path.Dir(p)) {
			continue
		}
		in := path.Dir(p)
		for ; in != "."; in = path.Dir(in) {
			if _, ok := slices.BinarySearch(submodules, in); ok {
				break
			}
		}
		if in == "." {
			own = append(own, p)
		} else {
			inside[in] = append(inside[in], strings.TrimPrefix(p, in+"/"))
		}
	}
	unseen := map[string]bool{}
	if len(own) > 0 {
		if unseen, err = r.IgnoredOf(ctx, own); err != nil {
			return nil, err
		}
	}
	for name, in := range inside {
		sub, err := r.submodule(ctx, name)
		if err != nil {
			return nil, err
		}
		if sub == nil {
			continue
		}
		there, err := sub.Unseen(ctx, in)
		if err != nil {
			return nil, err
		}
		for p := range there {
			unseen[name+"/"+p] = true
		}
	}
	return unseen, nil
}
