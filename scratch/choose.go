// Decides which paths of the tree are copied.

package scratch

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// Limits of Source.Everything.
const (
	mostBytes = 1 << 30
	mostFiles = 100_000
)

// dependencies are folders that a check needs and git usually ignores.
var dependencies = map[string]bool{"node_modules": true, ".venv": true, "venv": true, "vendor": true}

// Secret reports whether a file, by its name, may hold a secret. Such a file is left out of patches and by Everything.
func Secret(p string) bool {
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

// hidden reports whether name is .git or .async: neither is ever copied as a file.
func hidden(name string) bool { return strings.EqualFold(name, ".git") || name == ".async" }

// recordsIn reports whether .async in a folder of the tree, relative to its top, has what this program itself wrote
// there: it runs where a PIPELINE.hcl is.
func (b *Base) recordsIn(dir string) bool {
	return dir == "." || dir == b.Sub || slices.ContainsFunc([]string{"PIPELINE.hcl", "PIPELINE.hcl.json"}, func(name string) bool {
		_, there := b.Manifest.Find(path.Join(dir, name))
		return there
	})
}

// globs are patterns relative to sub, a folder of the tree. A pattern that matches a folder covers all below it.
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

// inside returns p relative to sub.
func (g globs) inside(p string) (string, bool) {
	if g.sub == "." {
		return p, true
	}
	return strings.CutPrefix(p, g.sub+"/")
}

func (g globs) match(p string) bool {
	rel, ok := g.inside(p)
	return ok && slices.ContainsFunc(g.patterns,
		func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, rel) })
}

// covers reports whether p or a folder above it matches.
func (g globs) covers(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if g.match(p) {
			return true
		}
	}
	return false
}

// reaches reports whether something below the folder dir can match.
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

// A plan is what to copy: folders, parents first, and their files and symlinks.
type plan struct {
	dirs    []string // "." is not in it
	files   map[string][]leaf
	omitted []tree.Omitted
	taken   []string
	nested  map[string]bool // folders with a .git, but for the top
}

type leaf struct {
	name  string
	link  bool
	known *copied // the file in the kept base, if the file of the tree is unchanged since; else nil
	kept  bool    // the file in the kept base is unchanged too: nothing to copy
}

func (p *plan) add(dir string, f leaf) { p.files[dir] = append(p.files[dir], f) }

func (p *plan) omit(at, why string) { p.omitted = append(p.omitted, tree.Omitted{Path: at, Why: why}) }

// A chooser walks the tree and fills a plan. mu guards what its workers share. The plan is complete when choose
// returns.
type chooser struct {
	root       *os.Root
	files      map[string]bool // nil without git: all
	ignored    map[string]bool // folders and files, without the slash at the end
	outputs    globs
	include    globs
	exclude    globs
	everything bool
	known      *known   // of a base that was kept
	at         *descent // the tree, to measure what Source.Everything adds; nil without

	mu    sync.Mutex
	plan  plan
	wants map[string]want // folders still to be walked
	dirs  map[string]bool // folders of the plan
	bytes int64           // what Source.Everything has added so far
	count int
}

// A walkMode decides what is copied from a folder.
type walkMode int

const (
	normal walkMode = iota
	whole           // all below is copied
	picked          // all below is copied except secrets (Source.Everything)
	probed          // ignored: only what a pattern matches is copied
)

// A want is the decision about a folder that is still to be walked.
type want struct {
	how   walkMode
	taken *wholeFolder // this folder, or the one above it, that is copied whole; else nil
}

// A wholeFolder is a folder that is copied whole. It is listed in Base.Taken if something in it is ignored.
type wholeFolder struct {
	dir string
	any bool
}

func (c *chooser) choose(ctx context.Context) (*plan, error) {
	c.plan = plan{files: map[string][]leaf{}, nested: map[string]bool{}}
	c.dirs, c.wants = map[string]bool{".": true}, map[string]want{".": {}}
	if c.everything {
		at, err := descend(c.root.Name())
		if err != nil {
			return nil, err
		}
		defer at.close()
		c.at = at
	}
	// What Everything adds depends on what it added before, until its limits are reached.
	s := &folderWalk{ctx: ctx, root: c.root, each: c.folder, theirs: true, orderly: c.everything}
	closed, err := s.run()
	if err != nil {
		return nil, err
	}
	for _, dir := range closed {
		c.plan.omit(dir, whyUnreadable)
	}
	delete(c.dirs, ".")
	c.plan.dirs = slices.Sorted(maps.Keys(c.dirs))
	return &c.plan, nil
}

