// A walk over the folders of a copy: several workers, each folder reached through the open one above it, no symlink followed.

package scratch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
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

	mu     sync.Mutex
	ready  sync.Cond
	stack  []*place // last in, first out: few folders are open at a time
	open   int      // folders on the stack or in hand
	closed []string // folders that cannot be read, whatever we try
	err    error
}

// walkFolders gives each every folder below root, and lists, sorted, those that could not be read.
func walkFolders(ctx context.Context, root *os.Root, each func(dir string, fd int, entries []fs.DirEntry) ([]string, error)) ([]string, error) {
	s := &sweep{ctx: ctx, root: root, each: each}
	s.ready.L = &s.mu
	s.push(&place{path: "."})
	var workers sync.WaitGroup
	for range min(max(2, runtime.GOMAXPROCS(0)), 8) {
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
		s.mu.Lock()
		s.closed = append(s.closed, p.path)
		s.mu.Unlock()
		return nil
	}
	p.file = f
	p.refs.Store(1)
	defer p.release()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return err
	}
	below, err := s.each(p.path, int(f.Fd()), entries)
	if err != nil {
		return err
	}
	if len(below) == 0 {
		return nil
	}
	places := make([]*place, len(below))
	for i, name := range below {
		places[i] = &place{up: p, name: name, path: path.Join(p.path, name)}
	}
	p.refs.Add(int32(len(places))) //nolint:gosec // no folder holds so many
	s.push(places...)
	return nil
}

// openFolder opens a folder of the copy; an agent may have closed it.
func (s *sweep) openFolder(p *place) (*os.File, error) {
	open := func() (*os.File, error) {
		if p.up == nil {
			return s.root.Open(".")
		}
		const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
		fd, err := unix.Openat(int(p.up.file.Fd()), p.name, flags, 0)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: p.path, Err: err}
		}
		return os.NewFile(uintptr(fd), p.path), nil
	}
	f, err := open()
	if errors.Is(err, fs.ErrPermission) && s.root.Chmod(p.path, 0o700) == nil {
		return open()
	}
	return f, err
}
