package sandbox

// Whose a process is. What descends from a running command is its. What lost its parent became a child of the
// supervisor, a stray, and is told by, in this order: the tag, a resource limit that is inherited whatever a process does
// with its session and its environment; the session, which is the command's unless it made one of its own; what was seen
// below a command that is being ended. What tells none of that, having set that limit itself, could be of each command
// that ran when it was first seen: it is ended with the last of them, and counted there.

import (
	"os"

	"golang.org/x/sys/unix"
)

// tagResource is a limit that Linux keeps and hands on, and has not looked at since 2.4.25 (getrlimit(2)). The soft limit
// of a command's processes is its tag.
const tagResource = unix.RLIMIT_LOCKS

// tagOf is the tag of a command: no other that lives at the same time has it, of another supervisor neither.
func tagOf(supervisor int, id uint32) uint64 { return uint64(supervisor)<<32 | uint64(id) }

// openTag finds out whether tags can be given here. They cannot where somebody limited the hard limit.
func (s *supervisor) openTag() {
	if unix.Getrlimit(tagResource, &s.own) != nil || s.own.Max != unix.RLIM_INFINITY {
		s.own.Max = 0
	}
}

func (s *supervisor) tags() bool { return s.own.Max != 0 }

// setTag makes tag what the next fork hands on. Only the main goroutine forks.
func (s *supervisor) setTag(tag uint64) {
	if s.tags() {
		_ = unix.Setrlimit(tagResource, &unix.Rlimit{Cur: tag, Max: s.own.Max})
	}
}

// clearTag gives this process back what it was given: it may itself be told by it.
func (s *supervisor) clearTag() {
	if s.tags() {
		_ = unix.Setrlimit(tagResource, &s.own)
	}
}

// readTag is the tag of a process, 0 when it cannot be read.
func readTag(pid int) uint64 {
	var limit unix.Rlimit
	if unix.Prlimit(pid, tagResource, nil, &limit) != nil {
		return 0
	}
	return limit.Cur
}

// look finds out whose the children are that were not known before. It is not sure when one of them may be the command
// that is being started at this moment.
func (s *supervisor) look() (sure bool) {
	sure = true
	for _, p := range s.brood.children() {
		if c := s.byPID[p]; c != nil && c.ended.IsZero() || s.strays[p] != nil || s.unclear[p] != nil {
			continue
		}
		if !s.tags() && s.starting != 0 {
			sure = false
			continue
		}
		if of, known := s.whose(p); of != nil {
			s.strays[p] = of
			of.strays++
		} else if !known {
			for _, c := range s.charges {
				s.unclear[p] = append(s.unclear[p], c)
			}
			if len(s.charges) == 0 {
				s.unclear[p] = []*charge{} // of a command that was reported with it: it could not be ended
			}
		}
	}
	s.clear()
	return sure
}

// whose says whose a stray is; known without a charge is the command that is being started.
func (s *supervisor) whose(p int) (of *charge, known bool) {
	tag := uint64(0)
	if s.tags() {
		tag = readTag(p)
	}
	if tag != 0 && tag == s.starting {
		return nil, true
	}
	if len(s.charges) == 1 {
		for _, c := range s.charges {
			return c, true
		}
	}
	if tag>>32 == uint64(os.Getpid()) {
		if c := s.charges[uint32(tag)]; c != nil {
			return c, true
		}
	}
	if st, ok := readStat(p); ok {
		if c := s.byPID[st.session]; c != nil {
			return c, true
		}
	}
	for _, c := range s.charges {
		if c.seen[p] {
			return c, true
		}
	}
	return nil, false
}

// close notes that c ends or is told to.
func (s *supervisor) close(c *charge) {
	if c.closing == 0 {
		s.closings++
		c.closing = s.closings
	}
	s.clear()
}

// clear gives those that could be of several to the last of them, when all of them are being ended.
func (s *supervisor) clear() {
	for p, of := range s.unclear {
		if len(of) == 0 {
			signalAll([]int{p}, unix.SIGKILL)
			continue
		}
		last := &charge{}
		for _, c := range of {
			if c.closing == 0 {
				last = nil
				break
			}
			if c.closing > last.closing {
				last = c
			}
		}
		if last != nil && last.closing > 0 {
			delete(s.unclear, p)
			s.strays[p] = last
			last.strays++
		}
	}
}

// forget takes a reported charge from the candidates. What was its was given to it before, or could not be ended.
func (s *supervisor) forget(c *charge) {
	for p, of := range s.unclear {
		kept := of[:0:0]
		for _, o := range of {
			if o != c {
				kept = append(kept, o)
			}
		}
		s.unclear[p] = kept
	}
}

// roots are the children of this process that are of c: the command, and its strays.
func (s *supervisor) roots(c *charge) []int {
	var pids []int
	if c.ended.IsZero() {
		pids = append(pids, c.pid)
	}
	for p, of := range s.strays {
		if of == c {
			pids = append(pids, p)
		}
	}
	return pids
}

// members are all processes of c that can be seen.
func (s *supervisor) members(c *charge) []int {
	s.look()
	all := s.roots(c)
	if len(all) == 0 {
		return nil
	}
	if _, ok := readStat(os.Getpid()); !ok {
		s.blind = true
		return all
	}
	if c.seen == nil {
		c.seen = map[int]bool{}
	}
	all = append(all, descendants(all...)...)
	for _, p := range all {
		c.seen[p] = true
	}
	return all
}

// A fitness is what a child inherits of its supervisor, and what somebody outside can change of it: its limits, its
// priority and its processors.
type fitness struct {
	limits   [16]unix.Rlimit
	priority int
	cpus     unix.CPUSet
}

func fitnessOf() (f fitness) {
	for i := range f.limits {
		if i != tagResource {
			_ = unix.Getrlimit(i, &f.limits[i])
		}
	}
	f.priority, _ = unix.Getpriority(unix.PRIO_PROCESS, os.Getpid())
	_ = unix.SchedGetaffinity(os.Getpid(), &f.cpus)
	return f
}
