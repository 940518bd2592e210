package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

func TestMakeChooses(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{
		".gitignore": "*.o\nnode_modules/\n.venv\nbuild/\ndist/\n.env\n/web/vendor\n", "a": "1", "dirty": "1", "gone": "1", "web/app.js": "1", "pkg/x/y": "1",
	})
	write(t, top, map[string]string{
		"dirty": "2", "new": "1", "a.o": "1", "node_modules/p/i.js": "1", "web/node_modules/q/.git/config": "", "web/node_modules/q/i.js": "1", "web/vendor/v": "1",
		".venv/bin/python": "1", "build/out/bin": "1", "build/tmp": "1", "dist/x.js": "1", "dist/deep/y.js": "1", ".env": "K=V", ".async/runs/1": "1", "pkg/.async/z": "1",
		"nested/n": "1", "big/skip/file": "1", "web/gen.o": "1",
	})
	run(t, top+"/nested", "init", "-q")
	must(t, os.Remove(top+"/gone"), os.MkdirAll(top+"/empty/deep", 0o755), os.Symlink("/etc/passwd", top+"/link"), os.Symlink("web", top+"/weblink"))
	before := fingerprint(t, top)
	all := []string{
		".gitignore", "a", "big/", "big/skip/", "big/skip/file", "dirty", "empty/", "empty/deep/", "link -> /etc/passwd", "nested/", "nested/n", "new",
		"pkg/", "pkg/x/", "pkg/x/y", "web/", "web/app.js", "weblink -> web",
	}
	deps := []string{
		".venv/", ".venv/bin/", ".venv/bin/python", "node_modules/", "node_modules/p/", "node_modules/p/i.js", "web/node_modules/", "web/node_modules/q/",
		"web/node_modules/q/i.js", "web/vendor/", "web/vendor/v",
	}
	for _, test := range []struct {
		name        string
		source      Source
		plus, minus []string
		taken       []string
	}{
		{"plain", Source{}, deps, nil, []string{".venv", "node_modules", "web/node_modules", "web/vendor"}},
		{"outputs", Source{Outputs: []string{"build/out/**", "./a.o"}}, append(slices.Clone(deps), "a.o", "build/", "build/out/", "build/out/bin"), nil, []string{".venv", "build/out", "node_modules", "web/node_modules", "web/vendor"}},
		{"include a folder", Source{Include: []string{"dist/"}}, append(slices.Clone(deps), "dist/", "dist/x.js", "dist/deep/", "dist/deep/y.js"), nil, []string{".venv", "dist", "node_modules", "web/node_modules", "web/vendor"}},
		{"include by glob", Source{Include: []string{"**/y.js"}}, append(slices.Clone(deps), "dist/", "dist/deep/", "dist/deep/y.js"), nil, []string{".venv", "node_modules", "web/node_modules", "web/vendor"}},
		{"exclude", Source{Exclude: []string{"big", "**/node_modules", "empty/deep"}}, []string{".venv/", ".venv/bin/", ".venv/bin/python", "web/vendor/", "web/vendor/v"}, []string{"big/", "big/skip/", "big/skip/file", "empty/deep/"}, []string{".venv", "web/vendor"}},
		{"everything", Source{Everything: true}, append(slices.Clone(deps), "a.o", "web/gen.o", "build/", "build/out/", "build/out/bin", "build/tmp", "dist/", "dist/x.js", "dist/deep/", "dist/deep/y.js"), nil, []string{".venv", "build", "dist", "node_modules", "web/node_modules", "web/vendor"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.source.Root = top
			b := makeBase(t, test.source)
			want := slices.DeleteFunc(append(slices.Clone(all), test.plus...), func(p string) bool { return slices.Contains(test.minus, p) })
			slices.Sort(want)
			wantHeld(t, b.Dir, want...)
			if !slices.Equal(b.Taken, test.taken) {
				t.Errorf("taken %q", b.Taken)
			}
			if f, err := b.Read("dirty"); err != nil || string(f.Data) != "2" {
				t.Error(f, err)
			}
			if test.source.Everything && !slices.Contains(b.Omitted, tree.Omitted{Path: ".env", Why: whySecret}) {
				t.Errorf("omitted %v", b.Omitted)
			}
			c := makeCopy(t, b)
			wantHeld(t, c.Dir, want...)
			wantChanges(t, c)
			if n := len(b.Manifest.Entries); n != len(want) {
				t.Errorf("manifest has %d entries, not %d", n, len(want))
			}
		})
	}
	if fingerprint(t, top) != before {
		t.Error("the tree was touched")
	}
}

