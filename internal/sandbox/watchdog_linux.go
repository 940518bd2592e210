package sandbox

// The runner ends a tree itself if the supervisor has not done it in time.

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Both together must be below one second.
	patience = 700 * time.Millisecond // how long a supervisor may take to end a tree after SIGKILL was due
	idleFor  = 150 * time.Millisecond // a supervisor that reaps nothing and does not answer for so long has failed
)

// A watchdog ends one tree if its supervisor does not. It kills descendants of the supervisor, or of this process once
// the supervisor was killed.
type watchdog struct {
	mu     sync.Mutex
	timer  *time.Timer
	calmed bool         // calm was called
	due    time.Time    // when SIGKILL is due, after stop or after the end of the command; zero: not yet known
	struck map[int]bool // living processes that were killed here
}

// within makes SIGKILL due after d, unless it is due earlier.
func (t *tree) within(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	due := time.Now().Add(d)
	if t.calmed || !t.due.IsZero() && t.due.Before(due) {
		return
	}
	t.due = due
	if t.timer == nil {
		t.timer = time.AfterFunc(d+patience, t.bite)
	} else {
		t.timer.Reset(d + patience)
	}
}

// calm stops the watchdog, because the tree was reported or its supervisor has exited. It returns whether SIGKILL was
// due, and the processes that were killed.
func (t *tree) calm() (due bool, struck map[int]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calmed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	return !t.due.IsZero(), t.struck
}

// bite kills the tree. A supervisor that still works can make its report; one that has failed, or reports nothing
// although no process dies any more, is killed, and then orphaned cleans up.
func (t *tree) bite() {
	worked, before := time.Now(), -1
	var alives decline
	ping := t.link.ping()
	for {
		began := time.Now()
		left, alive, gone := t.strike()
		if gone {
			return
		}
		if alive > 0 || left != before {
			worked, before = time.Now(), left
		}
		if t.link.ponged(ping) {
			worked, ping = time.Now(), t.link.ping()
		}
		if time.Since(worked) > idleFor || alives.stuck(alive) {
			t.link.signal(syscall.SIGKILL)
			return
		}
		time.Sleep(max(pollTerm, 2*time.Since(began)))
	}
}

// strike kills the visible processes of the tree. It returns how many there were, zombies included, and how many of
// them were alive. gone means that the watchdog was stopped.
func (t *tree) strike() (left, alive int, gone bool) {
	t.link.life.RLock()
	defer t.link.life.RUnlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calmed || t.link.waited {
		return 0, 0, true
	}
	pids := t.link.below(t)
	for _, p := range living(pids) {
		t.struck[p] = true
		alive++
	}
	signalAll(pids, syscall.SIGKILL)
	return len(pids), alive, false
}

// below returns the descendants of the supervisor that belong to t. The caller must have locked life.
func (l *link) below(t *tree) []int {
	if l.alone {
		return descendants(l.pid)
	}
	var roots []int
	for _, p := range children(l.pid) {
		if readTag(p) == tagOf(l.pid, t.id) {
			roots = append(roots, p)
		}
	}
	return append(roots, descendants(roots...)...)
}

// sweep kills the processes that this process inherited from killed supervisors: its children in another session and
// their descendants. It returns those that were alive, with their tags, and the number of those that did not exit.
func sweep() (found map[int]uint64, stuck int) {
	supervisors.Lock()
	defer supervisors.Unlock()
	found = map[int]uint64{}
	var there decline
	for quiet := 0; quiet < 3; {
		left := strays()
		stuck = len(left)
		if stuck == 0 {
			quiet++
		} else {
			quiet = 0
		}
		for _, p := range left {
			// By id, never -1: this program may have other children.
			tag := readTag(p) // works for a zombie, too
			var ws syscall.WaitStatus
			if q, _ := syscall.Wait4(p, &ws, syscall.WNOHANG, nil); q == p {
				if ws.Signal() == syscall.SIGKILL { // by us, or by the death of its supervisor (PDEATHSIG)
					found[p] = tag
				}
				continue
			}
			pids := append(descendants(p), p)
			for _, q := range living(pids) {
				found[q] = readTag(q)
			}
			signalAll(pids, syscall.SIGKILL)
		}
		if there.stuck(stuck) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return found, stuck
}

func strays() []int {
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	var left []int
	for _, p := range children(os.Getpid()) {
		if _, supervisor := supervisors.ids.Load(p); supervisor {
			continue
		}
		if st, ok := readStat(p); ok && st.parent == os.Getpid() && st.session != own {
			left = append(left, p)
		}
	}
	return left
}
