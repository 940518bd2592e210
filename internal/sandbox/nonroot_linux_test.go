package sandbox

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// nobodyCan returns a copy of this test binary that anybody may run, and how to run it as nobody.
func nobodyCan(t *testing.T) (exe string, sys *syscall.SysProcAttr, home string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become nobody; as somebody else all the other tests are this one")
	}
	// t.TempDir would hide it behind its own folders' modes
	home, err := os.MkdirTemp("/tmp", "async-pipeline-nobody-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	exe = filepath.Join(home, "runner")
	src, err := os.Open("/proc/self/exe")
	must(t, err)
	defer func() { _ = src.Close() }()
	dst, err := os.OpenFile(exe, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
	must(t, dst.Close())
	for _, p := range []string{home, exe} {
		must(t, os.Chmod(p, 0o755))
	}
	return exe, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}, home
}

func TestAsNobody(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the kernel refuses does not depend on the race detector")
	}
	exe, sys, top := nobodyCan(t)
	own := func(name string) string {
		p := filepath.Join(top, name)
		if err := os.Mkdir(p, 0o755); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		must(t, os.Chown(p, nobody, nobody))
		return p
	}
	tree, copied, tmp := own("tree"), own("copy"), own("tmp")
	write(t, filepath.Join(tree, "file"), "the person's\n")
	write(t, filepath.Join(copied, "file"), "the copy's\n")
	must(t, os.Chown(filepath.Join(tree, "file"), nobody, nobody))
	py := python(t)
	// With the value that they have, so that nothing happens where it works. Root without capabilities may not anyway.
	const reniceMany = `
import errno, os, sys
for which, who in (os.PRIO_USER, 0), (os.PRIO_USER, os.getuid()), (os.PRIO_PGRP, os.getpgid(0)):
    try: os.setpriority(which, who, os.getpriority(os.PRIO_PROCESS, 0))
    except PermissionError: continue
    sys.exit(1)`
	outside := filepath.Join(elsewhere(t), "outside")
	write(t, outside, "")
	must(t, errors.Join(os.Chown(outside, nobody, nobody), os.Chmod(filepath.Dir(outside), 0o755)))
	cmd, out := startRunner(t, exe, sys, runnerJob{})
	best := answer(t, cmd, out).Best
	if best == None {
		t.Skip("nobody gets no tier here")
	}
	for _, tt := range []struct {
		tier       Tier
		at, script string
		want       string
	}{
		{View, tree, `cat "$1/file"; echo x > "$1/new"; id -u; id -g; echo y > /tmp/y; ls "$TMPDIR/y" >/dev/null; grep -c "^Cap.*0000000000000000" /proc/self/status; cat /proc/[0-9]*/root"$1/file" 2>/dev/null | sort -u`, "the copy's\n65534\n65534\n5\nthe copy's\n"},
		{View, tree, `chmod 600 "$2" || chmod 644 "$2" || touch -c "$2" || echo x > "$1/mine" && chmod 600 "$1/mine" && chmod 711 /tmp && chmod 755 /tmp && echo x > /dev/shm/f && stat -fc %b /dev/shm && prlimit --core=0:0 true && ! prlimit --pid $PPID --core=0:0 && "$3" -c "$4" && echo held`, "262144\nheld\n"},
		{Fence, copied, `cat "$1/file"; echo x > "$1/file" && echo written; echo z > ./z && echo fine`, "the person's\nfine\n"},
		{None, copied, `echo free`, "free\n"},
	} {
		t.Run(string(tt.tier), func(t *testing.T) {
			if tt.tier == View && best != View {
				t.Skip("nobody gets no view here")
			}
			cmd, out := startRunner(t, exe, sys, runnerJob{
				Box: Box{Tier: tt.tier, Tree: tree, Copy: copied, Tmp: tmp}, Dir: tt.at, Env: testEnv,
				Argv: []string{"sh", "-c", "exec 2>/dev/null; " + tt.script, "sh", tree, outside, py, reniceMany},
			})
			a := answer(t, cmd, out)
			if a.Err != "" || a.Out != tt.want {
				t.Errorf("%+v\nwant %q", a, tt.want)
			}
			if got := read(t, filepath.Join(tree, "file")); got != "the person's\n" {
				t.Errorf("the tree's file is %q", got)
			}
			if info, _ := os.Stat(outside); info.Mode() != 0o644 {
				t.Errorf("the file outside is %v", info)
			}
		})
	}
	t.Run("overlay", func(t *testing.T) {
		if best != View {
			t.Skip("nobody gets no view here")
		}
		o := Overlay{At: own("upper"), Lower: []string{own("copy")}, Upper: own("upper"), Work: own("work")}
		cmd, out := startRunner(t, exe, sys, runnerJob{
			Box: Box{Tier: View, Tmp: tmp, Layers: []Overlay{o}, Write: []string{o.At}}, Dir: o.At, Env: testEnv,
			Argv: []string{"sh", "-c", "cat file && rm file && echo new > made && mkdir file && ls -d file made"},
		})
		if a := answer(t, cmd, out); a.Err != "" || a.Out != "the copy's\nfile\nmade\n" {
			t.Errorf("%+v", a)
		}
		if got := read(t, filepath.Join(copied, "file")) + read(t, filepath.Join(o.Upper, "made")); got != "the copy's\nnew\n" {
			t.Errorf("the copy's file and what was made: %q", got)
		}
	})
	t.Run("overlay probe", func(t *testing.T) {
		cmd, out := startRunner(t, exe, sys, runnerJob{Overlay: own("probes")})
		if a := answer(t, cmd, out); best == View && a.Err != "" {
			t.Errorf("%+v", a)
		}
		if left, err := os.ReadDir(own("probes")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	t.Run("lent", func(t *testing.T) {
		if best != View {
			t.Skip("nobody gets no view here")
		}
		lent(t, func(name string) string { return own("lent-" + name) }, func(b Box, hold bool) (*exec.Cmd, *bytes.Buffer) {
			return startRunner(t, exe, sys, lendJob(b, hold))
		})
	})
	t.Run("runner killed", func(t *testing.T) {
		tok := token()
		cmd, _ := startRunner(t, exe, sys, runnerJob{
			Box: Box{Tier: best, Tree: tree, Copy: copied, Tmp: tmp}, Dir: "/", Env: testEnv,
			Argv: []string{"sh", "-c", `env -i setsid sh -c 'trap "" TERM; while :; do sleep 1; done' "$1" & sleep 300`, "sh", tok},
		})
		waitToken(t, tok, 2)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		gone(t, tok, slack)
	})
}

// TestErrTier asks for a view where the kernel gives no user namespace: it must be refused, never weakened.
func TestErrTier(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the kernel refuses does not depend on the race detector")
	}
	needTier(t, Fence)
	exe, sys, top := nobodyCan(t)
	// Behind a fence no mount can be made, so a runner inside of one has no view but can still make fences.
	work := filepath.Join(top, "work")
	must(t, os.Mkdir(work, 0o777))
	must(t, os.Chown(work, nobody, nobody))
	in := filepath.Join(work, "job")
	for _, tt := range []struct {
		job, want string
	}{
		{`{"Box":{"Tier":"view"},"Argv":["/bin/echo","ran"],"Dir":"/"}`, `"NoTier":true,"Out":""`},
		{`{"Box":{"Tier":"fence"},"Argv":["/bin/echo","ran"],"Dir":"/"}`, `"NoTier":false,"Out":"ran\n"`},
		{`{}`, `"Best":"fence"`},
	} {
		write(t, in, tt.job)
		cmd, out := startRunner(t, exe, sys, runnerJob{
			Box: Box{Tier: Fence, Write: []string{work}, Tmp: work}, Dir: "/",
			Env:  append([]string{roleEnv + "=1"}, testEnv...),
			Argv: []string{"sh", "-c", `exec "$1" < "$2"`, "sh", exe, in},
		})
		a := answer(t, cmd, out)
		if a.Err != "" || !strings.Contains(a.Out, tt.want) {
			t.Errorf("%s: %+v\nwant %s", tt.job, a, tt.want)
		}
	}
}
