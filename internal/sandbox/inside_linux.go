package sandbox

// Whether this process was started by a task or a hook. The marks in its environment may have been removed (`env -i`),
// but even a process that has left its session or lost its parent is a descendant of its supervisor. The runner of
// that has its root open.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

// mostAncestors bounds the walk to pid 1. A process with more ancestors tries to hide.
const mostAncestors = 1 << 15

// Hold keeps the folder open until this process exits. Inside finds the root of a runner by it, even if the folder is
// renamed meanwhile. Child processes do not inherit it.
func Hold(root string) {
	_, _ = unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// Inside reports whether this process is a descendant of a hook, or of a task of a runner that works for root or for a
// folder below it. Tasks of another root do not count, because the tests of a program that uses this one may be a
// task. A supervisor whose runner cannot be found counts as one of root.
func Inside(root string) bool { return insideOf("self", root) }

// InHook reports whether this process is a descendant of a hook, of whatever root: an agent works in a copy, and it can
// make another project.
func InHook() bool { return hookAbove("self") }

// insideOf is Inside of a process, named as in /proc.
func insideOf(name, root string) bool {
	want, err := os.Stat(root)
	return startedBy(name, func(s starter) bool {
		return s.hook || err == nil && (!s.runner.Alive() || hasOpen(s.runner.PID, root, want))
	})
}

// hookAbove is InHook of a process, named as in /proc.
func hookAbove(name string) bool { return startedBy(name, func(s starter) bool { return s.hook }) }

// A starter is a supervisor, as its own environment tells. That is as its runner made it: no descendant changes it.
type starter struct {
	runner process.Stamp // the zero value, which is not alive: it is not told
	hook   bool          // it starts what a hook does; also if its environment cannot be read
}

// startedBy reports whether is holds for one of the supervisors above a process.
func startedBy(name string, is func(starter) bool) bool {
	above, lost := supervisorsAbove(name)
	return lost || slices.ContainsFunc(above, func(pid int) bool {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		vars := strings.Split(string(env), "\x00")
		runner, _ := process.Parse(lookupEnv(vars, RunnerMark))
		return is(starter{runner: runner, hook: err != nil || lookupEnv(vars, HookMark) != ""})
	})
}

// supervisorsAbove returns the supervisors among the ancestors of a process; lost means that there are too many
// ancestors. The walk begins again if an ancestor exits meanwhile, because its children get another parent. If /proc
// hides the processes of other users, it ends at the first of them, which has no supervisor of this user above it.
func supervisorsAbove(name string) (found []int, lost bool) {
	for range 20 {
		found = nil
		st, ok := statOf(name)
		for n := 0; ok && st.parent > 0; n++ {
			if n == mostAncestors {
				return nil, true
			}
			if isSupervisor(st.parent) {
				found = append(found, st.parent)
			}
			st, ok = readStat(st.parent)
		}
		if ok {
			break
		}
	}
	return found, false
}

// statOf is readStat of a process, named as in /proc. "self" is right where /proc counts otherwise than getpid.
func statOf(name string) (stat, bool) {
	to, err := os.Readlink("/proc/" + name)
	if err == nil {
		name = to
	}
	pid, err := strconv.Atoi(name)
	if err != nil {
		return stat{}, false
	}
	return readStat(pid)
}

// hasOpen reports whether a process has root open, or a folder below it. It is true if that cannot be read.
func hasOpen(pid int, root string, want fs.FileInfo) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	files, err := os.ReadDir(dir)
	if err != nil {
		return true
	}
	for _, f := range files {
		link := filepath.Join(dir, f.Name())
		to, err := os.Readlink(link)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if !filepath.IsAbs(to) { // a pipe, a socket; or it was just closed
			continue
		}
		if _, ok := below(root, to); ok {
			return true
		}
		if info, err := os.Stat(link); err == nil && os.SameFile(info, want) {
			return true
		}
	}
	return false
}
