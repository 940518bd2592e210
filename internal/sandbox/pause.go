package sandbox

// The person's ^Z: what runs here is stopped with the program, and the clocks of the commands stand still.

import (
	"sync"
	"sync/atomic"
	"time"
)

// gate is held for reading while a command is started, and for writing between Suspend and Resume.
var gate sync.RWMutex

// pause says when the commands were stopped. began and total are nanoseconds after origin, and together.
var pause struct {
	sync.Mutex
	suspended bool
	began     atomic.Int64 // 0: they run
	total     atomic.Int64
}

var origin = time.Now()

// Suspend stops every process that Boxes of this program run (SIGSTOP), for when the person has stopped the program
// (^Z). Resume lets them go on. Timeouts do not count the time between the two, and no command is started in it:
// what calls Run waits for Resume.
func Suspend() {
	pause.Lock()
	defer pause.Unlock()
	if pause.suspended {
		return
	}
	pause.suspended = true
	gate.Lock()
	pause.began.Store(int64(max(1, time.Since(origin))))
	stopAll()
}

// Resume undoes Suspend.
func Resume() {
	pause.Lock()
	defer pause.Unlock()
	if !pause.suspended {
		return
	}
	goOnAll()
	pause.total.Add(int64(time.Since(origin)) - pause.began.Swap(0))
	gate.Unlock()
	pause.suspended = false
}

// Awake returns a clock that stands still between Suspend and Resume. What it shows says nothing; how much it went
// on does.
func Awake() time.Duration {
	for {
		total, began := pause.total.Load(), pause.began.Load()
		now := time.Since(origin)
		if pause.total.Load() != total || pause.began.Load() != began {
			continue
		}
		if began != 0 {
			now = time.Duration(began)
		}
		return now - time.Duration(total)
	}
}
