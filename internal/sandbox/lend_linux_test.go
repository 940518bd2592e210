package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOpenCopy works on a copy in turns with commands in its box. TestAsNobody does so as nobody.
func TestOpenCopy(t *testing.T) {
	t.Parallel()
	if err := TryOverlay(t.TempDir()); err != nil {
		t.Skip("no overlay here: " + err.Error())
	}
	dir := t.TempDir()
	lent(t, func(name string) string {
		p := filepath.Join(dir, name)
		must(t, os.MkdirAll(p, 0o755))
		return p
	}, func(b Box, hold bool) (*exec.Cmd, *bytes.Buffer) {
		return startRunner(t, "/proc/self/exe", nil, lendJob(b, hold))
	})
}

func lendJob(b Box, hold bool) runnerJob {
	if hold {
		return runnerJob{Box: b, Lend: "hold"}
	}
	return runnerJob{Box: b, Lend: "use"}
}

// lent lets another runner use a copy, and kills one that has it open. folder makes folders of that runner's user.
func lent(t *testing.T, folder func(string) string, start func(b Box, hold bool) (*exec.Cmd, *bytes.Buffer)) {
	b := Box{Tier: View, Tree: folder("tree"), Base: folder("base"), Copy: folder("upper"), Work: folder("work"), Tmp: folder("tmp")}
	for _, name := range []string{"base/dir", "base/dir/sub"} {
		folder(name)
	}
	for name, text := range map[string]string{"edited": "old\n", "gone": "x", "run.sh": "#!/bin/sh\n", "dir/a": "a", "dir/sub/b": "b"} {
		at := filepath.Join(b.Base, name)
		write(t, at, text)
		own(t, at, b.Base)
	}
	before := manifest(t, b.Base)
	cmd, out := start(b, false)
	if a := answer(t, cmd, out); a.Err != "" {
		t.Fatal(a.Err)
	}
	if after := manifest(t, b.Base); !slices.Equal(before, after) {
		t.Errorf("the base was %q and is %q", before, after)
	}

	cmd, _ = start(b, true)
	for end := time.Now().Add(soon); readIf(filepath.Join(b.Copy, "held")) == "" && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if readIf(filepath.Join(b.Copy, "held")) == "" {
		t.Error("the copy was not opened")
	}
	if len(children(cmd.Process.Pid)) > 0 {
		t.Errorf("processes hold the copy: %v", children(cmd.Process.Pid))
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if seen := mountsOf(t, b.Copy); len(seen) > 0 {
		t.Errorf("mounts are left: %q", seen)
	}
}

// own gives a file to the owner of a folder.
func own(t *testing.T, file, folder string) {
	t.Helper()
	info, err := os.Stat(folder)
	must(t, err)
	st := info.Sys().(*syscall.Stat_t)
	must(t, os.Lchown(file, int(st.Uid), int(st.Gid)))
}

func manifest(t *testing.T, dir string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		text, _ := os.ReadFile(p)
		all = append(all, fmt.Sprint(p, info.Mode(), string(text)))
		return err
	}))
	return all
}

// mountsOf returns the mounts that any process sees and that name a path.
func mountsOf(t *testing.T, path string) (seen []string) {
	t.Helper()
	tables, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	must(t, err)
	for _, table := range tables {
		text, _ := os.ReadFile(table) // that process may have ended
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, path) {
				seen = append(seen, table+": "+line)
			}
		}
	}
	return seen
}

