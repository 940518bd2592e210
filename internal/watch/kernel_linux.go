package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A kernel tells what happens in folders, by inotify. Its methods are called from one goroutine.
//
// It is not fsnotify because of folders that are moved: inotify gives a folder that is watched already, wherever it is
// now, the descriptor that it had. fsnotify goes on to report it by its old path, and may remove its watch meanwhile. Here
// the path of a descriptor is always the one that was watched last.
type kernel struct {
	events chan event
	faults chan error
	done   chan struct{}
	fd     int
	file   *os.File         // of fd, to read from
	dirs   map[int32]string // the folder of each watch descriptor
}

// An event is what the kernel says of a watched folder, or of something in it that has this name.
type event struct {
	wd   int32
	mask uint32
	name string
}

func openKernel() (*kernel, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	k := &kernel{
		events: make(chan event, 4096), faults: make(chan error, 1), done: make(chan struct{}),
		fd: fd, file: os.NewFile(uintptr(fd), "inotify"), dirs: map[int32]string{},
	}
	go k.read()
	return k, nil
}

func (k *kernel) close() error {
	close(k.done)
	return k.file.Close()
}

// read hands on events until close.
func (k *kernel) read() {
	buffer := make([]byte, 1<<16)
	for {
		n, err := k.file.Read(buffer)
		if err != nil {
			k.faults <- err // has room
			return
		}
		for b := buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
			number := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
			end := unix.SizeofInotifyEvent + int(number(12))
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
			select {
			case k.events <- event{wd: int32(number(0)), mask: number(4), name: string(name)}: //nolint:gosec // the kernel's int
			case <-k.done:
				return
			}
			b = b[end:]
		}
	}
}

// add watches a folder. That it is no folder, or none any more, is no error.
func (k *kernel) add(dir string) error {
	wd, err := unix.InotifyAddWatch(k.fd, dir, unix.IN_CREATE|unix.IN_MODIFY|unix.IN_ATTRIB|unix.IN_DELETE|
		unix.IN_MOVED_FROM|unix.IN_MOVED_TO|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
	switch {
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil
	case err != nil:
		return os.NewSyscallError("inotify_add_watch", err)
	}
	k.dirs[int32(wd)] = dir //nolint:gosec // the kernel's int
	return nil
}

// drop stops watching the folder that has a path, and all below it.
func (k *kernel) drop(dir string) {
	for wd, at := range k.dirs {
		if at == dir || strings.HasPrefix(at, dir+"/") {
			delete(k.dirs, wd)
			_, _ = unix.InotifyRmWatch(k.fd, uint32(wd)) //nolint:gosec // an error: the folder was removed
		}
	}
}

// take notes what an event says.
func (w *Watcher) take(e event) {
	dir, known := w.kernel.dirs[e.wd]
	at := filepath.Join(dir, e.name)
	folder := e.mask&unix.IN_ISDIR != 0
	switch {
	case e.mask&unix.IN_Q_OVERFLOW != 0: // folders may have come and gone
		w.lost = true
		w.kernel.drop(w.root)
		_ = w.add(w.root, false)
	case e.mask&unix.IN_IGNORED != 0:
		delete(w.kernel.dirs, e.wd)
	case !known || e.name == "":
	case folder && e.mask&unix.IN_MOVED_FROM != 0:
		w.kernel.drop(at)
		w.note(at)
	case e.mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		w.came(at)
	default:
		w.note(at)
	}
}
