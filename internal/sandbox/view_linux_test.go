package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A place is a tree and a copy of it somewhere on the machine.
type place struct{ tree, copied, tmp string }

// newPlace makes one with its tree and copy below the folders given.
func newPlace(t *testing.T, treeTop, copyTop string) place {
	t.Helper()
	p := place{filepath.Join(treeTop, "proj"), filepath.Join(copyTop, "copy"), t.TempDir()}
	write(t, filepath.Join(p.tree, "file"), "the person's\n")
	write(t, filepath.Join(p.tree, "sub", "deep"), "the person's\n")
	write(t, filepath.Join(p.copied, "file"), "the copy's\n")
	write(t, filepath.Join(p.copied, "sub", "deep"), "the copy's\n")
	return p
}

func (p place) box() Box { return Box{Tier: View, Tree: p.tree, Copy: p.copied, Tmp: p.tmp} }

// elsewhere returns a fresh folder that is not below /tmp.
func elsewhere(t *testing.T) string {
	t.Helper()
	for _, base := range []string{"/var/tmp", "/root", "/dev/shm"} {
		if dir, err := os.MkdirTemp(base, "async-pipeline-test-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		}
	}
	t.Skip("no folder outside of /tmp can be made")
	return ""
}

func mountTable(t *testing.T) string {
	t.Helper()
	return read(t, "/proc/self/mountinfo")
}

func TestViewShowsTheCopyAtTheTree(t *testing.T) {
	t.Parallel()
	needTier(t, View)
	before := mountTable(t)
	for name, where := range map[string]func(*testing.T) place{
		"tree and copy under /tmp": func(t *testing.T) place { return newPlace(t, t.TempDir(), t.TempDir()) },
		"tree elsewhere":           func(t *testing.T) place { return newPlace(t, elsewhere(t), t.TempDir()) },
		"copy elsewhere":           func(t *testing.T) place { return newPlace(t, t.TempDir(), elsewhere(t)) },
		"both elsewhere":           func(t *testing.T) place { return newPlace(t, elsewhere(t), elsewhere(t)) },
		"side by side": func(t *testing.T) place {
			dir := t.TempDir()
			p := newPlace(t, dir, dir)
			p.tmp = filepath.Join(dir, "tmp")
			return p
		},
		"copy inside the private tmp": func(t *testing.T) place {
			dir := t.TempDir()
			p := newPlace(t, t.TempDir(), dir)
			p.tmp = dir
			return p
		},
		"a copy below the tree": func(t *testing.T) place {
			dir := elsewhere(t)
			return newPlace(t, dir, filepath.Join(dir, "proj", ".async"))
		},
		"tree through a symlink": func(t *testing.T) place {
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
			must(t, os.Symlink("real", filepath.Join(dir, "link")))
			return newPlace(t, filepath.Join(dir, "link"), t.TempDir())
		},
		"tree through a symlink elsewhere": func(t *testing.T) place {
			dir := elsewhere(t)
			must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
			must(t, os.Symlink(filepath.Join(dir, "real"), filepath.Join(dir, "link")))
			return newPlace(t, filepath.Join(dir, "link"), elsewhere(t))
		},
	} {
		t.Run("H04 "+name, func(t *testing.T) {
			t.Parallel()
			p := where(t)
			must(t, os.MkdirAll(p.tmp, 0o755))
			real := Resolved(p.tree)
			script := `set -e
cat "$1/file" "$2/file" ../file deep
pwd; echo "$PWD"
echo new > "$1/written"; rm "$1/file"; cat /proc/self/mountinfo > "$TMPDIR/mounts"
echo x > /tmp/y; ls "$TMPDIR"/y
for p in /proc/[0-9]*/root /proc/[0-9]*/cwd; do cat "$p$1/sub/deep" "$p$2/sub/deep" || :; done 2>/dev/null | sort -u`
			out, res := outputOf(t, p.box(), Command{
				Argv: []string{"sh", "-c", script, "sh", p.tree, real},
				Dir:  filepath.Join(p.tree, "sub"), Env: testEnv,
			})
			sub := filepath.Join(p.tree, "sub")
			want := strings.Repeat("the copy's\n", 4) + sub + "\n" + sub + "\n" + p.tmp + "/y\nthe copy's\n"
			if res.ExitCode != 0 || out != want {
				t.Errorf("exit code %d, output\n%s\nwant\n%s", res.ExitCode, out, want)
			}
			if got := read(t, filepath.Join(p.tree, "file")); got != "the person's\n" {
				t.Errorf("the tree's file is %q", got)
			}
			if _, err := os.Stat(filepath.Join(p.tree, "written")); err == nil {
				t.Error("the command wrote the tree")
			}
			if got := read(t, filepath.Join(p.copied, "written")); got != "new\n" {
				t.Errorf("the copy's file is %q", got)
			}
			if _, err := os.Stat(filepath.Join(p.tmp, "y")); err != nil {
				t.Errorf("what was written to /tmp: %v", err)
			}
			if _, err := os.Stat("/tmp/y"); err == nil {
				t.Error("the command wrote the machine's /tmp")
			}
		})
	}
	t.Cleanup(func() {
		if after := mountTable(t); after != before {
			t.Errorf("mounts leaked:\n%s\nbefore\n%s", after, before)
		}
	})
}

func TestViewRefusesWritingOutside(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the kernel refuses does not depend on the race detector")
	}
	needTier(t, View)
	for name, script := range writers {
		t.Run("H04 "+name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, elsewhere(t), t.TempDir())
			outside := elsewhere(t)
			write(t, filepath.Join(outside, "file"), "outside\n")
			out, res := outputOf(t, p.box(), Command{Argv: []string{"sh", "-c", script, "sh", outside, p.tree}, Dir: p.tree, Env: testEnv})
			if res.ExitCode == 0 && name != "through dotdot" { // from the copy, .. is the tree's parent: another folder
				t.Errorf("it worked: %s", out)
			}
			if got := read(t, filepath.Join(outside, "file")); got != "outside\n" {
				t.Errorf("the file outside is %q", got)
			}
			if names, _ := os.ReadDir(outside); len(names) != 1 {
				t.Errorf("the folder outside holds %v", names)
			}
			if got := read(t, filepath.Join(p.tree, "file")); got != "the person's\n" {
				t.Errorf("the tree's file is %q", got)
			}
		})
	}
}

