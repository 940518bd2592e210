package sandbox

// Without Linux there is no tier and no supervisor: a command has its own process group, which is ended with it.

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/access"
)

// Prepare has nothing to start here.
func Prepare() {}

// Retire has nothing to end here.
func Retire() {}

// Close has nothing to end here.
func Close() {}

// oomKills is not known here.
func oomKills(string) int64 { return -1 }

// Best is None.
func Best() Tier { return None }

// Tiers returns those that this machine gives.
func Tiers() []Tier { return []Tier{None} }

// Orphans finds none: the environment of other processes cannot be read here.
func Orphans() ([]Process, error) { return nil, nil }

// EndOrphansOf has nothing to end.
func EndOrphansOf(func(Process) bool) ([]Process, error) { return nil, nil }

// Why returns the reason why a tier does not work on this machine; nil when it does.
func Why(t Tier) error {
	if t == None {
		return nil
	}
	return fmt.Errorf("%w: %s needs Linux", ErrTier, t)
}

// Inside cannot tell here: an orphan of a task is a child of launchd, and nothing identifies its task. Only the marks
// in the environment do.
func Inside(string) bool { return false }

// InHook cannot tell either.
func InHook() bool { return false }

// Hold does nothing here; see Inside.
func Hold(string) {}

// A tree is a running command and its process group.
type tree struct {
	proc *os.Process
	done chan ending

	mu    sync.Mutex // guards the two below: stop is called by the runner, the end comes from follow
	told  bool
	ended bool
	timer *time.Timer
}

// groups are the running ones: the process ids of their leaders.
var groups sync.Map

func launch(b Box, c Command, std [3]*os.File, _ *probe) (*tree, error) {
	if b.Tier != None {
		return nil, fmt.Errorf("%w: %s needs Linux", ErrTier, b.Tier)
	}
	if c.Seen != nil {
		c.Seen(access.Path{Kind: access.Blind, Name: "this system does not tell what programs read"})
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	for i, f := range std {
		if f == nil {
			std[i] = null
		}
	}
	starting.RLock()
	defer starting.RUnlock()
	t := &tree{done: make(chan ending, 1)}
	env := b.environ(c)
	path, err := locate(c.Argv[0], c.Dir, env)
	if err == nil {
		t.proc, err = os.StartProcess(path, c.Argv, &os.ProcAttr{
			Dir: c.Dir, Env: env, Files: std[:], Sys: &syscall.SysProcAttr{Setpgid: true},
		})
		if err != nil {
			err = notExecuted(path, errors.Unwrap(err))
		}
	}
	if m, ok := errors.AsType[*missing](err); ok {
		t.done <- ending{code: m.code, says: m.text}
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	groups.Store(t.proc.Pid, nil)
	t.timer = time.AfterFunc(time.Hour, func() { t.signal(syscall.SIGKILL) })
	t.timer.Stop()
	go t.follow()
	return t, nil
}

// stopAll stops what runs here.
func stopAll() { signalGroups(syscall.SIGSTOP) }

// goOnAll undoes stopAll.
func goOnAll() { signalGroups(syscall.SIGCONT) }

func signalGroups(sig syscall.Signal) {
	groups.Range(func(pid, _ any) bool {
		_ = syscall.Kill(-pid.(int), sig)
		return true
	})
}

// pipe makes a pipe, our end first.
func pipe(weWrite bool) (ours, child *os.File, err error) {
	r, w, err := os.Pipe()
	if weWrite {
		return w, r, err
	}
	return r, w, err
}

// widen does nothing: a pipe grows by itself here.
func (o *output) widen() {}

func (t *tree) signal(sig syscall.Signal) { _ = syscall.Kill(-t.proc.Pid, sig) }

func (t *tree) stop(now bool) {
	if t.proc == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = t.told || !t.ended
	if now {
		t.signal(syscall.SIGKILL)
		t.timer.Reset(0)
		return
	}
	t.signal(syscall.SIGTERM)
	t.timer.Reset(Grace)
}

func (t *tree) follow() {
	state, err := t.proc.Wait()
	t.mu.Lock()
	t.ended = true
	end := ending{told: t.told, err: err}
	t.mu.Unlock()
	if ws, ok := state.Sys().(syscall.WaitStatus); ok {
		end.code, end.signal = ws.ExitStatus(), ""
		if ws.Signaled() {
			end.code, end.signal = 128+int(ws.Signal()), unix.SignalName(ws.Signal())
		}
	}
	if t.groupAlive() {
		end.left = 1 // at least
		t.signal(syscall.SIGTERM)
		for stop := time.Now().Add(Grace); t.groupAlive() && time.Now().Before(stop); {
			time.Sleep(10 * time.Millisecond)
		}
		t.signal(syscall.SIGKILL)
	}
	t.timer.Stop()
	groups.Delete(t.proc.Pid)
	t.done <- end
}

func (t *tree) groupAlive() bool { return syscall.Kill(-t.proc.Pid, 0) == nil }

func (t *tree) awaitSeen(Command) {}
