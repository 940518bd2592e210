package cache

import (
	"time"

	"golang.org/x/sys/unix"
)

// mostTick is more than a tick of any kernel takes.
const mostTick = 20 * time.Millisecond

// afterTick waits until the clock of the kernel's ticks has come to now, which takes it a tick (1 to 10 ms) at most, and returns its
// time in ns since 1970. The kernel stamps files with that clock or, since Linux 6.13, with a finer one: what was written before has an
// earlier time, and what is written from now on has this time or a later one.
func afterTick() int64 {
	begun := time.Now()
	for ; ; time.Sleep(300 * time.Microsecond) {
		if now := coarse(); now > begun.UnixNano() || time.Since(begun) > mostTick {
			return now
		}
	}
}

func coarse() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
		return time.Now().UnixNano()
	}
	return now.Nano()
}
