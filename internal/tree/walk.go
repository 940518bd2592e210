// The walk: several workers share one stack of jobs. Every file is opened through its open folder, so that a symlink
// that appears meanwhile cannot lead out of the tree.

package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
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
)

// Options of a walk. The zero value takes everything but .git (a folder or a file, at any depth) and .async (at the
// root).
type Options struct {
	// Skip returns true to leave out path, and all below it if it is a folder. Such paths are not in Omitted. Calls
	// never overlap. It is not called for .git and the .async of the root, which are always left out.
	Skip func(path string, d fs.DirEntry) bool

	// Paths, when not nil, are the only paths taken (and the folders above them), whatever Skip says; absent ones
	// are left out silently. Of a path that ends in / (as git lists an untracked nested repository) all below is
	// taken, as far as Skip lets it.
	Paths []string

	// Known is an earlier walk of the same place: a file is not read again when device, inode, size, mtime and
	// ctime (ns) are the same and it was not touched since that walk began (git's rule for racily clean files).
	Known *Manifest
}

// Walk makes the manifest of root, which may itself be reached through a symlink. FIFOs, sockets, devices and
// unreadable files and folders are in Omitted. A file that changes while it is read is read again, three times in
// all; what vanishes meanwhile is left out.
func Walk(ctx context.Context, root string, o Options) (*Manifest, error) {
	only, err := selectPaths(o.Paths)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenFile(root, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("walk: %w", err)
	}
	return (&walk{ctx: ctx, o: o, only: only}).run(root, dir)
}

func (w *walk) run(root string, dir *os.File) (*Manifest, error) {
	w.ready.L = &w.mu
	m := &Manifest{start: time.Now().UnixNano()}
	w.push(&folder{file: dir, fd: int(dir.Fd()), all: w.only == nil})

	workers := make([]*worker, min(max(2, runtime.GOMAXPROCS(0)), 8))
	var wg sync.WaitGroup
	for i := range workers {
		workers[i] = &worker{walk: w}
		wg.Go(workers[i].work)
	}
	wg.Wait()
	if w.err != nil {
		return nil, fmt.Errorf("walk %s: %w", root, w.err)
	}
	m.merge(workers)
	return m, nil
}

// merge merges the results of the workers, each already sorted.
func (m *Manifest) merge(workers []*worker) {
	n := 0
	for _, h := range workers {
		n += len(h.found)
		m.Omitted = append(m.Omitted, h.omitted...)
	}
	m.Entries, m.facts = make([]Entry, 0, n), make([]fact, 0, n)
	for range n {
		var least *worker
		for _, h := range workers {
			if len(h.found) > 0 && (least == nil || h.found[0].Path < least.found[0].Path) {
				least = h
			}
		}
		m.Entries, m.facts = append(m.Entries, least.found[0].Entry), append(m.facts, least.found[0].fact)
		least.found = least.found[1:]
	}
	slices.SortFunc(m.Omitted, func(a, b Omitted) int { return strings.Compare(a.Path, b.Path) })
}

// A folder waits to be listed, or is open while jobs in it are left.
type folder struct {
	up   *folder // open until this one is
	name string  // in up
	path string  // "" for the root
	id   fact    // device and inode that the folder must still have when it is opened
	perm fs.FileMode
	all  bool // everything below is taken, not only Options.Paths
	file *os.File
	fd   int
	refs atomic.Int32 // work that needs file open
}

func (f *folder) join(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "/" + name
}

// release ends one use of the open folder.
func (f *folder) release() {
	if f.refs.Add(-1) == 0 {
		_ = f.file.Close() // it was only read
	}
}

// A job is a folder to open and list (names nil), or some names to look at in an open folder.
type job struct {
	in    *folder
	names []string
}

// A walk is the stack of jobs. Last in, first out: few folders are open at a time.
type walk struct {
	ctx  context.Context
	o    Options
	only *selection
	skip sync.Mutex // held while Skip is called
	seen func()     // for tests: called when a file has been read, before it is looked at again

	mu    sync.Mutex // guards what follows
	ready sync.Cond
	jobs  []job
	open  int // jobs pushed and not done
	err   error
}

