package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// countOpens returns a function that tells how often each folder of a tree was opened since, by its path.
func countOpens(t *testing.T, top string) func() map[string]int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	var dirs []string
	must(t, filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, p)
		}
		return err
	}))
	watched := map[int32]string{}
	for _, dir := range dirs {
		wd, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN|unix.IN_ONLYDIR)
		if err != nil {
			t.Skip("inotify: " + err.Error())
		}
		rel, err := filepath.Rel(top, dir)
		must(t, err)
		watched[int32(wd)] = rel
	}
	return func() map[string]int {
		t.Helper()
		counts := map[string]int{}
		buf := make([]byte, 1<<16)
		for {
			n, err := unix.Read(fd, buf)
			if errors.Is(err, unix.EAGAIN) {
				return counts
			}
			must(t, err)
			for at := 0; at < n; {
				wd, mask, size := field(buf[at:]), uint32(field(buf[at+4:])), int(field(buf[at+12:]))
				if mask&unix.IN_Q_OVERFLOW != 0 {
					t.Fatal("too many opens to count")
				}
				if size == 0 && mask&unix.IN_ISDIR != 0 { // else a file or folder in the watched one
					counts[watched[wd]]++
				}
				at += unix.SizeofInotifyEvent + size
			}
		}
	}
}

func field(b []byte) int32 {
	return int32(b[0]) | int32(b[1])<<8 | int32(b[2])<<16 | int32(b[3])<<24 // as all that we run on has them
}

// deepTree has some folders in each other, with many files each.
func deepTree(under string) map[string]string {
	set, dir := map[string]string{}, under
	for i := range 8 {
		for j := range 20 {
			set[fmt.Sprintf("%s/f%02d", dir, j)] = fmt.Sprint(i, j)
		}
		set[dir+"/side/one"] = "1"
		dir += fmt.Sprint("/d", i)
	}
	return set
}

// Where files are copied, read and compared one by one, each folder is opened a few times, not once for each file
// below it.
func TestFoldersAreOpenedOnce(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{".gitignore": "build\n", "README": "text\n"})
	write(t, top, deepTree("build"))
	write(t, top, deepTree("src"))
	parent := temp(t)
	// most is by whom: our walks, and git's.
	check := func(what string, counts map[string]int, most int) {
		t.Helper()
		for _, dir := range slices.Sorted(maps.Keys(counts)) {
			if n := counts[dir]; n > most && dir != "." && !hiddenPath(dir) {
				t.Errorf("%s: %s is opened %d times, more than %d", what, dir, n, most)
			}
		}
		if counts["src/d0/d1/d2/d3"] == 0 {
			t.Errorf("%s: nothing was counted", what)
		}
	}

	inTree := countOpens(t, top)
	b, err := Make(t.Context(), parent, Source{Root: top, Everything: true})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	if _, ok := b.Manifest.Find("build/d0/d1/f01"); !ok {
		t.Fatalf("%+v", b.Omitted)
	}
	check("Make", inTree(), 8)

	inBase := countOpens(t, b.Dir)
	c, err := b.Copy(t.Context(), filepath.Join(parent, "copy"))
	must(t, err)
	check("Copy", inBase(), 1)

	for p := range deepTree("src") {
		write(t, c.Dir, map[string]string{p: "changed"})
	}
	inCopy := countOpens(t, c.Dir)
	changes, _, err := c.Changes(t.Context())
	must(t, err)
	if len(changes) != len(deepTree("src")) {
		t.Errorf("%d changes", len(changes))
	}
	check("Changes, the base", inBase(), 1)
	check("Changes, the copy", inCopy(), 2)
	must(t, c.Close())

	inTree() // from here on
	again, err := Restore(t.Context(), parent, Saved{
		Root: top, Sub: ".", Manifest: b.Manifest, Content: func(string) ([]byte, bool) { return nil, false },
	})
	must(t, err)
	check("Restore", inTree(), 4)
	must(t, again.Close())

	inTree()
	must(t, os.Mkdir(filepath.Join(parent, "folder"), 0o700))
	must(t, CopyFolder(t.Context(), top, filepath.Join(parent, "folder"), time.Time{}))
	check("CopyFolder", inTree(), 1)
}

