package cache

import (
	"time"

	"golang.org/x/sys/unix"
)

// mostTick bounds the wait: a kernel tick takes at most 10 ms.
const mostTick = 20 * time.Millisecond

// afterTick waits until the clock of the kernel's ticks has come to now, and returns its time in ns since 1970. The
// kernel stamps files with that clock or, since Linux 6.13, with a finer one: what was written before has an earlier
// time, and what is written from now on has this time or a later one. Where the clock stands still, it returns the
// clock's time after mostTick: then what was written before may count as written after, and never the other way round.
func afterTick() int64 { return after(time.Now(), coarse) }

func after(begun time.Time, clock func() int64) int64 {
	for ; ; time.Sleep(300 * time.Microsecond) {
		if now := clock(); now > begun.UnixNano() || time.Since(begun) > mostTick {
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
