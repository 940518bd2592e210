package sandbox

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sort"
	"sync"
	"syscall"
	"testing"
	"time"
)

// spawnPlain is the least that a command with its output read costs: a pipe, a process, a wait.
func spawnPlain(tb testing.TB, argv []string, env []string, out io.Writer) {
	r, w, err := os.Pipe()
	must(tb, err)
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir: "/", Env: env, Files: []*os.File{nil, w, w}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	_ = w.Close()
	must(tb, err)
	buf := make([]byte, pipeBuffer)
	for {
		n, err := r.Read(buf)
		_, _ = out.Write(buf[:n])
		if err != nil {
			break
		}
	}
	_ = r.Close()
	if _, err := p.Wait(); err != nil {
		tb.Fatal(err)
	}
}

func spawnBoxed(tb testing.TB, argv []string, env []string, out io.Writer) {
	res, err := Box{Tier: None}.Run(tb.Context(), Command{Argv: argv, Dir: "/", Env: env, Stdout: out, Stderr: out})
	if err != nil || res.ExitCode != 0 {
		tb.Fatal(res, err)
	}
}

// median of some: what else the machine does falls on few of them.
func median(d []time.Duration) time.Duration {
	sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
	return d[len(d)/2]
}

// compare runs both by turns, so that a busy machine is busy for both, and reports what ours takes and what it is
// of plain.
func compare(b *testing.B, unit string, plain, ours func()) {
	b.Helper()
	plain()
	ours()
	var p, o []time.Duration
	for b.Loop() {
		t0 := time.Now()
		plain()
		t1 := time.Now()
		ours()
		p, o = append(p, t1.Sub(t0)), append(o, time.Since(t1))
	}
	b.ReportMetric(float64(median(o))/float64(median(p)), unit)
	b.ReportMetric(float64(median(o))/1e6, "ms-ours")
	b.ReportMetric(float64(median(p))/1e6, "ms-plain")
}

// many runs n no-op commands, at so many at a time.
func many(tb testing.TB, n, at int, spawn func(testing.TB, []string, []string, io.Writer)) {
	var wg sync.WaitGroup
	todo := make(chan struct{}, n)
	for range n {
		todo <- struct{}{}
	}
	close(todo)
	for range at {
		wg.Go(func() {
			for range todo {
				spawn(tb, []string{"/bin/true"}, os.Environ(), io.Discard)
			}
		})
	}
	wg.Wait()
}

// BenchmarkNoop is 100 commands that do nothing.
func BenchmarkNoop(b *testing.B) {
	for name, at := range map[string]int{"serial": 1, "wide": 2, "64 at once": 64} {
		b.Run(name, func(b *testing.B) {
			compare(b, "x-spawn", func() { many(b, 100, at, spawnPlain) }, func() { many(b, 100, at, spawnBoxed) })
		})
	}
	b.Run("ours alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			spawnBoxed(b, []string{"/bin/true"}, os.Environ(), io.Discard)
		}
	})
}

// BenchmarkEnd is how long Run takes to return after it is told to end a tree of 100 processes that ignore SIGTERM:
// at once, and beyond the grace.
func BenchmarkEnd(b *testing.B) {
	for _, how := range []struct {
		name  string
		cause error
		grace time.Duration
	}{{"now", ErrNow, 0}, {"after the grace", nil, Grace}} {
		b.Run(how.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				ctx, cancel := context.WithCancelCause(b.Context())
				c := Command{Argv: []string{"sh", "-c", `trap "" TERM; for i in $(seq 99); do sleep 600 & done; echo on; wait`}, Dir: "/", Env: os.Environ(), Stderr: io.Discard}
				var asked time.Time
				c.Stdout = writerFunc(func(p []byte) (int, error) {
					asked = time.Now()
					cancel(how.cause)
					return len(p), nil
				})
				if _, err := (Box{Tier: Best()}).Run(ctx, c); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(asked)-how.grace)
			}
			b.ReportMetric(float64(median(took))/1e6, "ms-more")
		})
	}
}

// BenchmarkOutput is a command that prints 256 MB.
func BenchmarkOutput(b *testing.B) {
	head, err := exec.LookPath("head")
	if err != nil {
		b.Skip("no head here")
	}
	argv := []string{head, "-c", "268435456", "/dev/zero"}
	compare(b, "x-pump", func() { spawnPlain(b, argv, os.Environ(), io.Discard) }, func() { spawnBoxed(b, argv, os.Environ(), io.Discard) })
}
