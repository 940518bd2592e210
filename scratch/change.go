// What changed in a copy, found by a walk that compares stat data. An unchanged file is not read again. git never runs
// in the copy, because an agent may have changed its .git.

package scratch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// manyInOne is the limit of changes in one ignored folder that are listed one by one. Beyond it only the folder is.
const manyInOne = 20

// A difference is what a walk of a copy found to differ from the base, before any file is read.
type difference struct {
	changed []string // present in both, with other stat data
	added   []string
	gone    []string
	special []string // neither file, folder nor symlink
	private []string // every .git but the one at the top, in upper or lower case; folders end in a slash
	closed  []string // folders that cannot be read
}

// Changes returns the difference between the base and the copy as it is now, in files that belong in a patch. These
// are not ignored, not in taken folders, and not in .git or .async. Paths are relative to Base.Top. Ignored and excluded
// files that changed, special files (a new .git is one), secrets (.env*, key files) and files over MaxFile are listed in Omitted.
//
// The ignore rules are those of the base. Files of submodules and nested repositories are ordinary paths, and so is a
// secret that git tracks. If many files of an ignored folder changed, only the folder is listed, with a slash at its
// end. The processes that worked in the copy must have ended.
func (c *Copy) Changes(ctx context.Context) ([]patch.Change, []tree.Omitted, error) {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("scratch copy: %w", err)
	}
	defer func() { _ = root.Close() }()
	d, err := c.compare(ctx, root)
	if err != nil {
		return nil, nil, err
	}
	omitted := map[string]string{}
	for _, p := range d.special {
		omitted[p] = whySpecial
	}
	for _, p := range d.closed {
		omitted[p] = whyUnreadable
	}
	for _, p := range d.private {
		if _, err := os.Lstat(c.base.Dir + "/" + p); errors.Is(err, fs.ErrNotExist) { // else it was copied from the base
			omitted[p] = whySpecial
		}
	}
	counted, ignored, excluded, err := c.base.classify(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range ignored {
		omitted[p] = whyIgnored
	}
	for _, p := range excluded {
		omitted[p] = whyExcluded
	}
	r := &changeReader{base: c.base, live: c.live}
	if r.was, err = descend(c.base.Dir); err != nil {
		return nil, nil, fmt.Errorf("base of the scratch copies: %w", err)
	}
	defer r.was.close()
	if r.now, err = descend(c.Dir); err != nil {
		return nil, nil, fmt.Errorf("scratch copy: %w", err)
	}
	defer r.now.close()
	counted = slices.DeleteFunc(counted, func(p string) bool {
		if omitted[p] == "" && patch.CheckPath(p) != nil { // a name that some file system takes for .git: it must never reach a tree
			omitted[p] = whySpecial
		}
		return omitted[p] != ""
	})
	var all gathered
	for _, p := range counted {
		change, why, err := r.read(p)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case why != "":
			omitted[p] = why
		case change != nil:
			all.add(*change)
		}
	}
	all.fit()
	for _, p := range all.large {
		omitted[p] = whyOversize
	}
	var left []tree.Omitted
	for _, p := range slices.Sorted(maps.Keys(omitted)) {
		left = append(left, tree.Omitted{Path: p, Why: omitted[p]})
	}
	return all.changes, left, nil
}

// ChangesNow is Changes while processes work in the copy. It changes no mode, so it lacks what cannot be read as it is.
// A file that is written meanwhile may be half old and half new.
func (c *Copy) ChangesNow(ctx context.Context) ([]patch.Change, error) {
	now := *c
	now.live = true
	changes, _, err := now.Changes(ctx)
	return changes, err
}

// gathered are changes in memory: those that fit into a patch, and a few more until fit is called.
type gathered struct {
	changes []patch.Change
	size    int64    // of their contents, before and after
	large   []string // paths of those that were left out
}

func sizeOf(c patch.Change) (size int64) {
	for _, f := range []*patch.File{c.Before, c.After} {
		if f != nil {
			size += int64(len(f.Data))
		}
	}
	return size
}

func (g *gathered) add(c patch.Change) {
	g.changes, g.size = append(g.changes, c), g.size+sizeOf(c)
	if g.size > 2*MaxChanges {
		g.fit()
	}
}

