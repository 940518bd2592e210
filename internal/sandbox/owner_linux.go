package sandbox

// Which command a process belongs to. Descendants of a running command belong to it. A process that lost its parent
// becomes a child of the supervisor, a stray. Its command is found, in this order, by: its tag, a resource limit that
// is inherited whatever a process does to its session and its environment; its session, unless it made one of its own;
// the processes that were listed below a command that is being ended. A process that shows none of these, because it
// set that limit itself, may belong to any command that ran when it was first seen: it is ended with the last of them,
// and counted there.

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

// tagResource is a limit that Linux keeps and inherits, and has not enforced since 2.4.25 (getrlimit(2)). The soft
// limit of a command's processes is its tag.
const tagResource = unix.RLIMIT_LOCKS

// tagOf returns the tag of a command. No other running command has it, not even one of another supervisor.
func tagOf(supervisor int, id uint32) uint64 { return uint64(supervisor)<<32 | uint64(id) }

// openTag finds out whether tags can be set: the hard limit must be unlimited.
func (s *supervisor) openTag() {
	if unix.Getrlimit(tagResource, &s.own) != nil || s.own.Max != unix.RLIM_INFINITY {
		s.own.Max = 0
	}
}

func (s *supervisor) tags() bool { return s.own.Max != 0 }

// setTag sets the tag that the next fork inherits. Only the main goroutine forks.
func (s *supervisor) setTag(tag uint64) {
	if s.tags() {
		_ = unix.Setrlimit(tagResource, &unix.Rlimit{Cur: tag, Max: s.own.Max})
	}
}

// clearTag restores the limit of this process, which may be its own tag.
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

// look assigns new children to jobs. It is not sure if one of them may be the command that is being started.
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
				s.unclear[p] = []*job{} // it could not be ended, and its command was reported
			}
		}
	}
	s.clear()
	return sure
}

// whose returns the job of a stray. It returns nil and true for the command that is being started.
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

// close records that c has ended or was told to.
func (s *supervisor) close(c *job) {
	if c.closing == 0 {
		s.closings++
		c.closing = s.closings
	}
	s.clear()
}

// clear assigns each unclear process to the last of its possible jobs, once all of them are being ended.
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

// forget removes a reported job from the possible jobs of unclear processes.
func (s *supervisor) forget(c *job) {
	for p, of := range s.unclear {
		s.unclear[p] = slices.DeleteFunc(of, func(o *job) bool { return o == c })
	}
}

// roots returns the children of this process that belong to c: the command, and its strays.
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

// members returns all processes of c that are visible.
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

// A fitness has the properties of a supervisor that its children inherit and that other processes can change.
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

// Parents and children, read from /proc.

// children returns the direct children of a process, of all its threads; none if the process has exited.
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

// threads returns the names in a task folder. The folder has two links more than there are threads.
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

// readProc reads a small file of /proc with few system calls. Listing descendants reads two files for each process.
func readProc(path string) ([]byte, error) { return readProcInto(make([]byte, 512), path) }

// readProcInto is readProc for a buffer that is used again. The result may be part of it.
func readProcInto(buf []byte, path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	buf = buf[:0]
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

// noChildrenFiles reports whether the kernel lacks CONFIG_PROC_CHILDREN.
func noChildrenFiles() bool {
	pid := strconv.Itoa(os.Getpid())
	_, err := os.Stat("/proc/self/task/" + pid + "/children")
	return err != nil
}

// A childReader lists the direct children of this process. Its file stays open, so it works even if somebody lowers
// this process's limit of descriptors. The file is that of the main thread, which starts all commands and becomes the
// parent of every orphan.
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

// descendants returns the children of roots, their children and so on. It can miss processes that are forked
// meanwhile, so a caller that needs all of them must repeat it until there are no new ones.
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
		_ = syscall.Kill(p, sig) // a caller that waits for the process notices an error
	}
}

// A stat has some fields of /proc/<pid>/stat.
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
