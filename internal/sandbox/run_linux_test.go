package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the kernel refuses does not depend on the race detector")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain"), "#!/bin/sh\nexit 9\n")
	write(t, filepath.Join(dir, "tool"), "#!/bin/sh\necho tool $0\n")
	write(t, filepath.Join(dir, "noshebang"), "\x01\x02\x03 not a program\n")
	write(t, filepath.Join(dir, "badinterp"), "#!/does/not/exist\n")
	for _, f := range []string{"tool", "noshebang", "badinterp"} {
		must(t, os.Chmod(filepath.Join(dir, f), 0o755))
	}
	tests := []struct {
		name   string
		argv   []string
		path   string
		code   int
		signal string
		says   string
	}{
		{"success", []string{"true"}, "", 0, "", ""},
		{"its own code", []string{"sh", "-c", "exit 7"}, "", 7, "", ""},
		{"a signal", []string{"sh", "-c", "kill -SEGV $$"}, "", 139, "SIGSEGV", ""},
		{"not in PATH", []string{"no-such-program"}, "", 127, "", "async-pipeline: no-such-program: command not found in PATH\n"},
		{"no PATH", []string{"true"}, "-", 127, "", "async-pipeline: true: command not found in PATH\n"},
		{"no such file", []string{"./none"}, "", 127, "", "async-pipeline: ./none: no such file\n"},
		{"not executable", []string{"./plain"}, "", 126, "", "async-pipeline: ./plain: permission denied\n"},
		{"not executable in PATH", []string{"plain"}, dir, 126, "", "async-pipeline: " + dir + "/plain: permission denied\n"},
		{"a folder", []string{dir}, "", 126, "", "async-pipeline: " + dir + ": is a directory\n"},
		{"no program format", []string{"./noshebang"}, "", 126, "", "exec format error\n"},
		{"interpreter gone", []string{"./badinterp"}, "", 127, "", "its interpreter does not exist\n"},
		{"PATH from Dir", []string{"tool"}, ".:/usr/bin:/bin", 0, "", "tool " + dir + "/./tool\n"},
		{"empty PATH entry is Dir", []string{"tool"}, ":/usr/bin:/bin", 0, "", "tool " + dir + "/tool\n"},
		{"PATH after a file that cannot run", []string{"true"}, dir + "/plain:/usr/bin:/bin", 0, "", ""},
	}
	for _, tier := range Tiers() {
		for _, tt := range tests {
			t.Run(string(tier)+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				env := testEnv
				if tt.path == "-" {
					env = nil
				} else if tt.path != "" {
					env = []string{"PATH=" + tt.path}
				}
				out, res := outputOf(t, Box{Tier: tier}, Command{Argv: tt.argv, Dir: dir, Env: env})
				if res.ExitCode != tt.code || res.Signal != tt.signal {
					t.Errorf("exit code %d %q, want %d %q", res.ExitCode, res.Signal, tt.code, tt.signal)
				}
				if tt.says == "" && out != "" || !strings.HasSuffix(out, tt.says) {
					t.Errorf("output %q, want %q", out, tt.says)
				}
				if res.TimedOut || res.IdledOut || res.Cancelled || res.ProcessesLeft != 0 {
					t.Errorf("%+v", res)
				}
			})
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ok := sh("true")
	with := func(f func(*Command)) Command { c := ok; f(&c); return c }
	for _, tt := range []struct {
		name string
		box  Box
		c    Command
		want string
	}{
		{"zero box", Box{}, ok, "the box names no tier"},
		{"unknown tier", Box{Tier: "full"}, ok, `unknown sandbox tier "full"`},
		{"no command", Box{Tier: None}, with(func(c *Command) { c.Argv = nil }), "the command is empty"},
		{"relative directory", Box{Tier: None}, with(func(c *Command) { c.Dir = "x" }), "not an absolute path"},
		{"NUL byte", Box{Tier: None}, with(func(c *Command) { c.Env = []string{"A=\x00"} }), "NUL byte"},
		{"relative path", Box{Tier: Fence, Write: []string{"x"}}, ok, `path "x" of the box is not absolute`},
		{"tree without copy", Box{Tier: Fence, Tree: dir}, ok, "no copy of it"},
		{"write what is not there", Box{Tier: Fence, Write: []string{dir + "/none"}}, ok, "no such file"},
		{"write above the tree", Box{Tier: Fence, Tree: dir + "/tree", Copy: t.TempDir(), Write: []string{dir}}, ok, "holds the tree"},
		{"directory missing", Box{Tier: None}, with(func(c *Command) { c.Dir = dir + "/none" }), "directory of the command"},
		{"directory is a file", Box{Tier: None}, with(func(c *Command) { c.Dir = "/etc/passwd" }), "is not a directory"},
		{"directory missing in a fence", Box{Tier: Fence}, with(func(c *Command) { c.Dir = dir + "/none" }), "directory of the command"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.box.Tier == Fence {
				needTier(t, Fence)
			}
			res, err := tt.box.Run(t.Context(), tt.c)
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrTier) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if res != (Result{}) {
				t.Errorf("nothing was started, and the result is %+v", res)
			}
		})
	}
}

