package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe. Our end is one that goroutines wait for; the child's, which blocks, is never waited for here.
func pipe(weWrite bool) (ours, child *os.File, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	mine, mode := 0, unix.O_RDONLY
	if weWrite {
		mine, mode = 1, unix.O_WRONLY
	}
	if _, err := unix.FcntlInt(uintptr(p[mine]), unix.F_SETFL, mode|unix.O_NONBLOCK); err != nil {
		_, _ = unix.Close(p[0]), unix.Close(p[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(p[mine]), "|0"), os.NewFile(uintptr(p[1-mine]), "|1"), nil
}

// widen makes the pipe hold as much as it can. Where that is refused it stays as it is.
func (o *output) widen() {
	raw, err := o.pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeMax) })
}
