package scratch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPrivateGit(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			top := newRepo(t, map[string]string{"a": "1", "b": "1", "link": ""}, "--object-format="+format)
			run(t, top, "tag", "-a", "-m", "x", "v1")
			run(t, top, "branch", "other")
			run(t, top, "gc", "-q")
			write(t, top, map[string]string{"a": "2", "staged": "1", ".git/info/exclude": "private\n", "private": "1"})
			run(t, top, "add", "staged")
			run(t, top, "commit", "-q", "-m", "two", "staged")
			write(t, top, map[string]string{"staged": "2"})
			aged(t, top, "staged")
			run(t, top, "add", "staged")
			for k, v := range map[string]string{"core.autocrlf": "input", "user.name": `quo"te \ back`, "filter.x.clean": "evil", "remote.origin.url": "https://user:pw@x", "alias.x": "!evil", "include.path": "/x", "core.sshCommand": "evil", "core.excludesFile": "/nope"} {
				run(t, top, "config", k, v)
			}
			write(t, top, map[string]string{".git/hooks/post-checkout": "#!/bin/sh\n"})
			var before string
			want := func(dir string) string {
				return run(t, dir, "--no-optional-locks", "status", "--porcelain=v1", "--branch", "-z") + run(t, dir, "log", "--all", "--oneline", "--decorate") + run(t, dir, "ls-files", "-s")
			}
			wanted := want(top)
			run(t, top, "config", "core.fsmonitor", "evil")
			before = fingerprint(t, top)
			b := makeBase(t, Source{Root: top})
			if fingerprint(t, top) != before {
				t.Error("the tree was touched")
			}
			if b.HistoryMissing || b.Commit != run(t, top, "rev-parse", "HEAD") {
				t.Errorf("%v %s", b.HistoryMissing, b.Commit)
			}
			c := makeCopy(t, b)
			for _, dir := range []string{b.Dir, c.Dir} {
				if got := want(dir); got != wanted {
					t.Errorf("git in the copy says\n%s\nin the tree\n%s", got, wanted)
				}
				run(t, dir, "fsck", "--strict")
				config, err := os.ReadFile(dir + "/.git/config")
				must(t, err)
				for _, word := range []string{"evil", "origin", "include", "alias", "excludes"} {
					if strings.Contains(string(config), word) {
						t.Errorf("the configuration holds %q:\n%s", word, config)
					}
				}
				if got := run(t, dir, "config", "user.name"); got != `quo"te \ back` {
					t.Errorf("user.name %q", got)
				}
				if got := run(t, dir, "config", "core.autocrlf"); got != "input" {
					t.Errorf("core.autocrlf %q", got)
				}
				if _, err := os.Stat(dir + "/.git/hooks"); err == nil {
					t.Error("hooks came along")
				}
			}
			// The first git status finds fresh stat data: nothing is read.
			if got := run(t, c.Dir, "diff-files", "--name-only"); got != "a" {
				t.Errorf("stat data is stale: %q", got)
			}
			run(t, c.Dir, "commit", "-q", "-a", "-m", "the copy is a repository")
			if fingerprint(t, top) != before {
				t.Error("a commit in the copy reached the tree")
			}
		})
	}
}

