package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == boxEditor {
		editInBox(os.Args[2])
	}
	if arg := os.Getenv(deepChild); arg != "" {
		copiesDeep(arg)
	}
	if arg := os.Getenv(keptChild); arg != "" {
		keepsForEver(arg)
	}
	home, err := os.MkdirTemp("", "scratch-test-home-")
	if err != nil {
		panic(err)
	}
	for k, v := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config")} {
		if err := os.Setenv(k, v); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// run runs git as the person or the agent does.
func run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t testing.TB, top string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(top, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte(text), 0o644))
	}
}

// aged makes files and symlinks an hour old. Whoever wants a file that git does not read again calls it before git
// adds the file: what is as old as the index, in the steps of the file system's clock, is read again.
func aged(t testing.TB, top string, paths ...string) {
	t.Helper()
	old := unix.NsecToTimespec(time.Now().Add(-time.Hour).UnixNano())
	for _, p := range paths {
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(top, p), []unix.Timespec{old, old}, unix.AT_SYMLINK_NOFOLLOW))
	}
}

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func temp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// asNobody carries out a test as an ordinary user: modes mean nothing to root.
func asNobody(t *testing.T, test string, args ...string) {
	t.Helper()
	const nobody = 65534
	at, err := os.MkdirTemp("/tmp", "scratch-nobody-") // t.TempDir has folders that nobody may not enter
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(at)) })
	exe, tmp := filepath.Join(at, "scratch.test"), filepath.Join(at, "tmp")
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err, os.WriteFile(exe, program, 0o755), os.Mkdir(tmp, 0o700))
	must(t, os.Chmod(at, 0o755), os.Chmod(exe, 0o755), os.Chown(tmp, nobody, nobody))
	args = append([]string{"-test.run=^" + test + "$", "-test.v", "-test.timeout=0"}, args...)
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Dir, cmd.Env = at, append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("%v: %s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("not as nobody here: %s", out)
	case !strings.Contains(string(out), "--- PASS: "+test):
		t.Errorf("the test did not run: %s", out)
	}
}

func newRepo(t testing.TB, files map[string]string, args ...string) string {
	t.Helper()
	top := temp(t)
	run(t, top, append([]string{"init", "-q", "-b", "main"}, args...)...)
	if files != nil {
		write(t, top, files)
		aged(t, top, slices.Collect(maps.Keys(files))...)
		run(t, top, "add", "-A")
		run(t, top, "commit", "-q", "-m", "one")
	}
	return top
}

func makeBase(t testing.TB, s Source) *Base {
	t.Helper()
	b, err := Make(context.Background(), filepath.Join(temp(t), "parent"), s)
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	return b
}

func makeCopy(t testing.TB, b *Base) *Copy {
	t.Helper()
	c, err := b.Copy(context.Background(), filepath.Join(filepath.Dir(b.holder), fmt.Sprintf("copy-%d", time.Now().UnixNano())))
	must(t, err)
	return c
}

// held lists the contents of a folder without .git; folders end in a slash, symlinks show their text.
func held(t testing.TB, dir string) []string {
	t.Helper()
	var paths []string
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		switch {
		case err != nil:
			return err
		case rel == ".":
			return nil
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.Name() == ".git":
			return nil
		case d.IsDir():
			rel += "/"
		case d.Type() == fs.ModeSymlink:
			text, err := os.Readlink(p)
			if err != nil {
				return err
			}
			rel += " -> " + text
		}
		paths = append(paths, rel)
		return nil
	}))
	slices.Sort(paths)
	return paths
}

// state lists all below a folder, with .git if asked for: names, modes, times, contents.
func state(t testing.TB, dir string, git bool) []string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && d.IsDir() && !git:
			return fs.SkipDir
		case p == dir || d.Name() == ".git" && !git:
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		if d.Type().IsRegular() {
			text, err = os.ReadFile(p)
		}
		link, _ := os.Readlink(p) // empty for anything else
		rel := strings.TrimPrefix(p, dir)
		all = append(all, fmt.Sprintf("%q %v %d %q %q", rel, info.Mode(), info.ModTime().UnixNano(), link, text))
		return err
	}))
	return all
}

// fingerprint returns one text for all of a tree, .git too.
func fingerprint(t testing.TB, dir string) string {
	t.Helper()
	info, err := os.Lstat(dir)
	must(t, err)
	return fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), state(t, dir, true))
}

// said lists changes as "+a" "-d" "~m", and omissions as "path why".
func said(changes []patch.Change, omitted []tree.Omitted) []string {
	var list []string
	for _, c := range changes {
		sign := "~"
		if c.Before == nil {
			sign = "+"
		} else if c.After == nil {
			sign = "-"
		}
		list = append(list, sign+c.Path)
	}
	for _, o := range omitted {
		list = append(list, o.Path+" "+o.Why)
	}
	return list
}

func wantChanges(t *testing.T, c *Copy, want ...string) {
	t.Helper()
	changes, omitted, err := c.Changes(context.Background())
	must(t, err)
	if got := said(changes, omitted); !slices.Equal(got, want) {
		t.Errorf("changes\n got %q\nwant %q", got, want)
	}
}

func wantHeld(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := held(t, dir); !slices.Equal(got, want) {
		t.Errorf("holds\n got %q\nwant %q", got, want)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write(t, top, map[string]string{"build/deep/a": "a", "build/b": "b", "keep/c": "c", "keep/d": "d", "e": "e"})
	run(t, top, "init", "-q")
	if err := os.Chmod(filepath.Join(top, "build", "deep"), 0o500); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	b, err := Make(t.Context(), work, Source{Root: top})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	c, err := b.Copy(t.Context(), filepath.Join(work, "copy"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"../e", ".git/config", "."} {
		if err := c.Remove([]string{bad}); !errors.Is(err, patch.ErrUnsafePath) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := c.Remove([]string{"build", "keep/c", "e"}); err != nil {
		t.Fatal(err)
	}
	m, err := tree.Walk(t.Context(), c.Dir, tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"build", "keep/c", "e"} {
		if _, ok := m.Find(p); ok {
			t.Errorf("%s is still there", p)
		}
	}
	if _, ok := m.Find("keep/d"); !ok {
		t.Error("keep/d is gone")
	}
}