func TestMakeSubfolderRoot(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{"lib/l": "1", "svc/api/main": "1", ".gitignore": "out\n"})
	write(t, top, map[string]string{"svc/api/out/x": "1", "out/x": "1"})
	b := makeBase(t, Source{Root: top + "/svc/api", Outputs: []string{"out"}, Exclude: []string{"l"}})
	if b.Top != top || b.Sub != "svc/api" {
		t.Errorf("top %s sub %s", b.Top, b.Sub)
	}
	wantHeld(t, b.Dir, ".gitignore", "lib/", "lib/l", "svc/", "svc/api/", "svc/api/main", "svc/api/out/", "svc/api/out/x")
}

func TestMakeWithoutGit(t *testing.T) {
	t.Parallel()
	top := temp(t)
	write(t, top, map[string]string{"a": "1", "node_modules/x": "1", ".async/x": "1", "sub/.async/x": "1", ".gitignore": "a\n", "e.txt": "1"})
	must(t, os.Mkdir(top+"/empty", 0o755))
	t.Run("G77 not a git repository", func(t *testing.T) {
		b := makeBase(t, Source{Root: top, Exclude: []string{"e.*"}})
		wantHeld(t, b.Dir, ".gitignore", "a", "empty/", "node_modules/", "node_modules/x", "sub/")
		if b.Commit != "" || b.HistoryMissing || len(b.Taken) != 0 {
			t.Errorf("%+v", b)
		}
		c := makeCopy(t, b)
		write(t, c.Dir, map[string]string{"a": "2", "new/x": "1", "e.log": "1", ".env": "K"})
		run(t, c.Dir, "init", "-q")
		wantChanges(t, c, "~a", "+new/x", ".env secret", "e.log excluded")
	})
}

// A home folder under git ignores the project: the project is in no repository.
func TestMakeIgnoredRoot(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{".gitignore": "/*\n!.gitignore\n"})
	write(t, top, map[string]string{"project/a": "1", "project/node_modules/x": "1"})
	b := makeBase(t, Source{Root: top + "/project"})
	if b.Top != top+"/project" || b.Sub != "." {
		t.Errorf("top %s sub %s", b.Top, b.Sub)
	}
	wantHeld(t, b.Dir, "a", "node_modules/", "node_modules/x")
}

func TestMakeKeeps(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{"a": "1", "x": "1", "ro/file": "1", "big": strings.Repeat("0123456789abcdef", 100_000)})
	at := time.Unix(1_500_000_000, 123_456_789)
	sparse, err := os.Create(top + "/sparse")
	must(t, err)
	_, err = sparse.WriteAt([]byte("end"), 64<<20)
	must(t, err)
	_, err = sparse.WriteAt([]byte("mid"), 8<<20)
	must(t, err, sparse.Close(), unix.Mkfifo(top+"/fifo", 0o600), os.Symlink("nowhere", top+"/link"))
	must(t, os.Chmod(top+"/x", 0o755|os.ModeSetuid), os.Chmod(top+"/ro/file", 0o444), os.Chtimes(top+"/a", at, at),
		unix.UtimesNanoAt(unix.AT_FDCWD, top+"/link", []unix.Timespec{{Sec: 5}, {Sec: 7, Nsec: 9}}, unix.AT_SYMLINK_NOFOLLOW),
		os.Chtimes(top+"/ro", at, at), os.Chmod(top+"/ro", 0o555))
	t.Cleanup(func() { must(t, os.Chmod(top+"/ro", 0o755)) })
	b := makeBase(t, Source{Root: top})
	c := makeCopy(t, b)
	for _, dir := range []string{b.Dir, c.Dir} {
		for _, p := range []string{"a", "x", "ro", "ro/file", "sparse", "big", "link"} {
			was, err := os.Lstat(filepath.Join(top, p))
			must(t, err)
			now, err := os.Lstat(filepath.Join(dir, p))
			must(t, err)
			if was.ModTime() != now.ModTime() || was.Mode()&^os.ModeSetuid != now.Mode() {
				t.Errorf("%s: %v %v, was %v %v", p, now.Mode(), now.ModTime(), was.Mode(), was.ModTime())
			}
			var one, two unix.Stat_t
			must(t, unix.Lstat(filepath.Join(top, p), &one), unix.Lstat(filepath.Join(dir, p), &two))
			if one.Ino == two.Ino && one.Dev == two.Dev {
				t.Errorf("%s is a hard link", p)
			}
			if p == "sparse" && (two.Size != one.Size || two.Blocks*512 > 1<<20) {
				t.Errorf("hole filled: %d blocks", two.Blocks)
			}
		}
	}
	for _, p := range []string{"sparse", "big"} {
		want, err := os.ReadFile(top + "/" + p)
		must(t, err)
		got, err := os.ReadFile(c.Dir + "/" + p)
		must(t, err)
		if string(got) != string(want) {
			t.Errorf("%s differs", p)
		}
	}
	t.Run("G78 fifo", func(t *testing.T) {
		if !slices.Contains(b.Omitted, tree.Omitted{Path: "fifo", Why: whySpecial}) {
			t.Errorf("omitted %v", b.Omitted)
		}
	})
	t.Run("everything is private", func(t *testing.T) {
		for _, dir := range []string{b.holder, b.Dir, b.rules, c.Dir, filepath.Dir(b.holder)} {
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Error(dir, info.Mode(), err)
			}
		}
	})
	wantChanges(t, c)
}