// fit leaves out the largest changes until the others are not more than MaxChanges.
func (g *gathered) fit() {
	if g.size <= MaxChanges {
		return
	}
	bySize := slices.Clone(g.changes)
	slices.SortStableFunc(bySize, func(a, b patch.Change) int { return cmp.Compare(sizeOf(a), sizeOf(b)) })
	large := map[string]bool{}
	for _, c := range slices.Backward(bySize) {
		if g.size <= MaxChanges {
			break
		}
		large[c.Path], g.size = true, g.size-sizeOf(c)
		g.large = append(g.large, c.Path)
	}
	g.changes = slices.DeleteFunc(g.changes, func(c patch.Change) bool { return large[c.Path] })
}

// maxListed is how many files of an ignored folder are listed. One with more is what a check builds or installs.
const maxListed = 100

// WorthKeeping returns what Changes omitted, with the files of small folders one by one. Of what git ignores, files with
// secrets by their name are not to be kept: they have another reason, and are left out where something else changed, as
// a check may have built them.
func (c *Copy) WorthKeeping(changes []patch.Change, omitted []tree.Omitted) (worth []tree.Omitted) {
	for _, o := range omitted {
		if o.Why != whyIgnored && o.Why != whyExcluded {
			worth = append(worth, o)
			continue
		}
		for _, f := range c.listed(o) {
			if f.Why == o.Why || len(changes) == 0 {
				worth = append(worth, f)
			}
		}
	}
	return worth
}

// listed returns the files of a folder, where they are few.
func (c *Copy) listed(o tree.Omitted) []tree.Omitted {
	file := func(p string) tree.Omitted {
		if Secret(p) {
			return tree.Omitted{Path: p, Why: whySecret}
		}
		return tree.Omitted{Path: p, Why: o.Why}
	}
	if !strings.HasSuffix(o.Path, "/") {
		return []tree.Omitted{file(o.Path)}
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return []tree.Omitted{o}
	}
	defer func() { _ = root.Close() }()
	var files []tree.Omitted
	err = fs.WalkDir(root.FS(), path.Clean(o.Path), func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, file(p))
		}
		if len(files) > maxListed {
			return errors.ErrUnsupported
		}
		return err
	})
	if err != nil {
		return []tree.Omitted{o}
	}
	return files
}

// compare walks the copy.
func (c *Copy) compare(ctx context.Context, root *os.Root) (*difference, error) {
	if c.Work != "" {
		return c.compareLayers(ctx, root)
	}
	var mu sync.Mutex
	d := &difference{}
	entered := make(map[string]bool, len(c.facts))
	closed, err := c.walk(ctx, root, func(dir string, fd int, entries []fs.DirEntry) ([]string, error) {
		one, below := c.base.compareFolder(dir, fd, entries, c.facts[dir])
		mu.Lock()
		defer mu.Unlock()
		entered[dir] = true
		d.changed, d.added = append(d.changed, one.changed...), append(d.added, one.added...)
		d.gone, d.special = append(d.gone, one.gone...), append(d.special, one.special...)
		d.private = append(d.private, one.private...)
		return below, nil
	})
	if err != nil {
		return nil, fmt.Errorf("scratch copy: %w", err)
	}
	d.closed = closed
	for dir, files := range c.facts {
		if entered[dir] || under(dir, closed) {
			continue
		}
		for _, f := range files {
			d.gone = append(d.gone, path.Join(dir, f.name))
		}
	}
	return d, nil
}

// walk is walkFolders for the copy.
func (c *Copy) walk(ctx context.Context, root *os.Root, each func(dir string, fd int, entries []fs.DirEntry) ([]string, error)) ([]string, error) {
	s := &folderWalk{ctx: ctx, root: root, each: each, theirs: c.live}
	return s.run()
}

// compareFolder compares the files of one open folder with the stat data of the copy when it was made, which is sorted
// by name. below are the folders in it.
func (b *Base) compareFolder(dir string, fd int, entries []fs.DirEntry, was []fileState) (d difference, below []string) {
	seen, left := make([]bool, len(was)), len(was)
	for _, e := range entries {
		name := e.Name()
		var now unix.Stat_t
		switch {
		case name == ".async" && b.recordsIn(dir), dir == "." && name == ".git":
		case hidden(name) && e.IsDir():
			d.private = append(d.private, path.Join(dir, name)+"/")
		case hidden(name):
			d.private = append(d.private, path.Join(dir, name))
		case e.IsDir():
			below = append(below, name)
		case e.Type() != 0 && e.Type() != fs.ModeSymlink:
			d.special = append(d.special, path.Join(dir, name))
		case unixat.Stat(fd, name, &now) != nil:
		default:
			i, known := slices.BinarySearchFunc(was, name, func(s fileState, name string) int {
				return strings.Compare(s.name, name)
			})
			if !known {
				d.added = append(d.added, path.Join(dir, name))
				continue
			}
			seen[i] = true
			left--
			if was[i].facts != factsOf(&now) {
				d.changed = append(d.changed, path.Join(dir, name))
			}
		}
	}
	for i := 0; left > 0; i++ {
		if !seen[i] {
			d.gone = append(d.gone, path.Join(dir, was[i].name))
			left--
		}
	}
	return d, below
}

