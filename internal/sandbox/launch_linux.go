package sandbox

// One command on the runner's side of its supervisor: the request, and the meaning of its end.

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A tree is a running command with its descendants.
type tree struct {
	link    *link
	id      uint32
	how     byte
	tier    Tier
	name    string // the program, as it was given
	path    string
	done    chan ending
	entered <-chan refusal  // of its inner process, zero when that became the command; nil without one
	seen    <-chan struct{} // closed when all accesses were told; nil: none are
	watchdog

	exited func() // see Command; may be nil

	early *notice // how the command itself ended; guarded by link.mu
	last  *ending // until a supervisor for one command has exited; belongs to follow
}

// launches is how often a command is tried, with another supervisor if one was lost before it got the request.
const launches = 3

func launch(b Box, c Command, std [3]*os.File, p *probe) (*tree, error) {
	if err := adopt(); err != nil {
		return nil, err
	}
	r := request{argv: c.Argv, dir: c.Dir}
	var fds []int
	for i, f := range std {
		switch {
		case f == nil:
		case i == 2 && f == std[1]:
			r.std[2] = r.std[1]
		default:
			fds = append(fds, int(f.Fd()))
			r.std[i] = byte(len(fds))
		}
	}
	var s spec
	if b.Tier == None {
		r.env = b.environ(c)
		var err error
		r.path, err = locate(c.Argv[0], c.Dir, r.env)
		if m, ok := errors.AsType[*missing](err); ok {
			t := &tree{done: make(chan ending, 1)}
			t.done <- ending{code: m.code, says: m.text}
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		if c.Seen != nil {
			s = spec{Tier: b.Tier, Argv: c.Argv, Dir: c.Dir, Env: r.env, Seen: true}
			r.startInside(b)
		}
	} else {
		var err error
		if s, err = b.plan(c); err != nil {
			return nil, err
		}
		s.Probe = p
		r.startInside(b)
	}
	starting.RLock()
	defer starting.RUnlock()
	for try := 1; ; try++ {
		t, err := b.ask(c, r, s, fds)
		if err == nil {
			return t, nil
		}
		if try == launches {
			return nil, err
		}
	}
}

// ask sends the request to a supervisor: that of the tasks or, for a command that is confined or started by a hook, a
// new one. So a command that a model chose cannot harm the supervisor of tasks.
func (b Box) ask(c Command, r request, s spec, fds []int) (t *tree, err error) {
	t = &tree{how: r.how, tier: b.Tier, name: c.Argv[0], path: r.path, done: make(chan ending, 1), exited: c.Exited}
	t.struck = map[int]bool{}
	var l *link
	if b.Tier == None && b.Hook == "" {
		l, err = sharedLink()
	} else {
		l, err = newLink(b.marks(), true)
	}
	if err != nil {
		return nil, err
	}
	if !l.add(t) {
		return nil, errors.New("supervisor: it takes no more commands")
	}
	r.id = t.id
	if r.how&startInner != 0 {
		ours, theirs, err := controlPair()
		if err != nil {
			l.take(t.id)
			return nil, err
		}
		defer func() { _ = theirs.Close() }()
		s.Parent = l.pid
		if c.Seen == nil {
			t.entered = instruct(ours, s)
		} else {
			t.entered, t.seen = instructSeen(ours, s, c.Seen)
		}
		fds = append(fds, int(theirs.Fd()))
	}
	if err := l.send(func(to []byte) []byte { return r.append(to, len(fds)) }, fds...); err != nil {
		l.take(t.id)
		l.retire()
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	return t, nil
}

// startInside makes r the start of an inner process.
func (r *request) startInside(b Box) {
	r.how, r.path, r.dir = startInner, helperExe, ""
	r.argv, r.env = []string{helperName, roleInner}, b.marks()
	if b.Tier == View {
		r.how |= startMounts
		if !mayMount() {
			r.how |= startUsers
		}
	}
}

// instruct sends an inner process its spec. The channel it returns gets the refusal of that process, or a zero one
// when it became the command.
func instruct(ours *os.File, s spec) <-chan refusal {
	entered := make(chan refusal, 1)
	go func() {
		_ = sendSpec(ours, s)
		r := readRefusal(ours)
		_ = ours.Close()
		entered <- r
	}()
	return entered
}

// mayMount reports whether this process may make a mount namespace without a user namespace.
func mayMount() bool {
	var data [2]unix.CapUserData
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return os.Geteuid() == 0
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// stop asks the supervisor to end the tree. A supervisor that was stopped by the tree is continued.
func (t *tree) stop(now bool) {
	if t.link == nil {
		return
	}
	kind, wait := askTerm, Grace
	if now {
		kind, wait = askKill, 0
	}
	t.within(wait)
	t.link.signal(syscall.SIGCONT)
	_ = t.link.send(func(to []byte) []byte { return frame(to, kind, t.id) }) // when it is gone, follow knows
}

// ending returns what a report means.
func (t *tree) ending(m notice) ending {
	end := ending{code: int(m.code), told: m.told, left: int(m.left)}
	if m.signal != 0 {
		end.signal = unix.SignalName(m.signal)
	}
	if m.stuck > 0 {
		end.err = stuckError(t.name, int(m.stuck))
	}
	if m.kind == noticeNever {
		end = t.never(syscall.Errno(m.code))
	}
	if t.entered == nil {
		return end
	}
	select {
	case e := <-t.entered:
		if e.NoTier {
			return ending{never: true, err: fmt.Errorf("%w: %s: %s", ErrTier, t.tier, e.Text)}
		}
		if e.Text != "" {
			return ending{never: true, err: fmt.Errorf("cannot start %s: %s", t.name, e.Text)}
		}
	case <-time.After(patience): // a process that could not be ended keeps its socket open
	}
	return end
}

// never returns the ending of a command that the supervisor could not start.
func (t *tree) never(errno syscall.Errno) ending {
	switch {
	case t.how&startMounts != 0:
		return ending{never: true, err: fmt.Errorf("%w: %s: cannot make a mount namespace: %w", ErrTier, t.tier, errno)}
	case t.how&startInner != 0, errno == syscall.EAGAIN, errno == syscall.ENOMEM, errno == syscall.EMFILE,
		errno == syscall.ENFILE:
		return ending{never: true, err: fmt.Errorf("cannot start %s: %w", t.name, errno)}
	}
	m := notExecuted(t.path, errno)
	return ending{code: m.code, says: m.text}
}

// orphaned gives the trees of a supervisor that has exited their endings. Their processes are children of this process
// now, and are killed.
func (l *link) orphaned(trees map[uint32]*tree, how string) {
	for id, t := range trees {
		if t.last != nil {
			t.done <- *t.last
			delete(trees, id)
		}
	}
	if len(trees) == 0 {
		return
	}
	found, stuck := sweep()
	for _, t := range trees {
		due, struck := t.calm()
		for p, tag := range found {
			if len(trees) == 1 || tag == tagOf(l.pid, t.id) {
				struck[p] = true
			}
		}
		t.done <- t.orphan(due, len(struck), stuck, l.hello, how)
	}
}

// orphan returns the ending of one such tree. began means that the supervisor had started to work.
func (t *tree) orphan(due bool, killed, stuck int, began bool, how string) ending {
	if !began {
		return ending{never: true, err: fmt.Errorf("cannot start %s: its supervisor ended before it did anything (%s): "+
			"look whether this user has open files, processes and memory left", t.name, how)}
	}
	// The command was one of those killed, unless it had ended before.
	end := ending{code: 128 + int(syscall.SIGKILL), signal: "SIGKILL", told: due, left: max(0, killed-1)}
	if t.early != nil {
		end = t.ending(*t.early)
		end.left = max(killed, end.left)
	}
	if !due {
		end.told = true // no clock of the runner's ended it
		end.err = fmt.Errorf("the supervisor of %s was ended from outside (%s); the %d processes it had in its care were killed",
			t.name, how, killed)
	}
	switch {
	case stuck > 0 && end.err != nil:
		end.err = fmt.Errorf("%w, but %d could not be", end.err, stuck)
	case stuck > 0:
		end.err = stuckError(t.name, stuck)
	}
	return end
}

func stuckError(name string, n int) error {
	return fmt.Errorf("%s: %d processes could not be ended, look for them with ps", name, n)
}
