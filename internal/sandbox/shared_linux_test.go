package sandbox

// Commands that have one supervisor between them. These tests look at all that is in its care, so they do not run
// at the same time as others.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A started is a command that runs until end is called.
type started struct {
	tok    string
	end    func() // it ends by itself
	cancel context.CancelCauseFunc
	done   chan struct{}
	res    Result
	err    error
}

// start runs a script, which gets the token as $1 and python as $2, in the tasks' supervisor, until it has said ready.
// Then it reads a line, and ends with its exit code.
func start(t *testing.T, script string) *started {
	t.Helper()
	s := &started{tok: token(), done: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(context.Background())
	t.Cleanup(func() { cancel(ErrNow); <-s.done })
	r, w := io.Pipe()
	s.end, s.cancel = func() { _ = w.Close() }, cancel
	ready := make(chan struct{})
	c := Command{Argv: []string{"sh", "-c", script + "\necho ready; read x; exit 5", "sh", s.tok, python(t)}, Dir: "/", Env: testEnv, Stdin: r}
	var said bytes.Buffer
	c.Stdout = writerFunc(func(p []byte) (int, error) {
		if said.Write(p); strings.HasSuffix(said.String(), "ready\n") {
			close(ready)
		}
		return len(p), nil
	})
	c.Stderr = os.Stderr
	go func() {
		defer close(s.done)
		s.res, s.err = Box{Tier: None}.Run(ctx, c)
		_ = r.Close()
	}()
	select {
	case <-ready:
	case <-s.done:
		t.Fatalf("it ended: %v %+v", s.err, s.res)
	}
	return s
}

func (s *started) result(t *testing.T) Result {
	t.Helper()
	<-s.done
	if s.err != nil {
		t.Error(s.err)
	}
	return s.res
}

// daemons waits until n daemons have the token: what becomes one has it too, but its script is the whole one.
func daemons(t *testing.T, tok string, n int) {
	t.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(2 * time.Millisecond) {
		found := 0
		for _, p := range withToken(tok) {
			if args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p)); bytes.HasPrefix(args, []byte("sh\x00-c\x00")) && len(args) < 100 {
				found++
			}
		}
		if found >= n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("only %d of %d", found, n)
		}
	}
}

func alive(t *testing.T, tok string, want int) {
	t.Helper()
	if got := len(withToken(tok)); got < want { // each loop is two processes now and then
		t.Errorf("%d processes of the other command live, want %d", got, want)
	}
}

const daemon = `sh -c 'while :; do sleep 0.1; done' "$1" <&- >&- 2>&- & `

// sorts are what a command can leave, by how little says whose it is.
var sorts = []struct {
	name, script string
	unclear      bool // it cannot be told from what another command leaves
}{
	{"in the background", daemon, false},
	{"orphaned at once", "( " + daemon + ")", false},
	{"own session", "setsid " + daemon, false},
	{"own session, orphaned", "( setsid " + daemon + ")", false},
	{"own session, no environment, orphaned", "( env -i setsid " + daemon + ")", false},
	{"the same with its own limit", "( prlimit --locks=unlimited env -i setsid " + daemon + ")", true},
}

// neighbour has a living child that is orphaned, and one that is not.
const neighbour = "( setsid " + daemon + "); " + daemon

func TestLeftoversOfTwo(t *testing.T) {
	for _, sort := range sorts {
		t.Run(sort.name, func(t *testing.T) {
			other, it := start(t, neighbour), start(t, sort.script)
			daemons(t, other.tok, 2)
			daemons(t, it.tok, 1)
			before := time.Now()
			it.end()
			res := it.result(t)
			took := time.Since(before)
			if sort.unclear {
				if res.ExitCode != 5 || res.ProcessesLeft != 0 || len(withToken(it.tok)) == 0 {
					t.Errorf("%+v: what it left was ended, and could be the other's", res)
				}
			} else {
				gone(t, it.tok, 0)
				if res.ExitCode != 5 || res.ProcessesLeft < 1 || res.ProcessesLeft > 2 || took > slack {
					t.Errorf("%+v after %v", res, took)
				}
			}
			alive(t, other.tok, 3)
			other.end()
			res = other.result(t)
			gone(t, other.tok, 0)
			gone(t, it.tok, 0)
			want := 2 // and the sleeps of the loops
			if sort.unclear {
				want = 3
			}
			if res.ExitCode != 5 || res.ProcessesLeft < want || res.ProcessesLeft > 2*want {
				t.Errorf("the other: %+v", res)
			}
		})
	}
}

