package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writers are ways to change what lies at $1 (a folder with the file "file"). Each must fail where writing is refused.
var writers = map[string]string{
	"write":           `echo x > "$1/file"`,
	"append":          `echo x >> "$1/file"`,
	"truncate":        `truncate -s 0 "$1/file"`,
	"create":          `echo x > "$1/new"`,
	"remove":          `rm -f "$1/file"`,
	"rename":          `mv "$1/file" "$1/other"`,
	"mkdir":           `mkdir "$1/newdir"`,
	"symlink":         `ln -s /etc "$1/link"`,
	"fifo":            `mkfifo "$1/pipe"`,
	"link from there": `ln "$1/file" "$2/stolen" && echo x > "$2/stolen"`,
	"link to there":   `echo x > "$2/mine" && ln "$2/mine" "$1/planted"`,
	"move to there":   `echo x > "$2/mine2" && mv "$2/mine2" "$1/moved"`,
	"through dotdot":  `cd "$2" && echo x > "../$(basename "$1")/file"`,
	"through a link":  `ln -s "$1" "$2/way" && echo x > "$2/way/file"`,
	"through /proc":   `cd "$1" && echo x > /proc/self/cwd/file`,
	"own namespace":   `unshare -Ur sh -c 'echo x > "$1/file"' sh "$1"`,
	"own mount":       `unshare -Urm sh -c 'mount -t tmpfs none "$1" && echo x > "$1/file"' sh "$1"`,
	"unmount":         `unshare -Urm sh -c 'umount "$1" && echo x > "$1/file"' sh "$1"`,
}

func TestFenceRefusesWritingOutside(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the kernel refuses does not depend on the race detector")
	}
	needTier(t, Fence)
	for name, script := range writers {
		t.Run("H04 "+name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			tree, copied := filepath.Join(top, "tree"), filepath.Join(top, "copy")
			write(t, filepath.Join(tree, "file"), "the person's\n")
			write(t, filepath.Join(copied, "file"), "the copy's\n")
			b := Box{Tier: Fence, Tree: tree, Copy: copied}
			out, res := outputOf(t, b, Command{Argv: []string{"sh", "-c", script, "sh", tree, copied}, Dir: copied, Env: testEnv})
			if res.ExitCode == 0 {
				t.Errorf("it worked: %s", out)
			}
			if got := read(t, filepath.Join(tree, "file")); got != "the person's\n" {
				t.Errorf("the tree's file is %q", got)
			}
			if names, _ := os.ReadDir(tree); len(names) != 1 {
				t.Errorf("the tree holds %v", names)
			}
			// The same inside works, so it is the fence that refused.
			if !strings.HasPrefix(name, "own") && name != "unmount" && !strings.HasPrefix(name, "through") && !strings.HasPrefix(name, "link") {
				if out, res := outputOf(t, b, Command{Argv: []string{"sh", "-c", script, "sh", copied, copied}, Dir: copied, Env: testEnv}); res.ExitCode != 0 {
					t.Errorf("refused in the copy: %s", out)
				}
			}
		})
	}
}

func TestFenceLetsProgramsWork(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the kernel refuses does not depend on the race detector")
	}
	for name, script := range map[string]string{
		"rename between folders": `mkdir a b && echo x > a/f && mv a/f b/f && ln b/f a/g && cat a/g`,
		"truncate":               `echo xxxx > f && truncate -s 1 f && : > f`,
		"write folder":           `echo x > "$1/f"`,
		"TMPDIR":                 `echo x > "$TMPDIR/f" && mktemp`,
		"devices":                `echo x > /dev/null && head -c 1 /dev/zero > /dev/null`,
		"sockets and pipes":      `mkfifo p && rm p`,
		"read and execute":       `ls / && cat /etc/passwd && /bin/true`,
		"python multiprocessing": `"$2" -c '
import multiprocessing as m
if __name__ == "__main__":
    q = m.Queue(); l = m.Lock()
    p = m.Process(target=q.put, args=(7,)); p.start(); assert q.get() == 7; p.join()
    with m.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]'`,
		"python openpty": `"$2" -c '
import os
a, b = os.openpty()
os.write(b, b"hi"); assert os.read(a, 2) == b"hi"
os.close(os.open(os.ttyname(b), os.O_RDWR | os.O_NOCTTY))'`,
		"network": `"$2" -c '
import socket
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); c.close(); s.close()'`,
		"no capabilities": `grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb):" /proc/self/status > caps; ! grep -v 0000000000000000 caps | grep -v CapBnd`,
	} {
		for _, tier := range []Tier{Fence, View} {
			t.Run(string(tier)+" "+name, func(t *testing.T) {
				t.Parallel()
				needTier(t, tier)
				py := ""
				if strings.Contains(script, `"$2"`) {
					py = python(t)
				}
				work, more := t.TempDir(), t.TempDir()
				b := Box{Tier: tier, Copy: work, Write: []string{more}, Tmp: t.TempDir()}
				if b.shm() == "" && name == "python multiprocessing" {
					t.Skip("the folder for temporary files is in /dev/shm, or there is none")
				}
				out, res := outputOf(t, b, Command{Argv: []string{"sh", "-c", "set -e; " + script, "sh", more, py}, Dir: work, Env: testEnv})
				if res.ExitCode != 0 {
					t.Errorf("exit code %d: %s", res.ExitCode, out)
				}
			})
		}
	}
}

