package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A trick is how a process tries to outlive its command. The script gets the token as $1 and must leave at least n
// processes with it; $2 is a Python interpreter.
type trick struct {
	name   string
	n      int
	script string
}

var tricks = []trick{
	{"setsid", 1, `setsid sh -c 'sleep 300; :' "$1" & `},
	{"double fork", 1, `( ( sh -c 'sleep 300; :' "$1" & ) & ); `},
	{"nohup, HUP and TERM ignored", 1, `trap "" HUP TERM; nohup sh -c 'trap "" HUP TERM; while :; do sleep 1; done' "$1" >/dev/null 2>&1 & `},
	{"daemonised python", 1, `"$2" -c '
import os, sys, time
if os.fork(): sys.exit(0)
os.setsid()
if os.fork(): sys.exit(0)
os.chdir("/")
for fd in range(3): os.close(fd)
while True: time.sleep(1)
' "$1"; `},
	{"fork loop", 3, `"$2" -c '
import os, sys, time, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0: break
end = time.time() + 400
while time.time() < end:
    if os.fork(): os._exit(0)
    os.setsid()
' "$1" & `},
	{"env -i setsid", 1, `env -i setsid sh -c 'while :; do sleep 1; done' "$1" & `},
	{"all descriptors closed", 1, `setsid sh -c 'while :; do sleep 1; done' "$1" 0<&- 1<&- 2<&- & `},
	{"stdout held", 1, `setsid sh -c 'trap "" PIPE TERM; while :; do echo x; sleep 0.1; done' "$1" & `},
	{"stopped", 1, `sh -c 'kill -STOP $$; sleep 300' "$1" & `},
}

// TestEscapes lets a tree try each trick against each way a tree can end.
func TestEscapes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the kernel refuses does not depend on the race detector")
	}
	py := python(t)
	for _, tr := range tricks {
		if testing.Short() && tr.n > 1 {
			continue
		}
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			t.Run("command ends", func(t *testing.T) {
				t.Parallel()
				tok := token()
				_, res := outputOf(t, Box{Tier: None}, Command{Argv: []string{"sh", "-c", tr.script + "sleep 0.3", "sh", tok, py}, Dir: "/", Env: testEnv})
				gone(t, tok, 0)
				if res.ProcessesLeft < 1 {
					t.Errorf("%+v", res)
				}
			})
			t.Run("killed at once", func(t *testing.T) {
				t.Parallel()
				for _, tier := range Tiers() {
					tok := token()
					ctx, cancel := context.WithCancelCause(t.Context())
					var asked time.Time
					go func() {
						for end := time.Now().Add(soon); len(withToken(tok)) < tr.n+1 && time.Now().Before(end); {
							time.Sleep(time.Millisecond)
						}
						time.Sleep(50 * time.Millisecond)
						asked = time.Now()
						cancel(ErrNow)
					}()
					_, err := (Box{Tier: tier}).Run(ctx, Command{Argv: []string{"sh", "-c", tr.script + "sleep 300", "sh", tok, py}, Dir: "/", Env: testEnv})
					took := time.Since(asked)
					if err != nil {
						t.Error(err)
					}
					gone(t, tok, 0)
					t.Logf("%s: ended after %v", tier, took)
					if took > slack {
						t.Errorf("%s: ended after %v", tier, took)
					}
				}
			})
			t.Run("runner killed", func(t *testing.T) {
				t.Parallel()
				for _, tier := range []Tier{Best(), None} {
					tok := token()
					cmd, _ := startRunner(t, os.Args[0], nil, runnerJob{
						Box: Box{Tier: tier}, Dir: "/", Env: testEnv, Argv: []string{"sh", "-c", tr.script + "sleep 300", "sh", tok, py},
					})
					waitToken(t, tok, tr.n+1)
					time.Sleep(50 * time.Millisecond)
					_ = cmd.Process.Kill()
					t.Logf("%s: ended after %v", tier, gone(t, tok, slack))
					_ = cmd.Wait()
				}
			})
			t.Run("supervisor killed", func(t *testing.T) {
				t.Parallel()
				tok := token()
				script := tr.script + `sleep 0.3; kill -KILL $PPID; sleep 300`
				res, err := harmed.Run(t.Context(), Command{Argv: []string{"sh", "-c", script, "sh", tok, py}, Dir: "/", Env: testEnv})
				if err == nil || !strings.Contains(err.Error(), "the supervisor of sh was ended from outside") {
					t.Errorf("%v %+v", err, res)
				}
				gone(t, tok, 0)
			})
		})
	}
}