// TestLeftoversWithoutTags is the same where no limit can be given as a tag: in this test started again with a
// limit to it.
func TestLeftoversWithoutTags(t *testing.T) {
	var limit unix.Rlimit
	must(t, unix.Getrlimit(tagResource, &limit))
	if limit.Max == unix.RLIM_INFINITY {
		cmd := exec.CommandContext(t.Context(), "prlimit", "--locks=100000:100000", os.Args[0], "-test.run=^"+t.Name()+"$")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	// Many begin while others end: what is being forked is nobody's leftover.
	var all sync.WaitGroup
	all.Go(func() { many(t, 400, 2, spawnBoxed) })
	all.Go(func() {
		many(t, 100, 4, func(testing.TB, []string, []string, io.Writer) {
			if _, res := outputOf(t, Box{Tier: None}, Command{Argv: []string{"sleep", "0.03"}, Dir: "/", Env: testEnv}); res.ExitCode != 0 || res.ProcessesLeft != 0 {
				t.Errorf("%+v", res)
			}
		})
	})
	all.Wait()
	other, it := start(t, neighbour), start(t, "( setsid "+daemon+"); "+daemon)
	unclear := start(t, "( env -i setsid "+daemon+")")
	daemons(t, it.tok, 2)
	daemons(t, unclear.tok, 1)
	it.end()
	if res := it.result(t); res.ProcessesLeft < 1 || res.ExitCode != 5 {
		t.Errorf("%+v", res)
	}
	unclear.end()
	unclear.result(t)
	alive(t, other.tok, 3)
	other.end()
	if res := other.result(t); res.ProcessesLeft < 3 {
		t.Errorf("%+v", res)
	}
	for _, s := range []*started{it, unclear, other} {
		gone(t, s.tok, 0)
	}
}

// TestEndOneOfTwo ends one command before its time.
func TestEndOneOfTwo(t *testing.T) {
	stubborn := `trap "" TERM; ( env -i setsid sh -c 'trap "" TERM; while :; do sleep 0.1; done' "$1" <&- >&- 2>&- & ); `
	for _, tt := range []struct {
		name  string
		cause error
		least time.Duration
		left  int
	}{{"term", nil, Grace, 1}, {"now", ErrNow, 0, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			other, it := start(t, neighbour), start(t, stubborn)
			daemons(t, it.tok, 1)
			daemons(t, other.tok, 2)
			before := time.Now()
			it.cancel(tt.cause)
			res := it.result(t)
			took := time.Since(before)
			gone(t, it.tok, 0)
			if !res.Cancelled || res.ProcessesLeft < tt.left || took < tt.least || took > tt.least+slack {
				t.Errorf("%+v after %v", res, took)
			}
			alive(t, other.tok, 3)
			other.end()
			if res := other.result(t); res.Cancelled || res.ExitCode != 5 || res.ProcessesLeft < 2 {
				t.Errorf("the other: %+v", res)
			}
			gone(t, other.tok, 0)
		})
	}
}

// TestEndBothWithSomethingUnclear shows that what could be of two is asked to end with them, not after them.
func TestEndBothWithSomethingUnclear(t *testing.T) {
	script := `trap "" TERM; ( prlimit --locks=unlimited env -i setsid sh -c 'trap "" TERM; while :; do sleep 0.1; done' "$1" <&- >&- 2>&- & ); `
	one, two := start(t, script), start(t, script)
	third := start(t, "")
	daemons(t, one.tok, 1)
	daemons(t, two.tok, 1)
	third.end() // now both are known, and could be of each
	third.result(t)
	before := time.Now()
	one.cancel(nil)
	two.cancel(nil)
	one.result(t)
	two.result(t)
	gone(t, one.tok, 0)
	gone(t, two.tok, 0)
	if took := time.Since(before); took > Grace+slack {
		t.Errorf("took %v, want %v", took, Grace)
	}
}

