package sandbox

import (
	"os"
	"strings"
	"sync"
)

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
})

var self = sync.OnceValue(func() Stamp {
	s := Stamp{PID: os.Getpid(), Boot: bootID()}
	if st, ok := readStat(s.PID); ok {
		s.Start = st.start
	}
	return s
})

// Self is the stamp of this process.
func Self() Stamp { return self() }

// Alive says whether that very process still runs. A zombie does not.
func (s Stamp) Alive() bool {
	if s.PID <= 0 || s.Boot != bootID() {
		return false
	}
	st, ok := readStat(s.PID)
	return ok && st.start == s.Start && st.alive()
}
