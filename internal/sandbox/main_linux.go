package sandbox

// The re-executions of this program, and how they are recognized.

import (
	"bytes"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// The arguments of a helper. A process with these and a socket at controlFD is not started by accident.
const (
	helperName     = "async-pipeline-sandbox"
	roleSupervisor = "supervisor" // see supervise
	roleInner      = "inner"      // see enter
	roleLender     = "lender"     // see lend
	controlFD      = 3
	helperExe      = "/proc/self/exe"
)

// exitBroken is the exit code of a helper that cannot work.
const exitBroken = 125

// A helper does its work here and never gets to main: the many packages that are initialised after this one are none
// of its business, and a command waits for it. So every program that imports this package can be its own helper. Only
// before main can the main goroutine be locked to the main thread.
func init() {
	role := helperRole()
	if role != roleSupervisor && role != roleInner && role != roleLender {
		return
	}
	runtime.LockOSThread()
	// The command must not inherit descriptors that this program inherited by mistake.
	if err := unix.CloseRange(controlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		unix.CloseOnExec(controlFD)
	}
	if role == roleSupervisor {
		supervise()
	}
	control := os.NewFile(controlFD, "control")
	s, err := readSpec(control)
	if err != nil {
		syscall.Exit(exitBroken)
	}
	if role == roleLender {
		lend(s)
	}
	enter(control, s)
	syscall.Exit(0)
}

// helperRole returns the role of this process if it is a helper, else "".
func helperRole() string {
	if domain, err := unix.GetsockoptInt(controlFD, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil ||
		domain != unix.AF_UNIX {
		return ""
	}
	args, err := os.ReadFile("/proc/self/cmdline")
	if err != nil {
		return ""
	}
	role, ok := bytes.CutPrefix(args, []byte(helperName+"\x00"))
	if !ok {
		return ""
	}
	return string(bytes.TrimSuffix(role, []byte{0}))
}

// controlPair makes a control socket: our end, and the end that a helper inherits.
func controlPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // so that a goroutine waits for it, not a thread
		_ = unix.Close(fds[0])
		_ = unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}
