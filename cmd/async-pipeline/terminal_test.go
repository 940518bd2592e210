package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// verdict reads the newest run of a project.
func verdict(t *testing.T, dir string) *record.Sealed {
	t.Helper()
	run, err := record.At(dir).Find("latest")
	must(t, err)
	return run
}

// pidOf waits for the process id that a task wrote.
func pidOf(t *testing.T, dir string) int {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(dir, "pid"))
		if pid, bad := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && bad == nil {
			return pid
		}
	}
	t.Fatal("no task wrote its process id")
	return 0
}

const endless = `task "endless" {
  run = "trap 'echo last words; exit 9' TERM; echo $$ > pid.new; mv pid.new pid; echo at work; while :; do sleep 0.1; done"
}
task "deaf" {
  run = "trap '' TERM INT; echo $$ > pid.new; mv pid.new pid; echo at work; while :; do sleep 0.1; done"
}
`

// twice presses ^C a second time, and says how long the task lived after that.
func twice(t *testing.T) time.Duration {
	t.Helper()
	dir := newProject(t, endless)
	s := sit(t, 80, 24, dir, "async-pipeline", "run", "deaf").look()
	pid := pidOf(t, dir)
	s.until("at work")
	s.press("\x03")
	s.until("once more")
	for end := time.Now().Add(sandbox.Grace); !strings.Contains(string(s.output()), "being ended"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) { // the next frame came too late
			s.ends(130)
			return sandbox.Grace
		}
	}
	pressed := time.Now()
	_, _ = io.WriteString(s.pty, "\x03") // on a busy machine all may be over by now
	s.ends(130)
	for end := time.Now().Add(endsWithin); !dead(pid) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	took := time.Since(pressed)
	if screen := s.screen(); !strings.Contains(screen, "recorded as interrupted") {
		t.Logf("it was not said in time: %s", screen) // the last words have 100 ms
		return sandbox.Grace
	}
	if v := verdict(t, dir); v.Status != record.Interrupted || v.ExitCode != 130 {
		t.Errorf("%s %d", v.Status, v.ExitCode)
	}
	return took
}

func TestKeys(t *testing.T) {
	t.Parallel()
	t.Run("^C once lets the tasks end", func(t *testing.T) {
		t.Parallel()
		dir := newProject(t, endless)
		s := sit(t, 80, 24, dir, "async-pipeline", "run", "endless").look()
		pid := pidOf(t, dir)
		s.until("at work")
		s.press("\x03")
		s.ends(130)
		s.until("once more kills it at once", "– endless cancelled", "recorded as interrupted")
		log, err := verdict(t, dir).Tail("endless", 1<<10)
		if err != nil || !strings.Contains(string(log), "last words") {
			t.Errorf("the task was not asked to end: %q, %v", log, err)
		}
		if !dead(pid) {
			t.Error("the task is still there")
		}
	})
	t.Run("^C twice ends them at once", func(t *testing.T) {
		t.Parallel()
		const tries = 20 // a busy machine is not slowness of ours
		for try := 1; ; try++ {
			took := twice(t)
			if took < sandbox.Grace {
				return
			}
			if try == tries {
				t.Fatalf("it took %v, as long as if nothing had been pressed", took)
			}
		}
	})
	t.Run("the terminal is closed", func(t *testing.T) {
		t.Parallel()
		dir := newProject(t, endless)
		s := sit(t, 80, 24, dir, "async-pipeline", "run", "endless").look()
		pid := pidOf(t, dir)
		s.until("at work")
		must(t, s.pty.Close())
		if got := exitCode(s.cmd.Wait()); got != 129 {
			t.Errorf("exit code %d", got)
		}
		if v := verdict(t, dir); v.Status != record.Interrupted || v.ExitCode != 129 || !dead(pid) {
			t.Errorf("%s %d", v.Status, v.ExitCode)
		}
	})
	t.Run("SIGTERM", func(t *testing.T) {
		t.Parallel()
		dir := newProject(t, endless)
		s := sit(t, 40, 10, dir, "async-pipeline", "run", "endless").look()
		s.until("at work")
		must(t, s.cmd.Process.Signal(syscall.SIGTERM))
		s.ends(143)
	})
}

// ^Z stops the program with what it runs, fg goes on; in the background it goes on too, and draws nothing.
func TestStopAndGo(t *testing.T) {
	t.Parallel()
	const counting = `task "count" {
  run = "echo $$ > pid.new; mv pid.new pid; i=0; while [ ! -e go ]; do i=$((i+1)); echo round $i; echo $i > rounds; sleep 0.02; done"
}
`
	for _, how := range []string{"fg", "bg", "plain"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			// what is drawn has 100 ms to be taken away, which a busy machine may need for something else
			const tries = 20
			for try := 1; !stopAndGo(t, newProject(t, counting), how); try++ {
				if try == tries {
					t.Fatal("what was drawn stands there still")
				}
			}
		})
	}
}

