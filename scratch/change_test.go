package scratch

import (
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

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

func project(t *testing.T) (string, *Base) {
	t.Helper()
	top := newRepo(t, map[string]string{
		".gitignore": "*.o\nnode_modules/\nout/\n", "a": "1\n", "b": "1\n", "bin.dat": "\x00\x01\x02", "run.sh": "#!/bin/sh\n", "dir/c": "1\n", "dir/d": "1\n", "forced.o": "1", "tracked.pem": "1",
	}, "-q")
	run(t, top, "add", "-f", "forced.o")
	run(t, top, "commit", "-q", "-m", "two")
	write(t, top, map[string]string{"node_modules/p/i.js": "1", "node_modules/p/j.js": "1", "untracked": "1\n", "b": "dirty\n", "nested/n": "1\n", ".env": "OLD=1"})
	run(t, top+"/nested", "init", "-q")
	must(t, os.Symlink("a", top+"/link"))
	return top, makeBase(t, Source{Root: top})
}

func TestChanges(t *testing.T) {
	t.Parallel()
	top, b := project(t)
	before := fingerprint(t, top)
	poison := func(t *testing.T, dir, mark string) {
		write(t, dir, map[string]string{"evil": "#!/bin/sh\ntouch " + mark + "\ncat\n", ".git/info/attributes": "* filter=x diff=x\n", ".git/info/exclude": "*\n", ".git/hooks/post-index-change": "#!/bin/sh\ntouch " + mark + "\n"})
		must(t, os.Chmod(dir+"/evil", 0o755), os.Chmod(dir+"/.git/hooks/post-index-change", 0o755))
		for k, v := range map[string]string{
			"core.fsmonitor": "EVIL", "filter.x.clean": "EVIL", "filter.x.process": "EVIL", "filter.x.required": "true", "diff.x.textconv": "EVIL", "diff.external": "EVIL",
			"core.hooksPath": dir + "/.git/hooks", "core.excludesFile": dir + "/evil", "core.worktree": "/", "core.pager": "EVIL", "core.sshCommand": "EVIL",
		} {
			run(t, dir, "config", "--file", dir+"/.git/config", k, strings.ReplaceAll(v, "EVIL", dir+"/evil"))
		}
	}
	for _, test := range []struct {
		name string
		do   func(t *testing.T, dir string)
		want []string
	}{
		{"G60 nothing", func(t *testing.T, dir string) {
			now := time.Now().Add(time.Second)
			must(t, os.Chtimes(dir+"/a", now, now), os.Mkdir(dir+"/newdir", 0o755), os.Chmod(dir+"/b", 0o600))
		}, nil},
		{"G61 edit only", func(t *testing.T, dir string) { write(t, dir, map[string]string{"a": "2\n"}) }, []string{"~a"}},
		{"G62 untracked text, binary and empty", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"t": "x\n", "x.bin": "\x00\xff", "new/empty": ""})
		}, []string{"+new/empty", "+t", "+x.bin"}},
		{"G64 delete, mode, symlink", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir+"/dir"), os.Chmod(dir+"/run.sh", 0o755), os.Remove(dir+"/link"), os.Symlink("b", dir+"/link"), os.Symlink("/etc/passwd", dir+"/out2"))
		}, []string{"-dir/c", "-dir/d", "~link", "+out2", "~run.sh"}},
		{"same size, times put back", func(t *testing.T, dir string) {
			info, err := os.Stat(dir + "/a")
			must(t, err)
			write(t, dir, map[string]string{"a": "9\n"})
			must(t, os.Chtimes(dir+"/a", info.ModTime(), info.ModTime()))
		}, []string{"~a"}},
		{"types change", func(t *testing.T, dir string) {
			must(t, os.Remove(dir+"/a"), os.RemoveAll(dir+"/dir"), os.Symlink("nested", dir+"/dir"), os.Remove(dir+"/link"))
			write(t, dir, map[string]string{"a/in": "1", "link": "a file"})
		}, []string{"-a", "+a/in", "+dir", "-dir/c", "-dir/d", "~link"}},
		{"G65 ignored files", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"x.o": "1", "out/deep/1": "1", "out/2": "1", "node_modules/p/i.js": "2", "node_modules/new": "1", "dir/y.o": "1", "a": "2\n", "target/z.o": "1", "mixed/z.o": "1", "mixed/z": "1"})
			must(t, os.Remove(dir+"/node_modules/p/j.js"))
		}, []string{"~a", "+mixed/z", "dir/y.o ignored", "mixed/z.o ignored", "node_modules/new ignored", "node_modules/p/i.js ignored", "node_modules/p/j.js ignored", "out/ ignored", "target/ ignored", "x.o ignored"}},
		{"G65 many ignored files", func(t *testing.T, dir string) {
			for i := range 50 {
				write(t, dir, map[string]string{fmt.Sprintf("node_modules/q/%d", i): "1"})
			}
		}, []string{"node_modules/ ignored"}},
		{"G65 the agent's own rules do not count", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{".gitignore": "*\n", "new": "1", "dir/.gitignore": "!*.o\n", "dir/z.o": "1", "forced.o": "2"})
		}, []string{"~.gitignore", "+dir/.gitignore", "~forced.o", "+new", "dir/z.o ignored"}},
		{"our own folder", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{".async/runs/x": "1", "dir/.async/x": "1", "new/.async/x": "1", "new/f": "1"})
			must(t, os.WriteFile(dir+"/nested/.async", nil, 0o600))
		}, []string{"+new/f", "dir/.async/ special", "nested/.async special", "new/.async/ special"}},
		{"G66 nested repositories", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"nested/n": "2\n", "nested/m": "1\n", "made/x": "1\n", "made/deep/y": "1\n"})
			run(t, dir+"/made", "init", "-q")
			run(t, dir+"/made", "add", "-A")
			run(t, dir+"/made", "commit", "-q", "-m", "x")
			write(t, dir, map[string]string{"made/z": "1\n", "gitfile/.git": "gitdir: /etc\n", "gitfile/f": "1"})
			run(t, dir+"/nested", "init", "-q")
		}, []string{"+gitfile/f", "+made/deep/y", "+made/x", "+made/z", "+nested/m", "~nested/n", "gitfile/.git special", "made/.git/ special", "nested/.git/ special"}},
		{"G66 what looks like git's own", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{".GIT/hooks/x": "1", "dir/.Git/config": "1", "dir/.GIT": "1", ".git/hooks/x": "1"})
		}, []string{".GIT/ special", "dir/.GIT special", "dir/.Git/ special"}},
		{"G69 poisoned .git", func(t *testing.T, dir string) {
			mark := filepath.Join(filepath.Dir(dir), "mark-"+filepath.Base(dir))
			poison(t, dir, mark)
			write(t, dir, map[string]string{"a": "2\n"})
			t.Cleanup(func() {
				if _, err := os.Stat(mark); err == nil {
					t.Error("something the agent configured was executed")
				}
			})
		}, []string{"~a", "+evil"}},
		{"G70 commit", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"a": "2\n", "new": "1"})
			run(t, dir, "add", "-A")
			run(t, dir, "commit", "-q", "-m", "x")
		}, []string{"~a", "+new"}},
		{"G70 reset and checkout", func(t *testing.T, dir string) {
			run(t, dir, "checkout", "-q", "-b", "other")
			run(t, dir, "reset", "-q", "--hard")
			run(t, dir, "clean", "-fdq")
		}, []string{"~b", "-link", "-nested/n", "-untracked", ".env secret"}},
		{"G70 .git deleted", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir+"/.git"))
			write(t, dir, map[string]string{"a": "2\n", "n.o": "1"})
		}, []string{"~a", "n.o ignored"}},
		{"G70 .git is a file", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir+"/.git"))
			write(t, dir, map[string]string{"a": "2\n", ".git": "gitdir: " + top + "/.git\n"})
		}, []string{"~a"}},
		{"G72 hostile names", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{" sp": "1", "q\"'": "1", "ü": "1", "-rf": "1", "new\nline": "1", ":(glob)*": "1", "new\nline.o": "1", "\xff\xfe": "1", "*": "1", "!x": "1", "#y": "1"})
		}, []string{"+ sp", "+!x", "+#y", "+*", "+-rf", "+:(glob)*", "+new\nline", "+q\"'", "+ü", "+\xff\xfe", "new\nline.o ignored"}},
		{"G76 50 MiB binary", func(t *testing.T, dir string) {
			must(t, os.WriteFile(dir+"/huge", nil, 0o644), os.Truncate(dir+"/huge", 50<<20), os.WriteFile(dir+"/a", []byte("2\n"), 0o644), os.Truncate(dir+"/b", MaxFile+1), os.Truncate(dir+"/untracked", MaxFile))
		}, []string{"~a", "~untracked", "b oversize", "huge oversize"}},
		{"G76 many large files", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"a": "2\n", "zz": "1"})
			for i := range 5 {
				name := fmt.Sprintf("%s/big%d", dir, i)
				must(t, os.WriteFile(name, nil, 0o644), os.Truncate(name, MaxChanges/4))
			}
		}, []string{"~a", "+big0", "+big1", "+big2", "+zz", "big3 oversize", "big4 oversize"}},
		{"G78 fifo and socket", func(t *testing.T, dir string) {
			must(t, unix.Mkfifo(dir+"/pipe", 0o600), os.Remove(dir+"/b"), unix.Mkfifo(dir+"/b", 0o600))
			s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			must(t, err)
			must(t, unix.Mknod(dir+"/dir/sock", unix.S_IFSOCK|0o600, 0), unix.Close(s))
			write(t, dir, map[string]string{"a": "2\n"})
		}, []string{"~a", "b special", "dir/sock special", "pipe special"}},
		{"secrets", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{".env": "NEW=1", "dir/.env.local": "1", "id_rsa": "1", "server.KEY": "1", "x.pem": "1", "tracked.pem": "2", "envelope": "1"})
		}, []string{"+envelope", "~tracked.pem", ".env secret", "dir/.env.local secret", "id_rsa secret", "server.KEY secret", "x.pem secret"}},
		{"closed folder and file", func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"dir/c": "2\n", "a": "2\n"})
			must(t, os.Chmod(dir+"/a", 0), os.Chmod(dir+"/dir", 0))
		}, []string{"~a", "~dir/c"}},
		{"a folder became a link out", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir+"/dir"), os.Symlink(top+"/dir", dir+"/dir"))
		}, []string{"+dir", "-dir/c", "-dir/d"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := makeCopy(t, b)
			test.do(t, c.Dir)
			wantChanges(t, c, test.want...)
			must(t, c.Close())
			if _, err := os.Lstat(c.Dir); !errors.Is(err, fs.ErrNotExist) {
				t.Error("the copy is still there")
			}
		})
	}
	if fingerprint(t, top) != before {
		t.Error("the tree was touched")
	}
}