// A decision is what a chooser found out about one folder.
type decision struct {
	want
	dir    string
	files  []leaf
	below  []string
	wants  []want // of below
	left   []tree.Omitted
	ignore bool // something that git ignores is copied
	nested bool // it has a .git
}

func (f *decision) omit(at, why string) { f.left = append(f.left, tree.Omitted{Path: at, Why: why}) }

func (f *decision) enter(name string, as walkMode, taken *wholeFolder) {
	f.below, f.wants = append(f.below, name), append(f.wants, want{as, taken})
}

// folder decides about everything in one folder.
func (c *chooser) folder(dir string, fd int, entries []fs.DirEntry) ([]string, error) {
	c.mu.Lock()
	f := decision{want: c.wants[dir], dir: dir}
	delete(c.wants, dir)
	c.mu.Unlock()
	was := c.known.folder(dir)
	for _, e := range entries {
		if hidden(e.Name()) {
			f.nested = f.nested || dir != "." && e.Name() == ".git"
			continue
		}
		p := path.Join(dir, e.Name())
		switch {
		case c.exclude.match(p):
			f.omit(p, whyExcluded)
		case e.IsDir():
			c.enter(&f, e.Name(), p)
		case c.takes(&f, e, p):
			l := leaf{name: e.Name(), link: e.Type() == fs.ModeSymlink}
			l.known = c.known.untouched(fd, was, l)
			f.files = append(f.files, l)
		}
	}
	slices.SortFunc(f.files, func(a, b leaf) int { return strings.Compare(a.name, b.name) })
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, name := range f.below {
		c.wants[path.Join(dir, name)] = f.wants[i]
	}
	c.plan.omitted = append(c.plan.omitted, f.left...)
	if len(f.files) > 0 {
		c.plan.files[dir] = f.files
	}
	if f.nested {
		c.plan.nested[dir] = true
	}
	if f.how != probed || len(f.files) > 0 {
		for d := dir; !c.dirs[d]; d = path.Dir(d) {
			c.dirs[d] = true
		}
	}
	if f.ignore && f.taken != nil && !f.taken.any {
		f.taken.any = true
		c.plan.taken = append(c.plan.taken, f.taken.dir)
	}
	return f.below, nil
}

// enter decides about the folder p.
func (c *chooser) enter(f *decision, name, p string) {
	git := c.files != nil
	switch {
	case f.how == whole || f.how == picked:
		f.enter(name, f.how, f.taken)
	case git && (dependencies[name] || c.include.match(p) || c.outputs.match(p)):
		f.enter(name, whole, &wholeFolder{dir: p})
	case f.how == normal && !c.ignored[p]:
		f.enter(name, normal, nil)
	case c.everything:
		if !c.fits(p) {
			f.omit(p, whyOversize)
			return
		}
		c.plan.taken = append(c.plan.taken, p) // one worker only
		f.enter(name, picked, nil)
	case c.include.reaches(p) || c.outputs.reaches(p):
		f.enter(name, probed, nil)
	default:
		f.omit(p, whyIgnored)
	}
}

// takes decides about anything that is no folder.
func (c *chooser) takes(f *decision, e fs.DirEntry, p string) bool {
	counts := c.files == nil || c.files[p]
	takes := counts || f.how == whole || f.how == picked || c.include.match(p) || c.outputs.match(p)
	kind := e.Type()
	switch {
	case kind != 0 && kind != fs.ModeSymlink:
		if f.how != probed {
			f.omit(p, whySpecial)
		}
		return false
	case !counts && (f.how == picked || c.everything && !takes) && Secret(p):
		f.omit(p, whySecret)
		return false
	case !takes && c.everything:
		if takes = c.fits(p); !takes {
			f.omit(p, whyOversize)
			return false
		}
	}
	if !takes {
		if f.how == normal {
			f.omit(p, whyIgnored)
		}
		return false
	}
	f.ignore = f.ignore || !counts
	return true
}

// fits reports whether the ignored path p is within what is left of the limits, and subtracts it from them.
func (c *chooser) fits(p string) bool {
	bytes, count := c.bytes, c.count
	var measure func(p string) bool
	measure = func(p string) bool {
		st, err := c.at.lstat(p)
		if err != nil {
			return true
		}
		bytes += st.Size
		count++
		if bytes > mostBytes || count > mostFiles {
			return false
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return true
		}
		entries, err := c.at.list(p)
		return err != nil || !slices.ContainsFunc(entries,
			func(e fs.DirEntry) bool { return !measure(path.Join(p, e.Name())) })
	}
	if !measure(p) {
		return false
	}
	c.bytes, c.count = bytes, count
	return true
}