// stopAndGo stops a run and goes on with it; false when what was drawn was not taken away.
func stopAndGo(t *testing.T, dir, how string) bool {
	t.Helper()
	s := sit(t, 80, 24, dir, "sh", "-i").look()
	s.until(">")
	line, on := "async-pipeline run", how
	if how == "plain" {
		line, on = line+" --progress plain", "fg"
	}
	s.press(line + "\n")
	pid := pidOf(t, dir)
	s.until("round ")
	s.press("\x1a")
	s.until("Stopped")
	settled := true
	if screen := s.screen(); how != "plain" && strings.Contains(screen, "running") {
		t.Logf("what was drawn stands there still:\n%s", screen)
		settled = false
	}
	if how == "plain" && !strings.Contains(s.screen(), "│ round") {
		t.Errorf("not plain:\n%s", s.screen())
	}
	rounds := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "rounds"))
		must(t, err)
		return string(text)
	}
	for end := time.Now().Add(2 * time.Minute); !stands(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the task does not stand still")
		}
	}
	stood := rounds()
	s.press("echo a pro''mpt\n")
	s.until("a prompt")
	time.Sleep(200 * time.Millisecond)
	if now := rounds(); now != stood {
		t.Errorf("the task went on while the program stood: %s %s", stood, now)
	}
	before := len(s.output())
	s.press(on + "\n")
	if how == "fg" {
		s.until("0/1 done, 1 running", "round ")
	}
	allow(t, dir, "go")
	s.until("✓ count passed", "1 passed in")
	if after := string(s.output()[before:]); how == "bg" && strings.Contains(after, "running ·") {
		t.Errorf("drawn from the background: %q", after)
	}
	s.press("exit\n")
	s.ends(0)
	if screen := s.screen(); !strings.Contains(screen, "a prompt") {
		t.Errorf("what others wrote is gone:\n%s", screen)
	}
	return settled
}

// A program that is told to go on before it has stopped does not stop: nobody would tell it again. On a busy machine the
// second signal may reach it too late, once in many times.
func TestGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	var stood atomic.Int32
	for range 6 {
		dir := newProject(t, `task "waits" {
  run = "echo $$ > pid.new; mv pid.new pid; until test -e go; do sleep 0.02; done"
}
`)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		program, err := os.Executable()
		must(t, err)
		c := exec.CommandContext(ctx, program)
		c.Args = []string{"async-pipeline", "run"}
		c.Dir, c.SysProcAttr = dir, &syscall.SysProcAttr{Setpgid: true} // as a shell with job control starts it
		must(t, c.Start())
		pidOf(t, dir)
		must(t, c.Process.Signal(syscall.SIGTSTP))
		must(t, c.Process.Signal(syscall.SIGCONT))
		allow(t, dir, "go")
		again := time.AfterFunc(10*time.Second, func() {
			stood.Add(1)
			_ = c.Process.Signal(syscall.SIGCONT)
		})
		err = c.Wait()
		again.Stop()
		must(t, err)
	}
	if n := stood.Load(); n > 1 {
		t.Errorf("%d of 6 did not go on", n)
	}
}

// stands reports whether a process is stopped: one that was busy gets to it when the system lets it. One that waits in
// vfork for a child that is stopped (D) can do nothing either. Where there is no /proc that is not known, and taken for
// granted.
func stands(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(stat), ") ")
	if err != nil || strings.HasPrefix(after, "T") {
		return true
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // empty: it has none
	return strings.HasPrefix(after, "D") && slices.ContainsFunc(strings.Fields(string(children)), func(child string) bool {
		n, err := strconv.Atoi(child)
		return err == nil && stands(n)
	})
}

func TestResize(t *testing.T) {
	t.Parallel()
	dir := newProject(t, `task "wait" {
  run = "echo a line that is cut when the terminal is narrow; while [ ! -e go ]; do sleep 0.05; done"
}
`)
	s := sit(t, 80, 24, dir, "async-pipeline", "run").look()
	s.until("when the terminal is narrow")
	s.resize(30, 24)
	s.until("a line that is…")
	s.resize(100, 40)
	s.until("when the terminal is narrow")
	if n := strings.Count(s.screen(), "running"); n != 1 {
		t.Errorf("%d headlines:\n%s", n, s.screen())
	}
	allow(t, dir, "go")
	s.ends(0)
	if screen := s.screen(); strings.Contains(screen, "running") || strings.Contains(screen, "line that") {
		t.Errorf("something is left:\n%s", screen)
	}
}

