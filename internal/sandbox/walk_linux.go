package sandbox

// Who descends from whom, as /proc tells it.

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

// children are the direct children of a process, of all its threads. A process that is gone has none.
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

// threads are the names in a task folder. The number of its links is 2 more than that of the threads.
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

// A brood lists the direct children of this process from a file that stays open: it needs no descriptor of its own, and
// so works also where somebody lowered this process's limits. The file is that of the main thread, which starts all
// commands and is given every orphan.
type brood struct {
	file int // -1 for a kernel without CONFIG_PROC_CHILDREN
	buf  []byte
	pids []int
}

// openBrood is called on the main thread.
func openBrood() brood {
	pid := strconv.Itoa(os.Getpid())
	file, err := unix.Open("/proc/self/task/"+pid+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		file = -1
	}
	return brood{file: file, buf: make([]byte, 4096)}
}

// children is valid until the next call.
func (b *brood) children() []int {
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
	var pids []int
	for _, p := range allProcesses() {
		if st, ok := readStat(p); ok && st.parent == pid {
			pids = append(pids, p)
		}
	}
	return pids
}

// descendants are the children of roots, their children and so on. While processes fork and end the list can miss some:
// whoever must have them all asks again until there are none.
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

// living are those of pids that are not zombies.
func living(pids []int) []int {
	var live []int
	for _, p := range pids {
		if st, ok := readStat(p); ok && st.alive() {
			live = append(live, p)
		}
	}
	return live
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
