// A walk over folders with several workers. Each folder is opened through its open parent, so no symlink is followed.

package scratch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// mostHeld is how many folders of a walk are kept open for those in them. What is below further ones is opened from a
// folder higher up.
const mostHeld = 100

// A pendingFolder waits to be opened, or is kept open while folders in it wait.
type pendingFolder struct {
	up   *pendingFolder
	name string // relative to up
	path string // "." for the top
	file *os.File
	held bool // counted in folderWalk.held
	refs atomic.Int32
}

// A folderWalk is one walk.
type folderWalk struct {
	tree.Stack[*pendingFolder]
	ctx  context.Context
	root *os.Root
	// each is called for every open folder and returns which of its folders to enter. Several goroutines call it.
	each func(dir string, fd int, entries []fs.DirEntry) (below []string, err error)
	// theirs: the folders belong to the tree, or to processes that work in them. No mode is changed, and one that cannot be listed counts as closed.
	theirs bool
	// orderly: one worker, and everything in the order of names.
	orderly bool

	held   atomic.Int32 // folders kept open for those in them
	mu     sync.Mutex
	closed []string // folders that cannot be read; guarded by mu
}

// walkFolders calls each for every folder below root, and returns those that could not be read, sorted. It changes
// their modes where that helps.
func walkFolders(ctx context.Context, root *os.Root, each func(dir string, fd int, entries []fs.DirEntry) ([]string, error)) ([]string, error) {
	s := &folderWalk{ctx: ctx, root: root, each: each}
	return s.run()
}

func (s *folderWalk) run() ([]string, error) {
	s.Push(&pendingFolder{path: "."})
	count := min(max(2, runtime.GOMAXPROCS(0)), 8)
	if s.orderly {
		count = 1
	}
	var workers sync.WaitGroup
	for range count {
		workers.Go(func() { s.Work(s.do) })
	}
	workers.Wait()
	slices.Sort(s.closed)
	return s.closed, s.Err()
}

func (s *folderWalk) do(p *pendingFolder, stopped bool) error {
	defer s.release(p.up)
	if err := s.ctx.Err(); stopped || err != nil {
		return err
	}
	return s.enter(p)
}

func (s *folderWalk) release(p *pendingFolder) {
	if p != nil && p.refs.Add(-1) == 0 {
		if p.held {
			s.held.Add(-1)
		}
		_ = p.file.Close() // read only
	}
}

// enter lists one folder and pushes those in it.
func (s *folderWalk) enter(p *pendingFolder) error {
	f, err := s.openFolder(p)
	switch {
	case err == nil:
	case p.up == nil, errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		s.shut(p)
		return nil
	}
	p.file = f
	p.refs.Store(1)
	defer s.release(p)
	entries, err := f.ReadDir(-1)
	if err != nil {
		if s.theirs && p.up != nil {
			s.shut(p)
			return nil
		}
		return err
	}
	if s.orderly {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	below, err := s.each(p.path, int(f.Fd()), entries)
	if err != nil {
		return err
	}
	if len(below) == 0 {
		return nil
	}
	slices.Reverse(below) // the last one is walked first
	up, prefix := p, ""
	if p.up != nil && s.held.Load() >= mostHeld {
		up, prefix = p.up, p.name+"/"
	} else {
		p.held = true
		s.held.Add(1)
	}
	places := make([]*pendingFolder, len(below))
	for i, name := range below {
		places[i] = &pendingFolder{up: up, name: prefix + name, path: path.Join(p.path, name)}
	}
	up.refs.Add(int32(len(places))) //nolint:gosec // no folder holds so many
	s.Push(places...)
	return nil
}

// shut records a folder that cannot be read.
func (s *folderWalk) shut(p *pendingFolder) {
	s.mu.Lock()
	s.closed = append(s.closed, p.path)
	s.mu.Unlock()
}

// openFolder opens a folder, and lets its files be found. An agent may have removed its permissions. The file does not
// belong to an os.Root, because listing such a file calls lstat for every name in it.
func (s *folderWalk) openFolder(p *pendingFolder) (*os.File, error) {
	open := func() (*os.File, error) {
		if p.up == nil {
			return openPlain(s.root, ".")
		}
		fd, err := openBelow(int(p.up.file.Fd()), p.name)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: p.path, Err: err}
		}
		return os.NewFile(uintptr(fd), filepath.Join(s.root.Name(), p.path)), nil // its entries' Info needs the path
	}
	f, err := open()
	switch {
	case s.theirs:
	case err == nil:
		letSearch(int(f.Fd()))
	case errors.Is(err, fs.ErrPermission) && s.root.Chmod(p.path, 0o700) == nil:
		return open()
	}
	return f, err
}

// letSearch adds search permission to an open folder. Without it the folder can be listed, and its files look gone.
func letSearch(fd int) {
	var now unix.Stat_t
	if unix.Fstat(fd, &now) == nil && now.Mode&0o100 == 0 {
		_ = unix.Fchmod(fd, uint32(now.Mode&0o777|0o700)) //nolint:unconvert // the mode is narrower on darwin
	}
}

// openBelow opens a folder whose path is relative to the open folder at. It follows no symlink.
func openBelow(at int, name string) (int, error) {
	for top := at; ; {
		first, rest, more := strings.Cut(name, "/")
		fd, err := unixat.Open(at, first, unix.O_DIRECTORY|unix.O_NONBLOCK)
		if at != top {
			_ = unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, name = fd, rest
	}
}

// openPlain opens a folder below root as a file that does not belong to an os.Root.
func openPlain(root *os.Root, dir string) (*os.File, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), filepath.Join(root.Name(), dir)), nil //nolint:gosec // no negative number
}