func TestChangesContent(t *testing.T) {
	t.Parallel()
	_, b := project(t)
	c := makeCopy(t, b)
	write(t, c.Dir, map[string]string{"b": "2\n"})
	must(t, os.Chmod(c.Dir+"/run.sh", 0o755), os.Remove(c.Dir+"/link"), os.Symlink("dir", c.Dir+"/link"))
	changes, _, err := c.Changes(t.Context())
	must(t, err)
	if len(changes) != 3 || string(changes[0].Before.Data) != "dirty\n" || string(changes[0].After.Data) != "2\n" ||
		string(changes[1].After.Data) != "dir" || changes[1].After.Mode.Type() != fs.ModeSymlink ||
		changes[2].Before.Mode&0o100 != 0 || changes[2].After.Mode&0o100 == 0 {
		t.Errorf("%+v", changes)
	}
}

// An excluded path stood in the tree, perhaps: what an agent puts there is not new.
func TestChangesExcluded(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{"a": "1", "left/x": "1"})
	b := makeBase(t, Source{Root: top, Exclude: []string{"left"}})
	c := makeCopy(t, b)
	write(t, c.Dir, map[string]string{"left/x": "2", "a": "2"})
	wantChanges(t, c, "~a", "left/ excluded")
}

// A virtual environment ignores itself by a .gitignore of its own; a vendor folder is tracked but for some files.
func TestChangesTaken(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{".gitignore": "*.o\n", "a": "1", "vendor/x/x.go": "1"})
	write(t, top, map[string]string{".venv/.gitignore": "*\n", ".venv/bin/python": "1", "vendor/x/x.o": "1"})
	b := makeBase(t, Source{Root: top})
	if !slices.Equal(b.Taken, []string{".venv", "vendor"}) {
		t.Errorf("taken %q", b.Taken)
	}
	c := makeCopy(t, b)
	write(t, c.Dir, map[string]string{".venv/bin/new": "1", ".venv/.gitignore": "", "vendor/x/y.go": "1", "vendor/x/y.o": "1"})
	wantChanges(t, c, "+vendor/x/y.go", ".venv/.gitignore ignored", ".venv/bin/new ignored", "vendor/x/y.o ignored")
}

