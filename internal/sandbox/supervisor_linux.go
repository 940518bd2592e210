package sandbox

// The supervisor: one for each command, outside of the fence. It is the subreaper of all that the command starts, so
// nothing can leave its tree, and it returns when wait4 has no child left: then there is provably none.

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	settle   = 10 * time.Millisecond // what a command's helpers have to end by themselves before they count as left
	pollKill = 2 * time.Millisecond
	pollTerm = 20 * time.Millisecond
	weighing = 250 * time.Millisecond // before SIGKILL, what did not heed SIGTERM is counted
	giveUp   = 5 * time.Second        // after which a process that SIGKILL does not end is reported
)

// A supervisor's fields belong to the goroutine of run.
type supervisor struct {
	command int // process id
	control *os.File
	brood   brood
	report  message
	ended   time.Time // when the command itself was reaped
	counted bool      // report.Left is final
	weighed bool      // report.Left is what stood before SIGKILL
	termed  time.Time // when the tree was first asked to end
	asked   map[int]bool
	killing time.Time
	rewalk  time.Time // when the whole tree is to be walked again
	struck  map[int]bool
	blind   bool // /proc cannot be walked from here any more: what is left is what was struck
}

func supervise(control *os.File, dec *json.Decoder, s spec) {
	runtime.LockOSThread() // PDEATHSIG follows the thread that starts the command
	// The children must not inherit that a signal is ignored, so each is caught and dropped.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		_, _ = control.Write(encode(message{Refused: "the supervisor cannot become a subreaper: " + err.Error()}))
		return
	}
	orders := make(chan order)
	go func() {
		defer close(orders) // the runner is gone
		for {
			var m message
			if dec.Decode(&m) != nil {
				return
			}
			orders <- m.Order
		}
	}()

	_, _ = control.Write(encode(message{Begins: true}))
	s.Parent = os.Getpid()
	pid, entered, err := start(s)
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		for fd := range 3 { // only the tree holds the command's streams
			_ = unix.Dup3(int(null.Fd()), fd, 0)
		}
		_ = null.Close()
	}
	if err != nil {
		_, _ = control.Write(encode(startFailure(err)))
		return
	}
	sv := supervisor{command: pid, control: control, brood: openBrood(), asked: map[int]bool{}, struck: map[int]bool{}}
	sv.run(orders)
	if sv.blind {
		sv.report.Left = len(sv.struck)
	}
	if m := <-entered; m.Refused != "" {
		sv.report.Refused, sv.report.NoTier = m.Refused, m.NoTier
	}
	_, _ = control.Write(encode(sv.report))
}

// startFailure is the report on a command that never ran. The line for a program that is not there was written before.
func startFailure(err error) message {
	var m *missing
	var r *refusal
	switch {
	case errors.As(err, &m):
		return message{Code: m.code}
	case errors.As(err, &r):
		return r.message()
	default:
		return message{Refused: err.Error()}
	}
}

// run returns when the tree is dead, or when SIGKILL does not end what is left of it.
func (sv *supervisor) run(orders <-chan order) {
	exits := make(chan syscall.WaitStatus, 1)
	go reap(sv.command, exits)
	tick := time.NewTimer(time.Hour)
	defer tick.Stop()
	for {
		select {
		case ws, ok := <-exits:
			if !ok {
				return
			}
			sv.ended = time.Now()
			sv.report.Code, sv.report.Signal = codeOf(ws)
			early := sv.report
			early.Ended = true
			_, _ = sv.control.Write(encode(early)) // the runner needs it if this supervisor does not come to its report
		case o, ok := <-orders:
			sv.report.Told = sv.report.Told || sv.ended.IsZero()
			if !ok {
				orders, o = nil, orderKill // the runner is gone
			}
			if o == orderKill {
				sv.kill()
			} else {
				sv.term()
			}
		case <-tick.C:
		}
		next := sv.step()
		if next == 0 {
			return
		}
		tick.Reset(next)
	}
}

