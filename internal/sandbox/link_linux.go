package sandbox

// The runner's side of a supervisor: starting it, sending requests, receiving notices, and what happens if it is lost.

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A link is one supervisor of this process.
type link struct {
	pid   int
	sock  *os.File
	raw   syscall.RawConn // of sock
	alone bool            // it is for one command
	over  chan struct{}   // closed when the supervisor was waited for
	pings atomic.Uint32   // the last that was sent
	pongs atomic.Uint32   // the last that was answered

	sending sync.Mutex // held while a frame is sent; guards buf
	buf     []byte

	life   sync.RWMutex // locked for reading while pid is used; guards waited
	waited bool         // pid may belong to another process: see wait

	mu      sync.Mutex // guards what follows, and tree.early
	last    uint32     // number of the last command
	trees   map[uint32]*tree
	hello   bool // noticeHello came
	retired bool // nothing more is started
	hungUp  *time.Timer
}

// supervisors are those of this process, *link by process id. Starting one holds the lock for reading and sweep for
// writing, so that sweep never takes a supervisor that is just being started for a stray.
var supervisors struct {
	sync.RWMutex
	ids sync.Map
}

// shared is the supervisor of the tasks.
var shared struct {
	sync.Mutex
	link *link
}

// Prepare starts the supervisor of tasks before the first command, in the background. Calling it is optional.
func Prepare() {
	go func() {
		if adopt() == nil {
			_, _ = sharedLink() // the first command reports an error
		}
	}()
}

// Retire begins to end the supervisor of tasks, so that Close need not wait for all of it. A later task gets
// another one.
func Retire() {
	shared.Lock()
	defer shared.Unlock()
	if shared.link != nil {
		shared.link.retire()
	}
}

// Close ends the supervisor of tasks if it has no command, and waits for it. If a program exits without Close, the
// supervisor exits by itself some milliseconds later.
func Close() {
	shared.Lock()
	l := shared.link
	shared.link = nil
	shared.Unlock()
	if l == nil || l.retire() > 0 {
		return
	}
	<-l.over
}

func sharedLink() (*link, error) {
	shared.Lock()
	defer shared.Unlock()
	if l := shared.link; l != nil && !l.isRetired() {
		return l, nil
	}
	l, err := newLink(Box{}.marks(), false)
	shared.link = l
	return l, err
}

// adopt makes this process inherit the children of killed supervisors.
var adopt = sync.OnceValue(func() error {
	return os.NewSyscallError("prctl(PR_SET_CHILD_SUBREAPER)", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
})

// newLink starts a supervisor with the environment marks.
func newLink(marks []string, alone bool) (*link, error) {
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	raw, err := ours.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	defer func() { _ = null.Close() }()

	supervisors.RLock()
	defer supervisors.RUnlock()
	// Not os.StartProcess: before the first process it starts one more, to see what the kernel can do.
	nothing := null.Fd()
	pid, err := syscall.ForkExec(helperExe, []string{helperName, roleSupervisor}, &syscall.ProcAttr{
		Dir: "/", Env: append(marks, idleProcs), Files: []uintptr{nothing, nothing, nothing, theirs.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	l := &link{
		pid: pid, sock: ours, raw: raw, alone: alone,
		over: make(chan struct{}), trees: map[uint32]*tree{},
	}
	supervisors.ids.Store(l.pid, l)
	go l.follow()
	if !alone {
		go l.attend()
	}
	return l, nil
}

// attendEvery is how often a supervisor is looked at.
const attendEvery = 100 * time.Millisecond

// attend continues the supervisor of tasks when a task or a person has stopped it, because every task waits for it.
// It looks now and then: a wait in the kernel would occupy a thread and a processor of the runtime, and most runs
// are short.
func (l *link) attend() {
	for every := time.NewTicker(attendEvery); ; {
		select {
		case <-l.over:
			every.Stop()
			return
		case <-every.C:
			l.signal(syscall.SIGCONT)
		}
	}
}

// add adds a tree to the supervisor. It returns false if the supervisor takes no more.
func (l *link) add(t *tree) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired {
		return false
	}
	l.last++
	t.link, t.id = l, l.last
	l.trees[t.id] = t
	return true
}

// take removes a tree and returns it, or nil if it was removed before. The last one of a retired supervisor ends it.
func (l *link) take(id uint32) *tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.trees[id]
	delete(l.trees, id)
	if (l.retired || l.alone) && len(l.trees) == 0 {
		l.hangUp()
	}
	return t
}

// retire makes the supervisor start nothing more, and returns how many commands still run.
func (l *link) retire() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retired = true
	if len(l.trees) == 0 {
		l.hangUp()
	}
	return len(l.trees)
}

func (l *link) isRetired() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retired
}

