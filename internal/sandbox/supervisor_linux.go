package sandbox

// The supervisor is outside of the fence. There is one for all commands of a runner's tasks, and one for each command
// that is confined or that a hook started. It is the subreaper of everything that its commands start, so no process
// gets away. owner_linux.go finds out which command a process belongs to, end_linux.go ends the processes of a
// command.
//
// The main thread takes requests and forks, because PDEATHSIG follows the thread, and because all children are then in
// one list. Another thread reaps. A timer calls due.

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// idleProcs is the setting of a supervisor for GOMAXPROCS. Two goroutines that wait in the kernel occupy a processor
// each. Without an idle one the runtime's monitor polls every 20 µs to take them back, which cost more than everything
// else here. As an environment variable it is in force from the start: a call would stop all threads.
const idleProcs = "GOMAXPROCS=8"

// A supervisor's fields are guarded by mu, except those of the main goroutine. No child is reaped while mu is locked,
// so a list of the children that is read meanwhile is complete.
type supervisor struct {
	in       inbox             // of the main goroutine
	deferred []deferredRequest // of the main goroutine
	own      unix.Rlimit       // of tagResource, when this process began
	first    fitness           // when this process began

	sending sync.Mutex // locked after mu

	mu          sync.Mutex
	jobs        map[uint32]*job            // not reported yet
	byPID       map[int]*job               // the same by the process id of the command
	strays      map[int]*job               // children that are no commands, with their jobs
	unclear     map[int][]*job             // children that may belong to any of several jobs
	starting    uint64                     // the tag of the command that is being forked; 0: none
	early       map[int]syscall.WaitStatus // of children that ended before the fork returned
	closings    int                        // number of jobs that have begun to end
	childReader childReader
	clock       *time.Timer
	tick        time.Time // when clock fires; zero: it is not set
	born        bool      // there may be children to wait for
	waiting     *sync.Cond
	gone        bool   // the runner has exited
	blind       bool   // /proc cannot be read any more: the processes that were killed count as left
	out         []byte // notices for the next flush
}

func supervise() {
	sleepThroughDeaths()
	time.AfterFunc(deafAfter, dropSignals)
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		syscall.Exit(exitBroken)
	}
	s := &supervisor{
		in:   inbox{fd: controlFD},
		jobs: map[uint32]*job{}, byPID: map[int]*job{}, strays: map[int]*job{}, unclear: map[int][]*job{},
		early: map[int]syscall.WaitStatus{}, childReader: openChildReader(),
	}
	s.openTag()
	s.first = fitnessOf()
	s.waiting = sync.NewCond(&s.mu)
	s.clock = time.AfterFunc(time.Hour, s.due)
	s.clock.Stop()
	go s.reap()
	s.tell(notice{kind: noticeHello})
	s.flush()
	s.serve()
	s.endAll()
}

// deafAfter is when a supervisor begins to drop signals. The Go runtime takes 0.2 ms for each, which most runs of one
// quick task need not wait for. A runner knows what to do when its supervisor was ended.
const deafAfter = 20 * time.Millisecond

// dropSignals makes this process survive signals that were meant for the runner, as those of pkill. Children inherit
// ignored signals, so they are caught and dropped instead.
func dropSignals() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN,
		syscall.SIGTTOU)
}

// sleepThroughDeaths removes the Go runtime's handler of SIGCHLD, for which each end of a child would interrupt a
// thread that waits for something else. Children still become zombies until they are reaped, and wait4 still returns.
func sleepThroughDeaths() {
	var byDefault [4]uint64 // handler, flags, restorer, mask
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGCHLD),
		uintptr(unsafe.Pointer(&byDefault)), 0, unsafe.Sizeof(byDefault[3]), 0, 0)
}

// serve does what the runner asks, until the runner has exited.
func (s *supervisor) serve() {
	for {
		f, fds, ok := s.in.next(len(s.deferred) > 0)
		if !ok {
			return
		}
		switch {
		case f == nil:
		case f.kind == askStart:
			s.receive(f, fds)
		case f.kind == askPing:
			s.send(notice{kind: noticePong, id: f.id}.append(nil)) // without mu, which may be locked for long
		default:
			s.order(f.id, f.kind)
		}
		s.retry()
	}
}

// A deferredRequest is a request whose program is still open for writing somewhere.
type deferredRequest struct {
	request
	fds   []int
	order byte // askTerm or askKill, if it came meanwhile
	until time.Time
}

// busyFor bounds the wait for such a program. A program that forks while it writes a script causes it for a moment.
const busyFor = 100 * time.Millisecond

func (s *supervisor) receive(f *inFrame, fds []int) {
	r := request{id: f.id}
	n, err := r.parse(f.body)
	switch {
	case err != nil:
		syscall.Exit(exitBroken)
	case n != len(fds): // the kernel could not pass them all: this process has too many descriptors open
		closeAll(fds)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tell(notice{kind: noticeNever, id: r.id, code: uint32(syscall.EMFILE), unfit: true})
		s.flush()
		return
	}
	s.start(deferredRequest{request: r, fds: fds, until: time.Now().Add(busyFor)})
}

// retry starts the deferred requests again.
func (s *supervisor) retry() {
	again := s.deferred
	s.deferred = nil
	for _, r := range again {
		s.start(r)
	}
}

