package sandbox

// Programs that cannot be started yet, and commands that are too large. TestProgramBeingWritten runs alone: others
// would fork meanwhile.

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestProgramBeingWritten runs a script that somebody still writes, and others meanwhile.
func TestProgramBeingWritten(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	write(t, script, "#!/bin/sh\necho ran\n")
	f, err := os.OpenFile(script, os.O_WRONLY, 0)
	must(t, err)
	defer func() { _ = f.Close() }()
	must(t, os.Chmod(script, 0o755))
	c := Command{Argv: []string{script}, Dir: "/", Env: testEnv}
	if out, res := outputOf(t, Box{Tier: None}, c); res.ExitCode != 126 || !strings.Contains(out, "text file busy") {
		t.Errorf("%q %+v", out, res)
	}
	for try := range 20 {
		closed := make(chan struct{})
		time.AfterFunc(busyFor/2, func() { defer close(closed); _ = f.Close() })
		var out string
		var res Result
		var all sync.WaitGroup
		all.Go(func() { out, res = outputOf(t, Box{Tier: None}, c) })
		all.Go(func() { many(t, 20, 2, spawnBoxed) })
		all.Wait()
		<-closed
		if res.ExitCode == 0 && out == "ran\n" {
			return
		}
		t.Logf("try %d: %q %+v", try, out, res) // on a busy machine it may be closed too late
		if f, err = os.OpenFile(script, os.O_WRONLY, 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("it never ran")
}

// TestLargeCommand has more arguments than a socket holds, and more than the kernel takes.
func TestLargeCommand(t *testing.T) {
	t.Parallel()
	large := make([]string, 15)
	for i := range large {
		large[i] = strings.Repeat("x", 100_000)
	}
	if out, res := outputOf(t, Box{Tier: None}, sh(`echo $# ${#15}`, large...)); out != "15 100000\n" || res.ExitCode != 0 {
		t.Errorf("%.100q %+v", out, res)
	}
	if out, res := outputOf(t, Box{Tier: None}, sh(`echo $#`, strings.Repeat("x", 1<<20))); res.ExitCode != 126 || !strings.Contains(out, "argument list too long") {
		t.Errorf("%.100q %+v", out, res)
	}
}
