package sandbox

// Who descends from whom, as /proc tells it.

import (
	"bytes"
	"errors"
	"io"
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

// A brood lists the direct children of this process from files that stay open: it needs no descriptor of its own, and
// so works also where somebody lowered this process's limits. The files are those of the two threads that can have
// children here: the one that starts the command, and the main thread, which is given every orphan of the tree.
type brood []*os.File

// openBrood is called on the thread that starts the command. It is empty for a kernel without CONFIG_PROC_CHILDREN.
func openBrood() brood {
	pid, tid := os.Getpid(), syscall.Gettid()
	var b brood
	for _, t := range slices.Compact([]int{pid, tid}) {
		f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(t) + "/children")
		if err != nil {
			return nil
		}
		b = append(b, f)
	}
	return b
}

func (b brood) children() []int {
	if len(b) == 0 {
		return children(os.Getpid())
	}
	var pids []int
	for _, f := range b {
		list, _ := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
		pids = append(pids, numbers(list)...)
	}
	return pids
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

// descendants are the children, their children and so on. While processes fork and end the list can miss some:
// whoever must have them all asks again until there are none.
func descendants(pid int) []int {
	seen := map[int]bool{pid: true}
	var all []int
	for next := []int{pid}; len(next) > 0; {
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
