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
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// chunk is the number of files in a batch.
const chunk = 128

// A batch is some files of one folder.
type batch struct {
	dir   string
	files []leaf
}

// A treeCopier copies a plan. Every folder is opened once, in its open parent, so no symlink is followed, and no path
// is too long. mu guards what its workers collect.
type treeCopier struct {
	src, dst string
	sums     bool   // digests are wanted
	loose    bool   // modes and times of the folders do not matter
	newer    int64  // without a plan, files that were last written earlier are left out, ns since 1970
	known    *known // stat data of dst from an earlier copy; nil if dst is new
	prefix   string // path of dst within known

	tree.Stack[copyJob]
	ctx   context.Context
	plan  *plan               // nil: all that is in src
	below map[string][]string // names of the folders in each folder of plan
	held  atomic.Int32        // pairs kept open for folders in them

	mu       sync.Mutex
	got      map[string][]copied // by folder; sorted by name at the end
	omitted  []tree.Omitted
	vanished []batch // one file each, or a folder
	folders  []folder
}

type folder struct {
	dir string
	was unix.Stat_t
}

// A pair is a folder of the source and its copy. Both are open from enter until refs is zero.
type pair struct {
	up       *pair  // an open one above; nil for the top
	name     string // relative to up
	dir      string // "." for the top
	from, to *os.File
	was      unix.Stat_t
	holds    bool // counted in held
	refs     atomic.Int32
}

// A copyJob is a folder to open, or some files of an open one to copy.
type copyJob struct {
	in    *pair
	files []leaf
}

// copyTree copies what p names, or everything where it is nil, from src to dst, an existing folder.
func copyTree(ctx context.Context, src, dst string, p *plan) (*treeCopier, error) {
	c := &treeCopier{src: src, dst: dst}
	return c, c.run(ctx, p)
}

// run copies the files of p with 2 to 8 workers.
func (c *treeCopier) run(ctx context.Context, p *plan) error {
	c.ctx, c.plan, c.got = ctx, p, map[string][]copied{}
	if p != nil {
		c.got, c.below = make(map[string][]copied, len(p.files)), make(map[string][]string, len(p.dirs))
		for _, dir := range p.dirs {
			up := path.Dir(dir)
			c.below[up] = append(c.below[up], path.Base(dir))
		}
	}
	from, err := os.Open(c.src)
	if err != nil {
		return err
	}
	to, err := os.Open(c.dst)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	c.Push(copyJob{in: &pair{dir: ".", from: from, to: to}})
	var workers sync.WaitGroup
	for range min(max(2, runtime.NumCPU()), 8) {
		workers.Go(func() {
			var h *fileCopier
			c.Work(func(j copyJob, stopped bool) error {
				if h == nil {
					h = newFileCopier(c.ctx, c.sums)
				}
				return c.do(j, stopped, h)
			})
		})
	}
	workers.Wait()
	for _, files := range c.got {
		if !slices.IsSortedFunc(files, byName) {
			slices.SortFunc(files, byName)
		}
	}
	return c.Err()
}

func byName(a, b copied) int { return strings.Compare(a.Name, b.Name) }

// do does one job. After an error or the end of ctx it only closes what is open.
func (c *treeCopier) do(j copyJob, stopped bool, h *fileCopier) error {
	err := c.ctx.Err()
	stopped = stopped || err != nil
	switch {
	case j.files != nil && stopped:
	case j.files != nil:
		err = c.copyFiles(j.in, j.files, h)
	case stopped && j.in.up != nil:
		return errors.Join(err, c.release(j.in.up))
	case stopped:
		j.in.refs.Store(1)
	default:
		return c.enter(j.in)
	}
	return errors.Join(err, c.release(j.in))
}

// release closes a pair that nobody needs any more. Modes and times are set then, because the copy has everything.
func (c *treeCopier) release(p *pair) error {
	if p.refs.Add(-1) > 0 {
		return nil
	}
	if p.holds {
		c.held.Add(-1)
	}
	var err error
	if p.up != nil && !c.isLate(p.dir) {
		err = c.seal(int(p.to.Fd()), ".", p.dir, &p.was)
	}
	return errors.Join(err, p.from.Close(), p.to.Close())
}

// isLate reports whether something is written to the copy of a folder after the files were copied. finish seals it.
func (c *treeCopier) isLate(dir string) bool { return c.loose || c.plan != nil && c.plan.nested[dir] }

