package scratch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// deepChild has the tree and the folder for copies of a child process that may open few files.
const deepChild = "ASYNC_PIPELINE_TEST_DEEP"

const (
	deepFolders = 400
	deepName    = "folder-after-folder" // longer in all than a path may be
)

// copiesDeep is the child.
func copiesDeep(arg string) {
	top, parent, _ := strings.Cut(arg, "|")
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 320, Max: 320}); err != nil {
		panic(err)
	}
	ctx := context.Background()
	b, err := Make(ctx, parent, Source{Root: top})
	if err != nil {
		panic(err)
	}
	c, err := b.Copy(ctx, filepath.Join(parent, "copy"))
	if err != nil {
		panic(err)
	}
	changes, omitted, err := c.Changes(ctx)
	fmt.Println(len(b.Manifest.Entries), len(b.Omitted), len(changes), len(omitted), err)
	os.Exit(0)
}

// A tree that is deeper than a path can be long, and than there are open files, is copied like another. Each level has
// other folders too, which wait while the deeper ones are copied.
func TestCopyDeep(t *testing.T) {
	t.Parallel()
	top, parent := temp(t), temp(t)
	at, err := unix.Open(top, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	for range deepFolders {
		for _, name := range []string{"a", "z", deepName} {
			must(t, unix.Mkdirat(at, name, 0o755))
		}
		fd, err := unix.Openat(at, "f", unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o644)
		must(t, err, unix.Close(fd))
		below, err := unix.Openat(at, deepName, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err, unix.Close(at))
		at = below
	}
	must(t, unix.Close(at))
	exe, err := os.Executable()
	must(t, err)
	child := exec.CommandContext(t.Context(), exe)
	child.Env = append(os.Environ(), deepChild+"="+top+"|"+parent)
	out, err := child.CombinedOutput()
	if want := fmt.Sprint(4*deepFolders, 0, 0, 0, nil) + "\n"; err != nil || string(out) != want {
		t.Errorf("%v: got %.2000s, want %s", err, out, want)
	}
}
