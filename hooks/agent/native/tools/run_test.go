package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
)

// box is a request whose commands do what f does.
func box(f func(ctx context.Context, c agent.Command) (agent.Exit, error)) func(*agent.Request) {
	return func(r *agent.Request) {
		r.Run, r.Allow, r.Env, r.Exec = []string{"make", "check"}, [][]string{{"go", "vet", "**"}}, []string{"A=1"}, f
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	var got agent.Command
	exit, err, prints := agent.Exit{}, error(nil), ""
	w := workIn(t, nil, box(func(_ context.Context, c agent.Command) (agent.Exit, error) {
		got = c
		_, _ = io.WriteString(c.Stdout, prints)
		return exit, err
	}))
	for _, c := range []struct {
		name   string
		exit   agent.Exit
		err    error
		prints string
		ending string
		want   string
	}{
		{"passes", agent.Exit{Duration: 1234 * time.Millisecond}, nil, "fine\n", "ok", "exit code 0 after 1.23s\nfine\n"},
		{"says nothing", agent.Exit{}, nil, "", "ok", "exit code 0 after 0s, no output"},
		{"fails", agent.Exit{Code: 2}, nil, "bad\n", "no", "exit code 2 after 0s\nbad\n"},
		{"is killed", agent.Exit{Code: 137, Signal: "SIGKILL"}, nil, "", "no", "killed by SIGKILL after 0s, no output"},
		{"the turn is over", agent.Exit{TimedOut: true, Code: 124}, nil, "", "no", "the time of the whole turn is over, no output"},
		{"is cancelled", agent.Exit{Cancelled: true}, nil, "part\n", "no", "the turn is ending\npart\n"},
		{"falls silent", agent.Exit{IdledOut: true, Code: 124}, nil, "", "no", "wrote nothing for too long, no output"},
		{"leaves something", agent.Exit{ProcessesLeft: 2}, nil, "x\n", "ok", "x\n\n2 processes that it left behind were ended"},
		{"cannot be started", agent.Exit{}, errors.New("no box"), "", "no", "the command could not be carried out: no box, no output"},
		{"is not UTF-8", agent.Exit{}, nil, "a\xffb", "ok", "a\uFFFDb"},
	} {
		exit, err, prints = c.exit, c.err, c.prints
		if got := w.do(t, "run", o{"argv": []string{"make", "check"}}, c.ending).Text; !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if !slices.Equal(got.Argv, []string{"make", "check"}) || got.Dir != "/project" || !slices.Equal(got.Env, []string{"A=1"}) || got.Stdin != nil {
		t.Errorf("%+v", got)
	}
	if len(w.paths) != 0 {
		t.Error("a command counts as a writer of files that we know of")
	}
}

// The task's own command runs where the task would run it, everything else where the agent works.
func TestRunDir(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, own, argv, want string }{
		{"own", "/project/sub/dir", "make check", "/project/sub/dir"},
		{"own, no dir", "", "make check", "/project/sub"},
		{"allowed", "/project/sub/dir", "go vet .", "/project/sub"},
	} {
		got := "nowhere"
		w := workIn(t, map[string]string{"sub/a": ""}, box(func(_ context.Context, c agent.Command) (agent.Exit, error) {
			got = c.Dir
			return agent.Exit{}, nil
		}), func(r *agent.Request) {
			r.Copy, r.Dir, r.RunDir = filepath.Join(r.Top, "sub"), "/project/sub", c.own
		})
		w.do(t, "run", o{"argv": strings.Fields(c.argv)}, "ok")
		if got != c.want {
			t.Errorf("%s: run in %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRunRefused(t *testing.T) {
	t.Parallel()
	w := workIn(t, nil, box(func(context.Context, agent.Command) (agent.Exit, error) { panic("it was run") }))
	const allowed = "Allowed are, ** standing for any further words:\n  make check (the task's own command)\n  go vet **"
	for _, c := range []struct {
		argv []string
		want []string
	}{
		{[]string{"rm", "-rf", "/"}, []string{"not run: rm is not allowed. " + allowed}},
		{[]string{"make"}, []string{"not run: make is allowed only as it stands", allowed}},
		{[]string{"./go", "vet"}, []string{"only go is allowed, found on the PATH"}},
		{[]string{"go vet ./..."}, []string{`argv is a list of words: ["go" "vet" "./..."]`}},
		{[]string{"cd", "x", "&&", "make", "check"}, []string{"There is no shell"}},
		{[]string{"sh", "-c", "make check"}, []string{"sh is not allowed"}},
		{[]string{""}, []string{"the command is empty"}},
		{[]string{"go", "vet", "a\x00"}, []string{"NUL"}},
	} {
		w.do(t, "run", o{"argv": c.argv}, "no", c.want...)
	}
	if n := w.Commands(); *n.Allowed != 0 {
		t.Errorf("%d refused commands were started", *n.Allowed)
	}
	bare := workIn(t, nil)
	bare.do(t, "run", o{"argv": []string{"ls"}}, "no", "ls is not allowed", "No command is allowed; check runs the failed task.")
	bare.do(t, "check", o{}, "no", "cannot be run in this turn")
	own := workIn(t, nil, func(r *agent.Request) { r.Run = []string{"ls"} })
	own.do(t, "run", o{"argv": []string{"ls"}}, "no", "nothing can be run")
}

func TestOutputIsKept(t *testing.T) {
	t.Parallel()
	prints := ""
	w := workIn(t, nil, box(func(_ context.Context, c agent.Command) (agent.Exit, error) {
		for piece := range slices.Chunk([]byte(prints), 100_003) {
			_, _ = c.Stdout.Write(piece)
		}
		return agent.Exit{}, nil
	}))
	run := func() string { return w.do(t, "run", o{"argv": []string{"make", "check"}}, "ok").Text }
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	prints = b.String()
	got := run()
	if len(got) > ShownHead+shownTail+300 || !strings.HasPrefix(got, "exit code 0 after 0s\nline 1\n") || !strings.HasSuffix(got, "\nline 5000\n") {
		t.Errorf("%d bytes: %q … %q", len(got), got[:60], got[len(got)-60:])
	}
	var left int
	at := strings.Index(got, "… ")
	if _, err := fmt.Sscanf(got[at:], "… %d bytes left out, read them with read{path:\"output:1\"}\n", &left); err != nil || left != len(prints)-(len(got)-len("exit code 0 after 0s\n")-len(strings.SplitAfter(got[at:], "\n")[0])) {
		t.Errorf("%d bytes left out, %v", left, err)
	}
	w.do(t, "read", o{"path": "output:1", "from": 2500, "lines": 2}, "ok", "output:1: lines 2500–2501 of 5000 (go on with from: 2502)\nline 2500\nline 2501\n")
	w.do(t, "read", o{"path": "output:1", "from": 6000}, "no", "it has only 5000 lines")
	w.do(t, "search", o{"pattern": "^line 3333$", "path": "output:1"}, "ok", "1 line\noutput:1:3333:line 3333\n")
	w.do(t, "read", o{"path": "output:2"}, "no", "there is no output:2; there are output:1")
	w.do(t, "write", o{"path": "output:1", "content": "a file of that name\n"}, "ok")

	prints = "short\n"
	run()
	w.do(t, "read", o{"path": "output:2"}, "no", "there is no output:2")

	prints = strings.Repeat("x", keptHead) + strings.Repeat("y", 5*keptTail) + strings.Repeat("z", keptTail)
	if got := run(); !strings.Contains(got, "output:2") || !strings.HasSuffix(got, "zzz") {
		t.Errorf("it ends with %q", got[len(got)-40:])
	}
	w.do(t, "search", o{"pattern": "were not kept", "path": "output:2"}, "ok", fmt.Sprintf("… %d bytes were not kept", 5*keptTail))

	for range 5 {
		run()
	}
	w.do(t, "read", o{"path": "output:1"}, "no", "output:1 is not kept any more; there are output:")
	w.do(t, "read", o{"path": "output:7"}, "ok", "output:7: lines")
	sum := 0
	for _, kept := range w.kept {
		sum += len(kept.text)
	}
	if sum > keptAll {
		t.Errorf("%d bytes are kept", sum)
	}
}

// A command that does not end is ended; the turn goes on.
func TestRunTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := workIn(t, nil, box(func(ctx context.Context, c agent.Command) (agent.Exit, error) {
			_, _ = io.WriteString(c.Stdout, "begun\n")
			<-ctx.Done()
			return agent.Exit{Cancelled: true, Code: 143}, nil
		}))
		began := time.Now()
		w.do(t, "run", o{"argv": []string{"make", "check"}}, "no", "ended after 10m0s, which is how long a command may take\nbegun\n")
		if took := time.Since(began); took != runLimit {
			t.Errorf("after %v", took)
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	passed, err, prints := false, error(nil), ""
	w := workIn(t, nil, func(r *agent.Request) {
		r.Check = func(_ context.Context, out io.Writer) (bool, error) {
			_, _ = io.WriteString(out, prints)
			return passed, err
		}
	})
	prints = "FAIL\n"
	if got := w.do(t, "check", o{}, "no").Text; got != "the check failed\nFAIL\n" {
		t.Errorf("got %q", got)
	}
	prints = strings.Repeat("x\n", shownTail) + "FAIL\n"
	if got := w.do(t, "check", o{}, "no", "the check failed\n… 8196 bytes left out, read them with read{path:\"output:1\"}\nx\n").Text; !strings.HasSuffix(got, "x\nFAIL\n") || len(got) > shownTail+200 {
		t.Errorf("%d bytes, it ends with %q", len(got), got[len(got)-20:])
	}
	passed, prints = true, ""
	w.do(t, "check", o{}, "ok", "the check passed, no output")
	err = errors.New("no box")
	w.do(t, "check", o{}, "no", "the check could not be carried out: no box")
}

// program makes a file that can be run.
func program(t *testing.T, path string) {
	t.Helper()
	put(t, path, "#!/bin/sh\n")
	check(t, os.Chmod(path, 0o755))
}

// A program that the agent could have put there is not run, but for the task's own command, which is what it is.
func TestPlantedPrograms(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	for _, at := range []string{"/system/go", "/home/bin/homely", "/top/bin/planted", "/top/bin/make", "/top/sub/here"} {
		program(t, base+at)
	}
	put(t, base+"/top/bin/go", "not executable\n")
	check(t, os.Symlink(base+"/top/bin", base+"/linked"))
	for to, at := range map[string]string{base + "/system": "/top/out", base + "/none": "/top/dangling", "../system": "/top/up"} {
		check(t, os.Symlink(to, base+at))
	}
	ran := 0
	r := &agent.Request{
		Top: base + "/top", Copy: base + "/top/sub", Dir: "/project/sub", Run: []string{"make"},
		Allow: [][]string{{"go", "**"}, {"planted"}, {"homely"}, {"here"}, {"linked"}, {"nowhere"}, {"./here"}},
		Exec:  func(context.Context, agent.Command) (agent.Exit, error) { ran++; return agent.Exit{}, nil },
	}
	w, err := Open(r)
	check(t, err)
	t.Cleanup(func() { _ = w.Close() })
	for _, c := range []struct{ path, argv, want string }{
		{"/project/bin:" + base + "/system", "go", ""}, // what cannot be run is not found
		{"/project/bin", "planted", "/project/bin/planted, where the agent can write"},
		{base + "/top/bin", "planted", base + "/top/bin/planted, where"},
		{"../bin", "planted", "/project/bin/planted, where"},
		{base + "/linked", "planted", base + "/linked/planted, where"},
		{base + "/home/bin", "homely", base + "/home/bin/homely, where"},
		{"/project/out", "go", "/project/out/go, where"}, // the link can be changed
		{"/project/dangling:/project/up/:" + base + "/system", "go", ""},
		{base + "/system:", "here", "/project/sub/here, where"},
		{base + "/system", "nowhere", ""}, // the sandbox says that there is none
		{"/project/bin", "make", ""},
		{"/project/bin", "./here", ""},
	} {
		r.Env = []string{"PATH=" + c.path, "HOME=" + base + "/home"}
		before := ran
		if c.want == "" {
			w.do(t, "run", o{"argv": []string{c.argv}}, "ok")
		} else {
			w.do(t, "run", o{"argv": []string{c.argv}}, "no", c.want)
		}
		if (ran > before) != (c.want == "") {
			t.Errorf("%s in %s: run %v", c.argv, c.path, ran > before)
		}
	}
}

// Commands may have a /tmp of their own: a program of the agent's there is found instead of one that lies at its
// place outside.
func TestPlantedInTmp(t *testing.T) {
	t.Parallel()
	base, err := os.MkdirTemp("/tmp", "planted")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	own := t.TempDir()
	w := workIn(t, nil, box(func(context.Context, agent.Command) (agent.Exit, error) { return agent.Exit{}, nil }), func(r *agent.Request) {
		r.Env = []string{"PATH=" + base, "TMPDIR=" + own}
	})
	program(t, filepath.Join(base, "go"))
	w.do(t, "run", o{"argv": []string{"go", "vet", "."}}, "ok")
	program(t, filepath.Join(own, filepath.Base(base), "go"))
	w.do(t, "run", o{"argv": []string{"go", "vet", "."}}, "no", filepath.Join(base, "go")+", where the agent can write")
}

// A copy that Request.Open opens is closed while a command or the check works, and opened again when a tool needs it.
func TestCopyIsLent(t *testing.T) {
	t.Parallel()
	var opened []*os.Root
	var w *Toolset
	ran := func() {
		for _, root := range opened {
			if _, err := root.Stat("."); !errors.Is(err, os.ErrClosed) {
				t.Errorf("the copy is open while a command runs: %v", err)
			}
		}
		if info, err := w.root.Lstat("a"); !errors.Is(err, errRunning) {
			t.Errorf("a tool that nobody waits for sees %v, %v", info, err)
		}
		put(t, filepath.Join(w.top, "a"), "changed by the command\n")
	}
	var broken error
	w = workIn(t, map[string]string{"a": "text\n"}, func(r *agent.Request) {
		r.Run = []string{"make"}
		r.Exec = func(context.Context, agent.Command) (agent.Exit, error) { ran(); return agent.Exit{}, nil }
		r.Check = func(context.Context, io.Writer) (bool, error) { ran(); return true, nil }
		r.Open = func() (*os.Root, error) {
			if broken != nil {
				return nil, broken
			}
			root, err := os.OpenRoot(r.Top)
			opened = append(opened, root)
			return root, err
		}
	})
	w.do(t, "read", o{"path": "a"}, "ok", "text")
	w.do(t, "write", o{"path": "b", "content": "b\n"}, "ok")
	w.do(t, "run", o{"argv": []string{"make"}}, "ok")
	w.do(t, "run", o{"argv": []string{"make"}}, "ok")
	w.do(t, "edit", o{"path": "a", "old": "changed", "new": "left"}, "ok")
	w.do(t, "read", o{"path": "a"}, "ok", "left by the command")
	w.do(t, "check", o{}, "ok")
	w.do(t, "read", o{"path": "b"}, "ok", "b")
	if len(opened) != 3 { // by Open, and for what comes after commands
		t.Errorf("it was opened %d times", len(opened))
	}
	w.do(t, "check", o{}, "ok")
	broken = errors.New("no more mounts")
	w.do(t, "read", o{"path": "a"}, "no", "the copy cannot be opened: no more mounts")
	w.do(t, "write", o{"path": "b", "content": "c\n"}, "no", "the copy cannot be opened: no more mounts")
	if !w.runnable("/project/anything") {
		t.Error("a program in a copy that cannot be seen is not refused")
	}
	broken = nil
	check(t, w.Close())
	if _, err := w.root.at(); !errors.Is(err, errOver) {
		t.Errorf("after its end the turn can open the copy: %v", err)
	}
}
