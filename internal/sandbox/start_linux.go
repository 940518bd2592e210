package sandbox

// Starting the command from its supervisor: directly without a tier, through an entrant that confines itself with one.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// start gives the process id of the command and a channel with what the entrant had to say: nothing when it became
// the command. Its error is a *missing, a *refusal or one of the kernel.
func start(s spec) (pid int, entered <-chan message, err error) {
	if s.Tier != None {
		return startEntrant(s)
	}
	nothing := make(chan message)
	close(nothing)
	path, err := locate(s)
	if err != nil {
		return 0, nothing, err
	}
	pid, err = forkExec(path, s.Argv, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) {
			return 0, nothing, err
		}
		m := notExecuted(path, err)
		complain(m)
		return 0, nothing, m
	}
	return pid, nothing, nil
}

// locate checks the directory and finds the program.
func locate(s spec) (string, error) {
	if info, err := os.Stat(s.Dir); err != nil {
		return "", &refusal{text: fmt.Sprintf("directory of the command: %v", err)}
	} else if !info.IsDir() {
		return "", &refusal{text: fmt.Sprintf("directory of the command: %s is not a directory", s.Dir)}
	}
	path, err := find(s.Argv[0], s.Dir, s.Env)
	var m *missing
	if errors.As(err, &m) {
		complain(m)
	}
	return path, err
}

// complain writes to the command's own stderr, as a shell would.
func complain(m *missing) { _, _ = syscall.Write(2, []byte(m.text+"\n")) }

// busyFor bounds the wait for a program that somebody still holds open for writing. Any program that forks while it
// writes a script makes that happen for a moment.
const busyFor = 100 * time.Millisecond

func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	for end := time.Now().Add(busyFor); ; time.Sleep(time.Millisecond) {
		pid, err = syscall.ForkExec(path, argv, attr)
		if !errors.Is(err, syscall.ETXTBSY) || time.Now().After(end) {
			return pid, err
		}
	}
}

// startEntrant starts the process that makes the namespace and the fence around itself.
func startEntrant(s spec) (int, <-chan message, error) {
	ours, theirs, err := controlPair()
	if err != nil {
		return 0, nil, err
	}
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if s.Tier == View {
		sys.Cloneflags = unix.CLONE_NEWNS
		if !mayMount() {
			sys.Cloneflags |= unix.CLONE_NEWUSER
			sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
			sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
			// Only these survive the execution of a program by somebody who is not root.
			sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
		}
	}
	pid, err := syscall.ForkExec(helperExe, []string{helperName, roleEntrant}, &syscall.ProcAttr{
		Env: s.Marks, Files: []uintptr{0, 1, 2, theirs.Fd()}, Sys: sys,
	})
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		if sys.Cloneflags != 0 {
			return 0, nil, &refusal{"cannot make a mount namespace: " + err.Error(), true}
		}
		return 0, nil, err
	}
	entered := make(chan message, 1)
	go func() {
		var m message
		_, _ = ours.Write(encode(s.wire()))
		_ = json.NewDecoder(ours).Decode(&m) // EOF: it is the command now
		_ = ours.Close()
		entered <- m
	}()
	return pid, entered, nil
}

// mayMount says whether this process may make a mount namespace without a user namespace.
func mayMount() bool {
	var data [2]unix.CapUserData
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return os.Geteuid() == 0
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}