func TestMakeUnreadable(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	top := newRepo(t, map[string]string{"a": "1", "closed": "1"})
	must(t, os.Chmod(top+"/closed", 0))
	b := makeBase(t, Source{Root: top})
	if !slices.Contains(b.Omitted, tree.Omitted{Path: "closed", Why: whyUnreadable}) {
		t.Errorf("omitted %v", b.Omitted)
	}
}

func TestMakeRefuses(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{"a": "1", "sub/a": "1"})
	side := temp(t)
	must(t, os.Symlink(top+"/sub", side+"/in"))
	for name, parent := range map[string]string{"the tree": top, "inside": top + "/sub/new", "through a symlink": side + "/in/new"} {
		t.Run(name, func(t *testing.T) {
			before := held(t, top)
			_, err := Make(t.Context(), parent, Source{Root: top})
			if err == nil || !strings.Contains(err.Error(), "outside the tree") {
				t.Error(err)
			}
			if after := held(t, top); !slices.Equal(before, after) {
				t.Errorf("left %q", after)
			}
		})
	}
	b := makeBase(t, Source{Root: top})
	if _, err := b.Copy(t.Context(), top+"/copy"); err == nil || !strings.Contains(err.Error(), "outside the tree") {
		t.Error(err)
	}
	if _, err := b.Copy(t.Context(), b.holder); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	_, err := Make(t.Context(), side, Source{Root: top, Include: []string{"[a"}})
	if err == nil || !strings.Contains(err.Error(), "include") {
		t.Error(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Make(done, side, Source{Root: top}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := held(t, side); !slices.Equal(got, []string{"in -> " + top + "/sub"}) {
		t.Errorf("left behind: %q", got)
	}
}

// A file that changes, goes or comes back while the tree is copied.
func TestCopyMeanwhile(t *testing.T) {
	t.Parallel()
	src, dst := temp(t), temp(t)
	write(t, src, map[string]string{"busy": strings.Repeat("a", 1<<20), "dir/gone": "1", "swapped/x": "1", "became": "1"})
	outside := temp(t)
	write(t, outside, map[string]string{"x": "outside"})
	root, err := os.OpenRoot(src)
	must(t, err)
	p, err := planAll(t.Context(), root, func(string, fs.DirEntry) bool { return false })
	must(t, err, root.Close())
	must(t, os.Remove(src+"/dir/gone"), os.RemoveAll(src+"/swapped"), os.Symlink(outside, src+"/swapped"), os.Remove(src+"/became"), unix.Mkfifo(src+"/became", 0o600))
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(src+"/busy", []byte(strings.Repeat(string(rune('a'+i%26)), 1<<20)), 0o644)
			}
		}
	}()
	done, err := copyTree(t.Context(), src, dst, p)
	close(stop)
	<-stopped
	must(t, err)
	if len(done.vanished) != 1 || done.vanished[0].dir != "dir" {
		t.Errorf("vanished %v", done.vanished)
	}
	if !slices.Equal(done.omitted, []tree.Omitted{{Path: "became", Why: whySpecial}}) {
		t.Errorf("omitted %v", done.omitted)
	}
	wantHeld(t, dst, "busy", "dir/")
}

