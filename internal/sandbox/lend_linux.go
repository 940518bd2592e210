package sandbox

// The copy of a box as its commands see it, for a part of this program that works on its files.

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenCopy opens the top of b.Copy. Where b.Base is set the files are those that commands in the box see, through a
// mount that is attached nowhere: it is gone when the root, and everything opened through it, is closed, so also when
// this process is killed. Until then no command may run in the box, because the kernel does not define what two
// overlays with one upper folder show. Each box makes its overlay anew: a kernel attaches the clone of a mount that
// another namespace made only if it is very new, and for an ordinary user never.
//
// The name of the root is a path that means nothing to anybody else.
func (b Box) OpenCopy() (*os.Root, error) {
	if b.Base == "" {
		return os.OpenRoot(b.Copy)
	}
	m := mount{Lower: []string{Resolved(b.Base)}, Upper: Resolved(b.Copy), Work: Resolved(b.Work)}
	borrow := func() (int, error) { return b.borrow(m) }
	if mayMount() {
		borrow = m.overlay
	}
	fd, err := borrow()
	if err != nil {
		return nil, fmt.Errorf("cannot make the overlay of %s: %w", b.Copy, err)
	}
	defer func() { _ = unix.Close(fd) }() // the root has a descriptor of its own
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return nil, fmt.Errorf("cannot open the overlay of %s: %w", b.Copy, p.Err)
	}
	return root, err
}

// borrow lets a process in namespaces of its own, where an ordinary user may mount, make the overlay m. That process
// has exited when borrow returns.
func (b Box) borrow(m mount) (fd int, err error) {
	if err := adopt(); err != nil {
		return -1, err
	}
	ours, theirs, err := controlPair()
	if err != nil {
		return -1, err
	}
	defer func() { _ = ours.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return -1, errors.Join(err, theirs.Close())
	}
	defer func() { _ = null.Close() }()

	supervisors.RLock() // it is no stray, see sweep
	defer supervisors.RUnlock()
	runtime.LockOSThread() // the death of the thread that started it would kill it
	defer runtime.UnlockOSThread()
	proc, err := os.StartProcess(helperExe, []string{helperName, roleLender}, &os.ProcAttr{
		Dir: "/", Env: b.marks(), Files: []*os.File{null, null, null, theirs},
		Sys: namespaces(startMounts | startUsers),
	})
	_ = theirs.Close() // so that the socket ends with that process
	if err != nil {
		return -1, fmt.Errorf("cannot make a mount namespace: %w", err)
	}
	if err = sendSpec(ours, spec{Mounts: []mount{m}}); err == nil {
		var said []byte
		if fd, said, err = receive(ours); fd < 0 && len(said) > 0 {
			err = errors.New(string(said))
		}
	}
	_, werr := proc.Wait()
	if err != nil {
		return -1, errors.Join(err, werr)
	}
	return fd, nil
}

// receive returns a descriptor that a helper sends, or what it says instead.
func receive(ours *os.File) (fd int, said []byte, err error) {
	raw, err := ours.SyscallConn()
	if err != nil {
		return -1, nil, err
	}
	b := inbox{}
	text := make([]byte, 4<<10)
	n := 0
	rerr := raw.Read(func(s uintptr) bool {
		var oobn int
		for {
			n, oobn, _, _, err = unix.Recvmsg(int(s), text, b.oob[:], unix.MSG_CMSG_CLOEXEC)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if err == nil {
			b.accept(b.oob[:oobn])
		}
		return !errors.Is(err, unix.EAGAIN)
	})
	switch {
	case len(b.fds) == 1:
		return b.fds[0], nil, nil
	case n > 0:
		return -1, text[:n], nil
	}
	return -1, nil, errors.Join(errors.New("the process that makes it was killed"), rerr, err)
}

// lend makes an overlay, sends its descriptor, or why there is none, and exits.
func lend(s spec) {
	fd, err := s.Mounts[0].overlay()
	text, rights := []byte{0}, []byte(nil)
	if err != nil {
		text = []byte(err.Error())
	} else {
		rights = unix.UnixRights(fd)
	}
	if err := unix.Sendmsg(controlFD, text, rights, nil, unix.MSG_NOSIGNAL); err != nil {
		syscall.Exit(exitBroken)
	}
	syscall.Exit(0)
}