// TestViewKeepsWhatIsNeeded puts everything a box names under /tmp, which the view hides.
func TestViewKeepsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the kernel refuses does not depend on the race detector")
	}
	needTier(t, View)
	top := t.TempDir()
	dir := func(names ...string) string {
		d := filepath.Join(append([]string{top}, names...)...)
		must(t, os.MkdirAll(d, 0o755))
		return d
	}
	p := newPlace(t, dir("projects"), dir("copies"))
	home, cache, data, tools := dir("home"), dir("cache"), dir("data"), dir("go", "bin")
	write(t, filepath.Join(home, "conf"), "home\n")
	write(t, filepath.Join(cache, "f"), "cache\n")
	write(t, filepath.Join(data, "f"), "data\n")
	write(t, filepath.Join(tools, "tool"), "#!/bin/sh\ncat \"${0%/bin/tool}/lib/f\"\n")
	write(t, filepath.Join(dir("go", "lib"), "f"), "lib\n")
	write(t, filepath.Join(dir("hidden"), "f"), "hidden\n")
	write(t, filepath.Join(dir("argv"), "f"), "argv\n")
	write(t, filepath.Join(dir("projects", "neighbour"), "f"), "neighbour\n")
	modules := filepath.Join(p.tree, "node_modules")
	write(t, filepath.Join(modules, "m"), "module\n")
	out := filepath.Join(p.tree, "out")
	write(t, filepath.Join(out, "o"), "output\n")
	link := filepath.Join(dir("links"), "proj")
	must(t, os.Symlink(p.tree, link))
	must(t, os.Chmod(filepath.Join(tools, "tool"), 0o755))
	b := p.box()
	b.Home, b.Write, b.Read = home, []string{cache, out}, []string{data, modules, filepath.Join(top, "not-there"), link}
	env := []string{"PATH=/usr/bin:/bin:" + tools}

	for _, tt := range []struct {
		script, want string
		code         int
	}{
		{`cat ~/conf`, "home\n", 0},
		{`echo x > ~/conf`, "", 2},
		{`rm -f ~/conf 2>/dev/null`, "", 1},
		{`cat "$CACHE/f"; echo x > "$CACHE/g"`, "cache\n", 0},
		{`cat "$DATA/f"`, "data\n", 0},
		{`echo x > "$DATA/f"`, "", 2},
		{`tool`, "lib\n", 0},
		{`cat "$TOP/hidden/f" 2>/dev/null`, "", 1},
		{`cat "$1"`, "argv\n", 0},
		{`cat "$2/f"`, "neighbour\n", 0},
		{`cat "$TREE/node_modules/m"`, "module\n", 0},
		{`echo x > "$TREE/node_modules/m"`, "", 2},
		{`cat "$TREE/out/o"; echo x > "$TREE/out/p"`, "output\n", 0},
		{`cat "$LINK/file"`, "the copy's\n", 0},
		{`cat "$3/proj/file" "$3/proj/sub/deep"`, "the copy's\nthe copy's\n", 0},
	} {
		t.Run(tt.script, func(t *testing.T) {
			c := Command{
				Argv: []string{"sh", "-c", tt.script, "sh", filepath.Join(top, "argv", "f"), filepath.Join(top, "projects", "neighbour"), filepath.Join(top, "projects")},
				Dir:  p.tree,
				Env:  append(env, "TOP="+top, "CACHE="+cache, "DATA="+data, "TREE="+p.tree, "LINK="+link),
			}
			var out, errs bytes.Buffer
			c.Stdout, c.Stderr = &out, &errs
			res, err := b.Run(t.Context(), c)
			if err != nil || res.ExitCode != tt.code || out.String() != tt.want {
				t.Errorf("%v, exit code %d, %q, %q; want %d, %q", err, res.ExitCode, &out, &errs, tt.code, tt.want)
			}
		})
	}
	if read(t, filepath.Join(home, "conf")) != "home\n" || read(t, filepath.Join(data, "f")) != "data\n" || read(t, filepath.Join(modules, "m")) != "module\n" {
		t.Error("what may only be read was written")
	}
	if read(t, filepath.Join(cache, "g")) != "x\n" || read(t, filepath.Join(out, "p")) != "x\n" {
		t.Error("what may be written was not")
	}
}