func TestEnvironmentIsBuiltFromNothing(t *testing.T) {
	t.Parallel()
	for _, tier := range Tiers() {
		t.Run(string(tier), func(t *testing.T) {
			t.Parallel()
			home, tmp := t.TempDir(), t.TempDir()
			b := Box{Tier: tier, Home: home, Tmp: tmp, Hook: "r1/build"}
			out, _ := outputOf(t, b, Command{
				Argv: []string{"/usr/bin/env"}, Dir: "/usr",
				Env: []string{"A=1", "HOME=/nowhere", "TMPDIR=/nowhere", "A=2", "PWD=/x", HookMark + "=other", RunnerMark + "=other"},
			})
			want := "A=2\nHOME=" + home + "\nTMPDIR=" + tmp + "\nPWD=/usr\n" +
				"ASYNC_PIPELINE_HOOK=r1/build\nASYNC_PIPELINE_RUNNER=" + process.Self().String() + "\n"
			if out != want {
				t.Errorf("environment\n%s\nwant\n%s", out, want)
			}
		})
	}
}

func TestAnyBytes(t *testing.T) {
	t.Parallel()
	odd := "\xff\xfe \n\"\\ ü \x01\u2028<"
	for _, tier := range Tiers() {
		t.Run(string(tier), func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			dir := filepath.Join(top, odd)
			must(t, os.Mkdir(dir, 0o755))
			c := Command{Argv: []string{"sh", "-c", `printf %s "$1$V"; pwd; echo x > "$PWD/f"`, "sh", odd}, Dir: dir, Env: append([]string{"V=" + odd}, testEnv...)}
			out, res := outputOf(t, Box{Tier: tier, Copy: dir, Tmp: t.TempDir()}, c)
			if want := odd + odd + dir + "\n"; out != want || res.ExitCode != 0 {
				t.Errorf("%q %+v\nwant %q", out, res, want)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	t.Run("stdin is passed and not all of it need be read", func(t *testing.T) {
		t.Parallel()
		c := sh("head -c 3")
		c.Stdin = strings.NewReader("abc" + strings.Repeat("x", 1<<20))
		if out, res := outputOf(t, Box{Tier: None}, c); out != "abc" || res.ExitCode != 0 {
			t.Errorf("%q %+v", out, res)
		}
	})
	t.Run("a source that never ends does not hold Run", func(t *testing.T) {
		t.Parallel()
		r, w := io.Pipe()
		defer func() { _ = w.Close() }()
		c := sh("exit 3")
		c.Stdin = r
		if _, res := outputOf(t, Box{Tier: None}, c); res.ExitCode != 3 {
			t.Errorf("%+v", res)
		}
	})
	t.Run("no stdin is an empty one", func(t *testing.T) {
		t.Parallel()
		if out, _ := outputOf(t, Box{Tier: None}, sh("cat; echo end")); out != "end\n" {
			t.Errorf("%q", out)
		}
	})
	t.Run("all of a large output arrives", func(t *testing.T) {
		t.Parallel()
		var out, errs bytes.Buffer
		c := sh("head -c 3000000 /dev/zero; head -c 70000 /dev/zero >&2")
		c.Stdout, c.Stderr = &out, &errs
		if _, err := (Box{Tier: None}).Run(t.Context(), c); err != nil || out.Len() != 3000000 || errs.Len() != 70000 {
			t.Errorf("%v %d %d", err, out.Len(), errs.Len())
		}
	})
	t.Run("one writer keeps the order", func(t *testing.T) {
		t.Parallel()
		if out, _ := outputOf(t, Box{Tier: None}, sh("for i in 1 2 3 4; do echo o$i; echo e$i >&2; done")); out != "o1\ne1\no2\ne2\no3\ne3\no4\ne4\n" {
			t.Errorf("%q", out)
		}
	})
	t.Run("a writer's fault is not the command's", func(t *testing.T) {
		t.Parallel()
		c := sh("head -c 300000 /dev/zero && exit 4")
		c.Stdout = brokenWriter{}
		res, err := (Box{Tier: None}).Run(t.Context(), c)
		if !errors.Is(err, errBroken) || res.ExitCode != 4 {
			t.Errorf("%v %+v", err, res)
		}
	})
	t.Run("writing to /dev/stdout and /dev/stderr works in every tier", func(t *testing.T) {
		t.Parallel()
		for _, tier := range Tiers() {
			if out, res := outputOf(t, Box{Tier: tier}, sh("echo a >/dev/stdout; echo b >/dev/stderr; echo c >/dev/null")); out != "a\nb\n" || res.ExitCode != 0 {
				t.Errorf("%s: %q %+v", tier, out, res)
			}
		}
	})
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestClocks(t *testing.T) {
	t.Parallel()
	t.Run("timeout", func(t *testing.T) {
		t.Parallel()
		c := sh("sleep 600")
		c.Timeout = 200 * time.Millisecond
		_, res := outputOf(t, Box{Tier: None}, c)
		if !res.TimedOut || res.ExitCode != 124 || res.Signal != "SIGTERM" || res.Duration > slack {
			t.Errorf("%+v", res)
		}
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		c := sh("for i in 1 2 3 4 5; do echo x; sleep 0.5; done; sleep 600")
		c.Idle = 2 * time.Second
		var last time.Time
		c.Stdout = writerFunc(func(p []byte) (int, error) {
			last = time.Now()
			return len(p), nil
		})
		res, err := Box{Tier: None}.Run(t.Context(), c)
		// A clock that output does not set back would end it after two seconds, half a second after a line.
		if quiet := time.Since(last); err != nil || !res.IdledOut || res.TimedOut || res.ExitCode != 124 || quiet < c.Idle/2 {
			t.Errorf("%v %+v, %v after the last output", err, res, quiet)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := sh("echo on; exec sleep 600")
		c.Stdout = writerFunc(func(p []byte) (int, error) {
			cancel()
			return len(p), nil
		})
		res, err := (Box{Tier: None}).Run(ctx, c)
		if err != nil || !res.Cancelled || res.ExitCode != 143 || res.Signal != "SIGTERM" {
			t.Errorf("%v %+v", err, res)
		}
	})
	t.Run("cancelled before it began", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		res, err := (Box{Tier: None}).Run(ctx, sh("true"))
		if err != nil || !res.Cancelled || res.ExitCode == 0 {
			t.Errorf("%v %+v", err, res)
		}
	})
	t.Run("ErrNow gives no grace", func(t *testing.T) {
		t.Parallel()
		tok := token()
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			for len(withToken(tok)) == 0 {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(50 * time.Millisecond)
			cancel(ErrNow)
		}()
		res, err := (Box{Tier: None}).Run(ctx, sh("trap '' TERM; while :; do sleep 0.1; done", tok))
		if err != nil || !res.Cancelled || res.ExitCode != 137 || res.Duration > slack {
			t.Errorf("%v %+v", err, res)
		}
	})
	t.Run("a command that cleans up in time", func(t *testing.T) {
		t.Parallel()
		c := sh("trap 'sleep 0.3; echo cleaned; exit 0' TERM; echo ready; sleep 600 & wait")
		var out string
		var res Result
		for c.Timeout = time.Second; c.Timeout < soon && !strings.HasPrefix(out, "ready\n"); c.Timeout *= 2 {
			out, res = outputOf(t, Box{Tier: None}, c) // once more when the shell had not set its trap by then
		}
		if !strings.HasSuffix(out, "cleaned\n") || res.ExitCode != 124 || res.Signal != "" || !res.TimedOut {
			t.Errorf("%q %+v", out, res)
		}
	})
	t.Run("a clock that runs out while leftovers end is not the command's", func(t *testing.T) {
		t.Parallel()
		c := sh(`sh -c 'trap "" TERM; while :; do sleep 0.1; done' & sleep 0.3; exit 0`)
		c.Timeout = Grace - 500*time.Millisecond
		_, res := outputOf(t, Box{Tier: None}, c)
		for try := 1; try < 5 && res.TimedOut; try++ { // a busy machine may need all that time for the command itself
			_, res = outputOf(t, Box{Tier: None}, c)
		}
		if res.TimedOut || res.ExitCode != 0 || res.ProcessesLeft == 0 {
			t.Errorf("%+v", res)
		}
	})
}

func TestG89(t *testing.T) {
	t.Parallel()
	for _, tier := range Tiers() {
		t.Run("G89 child ignores SIGTERM "+string(tier), func(t *testing.T) {
			t.Parallel()
			tok := token()
			c := sh(`trap "" TERM; sh -c 'trap "" TERM; echo ready; while :; do sleep 0.2; done' `+tok+` & while :; do sleep 0.2; done`, tok)
			ctx, cancel := context.WithCancel(t.Context())
			var asked time.Time
			c.Stdout = writerFunc(func(p []byte) (int, error) {
				asked = time.Now()
				cancel()
				return len(p), nil
			})
			res, err := (Box{Tier: tier}).Run(ctx, c)
			// The row's own numbers, with room for a busy machine that a grace of 30 s would not fit into.
			if after := time.Since(asked); after < 3*time.Second || after > 25*time.Second {
				t.Errorf("ended after %v, want 3 s and little more", after)
			}
			if err != nil || res.ExitCode != 137 || res.Signal != "SIGKILL" || !res.Cancelled {
				t.Errorf("%v %+v", err, res)
			}
			gone(t, tok, 0)
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// slack is what a busy machine may add before a test calls it a hang: whatever these tests end would otherwise go
// on for five minutes at least. What it takes on a quiet machine is said by BenchmarkEnd.
const slack = 3 * time.Minute

// soon is how long tests wait for what a busy machine gets to in the end.
const soon = 3 * time.Minute

func TestG90(t *testing.T) {
	t.Parallel()
	for _, tier := range Tiers() {
		t.Run("G90 grandchild holds stdout "+string(tier), func(t *testing.T) {
			t.Parallel()
			tok := token()
			start := time.Now()
			out, res := outputOf(t, Box{Tier: tier}, sh(`setsid sh -c 'sleep 600' `+tok+` & echo done`, tok))
			if out != "done\n" || res.ExitCode != 0 || res.ProcessesLeft == 0 {
				t.Errorf("%q %+v", out, res)
			}
			if d := time.Since(start); d > slack {
				t.Errorf("took %v", d)
			}
			gone(t, tok, 0)
		})
	}
	t.Run("G90 a stranger holds stdout", func(t *testing.T) {
		t.Parallel()
		// This test keeps the write end open itself, as a process outside of the tree would.
		s, err := openStreams(Command{Stdout: &bytes.Buffer{}})
		must(t, err)
		stranger := s.child[1]
		s.child[1], _ = os.Open(os.DevNull)
		defer func() { _ = stranger.Close(); s.close() }()
		s.pump()
		_, _ = stranger.WriteString("what the tree wrote")
		done := make(chan error)
		go func() { done <- s.drain() }()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(soon):
			t.Fatal("drain waits for the stranger")
		}
		if got := s.outs[0].to.(*bytes.Buffer).String(); got != "what the tree wrote" {
			t.Errorf("%q", got)
		}
	})
}

func TestEightAtOnce(t *testing.T) {
	t.Parallel()
	for _, tier := range Tiers() {
		t.Run(string(tier), func(t *testing.T) {
			t.Parallel()
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					var out bytes.Buffer
					c := sh("echo $1; (sleep 300 &) ; exit $1", string(rune('0'+i)))
					c.Stdout, c.Stderr = &out, &out
					res, err := Box{Tier: tier}.Run(t.Context(), c)
					if err != nil || res.ExitCode != i || out.String() != string(rune('0'+i))+"\n" || res.ProcessesLeft != 1 {
						t.Errorf("%d: %v %+v %q", i, err, res, &out)
					}
				})
			}
			wg.Wait()
		})
	}
}

// The processor time of a command in a hook is that of all its processes.
func TestProcessor(t *testing.T) {
	t.Parallel()
	const loop = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
	box := Box{Tier: None, Hook: "r/t"}
	_, little := outputOf(t, box, sh("true"))
	_, much := outputOf(t, box, sh("("+loop+") & wait"))
	if little.Processor <= 0 || much.Processor < 2*little.Processor {
		t.Errorf("%s, and with a loop %s", little.Processor, much.Processor)
	}
	if _, shared := outputOf(t, Box{Tier: None}, sh("true")); shared.Processor != 0 {
		t.Errorf("of a shared supervisor: %s", shared.Processor)
	}
}
