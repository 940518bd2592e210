package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestForeignLimits tries to lower limits of the runner and of the supervisor, which ends them or makes them helpless.
func TestForeignLimits(t *testing.T) {
	t.Parallel()
	if len(conventions) == 0 {
		t.Skip("no filter on this machine")
	}
	py := python(t)
	// Called as a 32-bit program would: through int 0x80, with every pointer below 4 GiB.
	const narrow = `
import ctypes, mmap, struct, sys
m = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, prot=7)
m.write(b"\x53\x89\xfb\x89\xf1\x31\xf6\xb8\x54\x01\x00\x00\xcd\x80\x5b\xc3" + struct.pack("<QQ", 0, 0))
at = ctypes.addressof(ctypes.c_char.from_buffer(m))
sys.exit(0 if ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)(at)(int(sys.argv[1]), 4, at + 16) == 0 else 1)`
	const wide = `
import ctypes, sys
number = int(sys.argv[2])
sys.exit(0 if ctypes.CDLL(None).syscall(number, int(sys.argv[1]), 4, (ctypes.c_ulong * 2)(0, 0), None) == 0 else 1)`
	tries := map[string]string{
		"prlimit": `prlimit --pid "$P" --core=0:0`,
		"python":  `"$PY" -c 'import resource, sys; resource.prlimit(int(sys.argv[1]), resource.RLIMIT_CORE, (0, 0))' "$P"`,
	}
	if runtime.GOARCH == "amd64" {
		tries["32-bit"] = `"$PY" -c "$NARROW" "$P"`
		tries["x32"] = `"$PY" -c "$WIDE" "$P" $((0x40000000+302))`
	}
	for _, tier := range []Tier{Fence, View} {
		for name, script := range tries {
			t.Run(string(tier)+" "+name, func(t *testing.T) {
				t.Parallel()
				needTier(t, tier)
				var before, after unix.Rlimit
				must(t, unix.Getrlimit(unix.RLIMIT_CORE, &before))
				out, _ := outputOf(t, Box{Tier: tier}, Command{
					Argv: []string{"sh", "-c", fmt.Sprintf("for P in %d $PPID; do export P; (%s) && echo done; done", os.Getpid(), script)},
					Dir:  "/", Env: append([]string{"PY=" + py, "NARROW=" + narrow, "WIDE=" + wide}, testEnv...),
				})
				if strings.Contains(out, "done") {
					t.Errorf("it worked: %s", out)
				}
				if err := unix.Getrlimit(unix.RLIMIT_CORE, &after); err != nil || before != after {
					t.Errorf("the limit was %v, is %v", before, after)
				}
			})
		}
	}
}

// TestOwnLimits is what programs do to themselves and to their threads.
func TestOwnLimits(t *testing.T) {
	t.Parallel()
	py := python(t)
	for name, script := range map[string]string{
		"ulimit":   `ulimit -n 64 && test "$(ulimit -n)" = 64`,
		"prlimit":  `prlimit --nofile=64:64 true && prlimit --pid "$PPID" >/dev/null`,
		"nice":     `nice -n 5 true && renice -n 19 $$ >/dev/null && ionice -c 3 true`,
		"affinity": `taskset -c 0 true && chrt --batch 0 true`,
		"python": `"$1" -c '
import os, resource, threading
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
def f():
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19); os.setpriority(os.PRIO_PGRP, 0, 19)
    os.sched_setaffinity(threading.get_native_id(), os.sched_getaffinity(0))
t = threading.Thread(target=f); t.start(); t.join(); f()'`,
		"debugger": `! command -v strace >/dev/null || strace -f -o /dev/null true`,
	} {
		for _, tier := range []Tier{Fence, View} {
			t.Run(string(tier)+" "+name, func(t *testing.T) {
				t.Parallel()
				needTier(t, tier)
				if out, res := outputOf(t, Box{Tier: tier, Copy: t.TempDir()}, sh("set -e; "+script, py)); res.ExitCode != 0 {
					t.Errorf("exit code %d: %s", res.ExitCode, out)
				}
			})
		}
	}
}

