// Copies the files of a plan with several workers. It never leaves the tree and never follows a symlink.

package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// chunk is the number of files in a batch.
const chunk = 128

// A batch is some files of one folder.
type batch struct {
	dir   string
	files []leaf
}

// A treeCopier copies a plan. mu guards what its workers collect.
type treeCopier struct {
	src, dst string
	root     *os.Root // of src
	sums     bool     // digests are wanted
	known    *known   // stat data of dst from an earlier copy; nil if dst is new
	prefix   string   // path of dst within known

	mu       sync.Mutex
	got      map[string][]copied // by folder; sorted by name at the end
	omitted  []tree.Omitted
	vanished []batch // one file each
	err      error
	folders  []folder // parents first, for finish
}

type folder struct {
	dir string
	was unix.Stat_t
}

// copyTree copies what p names from src to dst, an existing folder. finish sets modes and times of the folders.
func copyTree(ctx context.Context, src, dst string, p *plan) (*treeCopier, error) {
	c := &treeCopier{src: src, dst: dst}
	return c, c.run(ctx, p)
}

// run copies the files of p.
func (c *treeCopier) run(ctx context.Context, p *plan) (err error) {
	if c.root, err = os.OpenRoot(c.src); err != nil {
		return err
	}
	defer func() { _ = c.root.Close() }()
	c.got = make(map[string][]copied, len(p.files))
	var work []batch
	for _, dir := range append([]string{"."}, p.dirs...) {
		ok, err := c.makeFolder(dir)
		if err != nil {
			return err
		}
		if !ok {
			if c.known != nil && dir != "." { // remove what an earlier copy left
				if err := removeTree(filepath.Join(c.dst, dir)); err != nil {
					return err
				}
			}
			continue
		}
		for part := range slices.Chunk(c.skipUnchanged(dir, p.files[dir]), chunk) {
			work = append(work, batch{dir, part})
		}
	}
	c.all(ctx, work)
	// A file that an editor replaced may have been absent for a moment: try once more.
	again := c.vanished
	c.vanished = nil
	c.all(ctx, again)
	for _, files := range c.got {
		if !slices.IsSortedFunc(files, byName) {
			slices.SortFunc(files, byName)
		}
	}
	if c.err == nil {
		c.err = ctx.Err()
	}
	return c.err
}

func byName(a, b copied) int { return strings.Compare(a.Name, b.Name) }

// skipUnchanged records the files of a folder that need not be copied, and returns the others.
func (c *treeCopier) skipUnchanged(dir string, files []leaf) (rest []leaf) {
	for i, f := range files {
		if f.kept {
			if c.got[dir] == nil {
				c.got[dir] = make([]copied, 0, len(files)-i)
			}
			c.got[dir] = append(c.got[dir], *f.known)
		} else {
			rest = append(rest, f)
		}
	}
	return rest
}

// makeFolder makes dir in dst, writable for now. It returns false if dir is no longer a folder of the tree.
func (c *treeCopier) makeFolder(dir string) (bool, error) {
	var was unix.Stat_t
	if err := unix.Lstat(filepath.Join(c.src, dir), &was); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return false, nil
		}
		return false, &fs.PathError{Op: "lstat", Path: filepath.Join(c.src, dir), Err: err}
	}
	if was.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false, nil
	}
	if dir == "." {
		return true, nil
	}
	if err := os.Mkdir(filepath.Join(c.dst, dir), 0o700); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // the folder above went away after it was listed
			return false, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return false, err
		}
	}
	c.folders = append(c.folders, folder{dir, was})
	return true, nil
}

// all copies the batches with 2 to 8 workers.
func (c *treeCopier) all(ctx context.Context, work []batch) {
	if len(work) == 0 {
		return
	}
	queue := make(chan batch)
	var workers sync.WaitGroup
	for range min(max(2, runtime.NumCPU()), 8, len(work)) {
		workers.Go(func() {
			h := newFileCopier(c.sums)
			for part := range queue {
				c.portion(part, h)
			}
		})
	}
	for _, part := range work {
		if ctx.Err() != nil {
			break
		}
		queue <- part
	}
	close(queue)
	workers.Wait()
}

func (c *treeCopier) portion(part batch, h *fileCopier) {
	c.mu.Lock()
	failed := c.err != nil
	c.mu.Unlock()
	if failed {
		return
	}
	from, err := c.root.Open(part.dir)
	if err != nil {
		c.note(func() {
			for _, f := range part.files {
				c.missed(part.dir, f, err)
			}
		})
		return
	}
	defer func() { _ = from.Close() }()
	to, err := os.Open(filepath.Join(c.dst, part.dir))
	if err != nil {
		c.note(func() { c.err = err })
		return
	}
	defer func() { _ = to.Close() }()
	got := make([]copied, 0, len(part.files))
	missed := map[leaf]error{}
	was := c.known.folder(path.Join(c.prefix, part.dir))
	for _, f := range part.files {
		one, known := c.known.upToDate(int(from.Fd()), int(to.Fd()), was, f)
		if !known {
			one, err = c.leaf(h, int(from.Fd()), int(to.Fd()), f)
		}
		if known || err == nil {
			got = append(got, one)
		} else {
			missed[f] = err
		}
	}
	c.note(func() {
		c.got[part.dir] = append(c.got[part.dir], got...)
		for f, err := range missed {
			c.missed(part.dir, f, err)
		}
	})
}

