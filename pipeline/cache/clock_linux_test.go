package cache

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What was written before has an earlier time, and what is written at once afterwards a later one, also on a file system
// whose clock is behind that of the program.
func TestAfterTick(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	write := func() int64 {
		must(t, os.WriteFile(name, []byte("x"), 0o600))
		var st unix.Stat_t
		must(t, unix.Stat(name, &st))
		return st.Ctim.Nano()
	}
	for range 100 {
		before := write()
		at := afterTick()
		if after := write(); before >= at || after < at {
			t.Fatalf("written at %d, after the tick %d at %d", before, at, after)
		}
	}
}

// A clock that stands still is not waited for, and its time is returned: what is written has it too.
func TestAfterTickOfAClockThatStands(t *testing.T) {
	t.Parallel()
	if got := after(time.Now(), func() int64 { return 7 }); got != 7 {
		t.Error(got)
	}
}