func TestPut(t *testing.T) {
	t.Parallel()
	_, b := project(t)
	c := makeCopy(t, b)
	outside := temp(t)
	write(t, outside, map[string]string{"x": "mine"})
	must(t, os.Chmod(c.Dir+"/run.sh", 0o500), os.Chmod(c.Dir+"/nested", 0o500))
	file := func(mode fs.FileMode, text string) *patch.File { return &patch.File{Mode: mode, Data: []byte(text)} }
	must(t, c.Put([]patch.Change{
		{Path: "a/in/deep", After: file(0o644, "1")},
		{Path: "a", Before: file(0o644, "1\n")},
		{Path: "b", After: file(0o755, "2\n")},
		{Path: "dir/c"},
		{Path: "dir/d"},
		{Path: "gone/already"},
		{Path: "link", After: file(0o644, "file now")},
		{Path: "nested/n", After: file(0o644, "2")},
		{Path: "run.sh", After: file(0o644, "x")},
		{Path: "sym", After: file(fs.ModeSymlink|0o777, "/etc/passwd")},
	}))
	wantChanges(t, c, "-a", "+a/in/deep", "~b", "-dir/c", "-dir/d", "~link", "~nested/n", "~run.sh", "+sym")
	if _, err := os.Lstat(c.Dir + "/dir"); err == nil {
		t.Error("an emptied folder stayed, unlike after git apply")
	}
	if info, err := os.Stat(c.Dir + "/b"); err != nil || info.Mode()&0o100 == 0 {
		t.Error(info.Mode(), err)
	}
	must(t, os.Symlink(outside, c.Dir+"/way"), os.Symlink(outside+"/x", c.Dir+"/final"), os.Symlink("nested", c.Dir+"/inner"))
	for _, p := range []string{"../x", "/etc/x", "a/../../x", ".git/config", "sub/.git/x", ".async/x", "sub/.GIT/hooks", ".", "", "a//b"} {
		if err := c.Put([]patch.Change{{Path: p, After: file(0o644, "x")}}); !errors.Is(err, patch.ErrUnsafePath) {
			t.Errorf("%q: %v", p, err)
		}
		if _, err := b.Read(p); !errors.Is(err, patch.ErrUnsafePath) {
			t.Errorf("read %q: %v", p, err)
		}
	}
	for _, p := range []string{"way/x", "inner/n"} {
		if err := c.Put([]patch.Change{{Path: p, After: file(0o644, "x")}}); err == nil {
			t.Errorf("%s was followed", p)
		}
		must(t, c.Put([]patch.Change{{Path: p}}))
	}
	if err := c.Put([]patch.Change{{Path: "nested", After: file(0o644, "x")}}); err == nil {
		t.Error("a folder with files was replaced")
	}
	must(t, c.Put([]patch.Change{{Path: "final", After: file(0o644, "x")}}))
	if got, err := os.ReadFile(outside + "/x"); err != nil || string(got) != "mine" {
		t.Error("written outside of the copy")
	}
	if got, err := os.ReadFile(c.Dir + "/nested/n"); err != nil || string(got) != "2" {
		t.Error("removed through a symlink", err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	_, b := project(t)
	for p, want := range map[string]string{"a": "1\n", "b": "dirty\n", "link": "a", "node_modules/p/i.js": "1"} {
		if f, err := b.Read(p); err != nil || f == nil || string(f.Data) != want {
			t.Errorf("%s: %v %v", p, f, err)
		}
	}
	for _, p := range []string{"none", "dir", "link/x", "a/x", "no/way"} {
		if f, err := b.Read(p); err != nil || f != nil {
			t.Errorf("%s: %v %v", p, f, err)
		}
	}
}

func TestPointsBack(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{".gitignore": "*venv\nnode_modules\n", "src/a": "1"})
	write(t, top, map[string]string{
		".venv/pyvenv.cfg": "home = /usr/bin\ncommand = /usr/bin/python3 -m venv " + top + "/.venv\n", "venv/pyvenv.cfg": "home = " + top + "/python/bin\n", "node_modules/build/CMakeCache.txt": "CMAKE_HOME_DIRECTORY:INTERNAL=" + top + "\n",
		"node_modules/.bin/shim": "#!/bin/sh\nif true; then\n  export NODE_PATH=\"" + top + "/node_modules/.pnpm/node_modules\"\nfi\nexec node \"$basedir/../x.js\"\n", ".venv/bin/tool": "#!" + top + "/.venv/bin/python\n", ".venv/bin/plain": "#!/usr/bin/python3\n", ".venv/bin/other": "#!" + top + "-other/bin/python\n",
		".venv/lib/site-packages/x.pth": top + "/src\n", ".venv/lib/site-packages/__editable___x.py": "MAPPING = {'x': '" + top + "'}\n",
		".venv/lib/site-packages/x.dist-info/direct_url.json": `{"url": "file://` + top + `"}`, ".venv/lib/site-packages/x.egg-link": "/elsewhere\n",
		".venv/lib/site-packages/doc.txt": top + "/src", "node_modules/.bin/run": "#!/bin/sh\nexec " + top + "/node_modules/x\n",
	})
	must(t, os.Symlink(top+"/src", top+"/node_modules/ws"), os.Symlink("../src", top+"/node_modules/rel"), os.Symlink("/usr/bin/python3", top+"/.venv/bin/python"), os.Symlink(top+"x", top+"/near"), os.Symlink(top, top+"/all"))
	spelled := filepath.Join(temp(t), "spelled")
	must(t, os.Symlink(top, spelled))
	write(t, top, map[string]string{"node_modules/.bin/two": spelled + "/src\n"})
	b := makeBase(t, Source{Root: spelled})
	want := []string{".venv/bin/tool", ".venv/lib/site-packages/__editable___x.py", ".venv/lib/site-packages/x.dist-info/direct_url.json", ".venv/lib/site-packages/x.pth", "all", "node_modules/.bin/run", "node_modules/.bin/two", "node_modules/build/CMakeCache.txt", "node_modules/ws", "venv/pyvenv.cfg"}
	if !slices.Equal(b.PointsBack, want) {
		t.Errorf("%q", b.PointsBack)
	}
}

// An agent may leave a folder that can be listed and not searched: then what is in it looks gone.
func TestChangesInUnsearchableFolders(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		asNobody(t, "TestChangesInUnsearchableFolders")
		return
	}
	b := makeBase(t, Source{Root: newRepo(t, map[string]string{"dir/a": "1\n", "dir/sub/b": "1\n", "dir/sub/c": "1\n", "same/d": "1\n"})})
	c := makeCopy(t, b)
	write(t, c.Dir, map[string]string{"dir/a": "2\n", "dir/new": "2\n", "dir/sub/b": "2\n"})
	must(t, os.Chmod(c.Dir+"/dir/sub", 0o400), os.Chmod(c.Dir+"/dir", 0o600), os.Chmod(c.Dir+"/same", 0o600))
	if _, err := c.ChangesNow(t.Context()); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(c.Dir + "/same"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("ChangesNow, beside processes, changed a mode: %v, %v", info, err)
	}
	wantChanges(t, c, "~dir/a", "+dir/new", "~dir/sub/b")
	must(t, c.Close())
}
