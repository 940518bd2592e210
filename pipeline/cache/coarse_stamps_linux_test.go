package cache

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// On a file system that only keeps whole seconds a file that is edited and put back while a task runs looks as it was.
// Where that can be, nothing is stored; the next run stores.
func TestWholeSeconds(t *testing.T) {
	t.Parallel()
	if !apart(t) {
		return
	}
	top := wholeSeconds(t)
	root := filepath.Join(top, "p")
	must(t, os.Mkdir(root, 0o700))
	p := newProject(t, root, filepath.Join(root, ".async", "cache"), &pipeline.Task{Name: "t", Inputs: []string{"f"}})
	ctx := context.Background()
	// run runs the task and returns why its result was not stored. meanwhile is called while it runs.
	run := func(meanwhile func()) string {
		t.Helper()
		c := p.cache()
		e := c.Look(ctx, p.config.Tasks[0])
		if e.Result != Miss {
			t.Fatal(e.Result)
		}
		meanwhile()
		must(t, os.WriteFile(p.log, nil, 0o600))
		c.Ran(e.task)
		must(t, c.Store(ctx, e, p.log, time.Second))
		return e.NotStored
	}
	nothing := func() {}
	pass := func() { time.Sleep(2100 * time.Millisecond) }

	why := ""
	for range 5 { // a second may end meanwhile
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1050 * time.Millisecond)))
		p.write("f", "1")
		why = run(func() {
			p.write("f", "2")
			p.write("f", "1")
		})
		if why == "f"+justChanged {
			break
		}
	}
	if why != "f"+justChanged {
		t.Errorf("put back: %q", why)
	}
	pass()
	for i := range 5 { // as above
		must(t, os.WriteFile(filepath.Join(top, "join"), []byte{byte(i)}, 0o600)) // the program of the task
		if why = run(nothing); why == "the program join"+justChanged {
			break
		}
	}
	if why != "the program join"+justChanged {
		t.Errorf("with a new program: %q", why)
	}
	pass()
	if why := run(nothing); why != "" {
		t.Errorf("with what is old: %q", why)
	}
	if e := p.cache().Look(ctx, p.config.Tasks[0]); e.Result != Hit {
		t.Error(e.Result, e.Why)
	}
}

// apart reports whether this process has mounts of its own. If not, the test is run in another one that has: other tests
// look at the mounts of the machine.
func apart(t *testing.T) bool {
	t.Helper()
	const mark = "TEST_WITH_OWN_MOUNTS"
	if os.Getenv(mark) != "" {
		return true
	}
	run := func(words ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--mount", "--propagation", "private"}, words...)...)
		cmd.Env = append(os.Environ(), mark+"=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("true"); err != nil {
		t.Skipf("no process can have mounts of its own here: %v: %s", err, out)
	}
	self, err := os.Executable()
	must(t, err)
	switch out, err := run(self, "-test.run=^"+t.Name()+"$", "-test.v"); {
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case strings.Contains(out, "--- SKIP"):
		t.Skip(out)
	}
	return false
}

// wholeSeconds mounts a new file system that only keeps whole seconds.
func wholeSeconds(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	disk, at := filepath.Join(top, "disk"), filepath.Join(top, "mounted")
	must(t, errors.Join(os.WriteFile(disk, nil, 0o600), os.Truncate(disk, 16<<20), os.Mkdir(at, 0o700)))
	for _, line := range []string{"mkfs.ext4 -q -I 128 " + disk, "mount -o loop " + disk + " " + at} {
		words := strings.Fields(line)
		if out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no file system can be mounted here: %s: %v: %s", words[0], err, out)
		}
	}
	t.Cleanup(func() { must(t, unix.Unmount(at, 0)) })
	return at
}
