package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "git-test-home-")
	if err != nil {
		panic(err)
	}
	for k, v := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"),
		"GIT_DIR": "/nonexistent", "GIT_INDEX_FILE": "/nonexistent",
	} {
		if err := os.Setenv(k, v); err != nil { // the GIT_ variables must not reach our calls
			panic(err)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// run asks the person's git, with the configuration of HOME.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_ALLOW_PROTOCOL=file",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, top string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(top, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte(text), 0o644))
	}
}

// wantPaths returns a function that compares a list of paths.
func wantPaths(t *testing.T, want ...string) func(got []string, err error) {
	return func(got []string, err error) {
		t.Helper()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v\nwant %q", got, err, want)
		}
	}
}

func newRepo(t *testing.T, files map[string]string, args ...string) (string, *Repo) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	run(t, top, append([]string{"init", "-q", "-b", "main"}, args...)...)
	if files != nil {
		write(t, top, files)
		run(t, top, "add", "-A")
		run(t, top, "commit", "-q", "-m", "one")
	}
	r, err := Find(t.Context(), top)
	must(t, err)
	return top, r
}

// A root that an outer repository ignores as a whole is in no repository; one of which it tracks a file is.
func TestOf(t *testing.T) {
	t.Parallel()
	top, _ := newRepo(t, map[string]string{".gitignore": "*\n!.gitignore\n!kept/\n!kept/**\n", "kept/a": "1"})
	write(t, top, map[string]string{"proj/a": "1", "deep/in/a": "1", "forced/a": "1", "forced/b": "1"})
	run(t, top, "add", "-f", "forced/a")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(top+"/proj", link))
	for dir, counts := range map[string]bool{top: true, top + "/kept": true, top + "/forced": true, top + "/proj": false, top + "/deep/in": false, link: false} {
		r, err := Of(t.Context(), dir)
		if counts && (err != nil || r.Top != top) || !counts && !errors.Is(err, ErrNone) {
			t.Errorf("%s: %+v, %v", dir, r, err)
		}
	}
	if _, err := Of(t.Context(), t.TempDir()); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{"sub/a": "1"})
	if r.Top != top || r.Dir != top+"/.git" || r.Common != r.Dir {
		t.Fatalf("%+v", r)
	}
	t.Run("sub-folder", func(t *testing.T) {
		got, err := Find(t.Context(), top+"/sub")
		if err != nil || got.Top != top {
			t.Fatal(got, err)
		}
	})
	t.Run("linked work tree", func(t *testing.T) {
		linked := filepath.Join(t.TempDir(), "l")
		run(t, top, "worktree", "add", "-q", linked)
		got, err := Find(t.Context(), linked)
		if err != nil || got.Common != r.Dir || got.Dir != r.Dir+"/worktrees/l" {
			t.Fatal(got, err)
		}
	})
	t.Run("line end in the path", func(t *testing.T) {
		odd := filepath.Join(t.TempDir(), "a\nb")
		must(t, os.Mkdir(odd, 0o755))
		run(t, odd, "init", "-q")
		got, err := Find(t.Context(), odd)
		if err != nil || got.Top != odd || got.Dir != odd+"/.git" {
			t.Fatal(got, err)
		}
	})
	for name, dir := range map[string]string{"G77 no repository": t.TempDir(), "git's own folder": top + "/.git"} {
		t.Run(name, func(t *testing.T) {
			if _, err := Find(t.Context(), dir); !errors.Is(err, ErrNone) {
				t.Fatal(err)
			}
		})
	}
	t.Run("a work tree elsewhere", func(t *testing.T) {
		far, _ := newRepo(t, map[string]string{"a": "1"})
		run(t, far, "config", "core.workTree", t.TempDir())
		if _, err := Find(t.Context(), far); !errors.Is(err, ErrNone) {
			t.Error(err)
		}
	})
	t.Run("bare", func(t *testing.T) {
		bare := t.TempDir()
		run(t, bare, "init", "-q", "--bare")
		if _, err := Find(t.Context(), bare); !errors.Is(err, ErrNone) {
			t.Fatal(err)
		}
	})
	t.Run("another user's", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can make one")
		}
		other := t.TempDir()
		run(t, other, "init", "-q")
		for _, p := range []string{other, other + "/.git"} {
			must(t, os.Chown(p, 12345, 12345))
		}
		_, err := Find(t.Context(), other)
		if err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "safe.directory") {
			t.Fatal(err)
		}
	})
	t.Run("damaged index", func(t *testing.T) {
		bad, r := newRepo(t, map[string]string{"a": "1"})
		must(t, os.WriteFile(bad+"/.git/index", []byte("garbage, garbage, garbage, garbage"), 0o644))
		_, err := r.Census(t.Context())
		if err == nil || !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), bad) {
			t.Fatal(err)
		}
	})
}

func TestNoGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Find(t.Context(), t.TempDir())
	if !errors.Is(err, ErrNone) || !errors.Is(err, ErrNotInstalled) {
		t.Fatal(err)
	}
}

func TestOldGit(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/git", []byte("#!/bin/sh\necho git version 2.31.9\n"), 0o755))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	must(t, os.Mkdir(dir+"/.git", 0o755))
	_, err := Find(t.Context(), dir)
	if err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "2.32") {
		t.Fatal(err)
	}
}

// git is asked where a folder above may be a repository, and nowhere else.
func TestFindAsks(t *testing.T) {
	bin := t.TempDir()
	must(t, os.WriteFile(bin+"/git", []byte("#!/bin/sh\necho asked >&2; exit 1\n"), 0o755))
	t.Setenv("PATH", bin)
	for sign, asks := range map[string]bool{"": false, "top/.git/x": true, "top/a/.git": true, "top/HEAD": true, "top/a/b/HEAD": true, "HEAD/x": true} {
		t.Run(sign, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.MkdirAll(dir+"/top/a/b", 0o755))
			must(t, os.Symlink(dir+"/top/a/b", dir+"/link"))
			if sign != "" {
				write(t, dir, map[string]string{sign: ""})
			}
			_, err := Find(t.Context(), dir+"/link")
			if asked := err != nil && strings.Contains(err.Error(), "asked"); asked != asks || asks == errors.Is(err, ErrNone) {
				t.Error(err)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" = version ] || case \"$*\" in *version) echo git version 2.39.5; exit;; esac\n" +
		"sleep 600 & wait\n"
	must(t, os.WriteFile(dir+"/git", []byte(script), 0o755), os.Mkdir(dir+"/.git", 0o755))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := Find(ctx, dir); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 3*time.Minute {
		t.Fatal(err, time.Since(start))
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	t.Run("before the first commit", func(t *testing.T) {
		top, r := newRepo(t, nil)
		commit, branch, err := r.Head(t.Context())
		if commit != "" || branch != "" || err != nil {
			t.Fatal(commit, branch, err)
		}
		write(t, top, map[string]string{"a": "1"})
		c, err := r.Census(t.Context())
		wantPaths(t, "a")(c.Files, err)
		wantPaths(t, "a")(r.Dirty(t.Context()))
		run(t, top, "add", "a")
		wantPaths(t, "a")(r.Dirty(t.Context()))
	})
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			top, r := newRepo(t, map[string]string{"a": "1"}, "--object-format="+format)
			want := run(t, top, "rev-parse", "HEAD")
			if commit, branch, err := r.Head(t.Context()); commit != want || branch != "main" || err != nil {
				t.Fatal(commit, branch, err)
			}
			run(t, top, "checkout", "-q", "--detach")
			if commit, branch, err := r.Head(t.Context()); commit != want || branch != "" || err != nil {
				t.Fatal(commit, branch, err)
			}
			must(t, os.Chtimes(top+"/a", time.Now(), time.Now().Add(time.Hour)))
			wantPaths(t)(r.Dirty(t.Context()))
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{
		".gitignore": "build/\n*.o\nbin/*\n", "gone": "", "dir/a": "", "was-file": "", "was-dir/x": "", "sp ace\"q\nl": "", "forced.txt": "",
	})
	run(t, top, "rm", "-q", "--cached", "forced.txt")
	write(t, top, map[string]string{"late.o": ""})
	run(t, top, "add", "-f", "late.o")
	for _, p := range []string{"gone", "was-file", "was-dir/x", "was-dir"} {
		must(t, os.Remove(filepath.Join(top, p)))
	}
	must(t, os.Symlink("dir", top+"/was-dir"))
	write(t, top, map[string]string{
		"was-file/in": "", "was-file/skip.o": "", "dir/x": "", "dir/b.o": "", "build/out": "", "bin/tool": "", ":(magic)": "", "*": "",
		"nested/n1": "", "nested/.gitignore": "*.tmp\n", "nested/y.tmp": "", "nested/sub/deep": "",
	})
	run(t, top+"/nested", "init", "-q")
	c, err := r.Census(t.Context())
	wantPaths(t, "*", ".gitignore", ":(magic)", "dir/a", "dir/x", "forced.txt", "gone", "late.o",
		"nested/.gitignore", "nested/n1", "nested/sub/deep",
		"sp ace\"q\nl", "was-dir", "was-dir/x", "was-file", "was-file/in")(c.Files, err)
	wantPaths(t, "bin/tool", "build/", "dir/b.o", "nested/y.tmp", "was-file/skip.o")(c.Ignored, nil)
	wantPaths(t, ".gitignore", "dir/a", "gone", "late.o", "sp ace\"q\nl", "was-dir/x", "was-file")(c.Tracked, nil)
}

func TestSubmodule(t *testing.T) {
	t.Parallel()
	lib, _ := newRepo(t, map[string]string{"lib.c": "1", ".gitignore": "*.o\n"})
	top, r := newRepo(t, map[string]string{"a": "1"})
	run(t, top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "deps/lib")
	run(t, top, "commit", "-q", "-m", "sub")
	write(t, top, map[string]string{"deps/lib/new": "", "deps/lib/x.o": ""})
	c, err := r.Census(t.Context())
	wantPaths(t, ".gitmodules", "a", "deps/lib/.gitignore", "deps/lib/lib.c", "deps/lib/new")(c.Files, err)
	wantPaths(t, "deps/lib/x.o")(c.Ignored, nil)
	wantPaths(t, "deps/lib")(r.Submodules(t.Context()))
}

func TestState(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{"a": "1"})
	seen := map[string]string{}
	state := func(step string) {
		t.Helper()
		got, err := r.State(t.Context())
		if err != nil || !strings.HasPrefix(got, "sha256:") {
			t.Fatal(got, err)
		}
		if old := seen[got]; old != "" {
			t.Errorf("%s: same state as %s", step, old)
		}
		if again, _ := r.State(t.Context()); again != got {
			t.Errorf("%s: two digests of one state", step)
		}
		seen[got] = step
	}
	state("start")
	write(t, top, map[string]string{"a": "2"})
	run(t, top, "add", "a")
	state("staged")
	run(t, top, "commit", "-q", "-m", "two")
	state("commit")
	run(t, top, "tag", "v1")
	state("tag")
	run(t, top, "checkout", "-q", "-b", "other")
	state("branch")
	run(t, top, "checkout", "-q", "--detach")
	state("detached")
}

func TestDirty(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{
		"same": "1", "touched": "1", "changed": "1", "staged": "1", "removed": "1", "exec": "1", "crlf": "1\n2\n", "two\nlines": "1",
		".gitattributes": "crlf text eol=crlf\n", "x": "1",
	})
	write(t, top, map[string]string{"changed": "2", "staged": "2", "new": "", "dir/new": "", "crlf": "1\r\n2\r\n"})
	run(t, top, "add", "staged")
	write(t, top, map[string]string{"staged": "1"}) // as in HEAD again, the index differs
	later := time.Now().Add(3 * time.Second)
	must(t, os.Chtimes(top+"/touched", later, later), os.Chtimes(top+"/two\nlines", later, later),
		os.Remove(top+"/removed"), os.Chmod(top+"/exec", 0o755), os.Remove(top+"/x"), os.Symlink("same", top+"/x"))
	wantPaths(t, "changed", "dir/new", "exec", "new", "removed", "staged", "x")(r.Dirty(t.Context()))
	few := []string{"same", "changed", "new", "*", "dir"}
	wantPaths(t, "changed", "dir/new", "new")(r.Dirty(t.Context(), few...))
	wantPaths(t, "changed", "dir/new", "new")(r.Dirty(t.Context(), append(few, make([]string, maxNamed)...)...))
}

