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
	idleFor  = 150 * time.Millisecond // a supervisor that reaps nothing for so long does not work
)

// A watchdog watches one supervisor. It kills by parentage: whatever the supervisor has in its care descends from it,
// or, when it is killed, from this process.
type watchdog struct {
	proc *os.Process
	late *time.Timer

	// Before over the fields below are guarded by mu, afterwards nothing changes them but follow.
	mu     sync.Mutex
	gone   bool
	due    time.Time    // when SIGKILL is due: by an order, or because the command has ended
	struck map[int]bool // the living that were killed here
}

func (w *watchdog) start(proc *os.Process) {
	w.proc, w.struck = proc, map[int]bool{}
	w.late = time.AfterFunc(time.Hour, w.bite)
	w.late.Stop()
}

// order passes one on. A supervisor that its own tree stopped is woken.
func (t *tree) order(o order) {
	wait := Grace
	if o == orderKill {
		wait = 0
	}
	t.watch.within(wait)
	_ = t.proc.Signal(syscall.SIGCONT)
	_, _ = t.control.Write(encode(message{Order: o})) // when it is gone, follow knows
}

// within says that SIGKILL is due after d, if it is not due before.
func (w *watchdog) within(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := time.Now().Add(d)
	if w.gone || !w.due.IsZero() && w.due.Before(due) {
		return
	}
	w.due = due
	w.late.Reset(d + patience)
}

// over is called when the supervisor has reported or is gone, before it is waited for: its id is not used any more.
func (w *watchdog) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	w.late.Reset(patience) // for one that reported and does not end
}

func (w *watchdog) stop() { w.late.Stop() }

// bite ends the tree by this process's own hand. A supervisor that still reaps is left to make its report; one that
// does not is killed, and then follow sweeps.
func (w *watchdog) bite() {
	start := time.Now()
	worked, before := start, -1
	for {
		began := time.Now()
		left, alive, gone := w.strike()
		if alive > 0 || left != before {
			worked, before = time.Now(), left
		}
		if gone || time.Since(worked) > idleFor || time.Since(start) > giveUp {
			_ = w.proc.Kill()
			return
		}
		time.Sleep(max(pollTerm, 2*time.Since(began)))
	}
}

// strike kills all below the supervisor: so many are left, zombies too, and so many of them lived.
func (w *watchdog) strike() (left, alive int, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return 0, 0, true
	}
	pids := descendants(w.proc.Pid)
	return len(pids), strike(pids, w.struck), false
}

// strike kills pids and adds those that lived to found; alive is how many.
func strike(pids []int, found map[int]bool) (alive int) {
	for _, p := range living(pids) {
		found[p] = true
		alive++
	}
	signalAll(pids, syscall.SIGKILL)
	return alive
}

// sweep kills what killed supervisors left to this process: its children in a foreign session, which only a supervisor's
// tree can be, and all that descends from them. It adds those that lived to found and gives how many these are, and how many would not end.
func sweep(found map[int]bool) (killed, stuck int) {
	supervisors.Lock()
	defer supervisors.Unlock()
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
			if q, _ := syscall.Wait4(p, nil, syscall.WNOHANG, nil); q == p {
				continue
			}
			strike(append(descendants(p), p), found)
		}
		if time.Now().After(end) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return len(found), stuck
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
