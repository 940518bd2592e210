// Package process identifies a process, so that a later one with the same id is not taken for it, not even after a
// restart of the machine.
package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// A Stamp identifies one process.
type Stamp struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // Linux: field 22 of /proc/<pid>/stat, in clock ticks since boot; macOS: microseconds since 1970; 0: not known
	Boot  string `json:"boot"`  // which start of the machine; Linux: /proc/sys/kernel/random/boot_id
}

// unknown is the boot if the system does not tell it.
const unknown = "unknown"

var self = sync.OnceValue(func() Stamp {
	s := Stamp{PID: os.Getpid(), Boot: boot()}
	s.Start, _, _ = look(s.PID)
	return s
})

// Self returns the stamp of this process.
func Self() Stamp { return self() }

// Alive reports whether that process still runs. A zombie does not. When the system does not tell, the answer is true.
func (s Stamp) Alive() bool {
	if s.PID <= 0 || s.Boot != self().Boot {
		return false
	}
	start, ended, known := look(s.PID)
	switch {
	case ended:
		return false
	case known && s.Start != 0:
		return start == s.Start
	}
	return syscall.Kill(s.PID, 0) != syscall.ESRCH
}

// String returns <pid>.<start>.<boot>.
func (s Stamp) String() string { return fmt.Sprintf("%d.%d.%s", s.PID, s.Start, s.Boot) }

// Parse reads the result of String; ok is false for anything else.
func Parse(text string) (s Stamp, ok bool) {
	pid, rest, ok1 := strings.Cut(text, ".")
	start, boot, ok2 := strings.Cut(rest, ".")
	if !ok1 || !ok2 || boot == "" {
		return Stamp{}, false
	}
	var err1, err2 error
	s.PID, err1 = strconv.Atoi(pid)
	s.Start, err2 = strconv.ParseUint(start, 10, 64)
	s.Boot = boot
	if err1 != nil || err2 != nil || s.PID <= 0 {
		return Stamp{}, false
	}
	return s, true
}

// TempName returns how the names begin of temporary files and folders of this process, for os.CreateTemp and
// os.MkdirTemp: with prefix. MakerOf tells later whether they are still in use.
func TempName(prefix string) string { return prefix + Self().String() + "-" }

// MakerOf returns the process that a name of TempName(prefix) is of, to which anything was appended that has no hyphen;
// ok is false for any other name.
func MakerOf(name, prefix string) (maker Stamp, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 {
		return Stamp{}, false
	}
	return Parse(rest[:i])
}
