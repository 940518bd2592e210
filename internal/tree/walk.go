// The walk. Every file is opened through its open folder, so that a symlink that appears meanwhile cannot lead out of
// the tree.

package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// Options of a walk. The zero value takes everything but .git (a folder or a file, at any depth) and .async (at the
// root).
type Options struct {
	// Skip returns true to leave out path, and all below it if it is a folder. Such paths are not in Omitted. Several
	// goroutines call it. It is not called for .git and the .async of the root, which are always left out.
	Skip func(path string, isDir bool) bool

	// Known is an earlier walk of the same place: a file is not read again when device, inode, size, mtime and
	// ctime (ns) are the same and it was not touched since that walk began (git's rule for racily clean files). The
	// manifest of the walk may share its entries: they must not be changed.
	Known *Manifest

	// Most is how many bytes a file may have that is read, 0 for any number. One with more is in Omitted.
	Most int64

	// Only are the paths to walk, each with all below it, nil for all. The folders on the way to one are listed in the
	// manifest, without what else is in them. What is not there is left out.
	Only []string
}

// Walk makes the manifest of root, which may itself be reached through a symlink. FIFOs, sockets, devices and
// unreadable files and folders are in Omitted. A file that changes while it is read is read again, three times in
// all; what vanishes meanwhile is left out.
func Walk(ctx context.Context, root string, o Options) (*Manifest, error) {
	dir, err := os.OpenFile(root, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("walk: %w", err)
	}
	return (&walk{ctx: ctx, o: o, ways: waysTo(o.Only)}).run(root, dir)
}

// waysTo returns the names to look at in each folder that is on the way to one of paths, and not below one.
func waysTo(paths []string) map[string][]string {
	if paths == nil || slices.Contains(paths, "") {
		return nil
	}
	ways, seen := map[string][]string{}, map[string]bool{}
	for _, p := range outermost(paths) {
		for !seen[p] && p != "" {
			seen[p] = true
			dir, name := "", p
			if i := strings.LastIndexByte(p, '/'); i >= 0 {
				dir, name = p[:i], p[i+1:]
			}
			ways[dir] = append(ways[dir], name)
			p = dir
		}
	}
	return ways
}

// outermost returns paths without those that are below others.
func outermost(paths []string) []string {
	in := map[string]bool{}
	for _, p := range paths {
		in[p] = true
	}
	var all []string
	for p := range in {
		up := p
		for i := strings.LastIndexByte(up, '/'); i >= 0; i = strings.LastIndexByte(up, '/') {
			if up = up[:i]; in[up] {
				break
			}
		}
		if up == p || !in[up] {
			all = append(all, p)
		}
	}
	return all
}

func (w *walk) run(root string, dir *os.File) (*Manifest, error) {
	m := &Manifest{start: time.Now().UnixNano()}
	if w.known = w.o.Known; w.known == nil || len(w.known.facts) != len(w.known.Entries) {
		w.known = &Manifest{}
	}
	if w.ways != nil && len(w.ways) == 0 {
		return m, dir.Close()
	}
	w.Push(job{in: &folder{file: dir, fd: int(dir.Fd()), to: len(w.known.Entries)}})
	n := min(max(2, runtime.GOMAXPROCS(0)), 8)
	if w.ways != nil && w.known.count(w.o.Only) < 2*chunk { // others would hardly have started
		n = 1
	}
	workers := make([]*worker, n)
	var wg sync.WaitGroup
	for i := range workers {
		if workers[i] = (&worker{walk: w}); i > 0 {
			wg.Go(workers[i].work)
		}
	}
	workers[0].work()
	wg.Wait()
	if err := w.Err(); err != nil {
		return nil, fmt.Errorf("walk %s: %w", root, err)
	}
	m.merge(w.known, workers)
	return m, nil
}