func TestTracks(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{"dir/in/file": "1", "file": "1", "star": "1"})
	write(t, top, map[string]string{"new/file": "1"})
	for path, want := range map[string]bool{"dir": true, "dir/in": true, "file": true, "dir/in/file": true, "new": false, "none": false, "di": false, "s*": false} {
		if got, err := r.Tracks(t.Context(), path); err != nil || got != want {
			t.Errorf("%s: %v %v", path, got, err)
		}
	}
}

// A census includes repositories in folders that nobody tracks, and lists a path with several stages once.
func TestCensus(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{".gitignore": "*.o\nbuild/\n", "both": "1", "gone": "1", "dir/a b": "1"})
	run(t, top, "checkout", "-q", "-b", "other")
	write(t, top, map[string]string{"both": "2"})
	run(t, top, "commit", "-q", "-a", "-m", "two")
	run(t, top, "checkout", "-q", "main")
	write(t, top, map[string]string{"both": "3"})
	run(t, top, "commit", "-q", "-a", "-m", "three")
	run(t, top, "read-tree", "-m", "main~1", "main", "other") // a conflict: three stages of one path
	must(t, os.Remove(filepath.Join(top, "gone")))
	write(t, top, map[string]string{
		"new": "", "x.o": "", "build/y": "", "100644 0 0\ttab": "",
		"far/away/repo/.gitignore": "*.tmp\nout/\n", "far/away/repo/n": "", "far/away/repo/t.tmp": "", "far/away/repo/out/z": "",
	})
	run(t, top+"/far/away/repo", "init", "-q")
	c, err := r.Census(t.Context())
	wantPaths(t, ".gitignore", "100644 0 0\ttab", "both", "dir/a b", "far/away/repo/.gitignore", "far/away/repo/n",
		"gone", "new")(c.Files, err)
	wantPaths(t, ".gitignore", "both", "dir/a b", "gone")(c.Tracked, nil)
	wantPaths(t, "build/", "far/away/repo/out/", "far/away/repo/t.tmp", "x.o")(c.Ignored, nil)
}
