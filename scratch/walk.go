// A walk over the folders of a copy: several workers, each folder reached through the open one above it, no symlink
// followed.

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
)

// A place is a folder that waits to be opened, or is open while folders in it wait.
type place struct {
	up   *place
	name string // in up
	path string // "." for the top
	file *os.File
	refs atomic.Int32
}

func (p *place) release() {
	if p != nil && p.refs.Add(-1) == 0 {
		_ = p.file.Close() // it was only read
	}
}

// A sweep is one walk. What its workers share stands under mu.
type sweep struct {
	ctx  context.Context
	root *os.Root
	// each is given every folder, open, and says which of its folders are entered. Several goroutines call it at once.
	each func(dir string, fd int, entries []fs.DirEntry) (below []string, err error)
	// theirs: the folders are not ours. No mode is changed, and one that cannot be listed is closed too.
	theirs bool
	// orderly: one worker, folders and what is in them by name.
	orderly bool

	mu     sync.Mutex
	ready  sync.Cond
	stack  []*place // last in, first out: few folders are open at a time
	open   int      // folders on the stack or in hand
	closed []string // folders that cannot be read, whatever we try
	err    error
}

// walkFolders returns each every folder below root, a folder of ours, and lists, sorted, those that could not be read.
func walkFolders(ctx context.Context, root *os.Root, each func(dir string, fd int, entries []fs.DirEntry) ([]string, error)) ([]string, error) {
	s := &sweep{ctx: ctx, root: root, each: each}
	return s.run()
}

func (s *sweep) run() ([]string, error) {
	s.ready.L = &s.mu
	s.push(&place{path: "."})
	count := min(max(2, runtime.GOMAXPROCS(0)), 8)
	if s.orderly {
		count = 1
	}
	var workers sync.WaitGroup
	for range count {
		workers.Go(s.work)
	}
	workers.Wait()
	slices.Sort(s.closed)
	return s.closed, s.err
}

func (s *sweep) push(places ...*place) {
	s.mu.Lock()
	s.stack = append(s.stack, places...)
	s.open += len(places)
	s.mu.Unlock()
	s.ready.Broadcast()
}

func (s *sweep) work() {
	for {
		s.mu.Lock()
		for len(s.stack) == 0 && s.open > 0 {
			s.ready.Wait()
		}
		if len(s.stack) == 0 {
			s.mu.Unlock()
			return
		}
		p := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		failed := s.err != nil
		s.mu.Unlock()

		err := s.ctx.Err()
		if err == nil && !failed {
			err = s.enter(p)
		}
		p.up.release()

		s.mu.Lock()
		if err != nil && s.err == nil {
			s.err = err
		}
		s.open--
		last := s.open == 0
		s.mu.Unlock()
		if last {
			s.ready.Broadcast()
		}
	}
}

// enter lists one folder and pushes those in it.
func (s *sweep) enter(p *place) error {
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
	defer p.release()
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
	slices.Reverse(below) // the last is taken first
	places := make([]*place, len(below))
	for i, name := range below {
		places[i] = &place{up: p, name: name, path: path.Join(p.path, name)}
	}
	p.refs.Add(int32(len(places))) //nolint:gosec // no folder holds so many
	s.push(places...)
	return nil
}

// shut notes a folder that cannot be read.
func (s *sweep) shut(p *place) {
	s.mu.Lock()
	s.closed = append(s.closed, p.path)
	s.mu.Unlock()
}

// openFolder opens a folder; an agent may have closed one of the copy. No file is of an os.Root: listing one looks
// at every name in it.
func (s *sweep) openFolder(p *place) (*os.File, error) {
	open := func() (*os.File, error) {
		const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
		if p.up == nil {
			return openPlain(s.root, ".")
		}
		fd, err := unix.Openat(int(p.up.file.Fd()), p.name, flags, 0)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: p.path, Err: err}
		}
		return os.NewFile(uintptr(fd), p.path), nil
	}
	f, err := open()
	if !s.theirs && errors.Is(err, fs.ErrPermission) && s.root.Chmod(p.path, 0o700) == nil {
		return open()
	}
	return f, err
}

// openPlain opens a folder below root as a file that is of no os.Root.
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
