package sandbox

// How a supervisor ends the processes of one command: when it has ended, or when it is told to.

import (
	"slices"
	"syscall"
	"time"
)

const (
	settle   = 10 * time.Millisecond // how long the helpers of a command may take to exit before they count as left
	pollKill = 2 * time.Millisecond
	pollTerm = 20 * time.Millisecond
	weighing = 250 * time.Millisecond // how long before SIGKILL the processes that ignored SIGTERM are counted
	giveUp   = 5 * time.Second        // after how long without fewer processes those that survive SIGKILL are reported
)

// A decline follows how many of the killed processes are still there. Many need longer than giveUp on a busy machine.
type decline struct {
	least int
	since time.Time
}

// stuck reports whether left has not become smaller for giveUp.
func (d *decline) stuck(left int) bool {
	now := time.Now()
	if d.since.IsZero() || left < d.least {
		d.least, d.since = left, now
	}
	return now.Sub(d.since) > giveUp
}

// A job is a command of a supervisor with all its descendants. Its fields are guarded by the supervisor's mu.
type job struct {
	id     uint32
	pid    int // of the command, and of its session
	strays int // number of its strays: see owner_linux.go

	ended   time.Time // when the command itself was reaped
	settled time.Time // ended, or when its processes were counted last
	closing int       // it ended, or was told to, as the n-th job; 0: it runs
	code    int
	signal  syscall.Signal
	told    bool // an order came before the command had ended
	left    int
	said    bool // noticeEnded was sent
	counted bool // left is final
	weighed bool // left was counted before SIGKILL
	termed  time.Time
	killing time.Time
	killed  decline
	rewalk  time.Time    // when its descendants are listed again
	due     time.Time    // when step is called next; zero: not planned
	asked   map[int]bool // processes that got SIGTERM
	struck  map[int]bool // processes that got SIGKILL
	seen    map[int]bool // its processes, as far as they were ever listed
}

// ends records how the command itself ended.
func (s *supervisor) ends(c *job, ws syscall.WaitStatus) {
	c.ended = time.Now()
	c.settled = c.ended
	c.code, c.signal = codeOf(ws)
	s.close(c)
}

// settle reports those of ended that have no process left, and continues with the others. none means that this
// supervisor has no child at all.
func (s *supervisor) settle(ended []*job, none bool) {
	if len(ended) == 0 {
		return
	}
	sure := none || s.look()
	unfit := false
	for _, c := range ended {
		switch {
		case s.jobs[c.id] != c: // it is listed twice, and was reported
		case c.strays > 0:
			if !c.said {
				c.said = true
				// The runner needs it if this supervisor is killed before its report.
				s.tellEnded(c)
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

func (s *supervisor) tellEnded(c *job) {
	s.tell(notice{kind: noticeEnded, id: c.id, code: uint32(c.code), signal: c.signal, told: c.told, left: uint32(c.left)})
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

// obey ends a job as the runner asked: kind is askTerm or askKill.
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

// due calls step for each job that is due. The clock calls it.
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

// wake plans the next step of c, after d.
func (s *supervisor) wake(c *job, d time.Duration) {
	c.due = time.Now().Add(max(d, time.Microsecond))
	if s.tick.IsZero() || c.due.Before(s.tick) {
		s.tick = c.due
		s.clock.Reset(d)
	}
}

// step does what is due for c and plans the next step.
func (s *supervisor) step(c *job) {
	now := time.Now()
	c.due = time.Time{}
	if !c.ended.IsZero() && !c.counted && now.Sub(c.settled) >= settle {
		c.counted = true
		if left := s.lasting(c); len(left) > 0 || s.blind {
			if !c.weighed {
				c.left = len(left)
				if c.said {
					s.tellEnded(c) // now with their number
				}
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
		if stuck := s.kill(c); stuck > 0 {
			s.report(c, stuck, true)
			return
		}
		s.wake(c, max(pollKill, 2*time.Since(now))) // the tree needs processor time to exit
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

// lasting returns the living members of c that do not exit by themselves. A command that was a runner leaves its
// supervisor, which does.
func (s *supervisor) lasting(c *job) []int {
	left := living(s.members(c))
	const few = 16 // reading the command line of many processes would take too long
	if len(left) > few {
		return left
	}
	return slices.DeleteFunc(left, func(p int) bool {
		st, ok := readStat(p)
		return ok && endsByItself(p, st)
	})
}

// term sends SIGTERM to the members of c that did not get it before. It is not repeated while the command lives,
// because what a command starts to clean up must be able to work. A stopped process gets the signal only when it is
// continued.
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

// weigh counts the processes of c besides the command. Only the first call counts.
func (s *supervisor) weigh(c *job) {
	if !c.weighed {
		c.weighed = true
		c.left = max(0, len(living(s.members(c)))-1)
	}
}

// kill kills the processes of c as long as new ones appear, so that it overtakes a chain of processes that fork and
// exit. Each round lists only this process's own children: those of a killed process become such. All descendants of
// the command are listed now and then, because of processes that cannot be killed, and deep trees. It returns the
// number of those that cannot be killed, once that is sure.
func (s *supervisor) kill(c *job) (stuck int) {
	if c.ended.IsZero() && !c.counted {
		if !c.termed.IsZero() {
			s.weigh(c)
		}
		c.counted = true // what lives from here on only lacked time to exit
	}
	if c.struck == nil {
		c.struck = map[int]bool{}
		c.rewalk = time.Now().Add(pollTerm) // reaping many processes is faster than listing them
		if len(s.jobs) > 1 {
			s.members(c) // to recognize processes whose parents die
		}
	}
	for p := range killAll(func() []int { s.look(); return s.roots(c) }) {
		if p != c.pid {
			c.struck[p] = true
		}
	}
	if start := time.Now(); !start.Before(c.rewalk) {
		left := living(s.members(c))
		signalAll(left, syscall.SIGKILL)
		c.rewalk = time.Now().Add(max(pollTerm, 4*time.Since(start)))
		if c.killed.stuck(len(left)) {
			return len(left)
		}
	}
	return 0
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