// step does what is due and gives the time of the next one; 0 when there is nothing more that could help.
func (sv *supervisor) step() time.Duration {
	now := time.Now()
	if !sv.ended.IsZero() && !sv.counted && now.Sub(sv.ended) >= settle {
		sv.counted = true
		if left := living(sv.descendants()); len(left) > 0 || sv.blind {
			if !sv.weighed {
				sv.report.Left = len(left)
			}
			sv.term()
		}
	}
	if !sv.termed.IsZero() {
		if sv.ended.IsZero() && now.Sub(sv.termed) >= Grace-weighing {
			sv.weigh()
		}
		if now.Sub(sv.termed) >= Grace && sv.killing.IsZero() {
			sv.killing = now
		}
	}
	switch {
	case !sv.killing.IsZero():
		if now.Sub(sv.killing) > giveUp {
			sv.report.Stuck = len(living(sv.descendants()))
			if sv.report.Stuck > 0 {
				return 0
			}
		}
		sv.kill()
		return max(pollKill, 2*time.Since(now)) // the tree needs the processor too, to die
	case !sv.termed.IsZero():
		return max(time.Microsecond, min(pollTerm, time.Until(sv.termed.Add(Grace))))
	case !sv.ended.IsZero():
		if sv.counted { // a process appeared between the count and now, or only zombies wait for the reaper
			sv.counted = false
			sv.ended = now
		}
		return settle
	default:
		return time.Hour
	}
}

// term asks all that were not asked before. It is not repeated while the command lives: what a command starts to clean
// up must be able to do its work. A stopped process hears it only when it goes on.
func (sv *supervisor) term() {
	if sv.termed.IsZero() {
		sv.termed = time.Now()
	}
	for _, p := range sv.descendants() {
		if !sv.asked[p] {
			sv.asked[p] = true
			signalAll([]int{p}, syscall.SIGTERM)
			signalAll([]int{p}, syscall.SIGCONT)
		}
	}
}

// descendants are all, or those that can be seen.
func (sv *supervisor) descendants() []int {
	all := descendants(os.Getpid())
	if len(all) == 0 {
		all = sv.brood.children()
		sv.blind = sv.blind || len(all) > 0
	}
	return all
}

// weigh counts, once, what did not end by itself, while the command lives.
func (sv *supervisor) weigh() {
	if !sv.weighed {
		sv.weighed = true
		sv.report.Left = max(0, len(living(sv.descendants()))-1)
	}
}

// kill ends what it finds, again and again as long as new processes turn up: a chain of processes that fork and end
// is caught by being asked for faster than it moves. Only this process's own children are asked for each time: what a
// killed process had becomes one of them as it dies. The whole tree is walked now and then, for those that cannot be
// killed and for deep ones.
func (sv *supervisor) kill() {
	if sv.killing.IsZero() {
		sv.killing = time.Now()
	}
	if sv.ended.IsZero() && !sv.counted {
		if !sv.termed.IsZero() {
			sv.weigh()
		}
		sv.counted = true // from here on, who lives does so for want of time
	}
	seen := map[int]bool{}
	for range 100 {
		fresh := false
		for _, p := range sv.brood.children() {
			signalAll([]int{p}, syscall.SIGKILL)
			fresh = fresh || !seen[p]
			seen[p] = true
			if p != sv.command {
				sv.struck[p] = true
			}
		}
		if !fresh {
			break
		}
	}
	if start := time.Now(); !start.Before(sv.rewalk) {
		signalAll(sv.descendants(), syscall.SIGKILL)
		sv.rewalk = time.Now().Add(max(pollTerm, 4*time.Since(start)))
	}
}

// reap waits for every child until there is none, which means that nothing of the tree is left. It sends how the
// command ended. It waits for nobody: thousands of processes that were killed at once must not queue up behind a walk.
func reap(command int, exits chan<- syscall.WaitStatus) {
	defer close(exits)
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		if pid == command {
			exits <- ws
			command = 0 // its id may come again
		}
	}
}

// codeOf is an exit code as a shell has it, and the name of the signal.
func codeOf(ws syscall.WaitStatus) (code int, name string) {
	if ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	return ws.ExitStatus(), ""
}