// leaf copies one file, and replaces what an earlier copy left.
func (c *treeCopier) leaf(h *fileCopier, from, to int, f leaf) (copied, error) {
	if c.known != nil {
		if err := unix.Unlinkat(to, f.name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return copied{}, &writeError{err}
		}
	}
	return h.leaf(from, to, f)
}

func (c *treeCopier) note(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// missed records why a file was not copied. The caller must hold c.mu.
func (c *treeCopier) missed(dir string, f leaf, err error) {
	p := path.Join(dir, f.name)
	var why *writeError
	switch {
	case errors.As(err, &why):
		if c.err == nil {
			c.err = fmt.Errorf("copying %s to %s: %w", filepath.Join(c.src, p), c.dst, why.err)
		}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		c.vanished = append(c.vanished, batch{dir, []leaf{f}})
	case errors.Is(err, errSpecial):
		c.omitted = append(c.omitted, tree.Omitted{Path: p, Why: whySpecial})
	default:
		c.omitted = append(c.omitted, tree.Omitted{Path: p, Why: whyUnreadable})
	}
}

// finish sets modes and times of the folders, the deepest first.
func (c *treeCopier) finish() error {
	for _, f := range slices.Backward(c.folders) {
		at := filepath.Join(c.dst, f.dir)
		if err := os.Chmod(at, fs.FileMode(f.was.Mode&0o777)); err != nil {
			return err
		}
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, at, []unix.Timespec{f.was.Atim, f.was.Mtim},
			unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return &fs.PathError{Op: "utimes", Path: at, Err: err}
		}
	}
	return nil
}

// planAll plans to copy everything below root except paths for which skip returns true.
func planAll(root *os.Root, skip func(p string, d fs.DirEntry) bool) (*plan, error) {
	p := &plan{files: map[string][]leaf{}}
	var walk func(dir string) error
	walk = func(dir string) error {
		entries, err := list(root, dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			at := path.Join(dir, e.Name())
			if skip != nil && skip(at, e) {
				continue
			}
			if !e.IsDir() {
				p.add(dir, leaf{name: e.Name(), link: e.Type() == fs.ModeSymlink})
				continue
			}
			p.dirs = append(p.dirs, at)
			if err := walk(at); err != nil {
				return err
			}
		}
		return nil
	}
	return p, walk(".")
}

// list reads a folder without leaving root, sorted by name.
func list(root *os.Root, dir string) ([]fs.DirEntry, error) {
	f, err := openPlain(root, dir)
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	err = errors.Join(err, f.Close())
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// manifest returns the manifest of what was copied, without reading anything again.
func (c *treeCopier) manifest() *tree.Manifest {
	count := len(c.folders)
	below := map[string][]folder{}
	for _, f := range c.folders {
		below[path.Dir(f.dir)] = append(below[path.Dir(f.dir)], f)
	}
	for _, files := range c.got {
		count += len(files)
	}
	m := &tree.Manifest{Entries: make([]tree.Entry, 0, count)}
	c.list(m, ".", below)
	return m
}

// list adds what is in dir, in the order of paths: "a", "a-b", "a/c". Files are sorted by name already, so only the
// folders are sorted.
func (c *treeCopier) list(m *tree.Manifest, dir string, below map[string][]folder) {
	type step struct {
		key string // name of a folder; with a slash, the position of what is in it
		folder
	}
	var steps []step
	for _, f := range below[dir] {
		name := path.Base(f.dir)
		steps = append(steps, step{name, f}, step{name + "/", f})
	}
	slices.SortFunc(steps, func(a, b step) int { return strings.Compare(a.key, b.key) })
	files := c.got[dir]
	for len(files) > 0 || len(steps) > 0 {
		if len(steps) == 0 || len(files) > 0 && files[0].Name < steps[0].key {
			f := files[0]
			files = files[1:]
			m.Entries = append(m.Entries, tree.Entry{
				Path: path.Join(dir, f.Name), Mode: f.Mode, Size: f.To.Size, Digest: f.Digest, Link: f.Link,
			})
			continue
		}
		s := steps[0]
		steps = steps[1:]
		if strings.HasSuffix(s.key, "/") {
			c.list(m, s.dir, below)
		} else {
			m.Entries = append(m.Entries, tree.Entry{Path: s.dir, Mode: fs.ModeDir | fs.FileMode(s.was.Mode&0o777)})
		}
	}
}
