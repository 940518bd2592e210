package sandbox

// The inner process confines itself and then becomes the command. The supervisor starts it, for View in a mount
// namespace of its own. If it cannot become the command, it sends a refusal.

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func enter(control *os.File, s spec) {
	runtime.LockOSThread() // the fence and the capabilities belong to the thread that executes the command
	refuse := func(err error) {
		r := &refusal{Text: err.Error()}
		_ = errors.As(err, &r)
		r.send(control)
		syscall.Exit(exitBroken)
	}
	if s.Tier != None {
		if err := confine(s); err != nil {
			refuse(err)
		}
	}
	if s.Probe != nil {
		if err := s.Probe.try(); err != nil {
			refuse(&refusal{leaks + err.Error(), true})
		}
		syscall.Exit(0)
	}
	path, err := locate(s.Argv[0], s.Dir, s.Env)
	if m, ok := errors.AsType[*missing](err); ok {
		m.complain()
	}
	if err == nil {
		err = os.Chdir(s.Dir)
	}
	if err != nil {
		refuse(err)
	}
	// Changed credentials may have cleared it, and the supervisor may have ended before it was set again.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil ||
		os.Getppid() != s.Parent {
		syscall.Exit(exitBroken)
	}
	if s.Seen { // last: the runner looks at each path from here on
		if err := sendListener(observe()); err != nil {
			syscall.Exit(exitBroken)
		}
	}
	for end := time.Now().Add(busyFor); ; time.Sleep(time.Millisecond) {
		err = syscall.Exec(path, s.Argv, s.Env)
		if !errors.Is(err, syscall.ETXTBSY) || time.Now().After(end) {
			break
		}
	}
	notExecuted(path, err).complain()
}

// complain writes to the command's own stderr, as a shell would, and exits.
func (m *missing) complain() {
	_, _ = syscall.Write(2, []byte(m.text+"\n"))
	syscall.Exit(m.code)
}

// confine makes the box. Mounts need capabilities, so they come first, and the fence last.
func confine(s spec) error {
	if s.Tier == View {
		if err := mountView(s); err != nil {
			return err
		}
	}
	rules, err := fence(s.Write)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(rules) }()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return &refusal{"cannot give up new privileges: " + err.Error(), true}
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := raise(rules); err != nil {
		return err
	}
	return filter()
}