// TestLostSupervisor shows that all that were in its care are told, and that the next command has another one.
func TestLostSupervisor(t *testing.T) {
	for name, harm := range map[string]string{
		"killed":        "kill -KILL $PPID; sleep 300",
		"out of memory": "prlimit --pid $PPID --as=1:1; kill -QUIT $PPID; sleep 0.2; kill -KILL $PPID; sleep 300",
	} {
		t.Run(name, func(t *testing.T) {
			one, two := start(t, neighbour), start(t, "( env -i setsid "+daemon+")")
			daemons(t, one.tok, 2)
			daemons(t, two.tok, 1)
			tok := token()
			res, err := Box{Tier: None}.Run(t.Context(), sh(harm, tok))
			if err == nil || !strings.Contains(err.Error(), "ended from outside") {
				t.Errorf("%v %+v", err, res)
			}
			for _, s := range []*started{one, two} {
				<-s.done
				if s.err == nil || !strings.Contains(s.err.Error(), "ended from outside") || s.res.Cancelled || s.res.ExitCode != 137 || s.res.ProcessesLeft < 1 {
					t.Errorf("%v %+v", s.err, s.res)
				}
				gone(t, s.tok, 0)
			}
			if out, res := outputOf(t, Box{Tier: None}, sh("echo fine")); out != "fine\n" || res.ExitCode != 0 {
				t.Errorf("the next: %q %+v", out, res)
			}
		})
	}
}

// TestStoppedSupervisor shows that a task that stops what all the others wait for gains nothing.
func TestStoppedSupervisor(t *testing.T) {
	other := start(t, neighbour)
	before := time.Now()
	c := sh("kill -STOP $PPID; echo on; exit 4")
	c.Timeout = 10 * time.Second
	if out, res := outputOf(t, Box{Tier: None}, c); res.ExitCode != 4 || out != "on\n" {
		t.Errorf("%q %+v", out, res)
	}
	other.end()
	if res := other.result(t); res.ExitCode != 5 || res.ProcessesLeft < 2 {
		t.Errorf("the other: %+v", res)
	}
	if took := time.Since(before); took > attendEvery+slack {
		t.Errorf("took %v", took)
	}
}

// TestUnfitSupervisor changes what commands inherit of their supervisor.
func TestUnfitSupervisor(t *testing.T) {
	const shows = `ulimit -n; nice; taskset -p $$ | sed 's/.*: //'`
	fine, _ := outputOf(t, Box{Tier: None}, sh(shows))
	other := start(t, neighbour)
	for _, harm := range []string{"prlimit --pid $PPID --nofile=20:20", "renice -n 5 $PPID", "taskset -p 1 $PPID"} {
		if out, res := outputOf(t, Box{Tier: None}, sh(harm+" 2>&1")); res.ExitCode != 0 {
			t.Errorf("%s: %s", harm, out)
		}
		if got, _ := outputOf(t, Box{Tier: None}, sh(shows)); got != fine {
			t.Errorf("after %s the next command has\n%swant\n%s", harm, got, fine)
		}
	}
	other.end()
	if res := other.result(t); res.ExitCode != 5 {
		t.Errorf("%+v", res)
	}
}

// TestThousands runs many no-op commands and looks for what grows.
func TestThousands(t *testing.T) {
	n := 1500
	if testing.Short() {
		n = 300
	}
	many(t, n, 64, spawnBoxed)
	l, err := sharedLink()
	must(t, err)
	state := func() string {
		mine, _ := os.ReadDir("/proc/self/fd")
		its, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", l.pid))
		return fmt.Sprintf("%d descriptors here, %d there, children %v", len(mine), len(its), children(l.pid))
	}
	before, memory, goroutines := state(), resident(t, l.pid), runtime.NumGoroutine()
	many(t, n, 64, spawnBoxed)
	after, now := state(), runtime.NumGoroutine()
	for end := time.Now().Add(soon); (after != before || now > goroutines+4) && time.Now().Before(end); time.Sleep(time.Millisecond) {
		after, now = state(), runtime.NumGoroutine() // what has ended may still be on its way out
	}
	if after != before || now > goroutines+4 {
		t.Errorf("%s and %d goroutines before, %s and %d after", before, goroutines, after, now)
	}
	if now := resident(t, l.pid); now > memory+8<<20 {
		t.Errorf("the supervisor has %d bytes in memory, had %d", now, memory)
	}
	if again, err := sharedLink(); again != l || err != nil {
		t.Error("it is another supervisor now")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.trees) != 0 {
		t.Errorf("%d are still in its care", len(l.trees))
	}
}

