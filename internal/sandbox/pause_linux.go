package sandbox

import (
	"syscall"
	"time"
)

// stopping bounds how long stopAll waits for processes that do not stop: those that wait for a disk cannot.
const stopping = 200 * time.Millisecond

// stopAll stops what the supervisors have in their care, not them: they hear when the runner is gone. A stopped
// process starts none, so that after some rounds there is no new one.
func stopAll() {
	supervisors.ids.Range(func(_, v any) bool {
		l := v.(*link)
		// What was asked for is to be started now.
		ping := l.ping()
		for end := time.Now().Add(idleFor); !l.ponged(ping) && time.Now().Before(end); {
			time.Sleep(100 * time.Microsecond)
		}
		seen := map[int]bool{}
		for end := time.Now().Add(stopping); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if l.signalBelow(syscall.SIGSTOP, seen) {
				break
			}
		}
		return true
	})
}

// goOnAll undoes stopAll.
func goOnAll() {
	supervisors.ids.Range(func(_, v any) bool {
		v.(*link).signalBelow(syscall.SIGCONT, map[int]bool{})
		return true
	})
}

// signalBelow signals processes not seen before. It reports whether there were none and all are stopped.
func (l *link) signalBelow(sig syscall.Signal, seen map[int]bool) (still bool) {
	l.life.RLock()
	defer l.life.RUnlock()
	if l.waited {
		return true
	}
	still = true
	for _, p := range descendants(l.pid) {
		if !seen[p] {
			seen[p] = true
			still = false
			signalAll([]int{p}, sig)
			continue
		}
		if st, ok := readStat(p); ok && st.alive() && st.state != 'T' && st.state != 't' {
			still = false
		}
	}
	return still
}