// A descent opens each folder once if the paths are sorted, in either order, and makes what is missing. It follows no
// symlink, leaves the folder by no path, and is not limited by how deep a tree is.
func TestDescent(t *testing.T) {
	t.Parallel()
	top := temp(t)
	d, err := descend(top)
	must(t, err)
	defer d.close()
	deep := strings.TrimSuffix(strings.Repeat("deeper-and-deeper/", 3*mostHeld), "/")
	if _, err := d.folder(deep); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	d.make = true
	for _, p := range []string{deep, path.Dir(deep), deep + "/x/y", "a", "a-b/c", "a/b/c", "."} {
		fd, err := d.folder(p)
		must(t, err)
		var want, got unix.Stat_t
		at, err := openBelow(d.open[0].fd, p)
		must(t, err, unix.Fstat(at, &want), unix.Fstat(fd, &got), unix.Close(at))
		if want.Ino != got.Ino || len(d.open) > mostHeld {
			t.Errorf("%.80s is another folder, or %d are open", p, len(d.open))
		}
	}
	must(t, os.Symlink("/", filepath.Join(top, "out")), os.Symlink("a", filepath.Join(top, "in")))
	for _, p := range []string{"out", "out/tmp", "in", "in/b", "..", "a/../..", "/", "", "a/out/.."} {
		if fd, err := d.folder(p); err == nil {
			t.Errorf("%q is opened as %d", p, fd)
		}
		if _, err := os.Lstat(filepath.Join(top, "a", "out")); err == nil {
			t.Errorf("%q made a folder", p)
		}
	}

	all := slices.Sorted(maps.Keys(deepTree("src")))
	write(t, top, deepTree("src"))
	opens := countOpens(t, filepath.Join(top, "src"))
	for range 2 {
		for _, p := range all {
			_, err := d.folder(path.Dir(p))
			must(t, err)
		}
		_, err := d.folder("a")
		must(t, err)
		for dir, n := range opens() {
			if n != 1 {
				t.Errorf("%s is opened %d times", dir, n)
			}
		}
		slices.Reverse(all)
	}
}

// The files of a descent are read as they are: no symlink is followed, and no device opened.
func TestDescentReads(t *testing.T) {
	t.Parallel()
	top := temp(t)
	write(t, top, map[string]string{"a/file": "text", "a/empty": "", "b": "b"})
	must(t, os.Chmod(top+"/a/file", 0o750), os.Symlink("/etc/passwd", top+"/a/link"), os.Symlink("a", top+"/sym"),
		unix.Mkfifo(top+"/a/fifo", 0o600), os.Mkdir(top+"/a/dir", 0o700))
	d, err := descend(top)
	must(t, err)
	defer d.close()
	for p, want := range map[string]string{
		"a/file": "-rwxr-x--- text", "a/empty": "-rw-r--r-- ", "a/link": "Lrwxrwxrwx /etc/passwd", "a/dir": "none", "a/none": "none",
		"sym/file": "none", "b/file": "none", "none/file": "none", "a/fifo": errSpecial.Error(), "b": "-rw-r--r-- b",
	} {
		f, err := d.file(p, 4)
		got := "none"
		switch {
		case err != nil:
			got = err.Error()
		case f != nil:
			got = fmt.Sprintf("%v %s", f.Mode, f.Data)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
	if _, err := d.file("a/file", 3); !errors.Is(err, errOversize) {
		t.Errorf("a file over the limit: %v", err)
	}
}

// Of a cache what was used lately is copied, whatever the modes of its folders are, and it is copied as it is.
func TestCopyFolder(t *testing.T) {
	t.Parallel()
	from, to := temp(t), temp(t)
	write(t, from, map[string]string{"old": "1", "new": "2", "closed/new": "3", "closed/old": "4", "twice": "5"})
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	must(t, os.Link(from+"/twice", from+"/again"), os.Symlink("/etc", from+"/link"), os.Mkdir(from+"/empty", 0o700),
		os.Chtimes(from+"/old", long, long), os.Chtimes(from+"/closed/old", long, long), os.Chmod(from+"/new", 0o444),
		unix.Mkfifo(from+"/fifo", 0o600), os.Chmod(from+"/closed", 0o555))
	defer func() { must(t, os.Chmod(from+"/closed", 0o755), os.Chmod(to+"/closed", 0o755)) }()
	must(t, CopyFolder(t.Context(), from, to, long.Add(time.Minute)))
	var got []string
	must(t, filepath.WalkDir(to, func(p string, d fs.DirEntry, err error) error {
		info, ierr := d.Info()
		was, werr := os.Lstat(filepath.Join(from, strings.TrimPrefix(p, to)))
		must(t, err, ierr, werr)
		if p != to {
			got = append(got, fmt.Sprintf("%s %v", strings.TrimPrefix(p, to+"/"), info.Mode()))
		}
		if d.Type() != fs.ModeSymlink && p != to && !info.ModTime().Equal(was.ModTime()) {
			t.Errorf("%s is of %v, not of %v", p, info.ModTime(), was.ModTime())
		}
		return nil
	}))
	if want := []string{
		"again -rw-r--r--", "closed dr-xr-xr-x", "closed/new -rw-r--r--", "empty drwx------", "link Lrwxrwxrwx", "new -r--r--r--",
		"twice -rw-r--r--",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	must(t, os.WriteFile(to+"/twice", []byte("written"), 0o600))
	if text, err := os.ReadFile(to + "/again"); err != nil || string(text) != "5" {
		t.Errorf("a hard link is one in the copy, too: %q, %v", text, err)
	}
	all := temp(t)
	must(t, CopyFolder(t.Context(), from, all, time.Time{}))
	defer func() { must(t, os.Chmod(all+"/closed", 0o755)) }()
	if text, err := os.ReadFile(all + "/closed/old"); err != nil || string(text) != "4" {
		t.Errorf("%q, %v", text, err)
	}
	if err := CopyFolder(t.Context(), from+"/none", all, time.Time{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}
