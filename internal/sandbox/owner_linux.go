package sandbox

// Whose a process is. What descends from a running command is its. What lost its parent became a child of the
// supervisor, a stray, and is told by, in this order: the tag, a resource limit that is inherited whatever a
// process does with its session and its environment; the session, which is the command's unless it made one of its
// own; what was seen below a command that is being ended. What tells none of that, having set that limit itself,
// could be of each command that ran when it was first seen: it is ended with the last of them, and counted there.

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// tagResource is a limit that Linux keeps and hands on, and has not looked at since 2.4.25 (getrlimit(2)). The soft
// limit of a command's processes is its tag.
const tagResource = unix.RLIMIT_LOCKS

// tagOf returns the tag of a command: no other that lives at the same time has it, of another supervisor neither.
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

// clearTag returns this process back what it was given: it may itself be told by it.
func (s *supervisor) clearTag() {
	if s.tags() {
		_ = unix.Setrlimit(tagResource, &s.own)
	}
}

// readTag returns the tag of a process, 0 when it cannot be read.
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
	for _, p := range s.childReader.children() {
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
			for _, c := range s.jobs {
				s.unclear[p] = append(s.unclear[p], c)
			}
			if len(s.jobs) == 0 {
				s.unclear[p] = []*job{} // of a command that was reported with it: it could not be ended
			}
		}
	}
	s.clear()
	return sure
}

// whose says whose a stray is; known without a job is the command that is being started.
func (s *supervisor) whose(p int) (of *job, known bool) {
	tag := uint64(0)
	if s.tags() {
		tag = readTag(p)
	}
	if tag != 0 && tag == s.starting {
		return nil, true
	}
	if len(s.jobs) == 1 {
		for _, c := range s.jobs {
			return c, true
		}
	}
	if tag>>32 == uint64(os.Getpid()) {
		if c := s.jobs[uint32(tag)]; c != nil {
			return c, true
		}
	}
	if st, ok := readStat(p); ok {
		if c := s.byPID[st.session]; c != nil {
			return c, true
		}
	}
	for _, c := range s.jobs {
		if c.seen[p] {
			return c, true
		}
	}
	return nil, false
}

// close notes that c ends or is told to.
func (s *supervisor) close(c *job) {
	if c.closing == 0 {
		s.closings++
		c.closing = s.closings
	}
	s.clear()
}

// clear returns those that could be of several to the last of them, when all of them are being ended.
func (s *supervisor) clear() {
	for p, of := range s.unclear {
		if len(of) == 0 {
			signalAll([]int{p}, unix.SIGKILL)
			continue
		}
		if slices.ContainsFunc(of, func(c *job) bool { return c.closing == 0 }) {
			continue
		}
		last := slices.MaxFunc(of, func(a, b *job) int { return a.closing - b.closing })
		delete(s.unclear, p)
		s.strays[p] = last
		last.strays++
	}
}

// forget takes a reported job from the candidates. What was its was given to it before, or could not be ended.
func (s *supervisor) forget(c *job) {
	for p, of := range s.unclear {
		s.unclear[p] = slices.DeleteFunc(of, func(o *job) bool { return o == c })
	}
}