// changers change a file without writing to it, which Landlock does not hold back.
var changers = map[string]string{
	"mode":           `chmod 600 "$1"`,
	"mode of folder": `chmod 700 "$(dirname "$1")"`,
	"owner":          `chown "$(id -u)" "$1"`,
	"times":          `touch -c -d 2001-01-01 "$1"`,
	"attribute":      `"$2" -c 'import os, sys; os.setxattr(sys.argv[1], "user.x", b"x")' "$1"`,
	"of the system":  `chmod "$(stat -c %a /etc/passwd)" /etc/passwd`,
	"of /proc":       `chmod 444 /proc/self/maps`,
	"of /proc/sys":   `chmod 644 /proc/sys/kernel/core_pattern`,
	"of a device":    `chmod 666 /dev/null`,
}

func TestViewRefusesChangingOutside(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the kernel refuses does not depend on the race detector")
	}
	needTier(t, View)
	py := python(t)
	for name, script := range changers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, elsewhere(t), t.TempDir())
			kept := elsewhere(t)
			outside := filepath.Join(elsewhere(t), "file")
			write(t, outside, "outside\n")
			write(t, filepath.Join(kept, "file"), "kept\n")
			before, _ := os.Stat(outside)
			b := p.box()
			b.Write = []string{kept}
			try := func(file string) (string, Result) {
				return outputOf(t, b, Command{Argv: []string{"sh", "-c", script, "sh", file, py}, Dir: p.tree, Env: testEnv})
			}
			if out, res := try(outside); res.ExitCode == 0 || !strings.Contains(out, "Read-only file system") {
				t.Errorf("exit code %d: %s", res.ExitCode, out)
			}
			if after, _ := os.Stat(outside); before.Mode() != after.Mode() || !before.ModTime().Equal(after.ModTime()) {
				t.Errorf("the file outside was %v, is %v", before, after)
			}
			// The same is done to what may be written: the copy, what else the box names, the private /tmp.
			if strings.HasPrefix(name, "of") || name == "attribute" {
				return
			}
			write(t, filepath.Join(p.tmp, "d", "file"), "")
			for _, file := range []string{filepath.Join(p.tree, "file"), filepath.Join(kept, "file"), "/tmp/d/file", filepath.Join(p.tmp, "d", "file")} {
				if out, res := try(file); res.ExitCode != 0 {
					t.Errorf("refused for %s: %s", file, out)
				}
			}
			if got, _ := os.Stat(filepath.Join(p.tree, "file")); got.Mode() != 0o644 || got.ModTime().Year() == 2001 {
				t.Errorf("the tree's file is %v", got)
			}
		})
	}
}

// TestViewAroundCorners goes to the file outside by the ways that lead around a mount.
func TestViewAroundCorners(t *testing.T) {
	t.Parallel()
	needTier(t, View)
	for name, script := range map[string]string{
		"the runner's root": `chmod 600 "/proc/$2/root$1"`,
		"own namespace":     `unshare -Urm sh -c 'mount -o remount,bind,rw / && chmod 600 "$1"' sh "$1"`,
		"remount":           `mount -o remount,bind,rw / && chmod 600 "$1"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := filepath.Join(elsewhere(t), "file")
			write(t, outside, "outside\n")
			if out, res := outputOf(t, Box{Tier: View, Copy: t.TempDir()}, sh(script, outside, fmt.Sprint(os.Getpid()))); res.ExitCode == 0 {
				t.Errorf("it worked: %s", out)
			}
			if info, _ := os.Stat(outside); info.Mode() != 0o644 {
				t.Errorf("the file outside is %v", info)
			}
		})
	}
}

// TestViewHasItsOwnMemory looks for what one command leaves in /dev/shm in the next one, and on the machine.
func TestViewHasItsOwnMemory(t *testing.T) {
	t.Parallel()
	needTier(t, View)
	planted, err := os.CreateTemp("/dev/shm", "async-pipeline-test-")
	if err != nil {
		t.Skip("no /dev/shm")
	}
	t.Cleanup(func() { _ = os.Remove(planted.Name()); _ = planted.Close() })
	name := planted.Name() + "-left"
	for range 2 {
		out, res := outputOf(t, Box{Tier: View, Copy: elsewhere(t)}, sh(`ls -A /dev/shm; echo x > "$1" && cat "$1"; stat -fc %b*%s /dev/shm`, name))
		if res.ExitCode != 0 || out != "x\n262144*4096\n" && os.Getpagesize() == 4096 {
			t.Errorf("%q", out)
		}
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("the machine has what the command left")
		_ = os.Remove(name)
	}
}
