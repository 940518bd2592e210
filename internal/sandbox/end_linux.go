package sandbox

// How a supervisor ends the processes of one command: when it has ended, or when it is told to.

import (
	"slices"
	"syscall"
	"time"
)

const (
	settle   = 10 * time.Millisecond // what a command's helpers have to end by themselves before they count as left
	pollKill = 2 * time.Millisecond
	pollTerm = 20 * time.Millisecond
	weighing = 250 * time.Millisecond // before SIGKILL, what did not heed SIGTERM is counted
	giveUp   = 5 * time.Second        // after which a process that SIGKILL does not end is reported
)

// A job is a command in a supervisor's care, and all that comes from it. Its fields are guarded by the
// supervisor's mu.
type job struct {
	id     uint32
	pid    int // of the command, and of its session
	strays int // children of the supervisor that are its

	ended   time.Time // when the command itself was reaped
	settled time.Time // ended, or when was looked last
	closing int       // it ends, or is told to: the n-th; 0: it runs
	code    int
	signal  syscall.Signal
	told    bool // an order came before the command had ended
	left    int
	said    bool // that it has ended
	counted bool // left is final
	weighed bool // left is what stood before SIGKILL
	termed  time.Time
	killing time.Time
	rewalk  time.Time // when all that descends from it is to be walked again
	due     time.Time // when something is to be done; zero: nothing
	asked   map[int]bool
	struck  map[int]bool
	seen    map[int]bool // what descended from it when it was walked
}

// ends notes how the command itself ended.
func (s *supervisor) ends(c *job, ws syscall.WaitStatus) {
	c.ended = time.Now()
	c.settled = c.ended
	c.code, c.signal = codeOf(ws)
	s.close(c)
}

// settle reports those of ended that have nothing left, and goes on with the others. None says that this supervisor
// has no child at all.
func (s *supervisor) settle(ended []*job, none bool) {
	if len(ended) == 0 {
		return
	}
	sure := none || s.look()
	unfit := false
	for _, c := range ended {
		switch {
		case s.jobs[c.id] != c: // it is twice among them, and reported
		case c.strays > 0:
			if !c.said {
				c.said = true
				// The runner needs it if this supervisor does not come to its report.
				s.tell(notice{kind: noticeEnded, id: c.id, code: uint32(c.code), signal: c.signal, told: c.told})
			}
			s.step(c)
		case !sure:
			s.wake(c, time.Millisecond)
		default:
			unfit = unfit || fitnessOf() != s.first
			s.report(c, 0, unfit)
		}
	}
}

func (s *supervisor) report(c *job, stuck int, unfit bool) {
	if s.blind {
		c.left = len(c.struck)
	}
	s.tell(notice{
		kind: noticeReport, id: c.id, code: uint32(c.code), signal: c.signal, told: c.told, unfit: unfit,
		left: uint32(c.left), stuck: uint32(stuck),
	})
	c.due = time.Time{}
	delete(s.jobs, c.id)
	if s.byPID[c.pid] == c {
		delete(s.byPID, c.pid)
	}
	s.forget(c)
}

// obey does what the runner orders.
func (s *supervisor) obey(c *job, kind byte) {
	c.told = c.told || c.ended.IsZero()
	s.close(c)
	if kind == askTerm {
		s.term(c)
	} else if c.killing.IsZero() {
		c.killing = time.Now()
	}
	s.step(c)
	s.flush()
}

// due does for each job what is due. The clock calls it.
func (s *supervisor) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick = time.Time{}
	now := time.Now()
	for _, c := range s.jobs {
		if c.due.IsZero() {
			continue
		}
		if c.due.After(now) {
			s.wake(c, c.due.Sub(now))
			continue
		}
		if !c.ended.IsZero() && c.strays == 0 {
			s.settle([]*job{c}, false)
			continue
		}
		s.step(c)
	}
	s.flush()
}

// wake reports that something is to be done for c after d.
func (s *supervisor) wake(c *job, d time.Duration) {
	c.due = time.Now().Add(max(d, time.Microsecond))
	if s.tick.IsZero() || c.due.Before(s.tick) {
		s.tick = c.due
		s.clock.Reset(d)
	}
}