func (s *supervisor) start(r deferredRequest) {
	tag := tagOf(os.Getpid(), r.id)
	s.mu.Lock()
	s.starting = tag
	s.mu.Unlock()
	s.setTag(tag)
	pid, err := syscall.ForkExec(r.path, r.argv, r.attr())
	s.clearTag()
	if errors.Is(err, syscall.ETXTBSY) && time.Now().Before(r.until) {
		s.deferred = append(s.deferred, r)
	} else {
		closeAll(r.fds) // only the command keeps its streams open
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting = 0
	ws, dead := s.early[pid]
	clear(s.early)
	if err != nil {
		if len(s.deferred) == 0 || s.deferred[len(s.deferred)-1].id != r.id {
			var errno syscall.Errno
			_ = errors.As(err, &errno)
			s.tell(notice{kind: noticeNever, id: r.id, code: uint32(errno), unfit: fitnessOf() != s.first})
			s.flush()
		}
		return
	}
	c := &job{id: r.id, pid: pid, asked: map[int]bool{}, seen: map[int]bool{}}
	s.jobs[r.id], s.byPID[pid] = c, c
	s.born = true
	s.waiting.Signal()
	if r.order != 0 {
		s.obey(c, r.order)
	}
	if dead {
		s.ends(c, ws)
		s.settle([]*job{c}, false)
	}
	s.flush()
}

// attr returns the attributes of the new process.
func (r *deferredRequest) attr() *syscall.ProcAttr {
	files := make([]uintptr, 3, 4) // 0 to 2 of this process are /dev/null
	for i, n := range r.std {
		if n > 0 && int(n) <= len(r.fds) {
			files[i] = uintptr(r.fds[n-1])
		}
	}
	if r.how&startInner != 0 && len(r.fds) > 0 {
		files = append(files, uintptr(r.fds[len(r.fds)-1]))
	}
	return &syscall.ProcAttr{Dir: r.dir, Env: r.env, Files: files, Sys: namespaces(r.how)}
}

// namespaces returns the attributes of a new process that dies with the thread that starts it, in namespaces of its own
// as the flags of a start ask for.
func namespaces(how byte) *syscall.SysProcAttr {
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if how&startMounts != 0 {
		sys.Cloneflags = unix.CLONE_NEWNS
	}
	if how&startUsers != 0 {
		sys.Cloneflags |= unix.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		// Only these survive the execution of a program by somebody who is not root. Overlays need CAP_DAC_OVERRIDE:
		// the kernel gives the folder that it makes in Overlay.Work the mode 0.
		sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE}
	}
	return sys
}

// order ends a command, which may also be deferred or reported already.
func (s *supervisor) order(id uint32, kind byte) {
	for i := range s.deferred {
		if s.deferred[i].id == id {
			s.deferred[i].order = kind
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.jobs[id]; c != nil {
		s.obey(c, kind)
	}
}

// tell adds a notice to the next flush.
func (s *supervisor) tell(m notice) { s.out = m.append(s.out) }

func (s *supervisor) flush() {
	s.send(s.out)
	s.out = s.out[:0]
}

func (s *supervisor) send(b []byte) {
	s.sending.Lock()
	defer s.sending.Unlock()
	for len(b) > 0 {
		n, err := unix.SendmsgN(controlFD, b, nil, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return // the runner is gone: serve sees it too
		}
		b = b[n:]
	}
}

// reap waits for children and reports the commands among them.
func (s *supervisor) reap() {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		s.mu.Lock()
		if err == nil {
			s.collect()
			s.mu.Unlock()
			continue
		}
		for !s.born && !s.gone {
			s.waiting.Wait()
		}
		if s.gone && !s.born {
			syscall.Exit(0)
		}
		s.born = false
		s.mu.Unlock()
	}
}

// collect reaps all that have ended.
func (s *supervisor) collect() {
	var ended []*job
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if pid <= 0 {
			s.settle(ended, err != nil)
			s.flush()
			return
		}
		delete(s.unclear, pid)
		if of := s.strays[pid]; of != nil {
			delete(s.strays, pid)
			if of.strays--; of.strays == 0 && !of.ended.IsZero() && s.jobs[of.id] == of {
				ended = append(ended, of)
			}
		} else if c := s.byPID[pid]; c != nil && c.ended.IsZero() {
			s.ends(c, ws)
			ended = append(ended, c)
		} else if s.starting != 0 {
			s.early[pid] = ws
		}
	}
}

// endAll kills all processes after the runner has exited. The reaper exits when no child is left.
func (s *supervisor) endAll() {
	for _, r := range s.deferred {
		closeAll(r.fds)
	}
	s.mu.Lock()
	if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil); errors.Is(err, unix.ECHILD) {
		syscall.Exit(0) // there is nothing to kill, and nothing is forked any more
	}
	s.gone = true
	s.waiting.Signal()
	s.mu.Unlock()
	var rewalk time.Time
	for end := time.Now().Add(giveUp); time.Now().Before(end); {
		start := time.Now()
		s.mu.Lock()
		killAll(s.childReader.children)
		if !start.Before(rewalk) {
			signalAll(descendants(os.Getpid()), syscall.SIGKILL)
			rewalk = time.Now().Add(max(pollTerm, 4*time.Since(start)))
		}
		s.mu.Unlock()
		time.Sleep(max(pollKill, 2*time.Since(start))) // the tree needs processor time to exit
	}
	syscall.Exit(0)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// codeOf returns an exit code as a shell does, and the signal.
func codeOf(ws syscall.WaitStatus) (code int, sig syscall.Signal) {
	if ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal()
	}
	return ws.ExitStatus(), 0
}
