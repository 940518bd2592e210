package sandbox

// The supervisor: outside of the fence, one for all the commands of a runner's tasks, and one for each command that is
// confined or that a hook started. It is the subreaper of all that its commands start, so nothing can leave its care;
// whose a process is, owner_linux.go says; how a command's processes are ended, charge_linux.go.
//
// Two threads do the work. The main one takes requests and forks, so that PDEATHSIG, which follows the thread,
// holds as long as the supervisor lives, and so that all children are in one list. The other one reaps. A timer
// does what is due.

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The main goroutine stays on the main thread only when it is told so before main.
func init() {
	if helperRole() == roleSupervisor {
		runtime.LockOSThread()
	}
}

// idleProcs is enough for one to be idle always.
const idleProcs = 8

// A supervisor's fields are guarded by mu, but for those of the main goroutine. No child is reaped while it is
// held: so a list of the children that is read meanwhile has them all.
type supervisor struct {
	in       inbox             // of the main goroutine
	deferred []deferredRequest // of the main goroutine
	own      unix.Rlimit       // of tagResource, as this process was given it
	first    fitness

	sending sync.Mutex // the last that is taken

	mu          sync.Mutex
	jobs        map[uint32]*job // not reported yet
	byPID       map[int]*job    // the same by the process id of the command
	strays      map[int]*job    // children that are no commands, by whose they are
	unclear     map[int][]*job  // those that could be of any of these
	starting    uint64          // the tag of the command that is being forked; 0: none
	early       map[int]syscall.WaitStatus
	closings    int // so many jobs have begun to end
	childReader childReader
	clock       *time.Timer
	tick        time.Time // when clock goes off; zero: not set
	born        bool      // there may be children to wait for
	waiting     *sync.Cond
	gone        bool // the runner is
	blind       bool // /proc cannot be walked from here any more: what is left of a command is what was struck
	out         []byte
}

func supervise() {
	// Two goroutines that wait in the kernel hold a processor each; when none is idle, the runtime's monitor polls
	// every 20 µs to take them back, which cost more than all else here.
	runtime.GOMAXPROCS(idleProcs)
	// The children must not inherit that a signal is ignored, so each is caught and dropped.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
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

// serve does what the runner asks until there is none.
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
			s.send(notice{kind: noticePong, id: f.id}.append(nil)) // not waiting for a long walk
		default:
			s.order(f.id, f.kind)
		}
		s.retry()
	}
}

// A deferredRequest is one whose program somebody holds open for writing at this moment.
type deferredRequest struct {
	request
	fds   []int
	order byte // that came meanwhile
	until time.Time
}

// busyFor bounds the wait for such a program. Any program that forks while it writes a script makes that happen for
// a moment.
const busyFor = 100 * time.Millisecond

func (s *supervisor) receive(f *inFrame, fds []int) {
	r := request{id: f.id}
	n, err := r.parse(f.body)
	switch {
	case err != nil:
		syscall.Exit(exitBroken)
	case n != len(fds): // the kernel could not hand them all over: no descriptors are left here
		closeAll(fds)
		s.never(r.id, syscall.EMFILE)
		return
	}
	s.start(deferredRequest{request: r, fds: fds, until: time.Now().Add(busyFor)})
}

// retry starts those again that had to wait.
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
		closeAll(r.fds) // only the command holds its streams
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

// attr returns how the process is made.
func (r *deferredRequest) attr() *syscall.ProcAttr {
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if r.how&startMounts != 0 {
		sys.Cloneflags = unix.CLONE_NEWNS
	}
	if r.how&startUsers != 0 {
		sys.Cloneflags |= unix.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		// Only these survive the execution of a program by somebody who is not root. Overlays need CAP_DAC_OVERRIDE: the kernel gives
		// the folder that it makes in Overlay.Work the mode 0.
		sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE}
	}
	files := make([]uintptr, 3, 4) // 0 to 2 of this process are /dev/null
	for i, n := range r.std {
		if n > 0 && int(n) <= len(r.fds) {
			files[i] = uintptr(r.fds[n-1])
		}
	}
	if r.how&startInner != 0 && len(r.fds) > 0 {
		files = append(files, uintptr(r.fds[len(r.fds)-1]))
	}
	return &syscall.ProcAttr{Dir: r.dir, Env: r.env, Files: files, Sys: sys}
}

// order is for a command that runs, or is about to, or was reported already.
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

func (s *supervisor) never(id uint32, errno syscall.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(notice{kind: noticeNever, id: id, code: uint32(errno), unfit: true})
	s.flush()
}

// say is sent with the next flush.
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
		if s.gone && !s.born { // nothing is left of anything
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

// endAll ends everything: the runner is gone. The reaper exits when nothing is left.
func (s *supervisor) endAll() {
	for _, r := range s.deferred {
		closeAll(r.fds)
	}
	s.mu.Lock()
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
		time.Sleep(max(pollKill, 2*time.Since(start))) // the tree needs the processor too, to die
	}
	syscall.Exit(0)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// codeOf returns an exit code as a shell has it, and the signal.
func codeOf(ws syscall.WaitStatus) (code int, sig syscall.Signal) {
	if ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal()
	}
	return ws.ExitStatus(), 0
}
