// What changed in a copy, by a stat walk: an unchanged file is never read again, and git is never asked in the
// copy, whose .git an agent may have changed, poisoned or removed.

package scratch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// manyInOne is how many changes in one ignored folder are named one by one; beyond, the folder is.
const manyInOne = 20

// A difference is a copy's files against the base, before any is read.
type difference struct {
	changed []string // stands in both, with other facts
	added   []string
	gone    []string
	special []string // neither file, folder nor symlink
	private []string // every .git but the top's own, however it is written; folders with a slash
	closed  []string // folders that cannot be read, whatever we try
}

// Changes returns the difference between the base and the copy as it is now, in files that count for a patch (not
// ignored ones, not taken folders, no .git, no .async). Paths are relative to Base.Top. Ignored files that changed,
// special files (a .git that the copy did not have is one), secrets (.env*, key files) and files over MaxFile are
// in Omitted by name.
//
// What is ignored is decided by the rules as they were in the base. Files of submodules and nested repositories are
// ordinary paths. A secret that git tracks is an ordinary file: it is no secret any more. Of an ignored folder with
// many changes only the folder is named, with a slash at its end. The processes that worked in the copy must have
// ended.
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
		if _, err := os.Lstat(c.base.Dir + "/" + p); errors.Is(err, fs.ErrNotExist) { // else it is ours
			omitted[p] = whySpecial
		}
	}
	counted, ignored, err := c.base.sort(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range ignored {
		omitted[p] = whyIgnored
	}
	var changes []patch.Change
	for _, p := range counted {
		if _, out := omitted[p]; out {
			continue
		}
		if patch.CheckPath(p) != nil { // a name that some git would take for .git: nothing may carry it into a tree
			omitted[p] = whySpecial
			continue
		}
		change, why, err := c.read(root, p)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case why != "":
			omitted[p] = why
		case change != nil:
			changes = append(changes, *change)
		}
	}
	var left []tree.Omitted
	for p, why := range omitted {
		left = append(left, tree.Omitted{Path: p, Why: why})
	}
	slices.SortFunc(left, func(a, b tree.Omitted) int { return strings.Compare(a.Path, b.Path) })
	return changes, left, nil
}

// compare walks the copy.
func (c *Copy) compare(ctx context.Context, root *os.Root) (*difference, error) {
	var mu sync.Mutex
	d := &difference{}
	entered := make(map[string]bool, len(c.facts))
	closed, err := walkFolders(ctx, root, func(dir string, fd int, entries []fs.DirEntry) ([]string, error) {
		one, below := compareFolder(dir, fd, entries, c.facts[dir])
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

// compareFolder compares the files of one open folder with what was written there, sorted by name, and names the
// folders in it.
func compareFolder(dir string, fd int, entries []fs.DirEntry, was []stood) (d difference, below []string) {
	seen, left := make([]bool, len(was)), len(was)
	for _, e := range entries {
		name := e.Name()
		var now unix.Stat_t
		switch {
		case name == ".async", dir == "." && name == ".git":
		case hidden(name) && e.IsDir():
			d.private = append(d.private, path.Join(dir, name)+"/")
		case hidden(name):
			d.private = append(d.private, path.Join(dir, name))
		case e.IsDir():
			below = append(below, name)
		case e.Type() != 0 && e.Type() != fs.ModeSymlink:
			d.special = append(d.special, path.Join(dir, name))
		case unix.Fstatat(fd, name, &now, unix.AT_SYMLINK_NOFOLLOW) != nil:
		default:
			i, known := slices.BinarySearchFunc(was, name, func(s stood, name string) int { return strings.Compare(s.name, name) })
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

// sort tells what counts for a patch, sorted, from what is ignored.
func (b *Base) sort(ctx context.Context, d *difference) (counted, ignored []string, err error) {
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
			freshIgnored = append(freshIgnored, p)
		case b.counted == nil, b.tracked[p]:
			counted = append(counted, p)
		default:
			fresh = append(fresh, p)
		}
	}
	if len(fresh) > 0 {
		hit, err := git.Ignores(ctx, b.Dir+"/.git", b.rules, b.excludes, fresh)
		if err != nil {
			return nil, nil, err
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
	return counted, b.gather(oldIgnored, freshIgnored, counted), nil
}

// gather names folders instead of many files: a folder that is new and all ignored, a taken folder with many changes.
func (b *Base) gather(old, fresh, counted []string) []string {
	live := map[string]bool{} // folders that hold something that counts
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
			if _, stood := b.Manifest.Find(dir); stood {
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
	var list []string
	for p := range named {
		list = append(list, p)
	}
	return list
}

// read returns the change of p, nil when it is none after all, or why it is left out.
func (c *Copy) read(root *os.Root, p string) (*patch.Change, string, error) {
	if secret(p) && !c.base.tracked[p] {
		return nil, whySecret, nil
	}
	if e, ok := c.base.Manifest.Find(p); ok && e.Size > MaxFile {
		return nil, whyOversize, nil
	}
	before, err := c.base.Read(p)
	if err != nil {
		return nil, "", err
	}
	after, err := readFile(root, p, MaxFile)
	if why := whyNot(err); why != "" || same(before, after) {
		return nil, why, nil
	}
	return &patch.Change{Path: p, Before: before, After: after}, "", nil
}

// whyNot puts a fault of readFile into the word of Omitted; empty for none.
func whyNot(err error) string {
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

// same reports whether a patch would have nothing to say.
func same(a, b *patch.File) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Mode.Type() == b.Mode.Type() && string(a.Data) == string(b.Data) &&
		(a.Mode.Type() == fs.ModeSymlink || a.Mode&0o100 == b.Mode&0o100)
}

var errOversize = errors.New("larger than a patch takes")

// readFile reads a file or symlink without following any link; nil where there is none. most is in bytes, 0 for no
// limit.
func readFile(root *os.Root, p string, most int64) (*patch.File, error) {
	info, err := lstat(root, p)
	if err != nil || info == nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return nil, nil
	case info.Mode().Type() == fs.ModeSymlink:
		text, err := root.Readlink(p)
		return &patch.File{Mode: fs.ModeSymlink | 0o777, Data: []byte(text)}, err
	case !info.Mode().IsRegular():
		return nil, errSpecial
	case most > 0 && info.Size() > most:
		return nil, errOversize
	}
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK
	f, err := root.OpenFile(p, flags, 0)
	if errors.Is(err, fs.ErrPermission) && root.Chmod(p, info.Mode().Perm()|0o400) == nil {
		f, err = root.OpenFile(p, flags, 0)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var from io.Reader = f
	if most > 0 {
		from = io.LimitReader(f, most+1)
	}
	data, err := io.ReadAll(from)
	if err == nil && most > 0 && int64(len(data)) > most {
		err = errOversize
	}
	return &patch.File{Mode: info.Mode().Perm(), Data: data}, err
}
