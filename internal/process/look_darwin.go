package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func boot() string {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return unknown
	}
	return fmt.Sprintf("%d-%d", tv.Sec, tv.Usec)
}

// look returns when a process began, and whether it is a zombie; known is false if the system does not tell.
func look(pid int) (start uint64, ended, known bool) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return 0, false, false
	}
	const zombie = 5 // SZOMB of sys/proc.h
	return uint64(p.Proc.P_starttime.Sec)*1e6 + uint64(p.Proc.P_starttime.Usec), p.Proc.P_stat == zombie, true
}