// A file that changed once while it was copied is copied again.
func TestCopyAgain(t *testing.T) {
	t.Parallel()
	src, dst := temp(t), temp(t)
	for i := range 30 {
		name := filepath.Join(src, "f")
		must(t, os.WriteFile(name, []byte(strings.Repeat("a", 8<<20)), 0o644))
		var first unix.Stat_t
		must(t, unix.Stat(name, &first), waitForTick(src, map[string][]fileState{".": {{name: "f", facts: factsOf(&first)}}}))
		ended := make(chan error)
		go func() {
			time.Sleep(time.Duration(i*100) * time.Microsecond)
			ended <- os.WriteFile(name, []byte(strings.Repeat("b", 8<<20)), 0o644)
		}()
		_, err := copyTree(t.Context(), src, dst, &plan{files: map[string][]leaf{".": {{name: "f"}}}})
		must(t, err, <-ended)
		got, err := os.ReadFile(dst + "/f")
		must(t, err, os.Remove(dst+"/f"))
		// All of one state. (The writer truncates first: an empty or short file of one letter is a state too.)
		if strings.Trim(string(got), "a") != "" && strings.Trim(string(got), "b") != "" {
			t.Fatalf("round %d: a mixture of two states", i)
		}
	}
}

// The wait is for the file system's clock, to be past the last change; a clock that was set back is not waited for.
func TestOutlast(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"a tick": 300 * time.Millisecond, "an hour": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := temp(t)
			must(t, os.Chmod(dir, 0o710))
			last := time.Now().Add(ahead).UnixNano()
			must(t, waitForTick(dir, map[string][]fileState{"a": {{name: "f", facts: facts{Ctime: last}}, {name: "g"}}, "b": nil}))
			var now unix.Stat_t
			must(t, unix.Stat(dir, &now))
			if (now.Ctim.Nano() > last) != (ahead < longestTick) || now.Mode&0o777 != 0o710 {
				t.Errorf("the folder is of %d, mode %o; the last change was at %d", now.Ctim.Nano(), now.Mode, last)
			}
		})
	}
}

// The end of the context ends the copy of one file, too, however large it is.
func TestCopyEnds(t *testing.T) {
	t.Parallel()
	src, dst := t.TempDir(), t.TempDir()
	at := filepath.Join(src, "f")
	must(t, os.WriteFile(at, []byte("x"), 0o600), os.Truncate(at, 1<<40)) // a hole that takes many minutes to hash
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		c := &treeCopier{src: src, dst: dst, sums: true}
		done <- c.run(ctx, &plan{files: map[string][]leaf{".": {{name: "f"}}}})
	}()
	for range 3000 { // until it is in the middle
		if _, err := os.Lstat(filepath.Join(dst, "f")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}

// A copy has the permission bits of its file, also those that the umask would take from a new one, and none above
// them.
func TestCopyKeepsModes(t *testing.T) {
	t.Parallel()
	from, to := temp(t), temp(t)
	p := &plan{files: map[string][]leaf{}}
	want := map[string]fs.FileMode{}
	for _, mode := range []fs.FileMode{0o400, 0o600, 0o622, 0o644, 0o666, 0o777, 0o755 | fs.ModeSetuid, 0o755 | fs.ModeSetgid | fs.ModeSticky} {
		name := fmt.Sprintf("%o", mode)
		must(t, os.WriteFile(filepath.Join(from, name), []byte(name), 0o600), os.Chmod(filepath.Join(from, name), mode))
		p.add(".", leaf{name: name})
		want[name] = mode.Perm()
	}
	done, err := copyTree(t.Context(), from, to, p)
	must(t, err)
	for _, c := range done.got["."] {
		info, err := os.Lstat(filepath.Join(to, c.Name))
		must(t, err)
		if info.Mode() != want[c.Name] || c.Mode != want[c.Name] {
			t.Errorf("%s: %v, and said to be %v; want %v", c.Name, info.Mode(), c.Mode, want[c.Name])
		}
		if f := factsAt(t, filepath.Join(to, c.Name)); f != c.To {
			t.Errorf("%s stands as %v, said to stand as %v", c.Name, f, c.To)
		}
	}
	if len(done.got["."]) != len(want) {
		t.Errorf("%d copied", len(done.got["."]))
	}
}
