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
)

// Main does nothing here.
func Main() {}

// Best is None.
func Best() Tier { return None }

// Tiers are those that this machine gives.
func Tiers() []Tier { return []Tier{None} }

// Orphans finds none: the environment of other processes cannot be read here.
func Orphans() ([]Process, error) { return nil, nil }

// EndOrphans has nothing to end.
func EndOrphans() ([]Process, error) { return nil, nil }

// A tree is a running command and its process group.
type tree struct {
	proc *os.Process
	done chan ending

	mu    sync.Mutex // guards the two below: orders come from the runner, the end from follow
	told  bool
	ended bool
	timer *time.Timer
}

func launch(b Box, c Command, std [3]*os.File, _ bool) (*tree, error) {
	if b.Tier != None {
		return nil, fmt.Errorf("%w: %s needs Linux", ErrTier, b.Tier)
	}
	info, err := os.Stat(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("directory of the command: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("directory of the command: %s is not a directory", c.Dir)
	}
	t := &tree{done: make(chan ending, 1)}
	env := b.environ(c)
	path, err := find(c.Argv[0], c.Dir, env)
	if err == nil {
		t.proc, err = os.StartProcess(path, c.Argv, &os.ProcAttr{
			Dir: c.Dir, Env: env, Files: std[:], Sys: &syscall.SysProcAttr{Setpgid: true},
		})
		if err != nil {
			err = notExecuted(path, errors.Unwrap(err))
		}
	}
	var m *missing
	if errors.As(err, &m) {
		_, _ = std[2].WriteString(m.text + "\n")
		t.done <- ending{code: m.code}
		return t, nil
	}
	t.timer = time.AfterFunc(time.Hour, func() { t.signal(syscall.SIGKILL) })
	t.timer.Stop()
	go t.follow()
	return t, nil
}

func (t *tree) signal(sig syscall.Signal) { _ = syscall.Kill(-t.proc.Pid, sig) }

func (t *tree) order(o order) {
	if t.proc == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = t.told || !t.ended
	if o == orderKill {
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
	t.done <- end
}

func (t *tree) groupAlive() bool { return syscall.Kill(-t.proc.Pid, 0) == nil }