func TestPrivateGitKinds(t *testing.T) {
	t.Parallel()
	log := func(dir string) string { return run(t, dir, "log", "--format=%H") }
	t.Run("no commit", func(t *testing.T) {
		top := newRepo(t, nil)
		write(t, top, map[string]string{"a": "1", "b": "1"})
		run(t, top, "add", "a")
		b := makeBase(t, Source{Root: top})
		if got := run(t, b.Dir, "status", "--porcelain"); got != "A  a\n?? b" || b.HistoryMissing {
			t.Errorf("%q %v", got, b.HistoryMissing)
		}
	})
	t.Run("linked work tree", func(t *testing.T) {
		top := newRepo(t, map[string]string{"a": "1"})
		linked := filepath.Join(temp(t), "l")
		run(t, top, "worktree", "add", "-q", "-b", "side", linked)
		write(t, linked, map[string]string{"a": "2"})
		run(t, linked, "commit", "-q", "-a", "-m", "two")
		before := fingerprint(t, top)
		b := makeBase(t, Source{Root: linked})
		if b.Top != linked || log(b.Dir) != log(linked) || b.HistoryMissing {
			t.Errorf("%s %v", b.Top, b.HistoryMissing)
		}
		if got := run(t, b.Dir, "symbolic-ref", "HEAD"); got != "refs/heads/side" {
			t.Error(got)
		}
		if fingerprint(t, top) != before {
			t.Error("the main work tree was touched")
		}
	})
	t.Run("shallow", func(t *testing.T) {
		from := newRepo(t, map[string]string{"a": "1"})
		write(t, from, map[string]string{"a": "2"})
		run(t, from, "commit", "-q", "-a", "-m", "two")
		top := filepath.Join(temp(t), "c")
		run(t, from, "clone", "-q", "--depth=1", "file://"+from, top)
		b := makeBase(t, Source{Root: top})
		if log(b.Dir) != log(top) || b.HistoryMissing || run(t, b.Dir, "rev-parse", "--is-shallow-repository") != "true" {
			t.Errorf("missing: %v", b.HistoryMissing)
		}
	})
	t.Run("alternates", func(t *testing.T) {
		from := newRepo(t, map[string]string{"a": "1"})
		top := filepath.Join(temp(t), "c")
		run(t, from, "clone", "-q", "--shared", from, top)
		b := makeBase(t, Source{Root: top})
		must(t, os.RemoveAll(from))
		run(t, b.Dir, "fsck", "--full")
		if _, err := os.Stat(b.Dir + "/.git/objects/info/alternates"); err == nil || b.HistoryMissing {
			t.Error("the copy points back")
		}
	})
	t.Run("partial clone", func(t *testing.T) {
		from := newRepo(t, map[string]string{"a": "1", ".gitignore": "*.o\n", "x/b": "1"})
		run(t, from, "config", "uploadpack.allowFilter", "true")
		write(t, from, map[string]string{"a": "2"})
		run(t, from, "commit", "-q", "-a", "-m", "two")
		top := filepath.Join(temp(t), "c")
		run(t, from, "clone", "-q", "--filter=blob:none", "file://"+from, top)
		write(t, top, map[string]string{"x.o": "1", "new": "1"})
		b := makeBase(t, Source{Root: top})
		if !b.HistoryMissing {
			t.Error("not said")
		}
		if got := run(t, b.Dir, "status", "--porcelain"); got != "" {
			t.Errorf("%q", got)
		}
		if got := run(t, b.Dir, "ls-files"); got != ".gitignore\na\nnew\nx/b" {
			t.Errorf("%q", got)
		}
		c := makeCopy(t, b)
		write(t, c.Dir, map[string]string{"a": "3", "y.o": "1"})
		wantChanges(t, c, "~a", "y.o ignored")
	})
	t.Run("sparse checkout", func(t *testing.T) {
		top := newRepo(t, map[string]string{"a": "1", "in/x": "1", "out/deep/y": "1"})
		run(t, top, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
		b := makeBase(t, Source{Root: top})
		wantHeld(t, b.Dir, "a", "in/", "in/x")
		if got := run(t, b.Dir, "status", "--porcelain"); got != "" || b.HistoryMissing {
			t.Errorf("%q %v", got, b.HistoryMissing)
		}
	})
	t.Run("submodules", func(t *testing.T) {
		inner := newRepo(t, map[string]string{"i": "1"})
		lib := newRepo(t, map[string]string{"lib.c": "1", ".gitignore": "*.o\n"})
		run(t, lib, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "in/ner")
		run(t, lib, "commit", "-q", "-m", "inner")
		top := newRepo(t, map[string]string{"a": "1"})
		run(t, top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "deps/lib")
		run(t, top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
		run(t, top, "commit", "-q", "-m", "lib")
		write(t, top, map[string]string{"deps/lib/lib.c": "2"})
		before := fingerprint(t, top)
		b := makeBase(t, Source{Root: top})
		c := makeCopy(t, b)
		for _, dir := range []string{b.Dir, c.Dir} {
			for _, sub := range []string{"", "/deps/lib", "/deps/lib/in/ner"} {
				if got, want := run(t, dir+sub, "rev-parse", "--show-toplevel"), dir+sub; got != want {
					t.Errorf("top of %s is %s", want, got)
				}
				if log(dir+sub) != log(top+sub) {
					t.Errorf("%q: other history", sub)
				}
				run(t, dir+sub, "fsck")
			}
			if got := run(t, dir, "status", "--porcelain"); got != "M deps/lib" {
				t.Errorf("%q", got)
			}
			if got := run(t, dir+"/deps/lib", "diff-files", "--name-only"); got != "lib.c" {
				t.Errorf("%q", got)
			}
		}
		write(t, c.Dir, map[string]string{"deps/lib/lib.c": "3", "deps/lib/new.c": "1", "deps/lib/x.o": "1", "deps/lib/in/ner/i": "2"})
		run(t, c.Dir+"/deps/lib", "commit", "-q", "-a", "-m", "by the agent")
		wantChanges(t, c, "~deps/lib/in/ner/i", "~deps/lib/lib.c", "+deps/lib/new.c", "deps/lib/x.o ignored")
		if fingerprint(t, top) != before {
			t.Error("the tree was touched")
		}
	})
}

// Objects are packed, or packs replaced, while they are copied.
func TestPrivateGitMoves(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		times int
		whole bool
	}{{"once", 1, true}, {"twice", 2, true}, {"always", 99, false}} {
		t.Run(test.name, func(t *testing.T) {
			top := newRepo(t, map[string]string{"a": "1"})
			run(t, top, "gc", "-q")
			write(t, top, map[string]string{"a": "2"})
			run(t, top, "commit", "-q", "-a", "-m", "two")
			m, err := newMaker(t.Context(), Source{Root: top})
			must(t, err)
			dst := temp(t)
			calls := 0
			g := privateGit{top: dst, between: func() {
				if calls++; calls <= test.times {
					write(t, top, map[string]string{"a": strings.Repeat("x", calls)})
					run(t, top, "commit", "-q", "-a", "-m", "more")
					run(t, top, "repack", "-q", "-a", "-d")
				}
			}}
			whole, err := g.make(t.Context(), m.repo)
			must(t, err)
			if whole != test.whole || calls != min(test.times+1, gitTries) {
				t.Errorf("whole %v after %d tries", whole, calls)
			}
			if whole {
				run(t, dst, "fsck", "--full")
			}
		})
	}
	t.Run("too large", func(t *testing.T) {
		top := newRepo(t, map[string]string{"a": "1"})
		m, err := newMaker(t.Context(), Source{Root: top})
		must(t, err)
		g := privateGit{top: temp(t), most: 10}
		if whole, err := g.make(t.Context(), m.repo); err != nil || whole {
			t.Error(whole, err)
		}
	})
	t.Run("an object is missing", func(t *testing.T) {
		top := newRepo(t, map[string]string{"a": "one", "b": "1"})
		id := run(t, top, "rev-parse", "HEAD:b")
		must(t, os.Remove(filepath.Join(top, ".git/objects", id[:2], id[2:])))
		b := makeBase(t, Source{Root: top})
		if !b.HistoryMissing {
			t.Error("a broken history came along")
		}
		run(t, b.Dir, "fsck", "--full")
	})
	t.Run("git gc meanwhile", func(t *testing.T) {
		top := newRepo(t, map[string]string{"a": "0"})
		stop, stopped := make(chan bool), make(chan bool)
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					_ = os.WriteFile(top+"/b", []byte(strings.Repeat("y", i)), 0o644)
					for _, args := range [][]string{{"add", "b"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "more"}, {"gc", "-q", "--prune=now"}} {
						_ = exec.CommandContext(t.Context(), "git", append([]string{"-C", top}, args...)...).Run()
					}
				}
			}
		}()
		defer func() { close(stop); <-stopped }()
		for range 5 {
			b := makeBase(t, Source{Root: top})
			run(t, b.Dir, "fsck", "--full")
		}
	})
}

