package sandbox

// What started this process, when it does not say so itself: its marks are gone with `env -i`. Whoever leaves his
// session or loses his parent still descends from his supervisor, and that from its runner, which holds its root
// open.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

// mostAncestors bounds the walk to pid 1. Nobody descends from so many, but who wants to be lost sight of.
const mostAncestors = 1 << 15

// Hold keeps the folder open to the end of this process: Inside knows by it which root a runner works for, whatever
// happens meanwhile to the files in it and to its name. What is started here does not inherit it.
func Hold(root string) {
	_, _ = unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// Inside reports whether this process was started, over however many others, by a task or a hook of a runner that
// works for root, or for a folder below it. A runner of another root counts as none: tests of a program that uses
// this one may be a task. Where a supervisor does not let its runner be known, it is one of root.
func Inside(root string) Starter { return insideOf("self", root) }

// insideOf is Inside of a process, named as in /proc.
func insideOf(name, root string) Starter {
	want, err := os.Stat(root)
	if err != nil {
		return Neither // there is nothing to be written
	}
	above, lost := supervisorsAbove(name)
	if lost {
		return AHook
	}
	found := Neither
	for _, pid := range above {
		switch by := startedFor(pid, root, want); {
		case by == AHook:
			return AHook
		case by != Neither:
			found = by
		}
	}
	return found
}

// supervisorsAbove returns the supervisors that a process descends from; lost is true when they are too far away to
// be found. An ancestor that ends during the walk has given its children to another one: then the walk begins
// again. Where /proc hides the processes of others it ends at the first of them, which none of this user's
// supervisors is above.
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

// startedFor returns what a supervisor starts for root. Its own environment is as its runner made it: no descendant
// changes it.
func startedFor(pid int, root string, want fs.FileInfo) Starter {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	vars := strings.Split(string(env), "\x00")
	runner, ok := process.Parse(lookupEnv(vars, RunnerMark))
	by := ATask
	if err != nil || lookupEnv(vars, HookMark) != "" {
		by = AHook
	}
	if err == nil && ok && runner.Alive() && !holds(runner.PID, root, want) {
		return Neither
	}
	return by
}

// holds reports whether a process has root open, or a folder below it; it is true for a process that cannot be
// looked at.
func holds(pid int, root string, want fs.FileInfo) bool {
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
