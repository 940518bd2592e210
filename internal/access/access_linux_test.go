package access

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What /proc has of a process, also by way of its threads, leads to where the process is.
func TestResolveOwnThreads(t *testing.T) {
	t.Parallel()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	pid := os.Getpid()
	for _, name := range []string{
		"/proc/self/cwd/a", "/proc/thread-self/cwd/a", "/proc/self/task/1/cwd/a",
		fmt.Sprintf("/proc/%d/cwd/a", pid), fmt.Sprintf("/proc/self/task/%d/cwd/a", pid), fmt.Sprintf("/proc/%d/task/%d/cwd/a", pid, pid),
	} {
		if _, at := (Path{Name: name, PID: pid}).Resolve(); at != filepath.Join(dir, "a") {
			t.Errorf("%s leads to %s", name, at)
		}
	}
}