// roots returns the children of this process that are of c: the command, and its strays.
func (s *supervisor) roots(c *job) []int {
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

// members returns all processes of c that can be seen.
func (s *supervisor) members(c *job) []int {
	s.look()
	all := s.roots(c)
	if len(all) == 0 {
		return nil
	}
	if _, ok := readStat(os.Getpid()); !ok {
		s.blind = true
		return all
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

// Who descends from whom, as /proc tells it.

// children returns the direct children of a process, of all its threads. A process that is gone has none.
func children(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	var pids []int
	for _, t := range threads(dir, pid) {
		list, err := readProc(dir + "/" + t + "/children")
		if err != nil {
			if os.IsNotExist(err) && noChildrenFiles() {
				return childrenByParent(pid)
			}
			continue
		}
		pids = append(pids, numbers(list)...)
	}
	return pids
}

// threads returns the names in a task folder. The number of its links is 2 more than that of the threads.
func threads(dir string, pid int) []string {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return nil
	}
	if st.Nlink == 3 {
		return []string{strconv.Itoa(pid)}
	}
	entries, _ := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// readProc reads a small file of /proc with as few calls as can be: a walk reads two for each process.
func readProc(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, 0, 512)
	for {
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return buf, err
		}
		buf = slices.Grow(buf[:len(buf)+n], 512)
	}
}

// noChildrenFiles is true for a kernel without CONFIG_PROC_CHILDREN.
func noChildrenFiles() bool {
	pid := strconv.Itoa(os.Getpid())
	_, err := os.Stat("/proc/self/task/" + pid + "/children")
	return err != nil
}

// A childReader lists the direct children of this process from a file that stays open: it needs no descriptor of its own,
// and so works also where somebody lowered this process's limits. The file is that of the main thread, which starts
// all commands and is given every orphan.
type childReader struct {
	file int // -1 for a kernel without CONFIG_PROC_CHILDREN
	buf  []byte
	pids []int
}

// openChildReader is called on the main thread.
func openChildReader() childReader {
	pid := strconv.Itoa(os.Getpid())
	file, err := unix.Open("/proc/self/task/"+pid+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		file = -1
	}
	return childReader{file: file, buf: make([]byte, 4096)}
}

// children is valid until the next call.
func (b *childReader) children() []int {
	if b.file < 0 {
		return children(os.Getpid())
	}
	b.pids = b.pids[:0]
	pid, at := 0, int64(0)
	for {
		n, err := unix.Pread(b.file, b.buf, at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 {
			return b.pids
		}
		at += int64(n)
		for _, c := range b.buf[:n] { // each number ends with a space
			if c >= '0' && c <= '9' {
				pid = pid*10 + int(c-'0')
			} else if pid > 0 {
				b.pids = append(b.pids, pid)
				pid = 0
			}
		}
	}
}

func numbers(list []byte) []int {
	var pids []int
	for _, f := range bytes.Fields(list) {
		if p, err := strconv.Atoi(string(f)); err == nil {
			pids = append(pids, p)
		}
	}
	return pids
}

func childrenByParent(pid int) []int {
	return slices.DeleteFunc(allProcesses(), func(p int) bool {
		st, ok := readStat(p)
		return !ok || st.parent != pid
	})
}

// descendants returns the children of roots, their children and so on. While processes fork and end the list can
// miss some: whoever must have them all asks again until there are none.
func descendants(roots ...int) []int {
	seen := make(map[int]bool, len(roots))
	for _, p := range roots {
		seen[p] = true
	}
	var all []int
	for next := slices.Clone(roots); len(next) > 0; {
		p := next[0]
		next = next[1:]
		for _, c := range children(p) {
			if !seen[c] {
				seen[c] = true
				all = append(all, c)
				next = append(next, c)
			}
		}
	}
	return all
}

// living returns those of pids that are not zombies.
func living(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(p int) bool {
		st, ok := readStat(p)
		return !ok || !st.alive()
	})
}

func signalAll(pids []int, sig syscall.Signal) {
	for _, p := range pids {
		_ = syscall.Kill(p, sig) // gone already, or not ours to signal: whoever waits for it sees that
	}
}

// A stat is what is needed of /proc/<pid>/stat.
type stat struct {
	state   byte
	parent  int
	session int
}

func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' }

func readStat(pid int) (s stat, ok bool) {
	b, err := readProc("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	_, rest, ok := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " ") // the name before may hold anything
	f := strings.Fields(rest)
	if !ok || len(f) < 4 {
		return s, false
	}
	s.state = f[0][0]
	s.parent, _ = strconv.Atoi(f[1])
	s.session, err = strconv.Atoi(f[3])
	return s, err == nil
}

func allProcesses() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, n := range names {
		if p, err := strconv.Atoi(n); err == nil {
			pids = append(pids, p)
		}
	}
	return pids
}