func (w *walk) push(f *folder)                      { w.pushJobs([]job{{in: f}}) }
func (w *walk) pushNames(f *folder, names []string) { w.pushJobs([]job{{f, names}}) }

func (w *walk) pushJobs(jobs []job) {
	w.mu.Lock()
	w.jobs = append(w.jobs, jobs...)
	w.open += len(jobs)
	w.mu.Unlock()
	w.ready.Broadcast()
}

func (w *walk) next() (job, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.jobs) == 0 && w.open > 0 {
		w.ready.Wait()
	}
	if len(w.jobs) == 0 {
		return job{}, false
	}
	j := w.jobs[len(w.jobs)-1]
	w.jobs = w.jobs[:len(w.jobs)-1]
	return j, true
}

func (w *walk) done(err error) {
	w.mu.Lock()
	w.open--
	if err != nil && w.err == nil {
		w.err = err
	}
	last := w.open == 0
	w.mu.Unlock()
	if last {
		w.ready.Broadcast()
	}
}

// failed reports whether the remaining jobs must be dropped.
func (w *walk) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil
}

type item struct {
	Entry
	fact fact
}

// A worker does jobs and collects what it found.
type worker struct {
	*walk
	found   []*item
	omitted []Omitted
	buf     []byte
}

func (h *worker) work() {
	for {
		j, ok := h.next()
		if !ok {
			break
		}
		err := h.ctx.Err()
		switch {
		case h.failed():
			err = nil // reported already
			h.drop(j)
		case err != nil:
			h.drop(j)
		case j.names == nil:
			err = h.list(j.in)
		default:
			err = h.addNames(j.in, j.names)
			j.in.release()
		}
		h.done(err)
	}
	slices.SortFunc(h.found, func(a, b *item) int { return strings.Compare(a.Path, b.Path) })
}

// drop releases the folder of a job without doing it.
func (h *worker) drop(j job) {
	switch {
	case j.names != nil:
		j.in.release()
	case j.in.up != nil:
		j.in.up.release()
	default:
		_ = j.in.file.Close()
	}
}

// chunk is the number of names in a job: small enough that two workers share a flat folder.
const chunk = 64

// list opens a folder and pushes its names.
func (h *worker) list(f *folder) error {
	if f.up != nil {
		err := h.openFolder(f)
		f.up.release()
		if err != nil || f.file == nil {
			return err
		}
		h.found = append(h.found, &item{Entry: Entry{Path: f.path, Mode: fs.ModeDir | f.perm}})
	}
	f.refs.Store(1)
	defer f.release()
	if !f.all {
		h.pushChunks(f, h.only.below[f.path])
		return nil
	}
	for {
		names, err := f.file.Readdirnames(1024)
		h.pushChunks(f, names)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, fs.ErrNotExist):
			return nil
		case isResourceLimit(err):
			return err
		case err != nil:
			h.omit(f.path, "unreadable")
			return nil
		}
	}
}

func (h *worker) pushChunks(f *folder, names []string) {
	for part := range slices.Chunk(names, chunk) {
		f.refs.Add(1)
		h.pushNames(f, part)
	}
}

