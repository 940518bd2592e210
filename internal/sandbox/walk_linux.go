package sandbox

// Who descends from whom, as /proc tells it.

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// children are the direct children of a process, of all its threads. A process that is gone has none.
func children(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var pids []int
	for _, t := range tasks {
		list, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if err != nil {
			if os.IsNotExist(err) && noChildrenFiles() {
				return childrenByParent(pid)
			}
			continue
		}
		for _, f := range bytes.Fields(list) {
			if p, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, p)
			}
		}
	}
	return pids
}

// noChildrenFiles is true for a kernel without CONFIG_PROC_CHILDREN.
func noChildrenFiles() bool {
	pid := strconv.Itoa(os.Getpid())
	_, err := os.Stat("/proc/self/task/" + pid + "/children")
	return err != nil
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
	start   uint64 // clock ticks since boot
}

func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' }

func readStat(pid int) (s stat, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	_, rest, ok := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " ") // the name before may hold anything
	f := strings.Fields(rest)
	if !ok || len(f) < 20 {
		return s, false
	}
	s.state = f[0][0]
	s.parent, _ = strconv.Atoi(f[1])
	s.session, _ = strconv.Atoi(f[3])
	s.start, err = strconv.ParseUint(f[19], 10, 64)
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
