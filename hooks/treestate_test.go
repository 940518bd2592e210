package hooks

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// A file that is too large to be read is compared by what the kernel says of it.
func TestTreeStateOfLargeFile(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	at := filepath.Join(top, "disk.img")
	write := func(text string) error {
		return errors.Join(os.WriteFile(at, []byte(text), 0o600), os.Truncate(at, mostRead+1))
	}
	fixtest.Check(t, write("boot"))
	before, err := readTree(t.Context(), top, nil)
	fixtest.Check(t, err)
	same, err := readTree(t.Context(), top, before.files)
	fixtest.Check(t, err)
	if got := before.compare(same); len(got) > 0 || before.digest != same.digest {
		t.Errorf("changed: %q", got)
	}
	for _, change := range []struct {
		what string
		do   func() error
	}{
		{"its content", func() error {
			info, err := os.Stat(at)
			return errors.Join(err, write("root"), os.Chtimes(at, info.ModTime(), info.ModTime()))
		}},
		{"its mode", func() error { return os.Chmod(at, 0o640) }},
		{"its size", func() error { return os.Truncate(at, mostRead+2) }},
		{"all", func() error { return os.Remove(at) }},
	} {
		before, err := readTree(t.Context(), top, nil)
		fixtest.Check(t, err)
		time.Sleep(20 * time.Millisecond) // the clock of the kernel ticks
		fixtest.Check(t, change.do())
		after, err := readTree(t.Context(), top, before.files)
		fixtest.Check(t, err)
		if got := before.compare(after); !slices.Equal(got, []string{"disk.img"}) || before.digest == after.digest {
			t.Errorf("%s: changed: %q", change.what, got)
		}
	}
}

// What can make git run something is compared by what it is and where it leads, and not only by its text.
func TestTreeStateOfGit(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	fixtest.Check(t, err)
	fixtest.Check(t, exec.CommandContext(t.Context(), "git", "init", "-q", top).Run())
	hooks, evil := filepath.Join(top, ".git", "hooks"), filepath.Join(t.TempDir(), "evil")
	fixtest.Check(t, errors.Join(os.RemoveAll(hooks), os.Mkdir(hooks, 0o755), os.WriteFile(evil, []byte("#!/bin/sh\n"), 0o600),
		os.WriteFile(filepath.Join(hooks, "off"), []byte("#!/bin/sh\n"), 0o600), os.Symlink("none", filepath.Join(hooks, "link"))))
	for _, step := range []struct {
		want string
		do   func() error
	}{
		{".git/hooks/off", func() error { return os.Chmod(filepath.Join(hooks, "off"), 0o700) }},
		{".git/hooks/post-checkout", func() error { return os.Symlink(evil, filepath.Join(hooks, "post-checkout")) }},
		{".git/hooks/post-checkout", func() error { return os.WriteFile(evil, []byte("#!/bin/sh\nrm -rf /\n"), 0o600) }},
		{".git/hooks/link", func() error {
			return os.Rename(filepath.Join(hooks, "post-checkout"), filepath.Join(hooks, "link"))
		}},
	} {
		before, err := readTree(t.Context(), top, nil)
		fixtest.Check(t, err)
		fixtest.Check(t, step.do())
		after, err := readTree(t.Context(), top, before.files)
		fixtest.Check(t, err)
		if got := before.compare(after); !slices.Contains(got, step.want) || before.digest == after.digest {
			t.Errorf("changed %q, want %s", got, step.want)
		}
	}
}