// openFolder opens f below its parent; f.file stays nil when it vanished or cannot be read.
func (h *worker) openFolder(f *folder) error {
	fd, err := openat(f.up.fd, f.name, unix.O_DIRECTORY)
	if err != nil {
		return h.openFailed(f.path, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if now := factOf(&st); err != nil || now.dev != f.id.dev || now.ino != f.id.ino {
		// It is another folder now, for which the caller's decision does not count.
		h.omit(f.path, "unreadable")
		return unix.Close(fd)
	}
	f.fd, f.file = fd, os.NewFile(uintptr(fd), f.path)
	return nil
}

// openFailed records why a path could not be opened.
func (h *worker) openFailed(path string, err error) error {
	switch {
	case vanished(err):
		return nil
	case isResourceLimit(err):
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	h.omit(path, "unreadable")
	return nil
}

func (h *worker) omit(path, why string) { h.omitted = append(h.omitted, Omitted{path, why}) }

// addNames takes the names of one open folder.
func (h *worker) addNames(f *folder, names []string) error {
	for _, name := range names {
		if err := h.ctx.Err(); err != nil {
			return err
		}
		if name == ".git" || name == ".async" && f.path == "" {
			continue
		}
		err := h.add(f, name)
		for try := 1; errors.Is(err, errReplaced); try++ {
			if try == maxReads {
				h.omit(f.join(name), "unreadable")
				err = nil
				break
			}
			err = h.add(f, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *worker) add(f *folder, name string) error {
	path := f.join(name)
	var st unix.Stat_t
	if err := fstatat(f.fd, name, &st); err != nil {
		return h.openFailed(path, err)
	}
	d := &dirEntry{name: name, stat: st}
	if f.all && h.isSkipped(path, d) {
		return nil
	}
	wanted := f.all || h.only.exact[path]
	switch {
	case d.IsDir():
		all := f.all || h.only.all[path]
		f.refs.Add(1)
		h.push(&folder{up: f, name: name, path: path, id: factOf(&st), perm: d.mode().Perm(), all: all})
	case !wanted: // a folder above a wanted path is no folder any more
	case d.Type() == fs.ModeSymlink:
		return h.addLink(f, name, path)
	case d.Type() == 0:
		return h.addFile(f, name, path, &st)
	default:
		h.omit(path, "special")
	}
	return nil
}

func (h *worker) isSkipped(path string, d fs.DirEntry) bool {
	if h.o.Skip == nil {
		return false
	}
	h.skip.Lock()
	defer h.skip.Unlock()
	return h.o.Skip(path, d)
}

func modeOf(st *unix.Stat_t) fs.FileMode {
	m := fs.FileMode(st.Mode) & fs.ModePerm
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	default:
		m |= fs.ModeDevice
	}
	return m
}

// A dirEntry is passed to Skip. It needs no other system call than the fstatat of the walk.
type dirEntry struct {
	name string
	stat unix.Stat_t
}

func (d *dirEntry) mode() fs.FileMode          { return modeOf(&d.stat) }
func (d *dirEntry) Name() string               { return d.name }
func (d *dirEntry) IsDir() bool                { return d.mode().IsDir() }
func (d *dirEntry) Type() fs.FileMode          { return d.mode().Type() }
func (d *dirEntry) Info() (fs.FileInfo, error) { return info{d}, nil }

type info struct{ *dirEntry }

func (i info) Size() int64        { return i.stat.Size }
func (i info) Mode() fs.FileMode  { return i.mode() }
func (i info) ModTime() time.Time { return time.Unix(0, i.stat.Mtim.Nano()) }
func (i info) Sys() any           { return &i.stat }

// A selection is Options.Paths as a tree of names.
type selection struct {
	below map[string][]string // folder → names to take in it
	exact map[string]bool     // named themselves, not only folders above
	all   map[string]bool     // named with a / at the end
}

// selectPaths returns nil when everything is wanted.
func selectPaths(paths []string) (*selection, error) {
	if paths == nil {
		return nil, nil
	}
	s := &selection{map[string][]string{}, map[string]bool{}, map[string]bool{}}
	known := map[string]bool{}
	for _, given := range paths {
		p := strings.TrimSuffix(given, "/")
		if !filepath.IsLocal(p) || path.Clean(p) != p || p == "." {
			return nil, fmt.Errorf("walk: path %q: want a path inside the tree", given)
		}
		s.exact[p] = true
		if p != given {
			s.all[p] = true
		}
		for !known[p] {
			known[p] = true
			dir, name := path.Split(p)
			dir = strings.TrimSuffix(dir, "/")
			s.below[dir] = append(s.below[dir], name)
			if dir == "" {
				break
			}
			p = dir
		}
	}
	return s, nil
}