// resident returns the memory that a process has, in bytes.
func resident(t *testing.T, pid int) (bytes int) {
	t.Helper()
	var size, pages int
	if _, err := fmt.Sscan(read(t, fmt.Sprintf("/proc/%d/statm", pid)), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestRunnerInARunner is a task that is a runner itself.
func TestRunnerInARunner(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	inner := func(tok, script string) Command {
		job, err := json.Marshal(runnerJob{Box: Box{Tier: None}, Argv: []string{"sh", "-c", script, "sh", tok}, Dir: "/", Env: testEnv})
		must(t, err)
		return Command{Argv: []string{exe}, Dir: "/", Env: append([]string{roleEnv + "=1"}, testEnv...), Stdin: bytes.NewReader(job)}
	}
	other := start(t, neighbour)
	t.Run("ends", func(t *testing.T) {
		for range 5 {
			out, res := outputOf(t, Box{Tier: None}, inner(token(), "echo inner; exit 7"))
			if !strings.Contains(out, `"ExitCode":7`) || !strings.Contains(out, `inner\n`) || res.ExitCode != 0 || res.ProcessesLeft != 0 {
				t.Errorf("%s %+v", out, res)
			}
		}
	})
	t.Run("is ended", func(t *testing.T) {
		for _, cause := range []error{nil, ErrNow} {
			tok := token()
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				for end := time.Now().Add(soon); len(withToken(tok)) < 4 && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
				cancel(cause)
			}()
			res, err := Box{Tier: None}.Run(ctx, inner(tok, neighbour+`sh -c 'sleep 600; :' "$1"`))
			if err != nil || !res.Cancelled {
				t.Errorf("%v %+v", err, res)
			}
			gone(t, tok, 0)
		}
	})
	alive(t, other.tok, 3)
}

func TestPrepareAndClose(t *testing.T) {
	Close()
	Prepare()
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(time.Millisecond) {
		shared.Lock()
		l := shared.link
		shared.Unlock()
		if l != nil {
			break
		}
	}
	shared.Lock()
	l := shared.link
	shared.Unlock()
	if l == nil {
		t.Fatal("nothing was started")
	}
	if _, res := outputOf(t, Box{Tier: None}, sh("exit 3")); res.ExitCode != 3 || shared.link != l {
		t.Errorf("%+v, and another supervisor", res)
	}
	Close()
	if err := syscall.Kill(l.pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("supervisor %d lives: %v", l.pid, err)
	}
	Close()
	if _, res := outputOf(t, Box{Tier: None}, sh("exit 4")); res.ExitCode != 4 {
		t.Errorf("%+v", res)
	}
}

// TestNothingIsInherited looks at the descriptors and signals that a command has, while others are started.
func TestNothingIsInherited(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			out, _ := outputOf(t, Box{Tier: None}, sh(`ls /proc/$$/fd; test "$(cut -d" " -f6 /proc/$$/stat)" = $$ || echo no session; exec grep -E 'Sig(Blk|Ign)' /proc/self/status`))
			if want := "0\n1\n2\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"; out != want {
				t.Errorf("%q, want %q", out, want)
			}
		})
	}
	all.Wait()
}

// A supervisor that is retired goes on with its commands until they end, and reports that.
func TestRetiredGoesOn(t *testing.T) {
	dir := t.TempDir()
	type end struct {
		res Result
		err error
	}
	ends := make(chan end, 1)
	go func() {
		res, err := Box{Tier: None}.Run(t.Context(), Command{
			Argv: []string{"/bin/sh", "-c", "touch began; while ! test -e over; do sleep 0.01; done; exit 7"}, Dir: dir,
		})
		ends <- end{res, err}
	}()
	for stop := time.Now().Add(time.Minute); time.Now().Before(stop); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "began")); err == nil {
			break
		}
	}
	Retire()
	Close()
	res, err := Box{Tier: None}.Run(t.Context(), Command{Argv: []string{"/bin/sh", "-c", "touch over"}, Dir: dir})
	if err != nil || res.ExitCode != 0 {
		t.Errorf("the next command: %+v, %v", res, err)
	}
	if e := <-ends; e.err != nil || e.res.ExitCode != 7 {
		t.Errorf("%+v, %v", e.res, e.err)
	}
}
