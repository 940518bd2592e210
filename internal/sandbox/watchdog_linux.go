package sandbox

// What the runner does itself when a supervisor does not: each order has a date by which the tree is to be dead.

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// In both, the whole is to be below one second.
	patience = 700 * time.Millisecond // what a supervisor has to end a tree, after SIGKILL was due
	idleFor  = 150 * time.Millisecond // a supervisor that reaps nothing and does not answer for so long does not work
)

// A watchdog watches over the end of one tree. It kills by parentage: whatever the supervisor has in its care descends
// from it, or, when it is killed, from this process.
type watchdog struct {
	mu     sync.Mutex
	late   *time.Timer
	calmed bool
	due    time.Time    // when SIGKILL is due: by an order, or because the command has ended
	struck map[int]bool // the living that were killed here
}

// within reports that SIGKILL is due after d, if it is not due before.
func (t *tree) within(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	due := time.Now().Add(d)
	if t.calmed || !t.due.IsZero() && t.due.Before(due) {
		return
	}
	t.due = due
	if t.late == nil {
		t.late = time.AfterFunc(d+patience, t.bite)
	} else {
		t.late.Reset(d + patience)
	}
}

// calm ends the watching: the tree was reported, or its supervisor is gone. It gives whether SIGKILL was due, and who
// was killed.
func (t *tree) calm() (due bool, struck map[int]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calmed = true
	if t.late != nil {
		t.late.Stop()
	}
	return !t.due.IsZero(), t.struck
}

// bite ends the tree by this process's own hand. A supervisor that still works is left to make its report; one that
// does not is killed, and then follow sweeps. So is one that has nothing to say after a long time.
func (t *tree) bite() {
	start := time.Now()
	worked, before := start, -1
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
		if time.Since(worked) > idleFor || time.Since(start) > giveUp {
			_ = t.link.proc.Kill()
			return
		}
		time.Sleep(max(pollTerm, 2*time.Since(began)))
	}
}

// strike kills what can be seen of the tree: so many are left, zombies too, and so many of them lived. It is gone when
// that is no longer this watchdog's work.
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

// below returns the processes in the supervisor's care that are of t. life is held.
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

// sweep kills what killed supervisors left to this process: its children in a foreign session, which only a
// supervisor's tree can be, and all that descends from them. It gives those that lived with their tags, and how
// many would not end.
func sweep() (found map[int]uint64, stuck int) {
	supervisors.Lock()
	defer supervisors.Unlock()
	found = map[int]uint64{}
	end := time.Now().Add(giveUp)
	for quiet := 0; quiet < 3; {
		left := strays()
		stuck = len(left)
		if stuck == 0 {
			quiet++
		} else {
			quiet = 0
		}
		for _, p := range left {
			// By id, never -1: other children of this program belong to whoever started them.
			tag := readTag(p) // of a zombie too
			var ws syscall.WaitStatus
			if q, _ := syscall.Wait4(p, &ws, syscall.WNOHANG, nil); q == p {
				if ws.Signal() == syscall.SIGKILL { // by us, or with its supervisor: a command dies when that does
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
		if time.Now().After(end) {
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