// useLent works on a copy here and in its box, in turns. With hold it keeps the copy open for ever.
func useLent(b Box, hold bool) error {
	if hold {
		root, err := b.OpenCopy()
		if err == nil {
			err = root.WriteFile("held", []byte("held"), 0o600)
		}
		if err != nil {
			return err
		}
		select {}
	}
	here := func(do func(*os.Root) error) error {
		root, err := b.OpenCopy()
		if err != nil {
			return err
		}
		table, err := os.ReadFile("/proc/self/mountinfo")
		if err == nil && strings.Contains(string(table), b.Copy) {
			err = errors.New("the mount can be seen")
		}
		return errors.Join(err, do(root), root.Close())
	}
	reads := func(r *os.Root, name, want string) error {
		got, err := r.ReadFile(name)
		if err == nil && string(got) != want {
			err = fmt.Errorf("%s is %q, not %q", name, got, want)
		}
		return err
	}
	inBox := func(script, want string) error {
		var out bytes.Buffer
		res, err := b.Run(context.Background(), Command{
			Argv: []string{"sh", "-euc", script}, Dir: b.Tree, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out,
		})
		if err == nil && (res.ExitCode != 0 || out.String() != want) {
			err = fmt.Errorf("%s: %d %q, not %q", script, res.ExitCode, out.String(), want)
		}
		return err
	}
	var early *os.Root
	for i, step := range []func() error{
		func() error {
			return here(func(r *os.Root) error {
				early = r
				return errors.Join(
					reads(r, "edited", "old\n"), r.WriteFile("edited", []byte("here\n"), 0o600), reads(r, "edited", "here\n"),
					r.Remove("gone"), r.Chmod("run.sh", 0o755), r.Symlink("dir/a", "link"), reads(r, "link", "a"),
					r.Mkdir("new", 0o755), r.WriteFile("new/tmp", []byte("n"), 0o600), r.Rename("new/tmp", "new/file"),
					r.Rename("dir/sub/b", "moved"), r.Remove("dir/sub"), r.WriteFile("dir/sub", []byte("file now"), 0o600))
			})
		},
		func() error {
			return inBox(`cat edited link; ls; ./run.sh; cat dir/sub new/file; echo box > edited; rm -r dir; mkdir dir; echo c > dir/c
				chmod 600 run.sh; rm link; echo plain > link; echo again > gone; mv moved dir/moved`,
				"here\nadir\nedited\nlink\nmoved\nnew\nrun.sh\nfile nown")
		},
		func() error {
			return here(func(r *os.Root) error {
				entries, err := fs.ReadDir(r.FS(), "dir")
				if err == nil && len(entries) != 2 {
					err = fmt.Errorf("in dir: %v", entries)
				}
				info, serr := r.Stat("run.sh")
				if serr == nil && info.Mode() != 0o600 {
					serr = errors.New(info.Mode().String())
				}
				return errors.Join(err, serr, reads(r, "edited", "box\n"), reads(r, "link", "plain\n"), reads(r, "gone", "again\n"),
					reads(r, "dir/c", "c\n"), reads(r, "dir/moved", "b"), r.RemoveAll("dir"), r.Remove("gone"))
			})
		},
		func() error { return inBox(`ls; mkdir dir; ls dir`, "edited\nlink\nnew\nrun.sh\n") },
		func() error {
			return here(func(r *os.Root) error { // nothing leads out of it
				for _, name := range []string{"/etc/passwd", "..", "../upper"} {
					if err := errors.Join(r.RemoveAll("out"), r.Symlink(name, "out")); err != nil {
						return err
					}
					if f, err := r.Open("out"); err == nil {
						return errors.Join(fmt.Errorf("%s could be opened", name), f.Close())
					}
				}
				return nil
			})
		},
		func() error {
			if _, err := early.Stat("edited"); err == nil {
				return errors.New("a closed copy can be read")
			}
			b := b
			b.Work = filepath.Join(b.Work, "none")
			if r, err := b.OpenCopy(); err == nil || !strings.Contains(err.Error(), "overlay of "+b.Copy) || strings.Contains(err.Error(), "/proc/") {
				return fmt.Errorf("without a folder for the kernel: %v %w", r, err)
			}
			return nil
		},
		func() error { // without a base it is the folder itself
			r, err := Box{Copy: b.Base}.OpenCopy()
			if err != nil {
				return err
			}
			return errors.Join(reads(r, "edited", "old\n"), r.Close())
		},
	} {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	if left := children(os.Getpid()); len(left) > 1 { // the supervisor of the last command may be about to exit
		return fmt.Errorf("processes are left: %v", left)
	}
	return nil
}
