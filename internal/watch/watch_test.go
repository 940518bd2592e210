package watch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestChanges makes changes of every kind and waits until each was told.
func TestChanges(t *testing.T) {
	t.Parallel()
	for name, open := range opens {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes(t, open)
		})
	}
}

type opening = func(root string, skip func(string) bool) (*Watcher, error)

// opens are the two ways of watching.
var opens = map[string]opening{
	"told": Open,
	"polled": func(root string, skip func(string) bool) (*Watcher, error) {
		return openPolls(root, skip, time.Millisecond, "a test")
	},
}

func changes(t *testing.T, open opening) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "src", "deep"), 0o755))
	must(t, os.MkdirAll(filepath.Join(root, "skipped"), 0o755))
	must(t, os.MkdirAll(filepath.Join(root, "apart"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "src", "old"), nil, 0o644))
	must(t, os.Symlink("src/target", filepath.Join(root, "old link")))
	w, err := open(root, func(dir string) bool { return dir == "skipped" || dir == "new/skipped" || dir == "apart" })
	must(t, err)
	defer func() { must(t, w.Close()) }()
	told := func(do func() error, want ...string) {
		t.Helper()
		must(t, do())
		seen := map[string]bool{}
		for end := time.After(time.Minute); ; {
			if !slices.ContainsFunc(want, func(p string) bool { return !seen[p] }) {
				break
			}
			select {
			case c := <-w.C:
				for _, p := range c.Paths {
					seen[p] = true
					if filepath.Base(filepath.Dir(p)) == "skipped" || filepath.Base(p) == "skipped" && p[len(p)-1] == '/' {
						t.Errorf("%s was told", p)
					}
				}
			case <-end:
				t.Fatalf("told %v, want %v", seen, want)
			}
		}
	}
	write := func(name string) func() error {
		return func() error { return os.WriteFile(filepath.Join(root, name), []byte(name), 0o644) }
	}
	told(write("src/deep/new"), "src/deep/new")
	told(write("src/old"), "src/old")
	told(func() error { return os.Chmod(filepath.Join(root, "src", "old"), 0o755) }, "src/old")
	told(func() error { return os.Rename(filepath.Join(root, "src", "old"), filepath.Join(root, "moved")) }, "src/old", "moved")
	told(func() error { return os.Remove(filepath.Join(root, "moved")) }, "moved")
	// What is in a new folder, and what comes into it later.
	told(func() error {
		must(t, os.MkdirAll(filepath.Join(root, "new", "skipped"), 0o755))
		must(t, write("new/skipped/x")())
		must(t, write("skipped/x")())
		must(t, os.MkdirAll(filepath.Join(root, "new", "deeper"), 0o755))
		return write("new/deeper/file")()
	}, "new/", "new/deeper/", "new/deeper/file")
	told(func() error { return os.Mkdir(filepath.Join(root, "new", "empty"), 0o755) }, "new/empty/")
	told(func() error {
		return errors.Join(os.Remove(filepath.Join(root, "new", "deeper", "file")), os.Mkdir(filepath.Join(root, "new", "deeper", "file"), 0o755))
	}, "new/deeper/file", "new/deeper/file/")
	told(write("new/deeper/later"), "new/deeper/later")
	told(func() error { return os.RemoveAll(filepath.Join(root, "new")) }, "new/deeper/file", "new/deeper")
	// A link is told, too, when what it leads to changes: one that was there, one that came, and one in a folder that came.
	link := func(to, name string) func() error {
		return func() error { return os.Symlink(to, filepath.Join(root, name)) }
	}
	told(link("src/target", "came"), "came")
	told(func() error {
		return errors.Join(os.Mkdir(filepath.Join(root, "in"), 0o755), link("../came", "in/two")())
	}, "in/two")
	told(write("src/target"), "src/target", "old link", "came", "in/two")
	told(func() error { return os.Remove(filepath.Join(root, "src", "target")) }, "src/target", "old link", "came", "in/two")
	told(func() error {
		return errors.Join(os.Remove(filepath.Join(root, "came")), link("src", "came")())
	}, "came", "in/two")
	// What is skipped no longer.
	w.Skip(func(dir string) bool { return dir == "skipped" })
	told(write("apart/later"), "apart/later")
}

// Many changes at once are told together, and none is lost.
func TestMany(t *testing.T) {
	t.Parallel()
	for name, open := range opens {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			many(t, open)
		})
	}
}

func many(t *testing.T, open opening) {
	root := t.TempDir()
	w, err := open(root, func(string) bool { return false })
	must(t, err)
	defer func() { must(t, w.Close()) }()
	const n = 3000
	for i := range n {
		must(t, os.WriteFile(filepath.Join(root, time.Duration(i).String()), nil, 0o644))
	}
	seen := map[string]bool{}
	for end := time.After(time.Minute); len(seen) < n; {
		select {
		case c := <-w.C:
			if c.Lost {
				return // it says so
			}
			for _, p := range c.Paths {
				seen[p] = true
			}
		case <-end:
			t.Fatalf("%d of %d were told", len(seen), n)
		}
	}
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	for name, open := range opens {
		if _, err := open(filepath.Join(t.TempDir(), "gone"), func(string) bool { return false }); err == nil {
			t.Errorf("%s: a folder that is not there is watched", name)
		}
	}
}

// What was left out and is watched from now on did not change by that.
func TestSkip(t *testing.T) {
	t.Parallel()
	for name, open := range opens {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, dir := range []string{"skipped/deep", "watched"} {
				must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
				must(t, os.WriteFile(filepath.Join(root, dir, "old"), nil, 0o644))
			}
			w, err := open(root, func(dir string) bool { return dir == "skipped" })
			must(t, err)
			defer func() { must(t, w.Close()) }()
			w.Skip(func(dir string) bool { return dir == "watched" })
			time.Sleep(100 * time.Millisecond) // the poller has to look
			must(t, os.WriteFile(filepath.Join(root, "skipped", "deep", "new"), nil, 0o644))
			if c := <-w.C; !slices.Equal(c.Paths, []string{"skipped/deep/new"}) {
				t.Errorf("%q changed", c.Paths)
			}
		})
	}
}