// Filters of the person's configuration run neither when the base is made nor when a copy is.
func TestNoFilterRuns(t *testing.T) {
	home := t.TempDir()
	mark := filepath.Join(home, "ran")
	top := newRepo(t, map[string]string{"a.x": "1", ".gitattributes": "*.x filter=x\n"})
	write(t, home, map[string]string{
		".gitconfig":              "[filter \"x\"]\n\tclean = touch " + mark + " && cat\n\trequired = true\n[core]\n\tfsmonitor = touch " + mark + "\n\thooksPath = " + home + "/hooks\n",
		"hooks/post-index-change": "#!/bin/sh\ntouch " + mark + "\n",
	})
	must(t, os.Chmod(home+"/hooks/post-index-change", 0o755))
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home+"/.config")
	write(t, top, map[string]string{"a.x": "2"})
	b := makeBase(t, Source{Root: top})
	c := makeCopy(t, b)
	write(t, c.Dir, map[string]string{"a.x": "3"})
	wantChanges(t, c, "~a.x")
	if _, err := os.Stat(mark); err == nil {
		t.Error("something of the person's configuration was executed")
	}
	run(t, c.Dir, "hash-object", "a.x")
	if _, err := os.Stat(mark); err != nil {
		t.Error("the trap is no trap")
	}
}