// harmed is a box whose commands have a supervisor each: what a test does to it, no other test has to bear.
var harmed = Box{Tier: None, Hook: "run/harm"}

// TestSupervisorKilledFromOutside shows that one lost supervisor of what is confined, or of a hook, costs its own
// tree and no other.
func TestSupervisorKilledFromOutside(t *testing.T) {
	t.Parallel()
	for _, tier := range Tiers() {
		t.Run(string(tier), func(t *testing.T) {
			t.Parallel()
			tok, other := token(), token()
			ends := make(chan Result, 1)
			go func() {
				res, err := Box{Tier: tier, Hook: harmed.Hook}.Run(t.Context(), sh("setsid sleep 2; exit 6", other))
				if err != nil {
					t.Error(err)
				}
				ends <- res
			}()
			go func() {
				for end := time.Now().Add(soon); len(withToken(tok)) < 2 && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
				if pid := parentOfRoot(withToken(tok)); pid > 1 { // 0 is this test's own group
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}()
			_, err := Box{Tier: tier, Hook: harmed.Hook}.Run(t.Context(), sh(`env -i setsid sh -c 'trap "" TERM; while :; do sleep 1; done' "$1" & sleep 600`, tok))
			if err == nil || !strings.Contains(err.Error(), "ended from outside") {
				t.Errorf("error %v", err)
			}
			gone(t, tok, 0)
			if res := <-ends; res.ExitCode != 6 {
				t.Errorf("the other command: %+v", res)
			}
		})
	}
}

// TestSupervisorStopped shows that a tree cannot keep its runner waiting by stopping its supervisor.
func TestSupervisorStopped(t *testing.T) {
	t.Parallel()
	tok := token()
	c := sh("kill -STOP $PPID; sleep 300", tok)
	c.Timeout = 500 * time.Millisecond
	_, res := outputOf(t, harmed, c)
	if !res.TimedOut || res.Duration > slack {
		t.Errorf("%+v", res)
	}
	gone(t, tok, 0)
}

// TestSignalsStayInside shows that behind the fence neither supervisor nor runner can be signalled.
func TestSignalsStayInside(t *testing.T) {
	t.Parallel()
	needTier(t, Fence)
	out, res := outputOf(t, Box{Tier: Fence}, sh(fmt.Sprintf("kill -KILL $PPID 2>&1; kill -0 %d 2>&1; sleep 30 & kill -KILL $!; wait $!; exit 5", os.Getpid())))
	if res.ExitCode != 5 || strings.Count(out, "not permitted") != 2 {
		t.Errorf("%q %+v", out, res)
	}
}

func TestH08(t *testing.T) {
	t.Parallel()
	py := python(t)
	server := `import http.server, sys, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
open(sys.argv[1], "w").write(str(s.server_port))
s.serve_forever()`
	for _, tier := range Tiers() {
		for _, how := range []string{"agent ends", "timeout"} {
			t.Run("H08 agent leaves server running "+string(tier)+" "+how, func(t *testing.T) {
				t.Parallel()
				tok, dir := token(), t.TempDir()
				port := filepath.Join(dir, "port")
				b := Box{Tier: tier, Write: []string{dir}, Tmp: t.TempDir()}
				script := `setsid "$2" -c "$3" "$4" "$1" >/dev/null 2>&1 & while ! [ -s "$4" ]; do sleep 0.05; done; `
				if how == "timeout" {
					script += "sleep 600"
				}
				c := Command{Argv: []string{"sh", "-c", script, "sh", tok, py, server, port}, Dir: dir, Env: testEnv}
				if how == "timeout" {
					c.Timeout = 3 * time.Second
				}
				start := time.Now()
				_, res := outputOf(t, b, c)
				for c.Timeout > 0 && c.Timeout < soon { // python may need longer to start
					if _, err := os.Stat(port); err == nil {
						break
					}
					c.Timeout *= 2
					start = time.Now()
					_, res = outputOf(t, b, c)
				}
				if how == "timeout" {
					if over := time.Since(start) - c.Timeout; over > Grace+slack {
						t.Errorf("ended %v after the wall clock", over)
					}
				} else if res.ProcessesLeft != 1 || res.ExitCode != 0 {
					t.Errorf("%+v", res)
				}
				gone(t, tok, 0)
				if got := serves(t, "127.0.0.1:"+read(t, port)); strings.Contains(got, "SimpleHTTP") {
					t.Errorf("the server still answers: %q", got)
				}
			})
		}
	}
}

// serves returns what answers at an address, which may be somebody else by now; empty when nobody does.
func serves(t *testing.T, address string) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = conn.Write([]byte("HEAD / HTTP/1.0\r\n\r\n"))
	answer, _ := io.ReadAll(conn) // what there is counts
	return string(answer)
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	for _, k := range []struct{ name, hook string }{{"of a hook", "run-7/unit test"}, {"of a task", ""}} {
		t.Run(k.name, func(t *testing.T) {
			// Tests of other packages, running now, may end these orphans as their own commands begin.
			for range 5 {
				if leaveAndEnd(t, k.hook) {
					return
				}
			}
			t.Error("the trees end by themselves: nothing is tried here")
		})
	}
}

