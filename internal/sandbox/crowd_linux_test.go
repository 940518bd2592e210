package sandbox

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// crowd is a script that leaves n processes in sessions of their own that ignore SIGTERM, and says when all are there.
const crowd = `"$2" -c '
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
r, w = os.pipe()
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        os.setsid(); os.close(r); os.write(w, b"x"); os.close(w); os.close(1); os.close(2)
        signal.pause()
        while True: time.sleep(600)
os.close(w)
n = 0
while n < int(sys.argv[2]): n += len(os.read(r, 65536))
os.write(1, b"ready")
if sys.argv[3] == "stay": time.sleep(600)
' "$1" "$3" "$4"`

// readIf returns what a file holds, or nothing.
func readIf(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// TestCrowd ends more processes than can be walked again for each that dies.
func TestCrowd(t *testing.T) {
	py := python(t)
	n := 500
	if os.Getenv("ASYNC_PIPELINE_SWEEP") == "full" {
		n = 2000
	} else if testing.Short() {
		n = 100
	}
	// A container may allow fewer processes; others need some too.
	if most, err := strconv.Atoi(strings.TrimSpace(readIf("/sys/fs/cgroup/pids.max"))); err == nil {
		n = min(n, most/4)
	}
	for _, tt := range []struct {
		how  string
		end  func(context.CancelCauseFunc)
		more time.Duration // that the tree may take
		left int
	}{
		{"term", func(c context.CancelCauseFunc) { c(nil) }, Grace, n + 1},
		{"now", func(c context.CancelCauseFunc) { c(ErrNow) }, 0, 0},
	} {
		t.Run(tt.how, func(t *testing.T) {
			tok := token()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var asked time.Time
			c := Command{Argv: []string{"sh", "-c", `trap "" TERM; ` + crowd + "; :", "sh", tok, py, fmt.Sprint(n), "stay"}, Dir: "/", Env: testEnv}
			c.Stdout, c.Stderr = writerFunc(func(p []byte) (int, error) {
				asked = time.Now()
				tt.end(cancel)
				return len(p), nil
			}), os.Stderr
			res, err := Box{Tier: Best()}.Run(ctx, c)
			took := time.Since(asked)
			if err != nil || !res.Cancelled || res.ExitCode != 137 || res.ProcessesLeft != tt.left {
				t.Errorf("%v %+v, want %d left", err, res, tt.left)
			}
			t.Logf("%d processes: dead and reaped %v after SIGKILL", n, took-tt.more)
			if took > tt.more+slack {
				t.Errorf("took %v, want %v and little more", took, tt.more)
			}
			gone(t, tok, 0)
		})
	}
	t.Run("left by a command that ended", func(t *testing.T) {
		tok := token()
		start := time.Now()
		_, res := outputOf(t, Box{Tier: Best()}, Command{Argv: []string{"sh", "-c", crowd, "sh", tok, py, fmt.Sprint(n), "end"}, Dir: "/", Env: testEnv})
		t.Logf("all in all %v", time.Since(start)-Grace)
		if res.ExitCode != 0 || res.ProcessesLeft != n || res.TimedOut {
			t.Errorf("%+v, want %d left", res, n)
		}
		gone(t, tok, 0)
	})
}

// TestSupervisorThatDoesNothing shows that the runner's own hand ends the tree, whatever became of its supervisor,
// and that the result still says why.
func TestSupervisorThatDoesNothing(t *testing.T) {
	t.Parallel()
	py := python(t)
	for name, harm := range map[string]string{
		"stopped again and again": `(trap "" TERM; while kill -STOP $PPID; do :; done) & `,
		"killed":                  `trap "kill -KILL $PPID" TERM; `,
		"no descriptors":          `prlimit --pid $PPID --nofile=3:3 || exit 9; `,
		"no memory":               `prlimit --pid $PPID --as=1:1 || exit 9; `,
		"no processor time":       `prlimit --pid $PPID --cpu=1:1 || exit 9; `,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tok := token()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := Command{Argv: []string{"sh", "-c", harm + crowd + " & sleep 0.2; wait; while :; do sleep 1; done", "sh", tok, py, "20", "stay"}, Dir: "/", Env: testEnv}
			var asked time.Time
			c.Stdout = writerFunc(func(p []byte) (int, error) {
				if strings.Contains(string(p), "ready") {
					asked = time.Now()
					cancel()
				}
				return len(p), nil
			})
			res, err := harmed.Run(ctx, c)
			took := time.Since(asked)
			if name == "no memory" && err != nil && strings.Contains(err.Error(), "ended from outside") {
				gone(t, tok, 0) // it needed some before it was asked for anything
				return
			}
			// Some may end before they are counted: a harmed supervisor is slow.
			if err != nil || !res.Cancelled || res.ProcessesLeft < 10 {
				t.Errorf("%v %+v", err, res)
			}
			if took > Grace+slack {
				t.Errorf("took %v, want %v and little more", took, Grace)
			}
			t.Logf("took %v %+v", took, res)
			gone(t, tok, 0)
		})
	}
	t.Run("after the command has ended", func(t *testing.T) {
		t.Parallel()
		tok := token()
		start := time.Now()
		_, res := outputOf(t, harmed, sh(`prlimit --pid $PPID --nofile=3:3; sh -c 'trap "" TERM; while :; do sleep 1; done' "$1" & exit 6`, tok))
		if res.ExitCode != 6 || res.Duration > Grace+slack {
			t.Errorf("%+v after %v", res, time.Since(start))
		}
		gone(t, tok, 0)
	})
}
