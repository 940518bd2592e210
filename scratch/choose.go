// Which paths of the tree come along.

package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// What Source.Everything takes at most.
const (
	mostBytes = 1 << 30
	mostFiles = 100_000
)

// dependencies are folders that a check needs and git usually ignores.
var dependencies = map[string]bool{"node_modules": true, ".venv": true, "venv": true, "vendor": true}

// secret says whether a file is kept out of patches, and out of what Everything takes, by its name.
func secret(p string) bool {
	name := strings.ToLower(path.Base(p))
	switch path.Ext(name) {
	case ".pem", ".key", ".p12", ".pfx", ".keystore", ".jks":
		return true
	}
	switch name {
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519":
		return true
	}
	return strings.HasPrefix(name, ".env")
}

// hidden names are never looked at: git's and our own.
func hidden(name string) bool { return strings.EqualFold(name, ".git") || name == ".async" }

// globs are patterns relative to sub, a folder of the tree. A pattern that names a folder takes all below.
type globs struct {
	sub      string
	patterns []string
}

func newGlobs(attr, sub string, patterns []string) (globs, error) {
	g := globs{sub: sub}
	for _, p := range patterns {
		clean := strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
		if !doublestar.ValidatePattern(clean) || clean == "" {
			return g, fmt.Errorf("%s: %q is not a valid pattern", attr, p)
		}
		g.patterns = append(g.patterns, clean)
	}
	return g, nil
}

// inside gives p relative to sub.
func (g globs) inside(p string) (string, bool) {
	if g.sub == "." {
		return p, true
	}
	return strings.CutPrefix(p, g.sub+"/")
}

func (g globs) match(p string) bool {
	rel, ok := g.inside(p)
	return ok && slices.ContainsFunc(g.patterns, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, rel) })
}

// covers says whether p or a folder above it matches.
func (g globs) covers(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if g.match(p) {
			return true
		}
	}
	return false
}

// reaches says whether something below the folder dir can match.
func (g globs) reaches(dir string) bool {
	if len(g.patterns) == 0 {
		return false
	}
	rel, ok := g.inside(dir)
	if !ok {
		return dir == "." || dir == g.sub || strings.HasPrefix(g.sub, dir+"/")
	}
	return slices.ContainsFunc(g.patterns, func(pattern string) bool {
		if strings.Contains(pattern, "{") {
			return true
		}
		want, have := strings.Split(pattern, "/"), strings.Split(rel, "/")
		for i, name := range have {
			switch {
			case i >= len(want):
				return false
			case want[i] == "**":
				return true
			case !doublestar.MatchUnvalidated(want[i], name):
				return false
			}
		}
		return len(want) > len(have)
	})
}

// A plan is what to copy: folders, parents first, and the files and symlinks of each.
type plan struct {
	dirs    []string // "." is not in it
	files   map[string][]leaf
	omitted []tree.Omitted
	taken   []string
}

type leaf struct {
	name string
	link bool
}

func (p *plan) add(dir, base string, link bool) {
	p.files[dir] = append(p.files[dir], leaf{base, link})
}

func (p *plan) omit(at, why string) { p.omitted = append(p.omitted, tree.Omitted{Path: at, Why: why}) }

// A chooser walks the tree and fills a plan.
type chooser struct {
	root       *os.Root
	files      map[string]bool // nil without git: all
	ignored    map[string]bool // folders and files, without the slash at the end
	outputs    globs
	include    globs
	exclude    globs
	everything bool

	plan  plan
	made  map[string]bool // folders in plan.dirs
	bytes int64           // what everything has taken
	count int
}

// How a folder is walked.
type how int

const (
	normal how = iota
	whole      // all below comes along
	picked     // all below comes along but secrets: what everything takes
	probed     // ignored: only what a pattern names
)

func (c *chooser) choose(ctx context.Context) (*plan, error) {
	c.plan.files, c.made = map[string][]leaf{}, map[string]bool{".": true}
	_, err := c.walk(ctx, ".", normal)
	return &c.plan, err
}

