package sandbox

// ^Z: the running commands and their clocks are stopped with the program.

import (
	"sync"
	"sync/atomic"
	"time"
)

// starting is locked for reading while a command is started, and for writing between Suspend and Resume.
var starting sync.RWMutex

// pause has the times at which the commands were stopped. began is in ns since origin, total in ns.
var pause struct {
	sync.Mutex
	suspended bool
	began     atomic.Int64 // 0: they run
	total     atomic.Int64
}

var origin = time.Now()

// Suspend stops every process of the commands of this program (SIGSTOP), when a person stops the program (^Z). Resume
// continues them. Timeouts do not count the time in between, and no command is started: Run waits for Resume.
func Suspend() {
	pause.Lock()
	defer pause.Unlock()
	if pause.suspended {
		return
	}
	pause.suspended = true
	starting.Lock()
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
	starting.Unlock()
	pause.suspended = false
}

// Awake returns the time of a clock that is stopped between Suspend and Resume. Only differences are meaningful.
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
