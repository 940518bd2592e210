package record

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A stamp is a process that can be told from a later one with the same id. Where /proc is missing, Start and Boot are
// empty and the id alone decides.
type stamp struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // field 22 of /proc/<pid>/stat, in clock ticks since boot
	Boot  string `json:"boot"`  // /proc/sys/kernel/random/boot_id
}

func self() stamp {
	pid := os.Getpid()
	return stamp{PID: pid, Start: startOf(pid), Boot: boot()}
}

// alive says whether that very process still runs. In doubt it does: nothing is taken from a live one.
func (s stamp) alive() bool {
	if s.PID <= 0 || s.Boot != boot() {
		return false
	}
	if err := syscall.Kill(s.PID, 0); err == syscall.ESRCH {
		return false
	}
	now := startOf(s.PID)
	return now == 0 || s.Start == 0 || now == s.Start
}

func boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// startOf gives 0 where it cannot be known.
func startOf(pid int) uint64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The second field is the program's name in brackets; it may hold spaces and brackets itself.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(fields[19], 10, 64)
	return n
}