// hangUp makes the supervisor exit. The caller must have locked mu.
func (l *link) hangUp() {
	l.retired = true
	if l.hungUp == nil {
		_ = l.raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
		l.hungUp = time.AfterFunc(patience, func() { l.signal(syscall.SIGKILL) }) // it may have been stopped
	}
}

// send sends a frame and the descriptors that belong to it. After an error the supervisor did not get all of it.
func (l *link) send(frame func([]byte) []byte, fds ...int) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	b := frame(l.buf[:0])
	l.buf = b
	if cap(b) > inboxKept {
		l.buf = nil
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	var failed error
	err := l.raw.Write(func(fd uintptr) bool {
		for len(b) > 0 {
			n, err := unix.SendmsgN(int(fd), b, rights, nil, unix.MSG_NOSIGNAL)
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case errors.Is(err, unix.EAGAIN):
				return false
			case err != nil:
				failed = err
				return true
			}
			b, rights = b[n:], nil
		}
		return true
	})
	if err == nil {
		err = failed
	}
	return err
}

// ping asks the supervisor for an answer, which comes after the requests before it. The result is for ponged. Nothing
// is sent if the socket is full.
func (l *link) ping() uint32 {
	number := l.pings.Add(1)
	if l.sending.TryLock() {
		defer l.sending.Unlock()
		_ = l.raw.Control(func(fd uintptr) {
			_, _ = unix.SendmsgN(int(fd), frame(nil, askPing, number), nil, nil, unix.MSG_NOSIGNAL)
		})
	}
	return number
}

// ponged reports whether a ping or a later one was answered.
func (l *link) ponged(number uint32) bool { return int32(l.pongs.Load()-number) >= 0 }

// follow reads the notices of the supervisor until it has exited.
func (l *link) follow() {
	buf, have := make([]byte, 64*noticeLen), 0
	for {
		n, err := l.sock.Read(buf[have:])
		have += n
		at := 0
		for ; have-at >= noticeLen; at += noticeLen {
			l.received(parseNotice(buf[at:]))
		}
		have = copy(buf, buf[at:have])
		if err != nil {
			l.lost()
			return
		}
	}
}

func (l *link) received(m notice) {
	switch m.kind {
	case noticeHello:
		l.mu.Lock()
		l.hello = true
		l.mu.Unlock()
	case noticePong:
		l.pongs.Store(m.id)
	case noticeEnded:
		l.mu.Lock()
		t := l.trees[m.id]
		again := false // it is sent twice
		if t != nil {
			again, t.early = t.early != nil, &m
		}
		l.mu.Unlock()
		if t != nil {
			t.within(settle + Grace)
		}
		if t != nil && t.exited != nil && !again {
			t.exited()
		}
	case noticeReport, noticeNever:
		if m.unfit {
			l.mu.Lock()
			l.retired = true
			l.mu.Unlock()
		}
		t := l.take(m.id)
		if t == nil {
			return
		}
		t.calm()
		end := t.ending(m)
		if !l.alone {
			t.done <- end
			return
		}
		t.last = &end // delivered when the supervisor has exited, too
		l.mu.Lock()
		l.trees[m.id] = t
		l.mu.Unlock()
	}
}

// lost waits for the supervisor, and gives its remaining trees their endings.
func (l *link) lost() {
	l.mu.Lock()
	l.hangUp() // for one that closed its socket and does not end
	l.mu.Unlock()
	status, usage, err := l.wait()
	l.hungUp.Stop()
	supervisors.ids.Delete(l.pid)

	l.mu.Lock()
	trees := l.trees
	l.trees = nil
	l.mu.Unlock()
	for _, t := range trees {
		if t.last != nil && err == nil { // it waited for all processes of its command
			t.last.processor = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
	l.orphaned(trees, how(status, err))
	_ = l.sock.Close()
	close(l.over)
}

// wait waits for the supervisor to exit. Its number stays its own until nobody can signal it any more.
func (l *link) wait() (status unix.WaitStatus, usage unix.Rusage, err error) {
	_ = ignoringEINTR(func() error { return unix.Waitid(unix.P_PID, l.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) })
	l.life.Lock()
	defer l.life.Unlock()
	l.waited = true
	err = ignoringEINTR(func() error {
		_, err := unix.Wait4(l.pid, &status, 0, &usage)
		return err
	})
	return status, usage, os.NewSyscallError("wait4", err)
}

func ignoringEINTR(call func() error) (err error) {
	for {
		if err = call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// signal signals the supervisor, if it was not waited for.
func (l *link) signal(sig syscall.Signal) {
	l.life.RLock()
	defer l.life.RUnlock()
	if !l.waited {
		_ = syscall.Kill(l.pid, sig)
	}
}

func how(status unix.WaitStatus, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case status.Signaled():
		return "signal: " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