// Shared memory is where a person may also keep a tree, and a cache folder: then nothing but the copy is written there.
func TestFenceOfATreeInMemory(t *testing.T) {
	t.Parallel()
	needTier(t, Fence)
	memory, err := os.MkdirTemp("/dev/shm", "async-pipeline-test-")
	if err != nil {
		t.Skip("no /dev/shm")
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	disk, err := os.MkdirTemp("/var/tmp", "async-pipeline-test-")
	if err != nil {
		t.Skip("no /var/tmp")
	}
	t.Cleanup(func() { _ = os.RemoveAll(disk) })
	for name, b := range map[string]Box{
		"the tree": {Tree: memory, Copy: disk},
		"the copy": {Tree: disk, Copy: filepath.Join(memory, "copy")},
		"both":     {Tree: memory, Copy: filepath.Join(memory, "copy")},
	} {
		if err := os.MkdirAll(b.Copy, 0o700); err != nil {
			t.Fatal(err)
		}
		b.Tier = Fence
		out, res := outputOf(t, b, sh(`cd "$1" && echo x > f && rm f && ! echo x > "$2/f" && ! echo x > "$3/f"`, b.Copy, memory, b.Tree))
		if res.ExitCode != 0 {
			t.Errorf("%s: exit code %d: %s", name, res.ExitCode, out)
		}
	}
}

// TestRootLosesItsPower is for runners that are root: what only root may do must fail inside.
func TestRootLosesItsPower(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	needTier(t, Fence)
	out, _ := outputOf(t, Box{Tier: Fence, Copy: t.TempDir()}, sh(`grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status | tr -d '\t' | tr '\n' ' '`))
	zero := "0000000000000000 "
	if want := "CapInh:" + zero + "CapPrm:" + zero + "CapEff:" + zero + "CapBnd:" + zero + "CapAmb:" + zero + "NoNewPrivs:1 "; out != want {
		t.Errorf("%q\nwant %q", out, want)
	}
	foreign := filepath.Join(t.TempDir(), "foreign")
	write(t, foreign, "")
	must(t, os.Chown(foreign, 12345, 12345))
	if out, res := outputOf(t, Box{Tier: Fence, Copy: t.TempDir()}, sh(`chmod 777 "$1"`, foreign)); res.ExitCode == 0 {
		t.Errorf("changed the mode of another user's file: %s", out)
	}
}

// TestChmodOutsideIsOpen pins what Landlock does not stop, so that nobody claims it does: modes of one's own files.
func TestChmodOutsideIsOpen(t *testing.T) {
	t.Parallel()
	needTier(t, Fence)
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	if out, res := outputOf(t, Box{Tier: Fence, Copy: t.TempDir()}, sh(`chmod 600 "$1"`, file)); res.ExitCode != 0 {
		t.Errorf("refused, and the documentation can say so: %s", out)
	}
}

// TestNothingInherited shows that a descriptor this program holds open by mistake does not reach the command.
func TestNothingInherited(t *testing.T) {
	t.Parallel()
	for _, tier := range Tiers() {
		if out, _ := outputOf(t, Box{Tier: tier}, sh("ls /proc/self/fd | tr '\n' ' '")); out != "0 1 2 3 " { // 3 is ls reading the folder
			t.Errorf("%s: descriptors %q", tier, out)
		}
	}
}
