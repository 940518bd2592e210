package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// roleEnv makes the test binary a runner of its own: it reads a runnerJob from stdin.
const roleEnv = "SANDBOX_TEST_ROLE"

type runnerJob struct {
	Box     Box
	Argv    []string
	Dir     string
	Env     []string
	Timeout time.Duration
	Lend    string // works with OpenCopy instead: "use", or "hold" until it is killed
	Overlay string // calls TryOverlay for this folder instead
}

type runnerAnswer struct {
	Best   Tier
	Result Result
	Err    string
	NoTier bool
	Out    string
}

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) != "" {
		var job runnerJob
		if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
			panic(err)
		}
		var out bytes.Buffer
		var a runnerAnswer
		var err error
		switch {
		case job.Lend != "":
			err = useLent(job.Box, job.Lend == "hold")
		case job.Overlay != "":
			err = TryOverlay(job.Overlay)
		case len(job.Argv) > 0:
			a.Result, err = job.Box.Run(context.Background(), Command{
				Argv: job.Argv, Dir: job.Dir, Env: job.Env, Stdout: &out, Stderr: &out, Timeout: job.Timeout,
			})
		default:
			a.Best = Best()
		}
		a.Out = out.String()
		if err != nil {
			a.Err, a.NoTier = err.Error(), strings.Contains(err.Error(), ErrTier.Error())
		}
		_ = json.NewEncoder(os.Stdout).Encode(a)
		Close() // as a runner does; else its supervisor lives on for some milliseconds, and may be counted as left
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// startRunner starts another runner; the test ends it.
func startRunner(t *testing.T, exe string, sys *syscall.SysProcAttr, job runnerJob, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	in, err := json.Marshal(job)
	must(t, err)
	var out bytes.Buffer
	for end := time.Now().Add(soon); ; time.Sleep(time.Millisecond) {
		cmd := exec.CommandContext(context.Background(), exe)
		if len(args) > 0 {
			cmd.Args = args
		}
		cmd.Env = append(os.Environ(), roleEnv+"=1")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &out
		cmd.SysProcAttr = sys
		cmd.Dir = "/"
		cmd.WaitDelay = time.Minute
		err := cmd.Start()
		if errors.Is(err, syscall.ETXTBSY) && time.Now().Before(end) {
			continue // a process that is just being forked holds the program that was written
		}
		must(t, err)
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd, &out
	}
}

func answer(t *testing.T, cmd *exec.Cmd, out *bytes.Buffer) runnerAnswer {
	t.Helper()
	err := cmd.Wait()
	var a runnerAnswer
	if jerr := json.Unmarshal(out.Bytes(), &a); jerr != nil {
		t.Fatalf("runner: %v, %v: %s", err, jerr, out)
	}
	return a
}

var tokens atomic.Int64

// token returns an argument by which processes of this test are found again, whatever they did to their environment.
func token() string { return fmt.Sprintf("tok-%d-%d-x", os.Getpid(), tokens.Add(1)) }

// withToken lists living processes that have the token among their arguments.
func withToken(tok string) []int {
	var pids []int
	for _, p := range allProcesses() {
		args, err := os.ReadFile("/proc/" + strconv.Itoa(p) + "/cmdline")
		if err != nil || p == os.Getpid() || !bytes.Contains(args, []byte(tok)) {
			continue
		}
		if st, ok := readStat(p); ok && st.alive() {
			pids = append(pids, p)
		}
	}
	return pids
}

// waitFile waits until a file exists.
func waitFile(t *testing.T, name string) {
	t.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(name); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no %s", name)
		}
	}
}

// waitToken waits until n processes have the token.
func waitToken(t *testing.T, tok string, n int) []int {
	t.Helper()
	seen := map[int]bool{} // some live only for a moment
	for end := time.Now().Add(soon); ; time.Sleep(2 * time.Millisecond) {
		pids := withToken(tok)
		for _, pid := range pids {
			seen[pid] = true
		}
		if len(seen) >= n {
			return pids
		}
		if time.Now().After(end) {
			t.Fatalf("only %d of %d processes started", len(seen), n)
		}
	}
}

// gone waits at most limit until no process has the token, and says how long it took.
func gone(t *testing.T, tok string, limit time.Duration) time.Duration {
	t.Helper()
	start := time.Now()
	for {
		pids := withToken(tok)
		if len(pids) == 0 {
			return time.Since(start)
		}
		if time.Since(start) > limit {
			for _, p := range pids {
				args, _ := os.ReadFile("/proc/" + strconv.Itoa(p) + "/cmdline")
				t.Errorf("process %d still runs after %v: %q", p, limit, args)
				_ = syscall.Kill(p, syscall.SIGKILL)
			}
			return time.Since(start)
		}
		time.Sleep(time.Millisecond)
	}
}

var testEnv = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"}

// sh returns a shell command in /.
func sh(script string, args ...string) Command {
	return Command{Argv: append([]string{"sh", "-c", script, "sh"}, args...), Dir: "/", Env: testEnv}
}

// output runs c and gives what it wrote to both streams.
func outputOf(t *testing.T, b Box, c Command) (string, Result) {
	t.Helper()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	res, err := b.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("Run: %v\n%s", err, &out)
	}
	return out.String(), res
}

// needTier skips where the machine cannot give the tier: CI without namespaces still runs the rest. A box that can be
// made and does not hold is no reason to skip.
func needTier(t *testing.T, want Tier) {
	t.Helper()
	for _, have := range Tiers() {
		if have == want {
			return
		}
	}
	if err := tryTier(want); err != nil && strings.Contains(err.Error(), leaks) {
		t.Fatal(err)
	}
	t.Skipf("tier %s not available here (best is %s)", want, Best())
}

// python returns a Python interpreter outside of every home, or the test is skipped.
func python(t *testing.T) string {
	t.Helper()
	for _, p := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	p, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	out, err := exec.CommandContext(t.Context(), p, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Skip("no python3 here")
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}