// merge merges the results of the workers. What each of them found anew is sorted already.
func (m *Manifest) merge(known *Manifest, workers []*worker) {
	anew, first, end := 0, len(known.Entries), 0
	for _, h := range workers {
		anew += len(h.found)
		for _, i := range h.same {
			first, end = min(first, i), max(end, i+1)
		}
		m.Omitted, m.Repos = append(m.Omitted, h.omitted...), append(m.Repos, h.repos...)
	}
	slices.SortFunc(m.Omitted, func(a, b Omitted) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(m.Repos)
	kept := 0
	same := make([]bool, max(0, end-first)) // of the entries of known from first to end
	for _, h := range workers {
		for _, i := range h.same {
			if !same[i-first] { // a folder that changes may list a name twice
				same[i-first] = true
				kept++
			}
		}
	}
	if anew == 0 && kept == len(known.Entries) {
		m.Entries, m.facts = known.Entries, known.facts
		return
	}
	m.Entries, m.facts, m.Anew = make([]Entry, 0, anew+kept), make([]fact, 0, anew+kept), make([]int, 0, anew)
	for i := first; len(m.Entries) < anew+kept; {
		for i < end && !same[i-first] {
			i++
		}
		var least *worker
		for _, h := range workers {
			if len(h.found) > 0 && (least == nil || h.found[0].Path < least.found[0].Path) {
				least = h
			}
		}
		if i < end && (least == nil || known.Entries[i].Path < least.found[0].Path) {
			m.Entries, m.facts = append(m.Entries, known.Entries[i]), append(m.facts, known.facts[i])
			i++
			continue
		}
		m.Anew = append(m.Anew, len(m.Entries))
		m.Entries, m.facts = append(m.Entries, least.found[0].Entry), append(m.facts, least.found[0].fact)
		least.found = least.found[1:]
	}
}

// A folder waits to be listed, or is open while jobs in it are left.
type folder struct {
	up   *folder // open until this one is
	name string  // in up
	path string  // "" for the root
	id   fact    // device and inode that the folder must still have when it is opened
	perm fs.FileMode
	file *os.File
	fd   int
	refs atomic.Int32 // work that needs file open

	at       int // its entry in the walk that is known; -1: it has none
	from, to int // the range there of the entries that are below it
}

func (f *folder) join(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "/" + name
}

// place returns the first entry of known below f whose path is not less than that of name in f. have is whether it is that
// path.
func (f *folder) place(known *Manifest, name string) (i int, have bool) {
	if f.from == f.to {
		return f.from, false
	}
	skip := 0
	if f.path != "" {
		skip = len(f.path) + 1
	}
	i, have = slices.BinarySearchFunc(known.Entries[f.from:f.to], name,
		func(e Entry, name string) int { return strings.Compare(e.Path[skip:], name) })
	return f.from + i, have
}

// release ends one use of the open folder.
func (f *folder) release() {
	if f.refs.Add(-1) == 0 {
		_ = f.file.Close() // it was only read
	}
}

// A job is a folder to open and list (names nil), or some names in an open folder to add.
type job struct {
	in    *folder
	names []string
}

// A walk is what the workers share.
type walk struct {
	Stack[job]
	ctx   context.Context
	o     Options
	known *Manifest           // the one of o; empty where it has no stat data
	ways  map[string][]string // see waysTo; nil for everything
	seen  func()              // for tests: called when a file has been read, before its stat data are compared
}

type item struct {
	Entry
	fact fact
}

// A worker does jobs and collects what it found.
type worker struct {
	*walk
	same    []int   // the entries of known that are as they were
	found   []*item // what is not among them
	omitted []Omitted
	repos   []string
	buf     []byte
}

func (h *worker) work() {
	h.Work(h.do)
	slices.SortFunc(h.found, func(a, b *item) int { return strings.Compare(a.Path, b.Path) })
}

func (h *worker) do(j job, stopped bool) error {
	if err := h.ctx.Err(); stopped || err != nil {
		h.drop(j)
		return err
	}
	if j.names == nil {
		return h.list(j.in)
	}
	defer j.in.release()
	return h.addNames(j.in, j.names)
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
		h.take(f.at, &item{Entry: Entry{Path: f.path, Mode: fs.ModeDir | f.perm}})
	}
	f.refs.Store(1)
	defer f.release()
	if names, ok := h.ways[f.path]; ok {
		f.refs.Add(1)
		h.Push(job{f, names})
		return nil
	}
	for {
		names, err := f.file.Readdirnames(1024)
		for part := range slices.Chunk(names, chunk) {
			f.refs.Add(1)
			h.Push(job{f, part})
		}
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

// openFolder opens f below its parent; f.file stays nil when it vanished or cannot be read.
func (h *worker) openFolder(f *folder) error {
	fd, err := unixat.Open(f.up.fd, f.name, unix.O_DIRECTORY)
	if err != nil {
		return h.openFailed(f.path, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if now := factOf(&st); err != nil || now.Dev != f.id.Dev || now.Ino != f.id.Ino {
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
	case unixat.IsNotExist(err):
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
		if name == ".git" && f.path != "" {
			h.repos = append(h.repos, f.path)
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
	var path string
	at, have := f.place(h.known, name)
	if have {
		path = h.known.Entries[at].Path
	} else {
		path, at = f.join(name), -1
	}
	var st unix.Stat_t
	if err := unixat.Stat(f.fd, name, &st); err != nil {
		return h.openFailed(path, err)
	}
	mode := modeOf(&st)
	switch {
	case h.o.Skip != nil && h.o.Skip(path, mode.IsDir()):
	case mode.IsDir():
		f.refs.Add(1)
		below := &folder{up: f, name: name, path: path, id: factOf(&st), perm: mode.Perm(), at: at}
		below.from, _ = f.place(h.known, name+"/")
		below.to, _ = f.place(h.known, name+"0") // 0 follows /
		h.Push(job{in: below})
	case mode.Type() == fs.ModeSymlink:
		return h.addLink(f, name, path, at)
	case mode.IsRegular() && h.o.Most > 0 && st.Size > h.o.Most:
		h.omit(path, "oversize")
	case mode.IsRegular():
		return h.addFile(f, name, path, at, &st)
	default:
		h.omit(path, "special")
	}
	return nil
}

// take adds what was found at a path. at is the entry of known that has this path; -1: there is none.
func (h *worker) take(at int, it *item) {
	if at >= 0 && h.known.Entries[at] == it.Entry && h.known.facts[at] == it.fact {
		h.same = append(h.same, at)
		return
	}
	h.found = append(h.found, it)
}

func modeOf(st *unix.Stat_t) fs.FileMode {
	m := fs.FileMode(st.Mode) & fs.ModePerm
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	default:
		m |= fs.ModeIrregular
	}
	return m
}
