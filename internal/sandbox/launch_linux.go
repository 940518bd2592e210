package sandbox

// The runner's side of a supervisor.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A tree is a running command and its supervisor.
type tree struct {
	proc    *os.Process
	control *os.File
	done    chan ending
	late    *time.Timer // for a supervisor that does not do what it is told
}

// supervisors are those of this process, by id. Starting one holds the lock for reading and sweep for writing, so that
// sweep never takes a supervisor that is just being started for a stray.
var supervisors struct {
	sync.RWMutex
	ids sync.Map // int → struct{}
}

// adopt makes this process inherit what a killed supervisor leaves, once.
var adopt = sync.OnceValue(func() error {
	// A program that forgot Main would start itself for ever.
	if helperRole() != "" {
		return errors.New("sandbox.Main is not the first line of this program's main or TestMain")
	}
	return os.NewSyscallError("prctl(PR_SET_CHILD_SUBREAPER)", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
})

func launch(b Box, c Command, std [3]*os.File, trial bool) (*tree, error) {
	if err := adopt(); err != nil {
		return nil, err
	}
	s, err := b.plan(c)
	if err != nil {
		return nil, err
	}
	if trial {
		s.Probe = newProbe(b)
	}
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()

	supervisors.RLock()
	defer supervisors.RUnlock()
	proc, err := os.StartProcess(helperExe, []string{helperName, roleSupervisor}, &os.ProcAttr{
		Dir: "/", Env: s.Marks, Files: []*os.File{std[0], std[1], std[2], theirs},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	supervisors.ids.Store(proc.Pid, struct{}{})
	t := &tree{proc: proc, control: ours, done: make(chan ending, 1)}
	t.late = time.AfterFunc(time.Hour, t.force)
	t.late.Stop()
	_, _ = ours.Write(encode(s.wire())) // a supervisor that is gone already is follow's to report
	go t.follow(b, s)
	return t, nil
}

// order passes one on. A supervisor that its own tree stopped is woken, and one that still does nothing is killed.
func (t *tree) order(o order) {
	_, _ = t.control.Write(encode(message{Order: o})) // when it is gone, follow knows
	_ = t.proc.Signal(syscall.SIGCONT)
	wait := giveUp + time.Second
	if o == orderTerm {
		wait += Grace
	}
	t.late.Reset(wait)
}

func (t *tree) force() { _ = t.proc.Kill() }

// follow waits for the report and the supervisor's end, and sends the one ending.
func (t *tree) follow(b Box, s spec) {
	var m message
	reported := json.NewDecoder(t.control).Decode(&m) == nil
	state, err := t.proc.Wait()
	t.late.Stop()
	supervisors.ids.Delete(t.proc.Pid)
	_ = t.control.Close()

	end := ending{code: m.Code, signal: m.Signal, told: m.Told, left: m.Left}
	switch {
	case !reported:
		left, stuck := sweep()
		end = ending{code: 128 + int(syscall.SIGKILL), signal: "SIGKILL", told: true, left: left}
		how := fmt.Sprint(state)
		if err != nil {
			how = err.Error()
		}
		end.err = fmt.Errorf("the supervisor of %s was ended from outside (%s); the %d processes it had in its care were killed",
			s.Argv[0], how, left)
		if stuck > 0 {
			end.err = fmt.Errorf("%w, but %d could not be", end.err, stuck)
		}
	case m.Refused != "" && m.NoTier:
		end.err = fmt.Errorf("%w: %s: %s", ErrTier, b.Tier, m.Refused)
	case m.Refused != "":
		end.err = fmt.Errorf("cannot start %s: %s", s.Argv[0], m.Refused)
	case m.Stuck > 0:
		end.err = fmt.Errorf("%s: %d processes could not be ended, look for them with ps", s.Argv[0], m.Stuck)
	}
	t.done <- end
}

// sweep kills what killed supervisors left to this process: its children in a foreign session, which only a supervisor's
// tree can be, and all that descends from them. It gives how many there were and how many would not end.
func sweep() (killed, stuck int) {
	supervisors.Lock()
	defer supervisors.Unlock()
	found := map[int]bool{}
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
			tree := append(descendants(p), p)
			for _, q := range living(tree) {
				found[q] = true
			}
			signalAll(tree, syscall.SIGKILL)
		}
		for _, p := range left {
			// By id, never -1: other children of this program belong to whoever started them.
			_, _ = syscall.Wait4(p, nil, syscall.WNOHANG, nil)
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
