package sandbox

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

var bootID = sync.OnceValue(func() string {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%d-%d", tv.Sec, tv.Usec)
})

// started is when a process began, in microseconds since 1970.
func started(pid int) (start uint64, ok bool) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid || p.Proc.P_stat == 5 { // 5: SZOMB
		return 0, false
	}
	return uint64(p.Proc.P_starttime.Sec)*1e6 + uint64(p.Proc.P_starttime.Usec), true
}

var self = sync.OnceValue(func() Stamp {
	start, _ := started(os.Getpid())
	return Stamp{PID: os.Getpid(), Start: start, Boot: bootID()}
})

// Self is the stamp of this process.
func Self() Stamp { return self() }

// Alive says whether that very process still runs. A zombie does not.
func (s Stamp) Alive() bool {
	start, ok := started(s.PID)
	return ok && s.Boot == bootID() && start == s.Start
}
