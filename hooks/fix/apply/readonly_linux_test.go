package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

const readOnlyEnv = "FIX_TEST_READ_ONLY"

// init replaces a TestMain, which another file has: the child never comes to the tests.
func init() {
	if how := os.Getenv(readOnlyEnv); how != "" {
		os.Exit(applyReadOnly(how))
	}
}

// applyReadOnly applies the fix of a tree in which dir/ becomes a read-only mount: before anything, in the middle, or
// never, but .async does.
func applyReadOnly(how string) int {
	root := os.Getenv(childEnv)
	shut := func(name string) error {
		path := filepath.Join(root, name)
		if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		return unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
	}
	s := treeOf(root)
	p, err := s.Find(fixtest.RunID, "test")
	if err == nil {
		switch how {
		case "before", "dry":
			err = shut("dir")
		case "records", "begin":
			err = shut(".async")
		default:
			s.step = func(step string) error {
				if step != how {
					return nil
				}
				return shut("dir")
			}
		}
	}
	if err != nil {
		fmt.Println("SETUP", err)
		return 3
	}
	if how == "begin" {
		_, err := draft.Begin(fixtest.Dir(s.Store), fixtest.RunID, p.RunDigest, "test", nil)
		fmt.Println(err)
		return 0
	}
	_, err = s.Apply(context.Background(), p, Options{DryRun: how == "dry"})
	fmt.Println(err, "REFUSED", errors.Is(err, ErrRefused))
	if r, err := s.Recover(context.Background()); r != nil || err != nil {
		fmt.Println("RECOVER", r, err)
	}
	return 0
}

// An apply onto a folder that takes no new files changes nothing and reports it, whenever that is found out.
func TestApplyReadOnly(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a.txt": "f:1\n", "dir/b.txt": "f:1\n", "dir/gone.txt": "f:1\n"}
	later := fixtest.Files{"a.txt": "f:2\n", "dir/b.txt": "f:2\n", "dir/made/new.txt": "f:2\n"}
	self, err := os.Executable()
	fixtest.Check(t, err)
	for how, says := range map[string]string{
		"dry":             "dir/b.txt could not be written: writing ROOT/dir: the file system is read-only: make it writable, then try again REFUSED true",
		"before":          "dir/b.txt could not be written: writing ROOT/dir: the file system is read-only: make it writable, then try again REFUSED true",
		"stage a.txt":     "writing ROOT/dir: the file system is read-only: make it writable, then try again; everything was taken back REFUSED false",
		"stage dir/b.txt": "writing ROOT/dir: the file system is read-only: make it writable, then try again; everything was taken back REFUSED false",
		"begin":           "writing ROOT/.async/runs/" + fixtest.RunID + "/fixes/events.jsonl: the file system is read-only: make it writable, then try again",
		"records":         "writing ROOT/.async/apply: the file system is read-only: make it writable, then try again REFUSED false",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newTree(t, before)
			fixtest.Sealed(t, s.Store, "test", before, later, nil)
			c := exec.CommandContext(t.Context(), self)
			c.Env = append(os.Environ(), childEnv+"="+s.Root, readOnlyEnv+"="+how)
			c.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			}
			out, err := c.CombinedOutput()
			if err != nil && (!errors.As(err, new(*exec.ExitError)) || strings.Contains(string(out), "SETUP")) {
				t.Skipf("no mount namespace to be had here: %v %s", err, out)
			}
			text := strings.ReplaceAll(string(out), s.Root, "ROOT")
			if err != nil || !strings.Contains(text, says) || strings.Contains(text, "could not be taken back") ||
				strings.Contains(text, "RECOVER") {
				t.Errorf("%v: %s", err, text)
			}
			s.holds(t, "tree", before)
			settled(t, s)
		})
	}
}