// step does what is due for c and says when the next is.
func (s *supervisor) step(c *job) {
	now := time.Now()
	c.due = time.Time{}
	if !c.ended.IsZero() && !c.counted && now.Sub(c.settled) >= settle {
		c.counted = true
		if left := s.lasting(c); len(left) > 0 || s.blind {
			if !c.weighed {
				c.left = len(left)
			}
			s.term(c)
		}
	}
	if !c.termed.IsZero() {
		if c.ended.IsZero() && now.Sub(c.termed) >= Grace-weighing {
			s.weigh(c)
		}
		if now.Sub(c.termed) >= Grace && c.killing.IsZero() {
			c.killing = now
		}
	}
	switch {
	case !c.killing.IsZero():
		if now.Sub(c.killing) > giveUp {
			if stuck := len(living(s.members(c))); stuck > 0 {
				s.report(c, stuck, true) // with what cannot be ended
				return
			}
		}
		s.kill(c)
		s.wake(c, max(pollKill, 2*time.Since(now))) // the tree needs the processor too, to die
	case !c.termed.IsZero():
		s.wake(c, min(pollTerm, time.Until(c.termed.Add(Grace))))
	case !c.ended.IsZero():
		if c.counted { // a process appeared between the count and now, or only zombies wait for the reaper
			c.counted = false
			c.settled = now
		}
		s.wake(c, settle)
	}
}

// lasting returns the members of c that live and will not end by themselves: what a command leaves is also the
// supervisor of a runner that it was.
func (s *supervisor) lasting(c *job) []int {
	left := living(s.members(c))
	const few = 16 // of a crowd, each has a name that would have to be read
	if len(left) > few {
		return left
	}
	return slices.DeleteFunc(left, func(p int) bool {
		st, ok := readStat(p)
		return ok && endsByItself(p, st)
	})
}

// term asks all that were not asked before. It is not repeated while the command lives: what a command starts to clean
// up must be able to do its work. A stopped process hears it only when it goes on.
func (s *supervisor) term(c *job) {
	if c.termed.IsZero() {
		c.termed = time.Now()
	}
	for _, p := range s.members(c) {
		if !c.asked[p] {
			c.asked[p] = true
			signalAll([]int{p}, syscall.SIGTERM)
			signalAll([]int{p}, syscall.SIGCONT)
		}
	}
}

// weigh counts, once, what did not end by itself, while the command lives.
func (s *supervisor) weigh(c *job) {
	if !c.weighed {
		c.weighed = true
		c.left = max(0, len(living(s.members(c)))-1)
	}
}

// kill ends what it finds, again and again as long as new processes turn up: a chain of processes that fork and end
// is caught by being asked for faster than it moves. Only this process's own children are asked for each time: what
// a killed process had becomes one of them as it dies. All that descends from the command is walked now and then,
// for those that cannot be killed and for deep ones.
func (s *supervisor) kill(c *job) {
	if c.ended.IsZero() && !c.counted {
		if !c.termed.IsZero() {
			s.weigh(c)
		}
		c.counted = true // from here on, who lives does so for want of time
	}
	if c.struck == nil {
		c.struck = map[int]bool{}
		c.rewalk = time.Now().Add(pollTerm) // a crowd is better reaped than walked
		if len(s.jobs) > 1 {
			s.members(c) // to know those again whose parents die
		}
	}
	for p := range killAll(func() []int { s.look(); return s.roots(c) }) {
		if p != c.pid {
			c.struck[p] = true
		}
	}
	if start := time.Now(); !start.Before(c.rewalk) {
		signalAll(s.members(c), syscall.SIGKILL)
		c.rewalk = time.Now().Add(max(pollTerm, 4*time.Since(start)))
	}
}

// killAll kills the processes that list returns, again and again until it returns no new one, and returns them all.
func killAll(list func() []int) map[int]bool {
	seen := map[int]bool{}
	for range 100 {
		known := len(seen)
		for _, p := range list() {
			signalAll([]int{p}, syscall.SIGKILL)
			seen[p] = true
		}
		if len(seen) == known {
			break
		}
	}
	return seen
}