// seal sets mode and times of the folder that has the given name in the open folder at. dir is its path.
func (c *treeCopier) seal(at int, name, dir string, was *unix.Stat_t) error {
	err := unix.UtimesNanoAt(at, name, []unix.Timespec{was.Atim, was.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && was.Mode&0o777 != 0o700 {
		err = unix.Fchmodat(at, name, uint32(was.Mode&0o777), 0) //nolint:unconvert // the mode is narrower on darwin
	}
	if err != nil {
		return &fs.PathError{Op: "set mode and times", Path: filepath.Join(c.dst, dir), Err: err}
	}
	return nil
}

// enter opens one folder, makes those in it, and pushes what is to be done there.
func (c *treeCopier) enter(p *pair) error {
	if p.up != nil {
		err := c.open(p)
		if p.from == nil {
			return errors.Join(err, c.release(p.up))
		}
	}
	p.refs.Store(1)
	jobs, err := c.jobs(p)
	if err == nil {
		c.Push(jobs...)
	}
	if p.up != nil {
		err = errors.Join(err, c.release(p.up))
	}
	return errors.Join(err, c.release(p))
}

// open opens a folder and its copy. p.from stays nil if it is no longer a folder of the tree, or cannot be read.
func (c *treeCopier) open(p *pair) error {
	from, err := openBelow(int(p.up.from.Fd()), p.name)
	if err != nil {
		return c.skip(p.dir, err)
	}
	to, err := openBelow(int(p.up.to.Fd()), p.name)
	if err == nil {
		if err = unix.Fstat(from, &p.was); err != nil {
			_ = unix.Close(to)
		}
	}
	if err != nil {
		_ = unix.Close(from)
		return &fs.PathError{Op: "open", Path: filepath.Join(c.dst, p.dir), Err: err}
	}
	p.from, p.to = os.NewFile(uintptr(from), p.dir), os.NewFile(uintptr(to), p.dir)
	c.note(func() { c.folders = append(c.folders, folder{p.dir, p.was}) })
	return nil
}

// skip removes the copy of a folder that cannot be opened.
func (c *treeCopier) skip(dir string, why error) error {
	gone := unixat.IsNotExist(why) || errors.Is(why, unix.ELOOP)
	switch {
	case gone && c.plan == nil:
		c.note(func() { c.vanished = append(c.vanished, batch{dir: dir}) })
	case gone:
	case errors.Is(why, fs.ErrPermission):
		c.note(func() { c.omitted = append(c.omitted, tree.Omitted{Path: dir, Why: whyUnreadable}) })
	default:
		return &fs.PathError{Op: "open", Path: filepath.Join(c.src, dir), Err: why}
	}
	return removeTree(filepath.Join(c.dst, dir))
}

// jobs returns what is to be done in an open folder, whose subfolders it makes. What comes last is done first.
func (c *treeCopier) jobs(p *pair) (jobs []copyJob, err error) {
	var names []string
	var files []leaf
	if c.plan != nil {
		names, files = c.below[p.dir], c.skipUnchanged(p.dir, c.plan.files[p.dir])
	} else if names, files, err = c.entries(p); err != nil {
		return nil, err
	}
	up, prefix := p, ""
	if p.up != nil && c.held.Load() >= mostHeld {
		up, prefix = p.up, p.name+"/"
	}
	for _, name := range slices.Backward(names) {
		dir := path.Join(p.dir, name)
		err := unix.Mkdirat(int(p.to.Fd()), name, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, &fs.PathError{Op: "mkdir", Path: filepath.Join(c.dst, dir), Err: err}
		}
		if c.isDone(dir) {
			if err := c.passBy(p, name, dir); err != nil {
				return nil, err
			}
			continue
		}
		jobs = append(jobs, copyJob{in: &pair{up: up, name: prefix + name, dir: dir}})
	}
	if p.holds = up == p && len(jobs) > 0; p.holds {
		c.held.Add(1)
	}
	up.refs.Add(int32(len(jobs))) //nolint:gosec // no folder holds so many
	for part := range slices.Chunk(files, chunk) {
		p.refs.Add(1)
		jobs = append(jobs, copyJob{p, part})
	}
	return jobs, nil
}

// entries returns the folders and the other files in an open folder.
func (c *treeCopier) entries(p *pair) (names []string, files []leaf, err error) {
	entries, err := p.from.ReadDir(-1)
	for _, e := range entries {
		switch {
		case e.IsDir():
			names = append(names, e.Name())
		case e.Type() == 0 && c.newer > 0 && isOlder(int(p.from.Fd()), e.Name(), c.newer):
		default:
			files = append(files, leaf{name: e.Name(), link: e.Type() == fs.ModeSymlink})
		}
	}
	return names, files, err
}

// isOlder reports whether a file of an open folder was last written before a time, in ns since 1970.
func isOlder(dir int, name string, newer int64) bool {
	var st unix.Stat_t
	return unixat.Stat(dir, name, &st) == nil && st.Mtim.Nano() < newer
}

// CopyFolder copies what is in the folder from to the folder to, which is there: the files that were written at newer
// or later, all folders, and all symlinks as such. What vanishes meanwhile or cannot be read is left out, and so are
// files that are neither. There are no hard links: somebody could write through them.
func CopyFolder(ctx context.Context, from, to string, newer time.Time) error {
	c := &treeCopier{src: from, dst: to}
	if newer.Unix() > 0 {
		c.newer = newer.UnixNano()
	}
	return c.run(ctx, nil)
}

// skipUnchanged records the files of a folder that need not be copied, and returns the others.
func (c *treeCopier) skipUnchanged(dir string, files []leaf) (rest []leaf) {
	var got []copied
	for _, f := range files {
		if f.kept {
			got = append(got, *f.known)
		} else {
			rest = append(rest, f)
		}
	}
	if len(got) > 0 {
		c.note(func() { c.got[dir] = got })
	}
	return rest
}

// isDone reports whether nothing below a folder needs to be copied, so that it need not be opened.
func (c *treeCopier) isDone(dir string) bool {
	return c.plan != nil && len(c.below[dir]) == 0 &&
		!slices.ContainsFunc(c.plan.files[dir], func(f leaf) bool { return !f.kept })
}

// passBy records the folder of that name in p, for which isDone returned true.
func (c *treeCopier) passBy(p *pair, name, dir string) error {
	var was unix.Stat_t
	err := unixat.Stat(int(p.from.Fd()), name, &was)
	if err == nil && was.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	if err != nil {
		return c.skip(dir, err)
	}
	c.note(func() { c.folders = append(c.folders, folder{dir, was}) })
	c.skipUnchanged(dir, c.plan.files[dir])
	if c.isLate(dir) {
		return nil
	}
	return c.seal(int(p.to.Fd()), name, dir, &was)
}

// copyFiles copies some files of an open folder.
func (c *treeCopier) copyFiles(p *pair, files []leaf, h *fileCopier) error {
	from, to := int(p.from.Fd()), int(p.to.Fd())
	was := c.known.folder(path.Join(c.prefix, p.dir))
	got := make([]copied, 0, len(files))
	var omitted []tree.Omitted
	for try := range 2 {
		var vanished []leaf
		for _, f := range files {
			one, known := c.known.upToDate(from, to, was, f)
			var err error
			if !known {
				one, err = c.leaf(h, from, to, f)
			}
			var why *writeError
			switch {
			case err == nil:
				got = append(got, one)
			case c.ctx.Err() != nil: // in the middle of a file
				return c.ctx.Err()
			case errors.As(err, &why):
				return fmt.Errorf("copying %s to %s: %w", filepath.Join(c.src, p.dir, f.name), c.dst, why.err)
			case unixat.IsNotExist(err):
				vanished = append(vanished, f)
			case errors.Is(err, errSpecial):
				omitted = append(omitted, tree.Omitted{Path: path.Join(p.dir, f.name), Why: whySpecial})
			default:
				omitted = append(omitted, tree.Omitted{Path: path.Join(p.dir, f.name), Why: whyUnreadable})
			}
		}
		if files = vanished; len(files) == 0 {
			break
		}
		if try == 0 { // a file that an editor replaces may be absent for a moment
			time.Sleep(time.Millisecond)
		}
	}
	c.note(func() {
		c.got[p.dir] = append(c.got[p.dir], got...)
		c.omitted = append(c.omitted, omitted...)
		for _, f := range files {
			c.vanished = append(c.vanished, batch{p.dir, []leaf{f}})
		}
	})
	return nil
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

// finish sets modes and times of the folders that were left out, the deepest first.
func (c *treeCopier) finish() error {
	slices.SortFunc(c.folders, func(a, b folder) int { return strings.Compare(b.dir, a.dir) })
	for _, f := range c.folders {
		if c.isLate(f.dir) {
			if err := c.seal(unix.AT_FDCWD, filepath.Join(c.dst, f.dir), f.dir, &f.was); err != nil {
				return err
			}
		}
	}
	return nil
}

// planAll plans to copy everything below root except paths for which skip returns true.
func planAll(ctx context.Context, root *os.Root, skip func(p string, d fs.DirEntry) bool) (*plan, error) {
	p := &plan{files: map[string][]leaf{}}
	s := &folderWalk{ctx: ctx, root: root, orderly: true, theirs: true}
	s.each = func(dir string, _ int, entries []fs.DirEntry) (below []string, err error) {
		for _, e := range entries {
			at := path.Join(dir, e.Name())
			switch {
			case skip(at, e):
			case e.IsDir():
				p.dirs = append(p.dirs, at)
				below = append(below, e.Name())
			default:
				p.add(dir, leaf{name: e.Name(), link: e.Type() == fs.ModeSymlink})
			}
		}
		return below, nil
	}
	closed, err := s.run()
	if err == nil && len(closed) > 0 {
		err = &fs.PathError{Op: "open", Path: filepath.Join(root.Name(), closed[0]), Err: fs.ErrPermission}
	}
	return p, err
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
