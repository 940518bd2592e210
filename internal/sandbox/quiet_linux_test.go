package sandbox

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The end of a command wakes one thread of its supervisor, the one that waits for it: no thread handles SIGCHLD.
func TestSupervisorHandlesNoSIGCHLD(t *testing.T) {
	t.Parallel()
	if _, err := (Box{Tier: None}).Run(t.Context(), Command{Argv: []string{"true"}, Dir: "/", Env: os.Environ()}); err != nil {
		t.Fatal(err)
	}
	l, err := sharedLink()
	must(t, err)
	status, err := os.ReadFile("/proc/" + strconv.Itoa(l.pid) + "/status")
	must(t, err)
	_, caught, ok := strings.Cut(string(status), "SigCgt:\t")
	caught, _, _ = strings.Cut(caught, "\n")
	set, err := strconv.ParseUint(caught, 16, 64)
	if !ok || err != nil {
		t.Fatalf("%v in %q", err, status)
	}
	if set&(1<<(syscall.SIGCHLD-1)) != 0 || set&(1<<(syscall.SIGTERM-1)) == 0 {
		t.Errorf("it handles %#x", set)
	}
}
