package sandbox

// Processes of killed runners, found by the marks in /proc/<pid>/environ.

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

// Orphans lists processes of this user that carry the mark of a runner that is no longer alive.
func Orphans() ([]Process, error) {
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return nil, fmt.Errorf("looking for processes that a killed run left: %w", err)
	}
	var left []Process
	alive := map[process.Stamp]bool{}
	environ := make([]byte, 64<<10)
	for _, pid := range allProcesses() {
		p, ok := readMarks(pid, environ)
		runner := p.Runner
		if !ok || pid == os.Getpid() || runner.Boot != process.Self().Boot {
			continue
		}
		// In a container the same numbers are other processes: its own runner must look there.
		if ns, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid"); err != nil || ns != namespace {
			continue
		}
		if _, known := alive[runner]; !known {
			alive[runner] = runner.Alive()
		}
		if st, ok := readStat(pid); alive[runner] || !ok || !st.alive() || endsByItself(pid, st) {
			continue
		}
		left = append(left, p)
	}
	return left, nil
}

// readMarks returns the marks of a process of this user; ok is false when it has none. The environment is read into
// buf if that is long enough: every run looks at all processes.
func readMarks(pid int, buf []byte) (p Process, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	env, err := readProcInto(buf, dir+"/environ") // fails at once for most processes of others, and for kernel threads
	if err != nil || !bytes.Contains(env, []byte(RunnerMark+"=")) {
		return p, false
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil || st.Uid != uint32(os.Geteuid()) {
		return p, false
	}
	vars := strings.Split(string(env), "\x00")
	p = Process{PID: pid, Hook: lookupEnv(vars, HookMark), Dir: lookupEnv(vars, "PWD")}
	p.Runner, ok = process.Parse(lookupEnv(vars, RunnerMark))
	return p, ok
}

// EndOrphansOf kills the orphans for which match returns true, and returns those that it found.
func EndOrphansOf(match func(Process) bool) ([]Process, error) {
	found, err := orphansOf(match)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	// Supervisors first: they also kill processes that removed their marks.
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(pollKill) {
		if !slices.ContainsFunc(found, wakeSupervisor) {
			break
		}
	}
	for end := time.Now().Add(giveUp); ; time.Sleep(pollKill) {
		left, err := orphansOf(match)
		if err != nil {
			return found, err
		}
		if len(left) == 0 {
			return found, nil
		}
		if time.Now().After(end) {
			return found, fmt.Errorf("process %d, left by a killed run, does not end; look at it with ps", left[0].PID)
		}
		for _, p := range left {
			signalAll(append(descendants(p.PID), p.PID), syscall.SIGKILL)
		}
	}
}

func orphansOf(match func(Process) bool) ([]Process, error) {
	all, err := Orphans()
	return slices.DeleteFunc(all, func(p Process) bool { return !match(p) }), err
}

// wakeSupervisor reports whether p is a living supervisor. Its tree may have stopped it.
func wakeSupervisor(p Process) bool {
	if !isSupervisor(p.PID) {
		return false
	}
	signalAll([]int{p.PID}, syscall.SIGCONT)
	return true
}

func isSupervisor(pid int) bool {
	args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && bytes.HasPrefix(args, []byte(helperName+"\x00"+roleSupervisor+"\x00"))
}

// endsByItself reports whether a process is a supervisor without children. It exits some milliseconds after its
// runner, so it is no orphan.
func endsByItself(pid int, st stat) bool {
	return st.state != 'T' && st.state != 't' && isSupervisor(pid) && len(children(pid)) == 0
}