// folder puts dir and those above it into the plan.
func (c *chooser) folder(dir string) {
	if c.made[dir] {
		return
	}
	c.folder(path.Dir(dir))
	c.made[dir] = true
	c.plan.dirs = append(c.plan.dirs, dir)
}

// walk says whether something came along that git ignores.
func (c *chooser) walk(ctx context.Context, dir string, as how) (uncounted bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	entries, err := list(c.root, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && dir != ".":
		return false, nil
	case err != nil && dir != ".":
		c.plan.omit(dir, whyUnreadable)
		return false, nil
	case err != nil:
		return false, err
	}
	if as != probed {
		c.folder(dir)
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		switch {
		case hidden(e.Name()):
		case c.exclude.match(p):
			c.plan.omit(p, whyIgnored)
		case e.IsDir():
			more, err := c.enter(ctx, p, as)
			if err != nil {
				return false, err
			}
			uncounted = uncounted || more
		default:
			uncounted = c.file(dir, e, p, as) || uncounted
		}
	}
	return uncounted, nil
}

// enter decides about the folder p.
func (c *chooser) enter(ctx context.Context, p string, as how) (bool, error) {
	git := c.files != nil
	switch {
	case as == whole || as == picked:
		return c.walk(ctx, p, as)
	case git && (dependencies[path.Base(p)] || c.include.match(p) || c.outputs.match(p)):
		more, err := c.walk(ctx, p, whole)
		if more {
			c.plan.taken = append(c.plan.taken, p)
		}
		return false, err
	case as == normal && !c.ignored[p]:
		return c.walk(ctx, p, normal)
	case c.everything:
		if !c.fits(p) {
			c.plan.omit(p, whyOversize)
			return false, nil
		}
		c.plan.taken = append(c.plan.taken, p)
		_, err := c.walk(ctx, p, picked)
		return false, err
	case c.include.reaches(p) || c.outputs.reaches(p):
		return c.walk(ctx, p, probed)
	}
	c.plan.omit(p, whyIgnored)
	return false, nil
}

// file decides about anything that is no folder.
func (c *chooser) file(dir string, e fs.DirEntry, p string, as how) (uncounted bool) {
	counts := c.files == nil || c.files[p]
	takes := counts || as == whole || as == picked || c.include.match(p) || c.outputs.match(p)
	kind := e.Type()
	switch {
	case kind != 0 && kind != fs.ModeSymlink:
		if as != probed {
			c.plan.omit(p, whySpecial)
		}
		return false
	case !counts && (as == picked || c.everything && !takes) && secret(p):
		c.plan.omit(p, whySecret)
		return false
	case !takes && c.everything:
		if takes = c.fits(p); !takes {
			c.plan.omit(p, whyOversize)
			return false
		}
	}
	if !takes {
		if as == normal {
			c.plan.omit(p, whyIgnored)
		}
		return false
	}
	c.folder(dir)
	c.plan.add(dir, e.Name(), kind == fs.ModeSymlink)
	return !counts
}

// fits says whether the ignored path p goes into what is left of the limits, and takes it from them.
func (c *chooser) fits(p string) bool {
	bytes, count := c.bytes, c.count
	var measure func(p string) bool
	measure = func(p string) bool {
		info, err := c.root.Lstat(p)
		if err != nil {
			return true
		}
		bytes += info.Size()
		count++
		if bytes > mostBytes || count > mostFiles {
			return false
		}
		if !info.IsDir() {
			return true
		}
		entries, err := list(c.root, p)
		return err != nil || !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !measure(path.Join(p, e.Name())) })
	}
	if !measure(p) {
		return false
	}
	c.bytes, c.count = bytes, count
	return true
}

// list reads a folder without leaving root, sorted by name.
func list(root *os.Root, dir string) ([]fs.DirEntry, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	err = errors.Join(err, f.Close())
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