// Tasks do not wait for a terminal that nobody reads.
func TestTerminalThatStands(t *testing.T) {
	t.Parallel()
	var hcl strings.Builder
	for i := range 150 { // their ends are more than a terminal holds back
		fmt.Fprintf(&hcl, "task \"a_task_with_a_name_that_is_rather_long_for_a_task_%d\" {\n  run = [\"true\"]\n}\n", i)
	}
	hcl.WriteString("job \"default\" {\n  tasks = [task.z]\n}\ntask \"z\" {\n  run = \"touch z\"\n  depends_on = [")
	for i := range 150 {
		fmt.Fprintf(&hcl, "task.a_task_with_a_name_that_is_rather_long_for_a_task_%d, ", i)
	}
	hcl.WriteString("]\n}\n")
	dir := newProject(t, hcl.String())
	s := sit(t, 80, 24, dir, "async-pipeline", "run")
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "z")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the tasks wait for the terminal")
		}
	}
	s.look().ends(0)
	s.until("✓ z passed", "151 passed")
}

func TestProgress(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "task \"a\" {\n  run = \"echo hello\"\n}\n")
	for _, tt := range []struct {
		name  string
		shell string
		code  int
		want  []string
		not   string
	}{
		{"a terminal that can do nothing", "TERM=dumb async-pipeline run", 0, []string{"a │ hello", "✓ a passed"}, "\x1b"},
		{"no TERM", "env -u TERM async-pipeline run", 0, []string{"a │ hello"}, "\x1b"},
		{"CI mode", "CI=1 async-pipeline run", 0, []string{"a │ hello"}, "?2026"},
		{"live in CI mode, as asked for", "CI=1 async-pipeline run --progress live", 0, []string{"✓ a passed"}, "a │"},
		{"NO_COLOR", "NO_COLOR=1 async-pipeline run", 0, []string{"✓ a passed"}, "\x1b[32m"},
		{"plain", "async-pipeline run --progress plain", 0, []string{"a │ hello"}, "?2026"},
		{"json", "async-pipeline run --progress json 2>/dev/null", 0, []string{`"type":"run_started"`}, "│"},
		{"live into a pipe", "async-pipeline run --progress live | cat; exit 2", 2, []string{"--progress live needs a terminal"}, "passed"},
		{"live where it cannot be", "TERM=dumb async-pipeline run --progress live", 2, []string{"--progress live needs a terminal"}, "passed"},
		{"no such way", "async-pipeline run --progress fancy", 2, []string{`--progress must be auto, live, plain or json, not "fancy"`}, "passed"},
		{"stderr elsewhere", "async-pipeline run 2>err", 0, []string{"✓ a passed", "1 passed"}, "a │"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sit(t, 100, 24, dir, "sh", "-c", tt.shell).look() // one after the other: one run at a time
			s.ends(tt.code)
			screen := s.screen()
			for _, w := range tt.want {
				if !strings.Contains(strings.ReplaceAll(screen, "\n", ""), w) {
					t.Errorf("no %q:\n%s", w, screen)
				}
			}
			if strings.Contains(string(s.output()), tt.not) {
				t.Errorf("%q in %q", tt.not, s.output())
			}
		})
	}
}

// On a terminal a log cannot act: it is shown, colours and all, and control characters by name. A pipe gets its bytes.
func TestLogsOnTerminal(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "task \"odd\" {\n  run = [\"sh\", \"odd.sh\"]\n}\n",
		"odd.sh", `printf 'first\n\033[2J\033[Hgone\n\033[31mred\033[0m\n1%%\r2%%\r\nno end'`)
	sit(t, 80, 24, dir, "async-pipeline", "run").look().ends(0)

	s := sit(t, 80, 24, dir, "async-pipeline", "logs", "odd").look()
	s.ends(0)
	if got, want := s.screen(), "first\ngone\nred\n1%\n2%\nno end\n"; got != want {
		t.Errorf("the screen shows\n%s\nwant\n%s", got, want)
	}
	if out := s.output(); !bytes.Contains(out, []byte("\x1b[31mred")) || bytes.Contains(out, []byte("\x1b[2J")) {
		t.Errorf("printed %q", out)
	}

	out, err := os.Create(filepath.Join(dir, "out"))
	must(t, err)
	defer func() { must(t, out.Close()) }()
	program, err := os.Executable()
	must(t, err)
	c := exec.CommandContext(t.Context(), program)
	c.Args, c.Dir, c.Stdout = []string{"async-pipeline", "logs", "odd"}, dir, out
	must(t, c.Run())
	got, err := os.ReadFile(out.Name())
	must(t, err)
	if !strings.Contains(string(got), "\x1b[2J\x1b[Hgone\n") || !strings.HasSuffix(string(got), "1%\r2%\r\nno end") {
		t.Errorf("a file got %q", got)
	}
}
