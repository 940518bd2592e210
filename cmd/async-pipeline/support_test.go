// What the tests of this package share.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writeProgram writes a file that is started at once. A child that this process forks meanwhile would hold it open for
// writing: it could not be started then (ETXTBSY), and a shell takes the next program of that name in PATH.
func writeProgram(file string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(file, text, 0o700) //nolint:gosec // a program
}

// everyVerb returns the root and all verbs, each before those below it.
func everyVerb() []*cobra.Command {
	all := []*cobra.Command{command(process{}.open())}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].Commands()...)
	}
	return all
}

// commitAll makes a repository of a folder, with everything committed.
func commitAll(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "commit", "-qm", "start"},
	} {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		c.Env = append(withoutGit(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
}

// processesWith lists the processes that match: each variable of environ is behind a NUL.
func processesWith(match func(environ, args []byte) bool) ([]string, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	var found []string
	for _, dir := range dirs {
		environ, _ := os.ReadFile(dir + "/environ") // what ended meanwhile, or is a zombie, has none
		args, _ := os.ReadFile(dir + "/cmdline")
		if match(append([]byte{0}, environ...), args) {
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(dir), args))
		}
	}
	return found, err
}

// machineCache returns the folder of the Go tool's build cache on this machine.
func machineCache() (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out)), err
}