// TestViewFollowsNoPlantedSymlink lets a first command put symlinks where the next one's mounts must stand.
func TestViewFollowsNoPlantedSymlink(t *testing.T) {
	t.Parallel()
	needTier(t, View)
	tree, err := os.MkdirTemp("/tmp", "async-pipeline-test-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(tree) })
	p := newPlace(t, tree, t.TempDir())
	victim := elsewhere(t)
	top := strings.Split(strings.TrimPrefix(p.tree, "/tmp/"), "/")[0]
	must(t, os.Symlink(victim, filepath.Join(p.tmp, top)))
	_, err = p.box().Run(t.Context(), Command{Argv: []string{"true"}, Dir: p.tree, Env: testEnv})
	if err == nil || !strings.Contains(err.Error(), "a symlink stands in the way") {
		t.Errorf("error %v", err)
	}
	if names, _ := os.ReadDir(victim); len(names) != 0 {
		t.Errorf("%v was made behind the symlink", names)
	}
}

func TestViewOfWhatCannotBe(t *testing.T) {
	t.Parallel()
	needTier(t, View)
	b := Box{Tier: View, Tree: "/", Copy: t.TempDir(), Tmp: t.TempDir()}
	if _, err := b.Run(t.Context(), sh("true")); err == nil || !strings.Contains(err.Error(), "ask for tier fence") {
		t.Errorf("error %v", err)
	}
}

func TestViewOverOtherMounts(t *testing.T) {
	t.Parallel()
	needTier(t, View)
	// A tree on a mount of its own, with the machine's /dev/shm as the only one that is surely there.
	dir, err := os.MkdirTemp("/dev/shm", "async-pipeline-test-")
	if err != nil {
		t.Skip("no /dev/shm")
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := newPlace(t, dir, t.TempDir())
	out, res := outputOf(t, p.box(), Command{Argv: []string{"cat", p.tree + "/file"}, Dir: p.tree, Env: testEnv})
	if out != "the copy's\n" || res.ExitCode != 0 {
		t.Errorf("%q %+v", out, res)
	}
}

func TestAt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	must(t, os.Symlink("real", filepath.Join(dir, "link")))
	link, real := filepath.Join(dir, "link"), filepath.Join(dir, "real")
	for _, tt := range []struct {
		name       string
		box        Box
		path, want string
	}{
		{"view", Box{Tier: View, Tree: "/t", Copy: "/c"}, "/t/a", "/t/a"},
		{"fence", Box{Tier: Fence, Tree: "/t", Copy: "/c"}, "/t/a/b", "/c/a/b"},
		{"none", Box{Tier: None, Tree: "/t", Copy: "/c"}, "/t", "/c"},
		{"no copy", Box{Tier: None}, "/t/a", "/t/a"},
		{"outside", Box{Tier: Fence, Tree: "/t", Copy: "/c"}, "/tt/a", "/tt/a"},
		{"above", Box{Tier: Fence, Tree: "/t/u", Copy: "/c"}, "/t", "/t"},
		{"symlink, as given", Box{Tier: Fence, Tree: link, Copy: "/c"}, link + "/a", "/c/a"},
		{"symlink, real", Box{Tier: Fence, Tree: link, Copy: "/c"}, real + "/a", "/c/a"},
	} {
		if got := tt.box.At(tt.path); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// BenchmarkTrue is the price of each tier.
func BenchmarkTrue(b *testing.B) {
	for _, tier := range Tiers() {
		b.Run(string(tier), func(b *testing.B) {
			dir := b.TempDir()
			box := Box{Tier: tier, Copy: dir, Tmp: b.TempDir()}
			for b.Loop() {
				if _, err := box.Run(b.Context(), Command{Argv: []string{"/bin/true"}, Dir: dir, Timeout: time.Minute}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
