package sandbox

// The runner's side of a supervisor.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A tree is a running command and its supervisor.
type tree struct {
	proc    *os.Process
	control *os.File
	done    chan ending
	watch   watchdog
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
	t.watch.start(proc)
	_, _ = ours.Write(encode(s.wire())) // a supervisor that is gone already is follow's to report
	go t.follow(b, s)
	return t, nil
}

// follow waits for the report and the supervisor's end, and sends the one ending.
func (t *tree) follow(b Box, s spec) {
	m, began, reported := t.listen()
	t.watch.over() // from here on the supervisor's id may become another process's
	state, err := t.proc.Wait()
	t.watch.stop()
	supervisors.ids.Delete(t.proc.Pid)
	_ = t.control.Close()

	end := ending{code: m.Code, signal: m.Signal, told: m.Told, left: m.Left}
	switch {
	case !reported:
		end = t.orphaned(m, began, s.Argv[0], how(state, err))
	case m.Refused != "" && m.NoTier:
		end.never = true
		end.err = fmt.Errorf("%w: %s: %s", ErrTier, b.Tier, m.Refused)
	case m.Refused != "":
		end.never = true
		end.err = fmt.Errorf("cannot start %s: %s", s.Argv[0], m.Refused)
	case m.Stuck > 0:
		end.err = stuckError(s.Argv[0], m.Stuck)
	}
	t.done <- end
}

// listen returns with the report, or when the supervisor is gone without one. What it said before is in m: nothing, or
// how the command ended.
func (t *tree) listen() (m message, began, reported bool) {
	dec := json.NewDecoder(t.control)
	for {
		var next message
		if dec.Decode(&next) != nil {
			return m, began, false
		}
		switch {
		case next.Begins:
			began = true
		case next.Ended:
			m = next
			t.watch.within(settle + Grace)
		default:
			return next, began, true
		}
	}
}

// orphaned is the ending of a tree whose supervisor made no report. What it had in its care came to this process.
func (t *tree) orphaned(m message, began bool, name, how string) ending {
	killed, stuck := sweep(t.watch.struck)
	due := !t.watch.due.IsZero()
	if !began {
		return ending{never: true, err: fmt.Errorf("cannot start %s: its supervisor ended before it did anything (%s): "+
			"look whether this user has open files, processes and memory left", name, how)}
	}
	end := ending{code: m.Code, signal: m.Signal, told: m.Told, left: killed}
	if !m.Ended { // the command was one of those killed
		end = ending{code: 128 + int(syscall.SIGKILL), signal: "SIGKILL", told: due, left: max(0, killed-1)}
	}
	if !due {
		end.told = true // no clock of the runner's ended it
		end.err = fmt.Errorf("the supervisor of %s was ended from outside (%s); the %d processes it had in its care were killed",
			name, how, killed)
	}
	switch {
	case stuck > 0 && end.err != nil:
		end.err = fmt.Errorf("%w, but %d could not be", end.err, stuck)
	case stuck > 0:
		end.err = stuckError(name, stuck)
	}
	return end
}

func stuckError(name string, n int) error {
	return fmt.Errorf("%s: %d processes could not be ended, look for them with ps", name, n)
}

func how(state *os.ProcessState, err error) string {
	if err != nil {
		return err.Error()
	}
	return state.String()
}