func under(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") })
}

// classify splits the paths of d into those that belong in a patch, sorted, those that git ignores, and new ones that
// Source.Exclude covers.
func (b *Base) classify(ctx context.Context, d *difference) (counted, ignored, excluded []string, err error) {
	var fresh, freshIgnored, oldIgnored []string
	for _, p := range slices.Concat(d.changed, d.gone) {
		if b.counted == nil || b.counted[p] {
			counted = append(counted, p)
		} else {
			oldIgnored = append(oldIgnored, p)
		}
	}
	for _, p := range d.added {
		switch {
		case b.left.covers(p):
			excluded = append(excluded, p)
		case b.counted == nil, b.tracked[p]:
			counted = append(counted, p)
		default:
			fresh = append(fresh, p)
		}
	}
	if len(fresh) > 0 {
		hit, err := git.Ignores(ctx, b.Dir+"/.git", b.rules, b.excludes, fresh)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, p := range fresh {
			if hit[p] {
				freshIgnored = append(freshIgnored, p)
			} else {
				counted = append(counted, p)
			}
		}
	}
	slices.Sort(counted)
	return counted, b.fold(oldIgnored, freshIgnored, counted), b.fold(nil, excluded, counted), nil
}

// fold replaces many files by their folder: a new folder with only ignored files, a taken folder with many changes.
func (b *Base) fold(old, fresh, counted []string) []string {
	live := map[string]bool{} // folders with a file that belongs in a patch
	for _, p := range counted {
		for dir := path.Dir(p); dir != "." && !live[dir]; dir = path.Dir(dir) {
			live[dir] = true
		}
	}
	named := map[string]bool{}
	many := map[string][]string{}
	for _, p := range old {
		if taken := b.takenFolder(p); taken != "" {
			many[taken] = append(many[taken], p)
		} else {
			named[p] = true
		}
	}
	for _, p := range fresh {
		if taken := b.takenFolder(p); taken != "" {
			many[taken] = append(many[taken], p)
			continue
		}
		show := p
		for dir := path.Dir(p); dir != "." && !live[dir]; dir = path.Dir(dir) {
			if _, ok := b.Manifest.Find(dir); ok {
				break
			}
			show = dir + "/"
		}
		named[show] = true
	}
	for taken, paths := range many {
		if len(paths) > manyInOne {
			paths = []string{taken + "/"}
		}
		for _, p := range paths {
			named[p] = true
		}
	}
	return slices.Collect(maps.Keys(named))
}

// A changeReader reads the files of a base and of a copy of it.
type changeReader struct {
	base     *Base
	was, now *descent // of the base and the copy
	live     bool     // as in Copy
}

// read returns the change of p, or why it is left out. The change is nil if the content is the same.
func (r *changeReader) read(p string) (*patch.Change, string, error) {
	if Secret(p) && !r.base.tracked[p] {
		return nil, whySecret, nil
	}
	if e, ok := r.base.Manifest.Find(p); ok && e.Size > MaxFile {
		return nil, whyOversize, nil
	}
	before, err := r.was.file(p, 0)
	if err != nil {
		return nil, "", fmt.Errorf("base of the scratch copies: %w", err)
	}
	after, err := r.now.file(p, MaxFile)
	if errors.Is(err, fs.ErrPermission) && !r.live && r.now.unlock(p) == nil { // an agent may have removed the permission
		after, err = r.now.file(p, MaxFile)
	}
	if why := omitReason(err); why != "" || patch.Equal(before, after) {
		return nil, why, nil
	}
	return &patch.Change{Path: p, Before: before, After: after}, "", nil
}

// omitReason returns the reason in Omitted for an error of readFile; empty for nil.
func omitReason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errOversize):
		return whyOversize
	case errors.Is(err, errSpecial):
		return whySpecial
	}
	return whyUnreadable
}

var errOversize = errors.New("larger than a patch takes")