// leaveAndEnd leaves orphans, looks for them and ends them; false when somebody else was faster.
func leaveAndEnd(t *testing.T, hook string) bool {
	tok := token()
	runs := t.TempDir()
	cmd, _ := startRunner(t, os.Args[0], nil, runnerJob{
		Box: Box{Tier: None, Hook: hook}, Dir: "/", Env: testEnv,
		Argv: []string{"sh", "-c", `setsid sh -c ': >"$2/1"; sleep 300; :' "$1" "$1" "$2" & env -i setsid sh -c ': >"$2/2"; sleep 300; :' "$1" "$1" "$2" & wait`, "sh", tok, runs},
	})
	waitFile(t, filepath.Join(runs, "1"))
	waitFile(t, filepath.Join(runs, "2")) // before, it has marks
	pids := waitToken(t, tok, 3)
	// While the runner lives, nothing of it is an orphan.
	if found := ours(t, pids); len(found) != 0 {
		t.Errorf("orphans of a living runner: %v", found)
	}
	// A stopped supervisor and a killed runner: now nobody ends the tree. A running runner continues its supervisor.
	stopped := parentOfRoot(pids)
	if stopped <= 1 { // 0 is this test's own group
		t.Fatalf("no supervisor above %v", pids)
	}
	_ = cmd.Process.Signal(syscall.SIGSTOP)
	_ = syscall.Kill(stopped, syscall.SIGSTOP)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	time.Sleep(50 * time.Millisecond)
	found := ours(t, pids)
	ended, err := EndOrphansOf(func(Process) bool { return false })
	kept := ours(t, pids)
	if len(withToken(tok)) < 3 {
		return false
	}
	if len(found) < 2 || found[0].Hook != hook || found[0].Runner.PID != cmd.Process.Pid || found[0].Dir != "/" {
		t.Errorf("orphans %v", found)
	}
	if err != nil || len(ended) != 0 || len(kept) != len(found) {
		t.Errorf("of nobody it ended %v, %v: %v of %v are left", ended, err, kept, found)
	}
	if _, err := EndOrphansOf(func(Process) bool { return true }); err != nil {
		t.Error(err)
	}
	gone(t, tok, 0)
	for end := time.Now().Add(soon); ; time.Sleep(2 * time.Millisecond) {
		st, ok := readStat(stopped) // without children it ends by itself
		left := ours(t, pids)
		if (!ok || !st.alive()) && len(left) == 0 {
			return true
		}
		if time.Now().After(end) {
			t.Fatalf("the supervisor is %+v, left are %v", st, left)
		}
	}
}

// ours returns the orphans among pids.
func ours(t *testing.T, pids []int) []Process {
	t.Helper()
	all, err := Orphans()
	must(t, err)
	var found []Process
	for _, p := range all {
		for _, q := range pids {
			if p.PID == q {
				found = append(found, p)
			}
		}
	}
	return found
}

// parentOfRoot returns the supervisor: the one parent that is not among pids.
func parentOfRoot(pids []int) int {
	for _, p := range pids {
		st, _ := readStat(p)
		args, _ := os.ReadFile("/proc/" + strconv.Itoa(st.parent) + "/cmdline")
		if bytes.HasPrefix(args, []byte(helperName)) {
			return st.parent
		}
	}
	return 0
}

// TestMainIsNotTripped starts the program with the arguments of a helper but without its socket.
func TestMainIsNotTripped(t *testing.T) {
	t.Parallel()
	cmd, out := startRunner(t, os.Args[0], nil, runnerJob{}, helperName, roleSupervisor)
	if a := answer(t, cmd, out); a.Best != Best() {
		t.Errorf("%+v", a)
	}
}
