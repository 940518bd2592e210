package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// inSub is a copy whose working directory is the folder sub of it. Commands see it as /project/sub.
func inSub(t *testing.T, files map[string]string) *Toolset {
	t.Helper()
	return workIn(t, files, func(r *agent.Request) {
		check(t, os.MkdirAll(filepath.Join(r.Top, "sub"), 0o755))
		r.Copy, r.Dir = filepath.Join(r.Top, "sub"), "/project/sub"
	})
}

func TestPaths(t *testing.T) {
	t.Parallel()
	w := inSub(t, map[string]string{"top.txt": "top\n", "sub/a.txt": "a\n", "sub/b/c.txt": "c\n", "..dots": "dots\n"})
	top := w.top
	for _, c := range []struct{ path, want, at string }{
		{"a.txt", "a\n", "sub/a.txt"},
		{"./a.txt", "a\n", "sub/a.txt"},
		{"b/../a.txt", "a\n", "sub/a.txt"},
		{"b//c.txt", "c\n", "sub/b/c.txt"},
		{"../top.txt", "top\n", "top.txt"},
		{"../..dots", "dots\n", "..dots"},
		{"/project/sub/a.txt", "a\n", "sub/a.txt"},
		{"/project/top.txt", "top\n", "top.txt"},
		{top + "/sub/b/c.txt", "c\n", "sub/b/c.txt"},
		{top + "/top.txt", "top\n", "top.txt"},
	} {
		got := w.do(t, "read", o{"path": c.path}, "ok", c.want)
		if got.Path != c.at {
			t.Errorf("%s: it is said to be %q, want %q", c.path, got.Path, c.at)
		}
	}
	for path, want := range map[string]string{
		"../../x": "outside of the copy", "/etc/passwd": "outside of the copy", "/projects/a": "outside of the copy", "/project/../etc/passwd": "outside of the copy",
		top + "/../x": "outside of the copy", "": "empty", " ": "empty", "\t\n": "empty", "\u00a0": "empty", "a\x00b": "NUL", strings.Repeat("a/", 3000): "longer", "nothing": "no such file", "a.txt/x": "a.txt",
	} {
		w.do(t, "read", o{"path": path}, "no", want)
		w.do(t, "delete", o{"path": path}, "no")
		w.do(t, "list", o{"path": path + "/"}, "no")
	}
	w.do(t, "list", o{"path": ".."}, "ok", "..dots\n", "sub/\n", "top.txt\n")
	w.do(t, "list", o{"path": "/project"}, "ok", "sub/\n")
	w.do(t, "search", o{"pattern": "top", "path": ".."}, "ok", "../top.txt:1:top")
	w.do(t, "write", o{"path": "../new", "content": "x\n"}, "ok", "../new: created")
	if w.content(t, "new") != "x\n" || w.paths[0] != "new" {
		t.Errorf("wrote %q", w.paths)
	}
}

// B10: nothing outside of the copy is written, nor what is git's or ours, by whatever name.
func TestB10NotWritten(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	put(t, filepath.Join(outside, "secret"), "secret\n")
	w := workIn(t, map[string]string{".git/config": "c\n", "sub/.git": "gitdir: x\n", ".async/runs/x": "r\n", "f": "f\n", "mod/.GIT/config": "c\n"})
	top := w.top
	for name, to := range map[string]string{
		"out": outside, "rel": "../../../../../../.." + outside, "file": filepath.Join(outside, "secret"), "git": ".git", "abs": top + "/.git", "seen": "/project/.git",
		"loop": "loop", "chain": "git", "ok": "f", "up": "mod/../../x",
	} {
		check(t, os.Symlink(to, filepath.Join(top, name)))
	}
	for _, path := range []string{
		"../x", "/etc/x", outside + "/x", "out/x", "out/secret", "rel/secret", "file", "loop", "loop/x", "up/y",
		".git/x", ".git/config", ".GIT/hooks/post-checkout", "sub/.git", "sub/.git/x", ".git", "a/b/.git/c", "mod/.GIT/config", ".async/x", ".Async/x", "x/.async/y",
		"git/config", "git/new", "abs/config", "seen/config", "chain/config", ".g\u200cit/config", ".git./config", ".git::$INDEX_ALLOCATION/x", "git~1/config", ".", "", "  ", "f/../.git/x",
	} {
		for _, name := range []string{"write", "edit", "delete"} {
			args := o{"path": path}
			switch name {
			case "write":
				args["content"] = "bad\n"
			case "edit":
				args["old"], args["new"] = "c", "bad"
			case "delete":
				if path == "file" || path == "loop" || path == "chain" { // links themselves may go; they are tried at the end
					continue
				}
			}
			w.do(t, name, args, "no")
		}
		begun := fmt.Sprintf(`{"path":%s`, must(json.Marshal(path)))
		if why := w.refuseEarly("write", begun); why == "" {
			t.Errorf("%s is not refused early", path)
		}
	}
	if got := w.paths; len(got) != 0 {
		t.Fatalf("wrote %q", got)
	}
	for name, want := range map[string]string{".git/config": "c\n", "sub/.git": "gitdir: x\n", "mod/.GIT/config": "c\n", ".async/runs/x": "r\n"} {
		if w.content(t, name) != want {
			t.Errorf("%s was changed", name)
		}
	}
	entries, _ := os.ReadDir(outside)
	if b, _ := os.ReadFile(filepath.Join(outside, "secret")); len(entries) != 1 || string(b) != "secret\n" {
		t.Error("something was written outside")
	}
	for _, path := range []string{"out/secret", "file", "rel/secret"} {
		if got := w.do(t, "read", o{"path": path}, "no", "by a symlink"); strings.Contains(got.Text, "secret\n") {
			t.Errorf("read %s: %s", path, got.Text)
		}
	}
	w.do(t, "list", o{"path": "out"}, "no", "by a symlink")
	w.do(t, "search", o{"pattern": "secret"}, "ok", "nothing matches")
	w.do(t, "read", o{"path": "seen/config"}, "ok", "c\n") // an absolute link to where the commands see the copy
	w.do(t, "read", o{"path": "ok"}, "ok")
	w.do(t, "write", o{"path": "ok", "content": "g\n"}, "ok", "f: written over")
	if to, err := os.Readlink(filepath.Join(top, "ok")); err != nil || to != "f" || w.content(t, "f") != "g\n" {
		t.Error("a link was written over")
	}
	w.do(t, "delete", o{"path": "file"}, "ok")
	w.do(t, "delete", o{"path": "loop"}, "ok")
	w.do(t, "delete", o{"path": "ok"}, "ok")
	if w.content(t, "f") != "g\n" {
		t.Error("delete followed a link")
	}
}

// What is no file is never waited for.
func TestPipes(t *testing.T) {
	t.Parallel()
	w := workIn(t, map[string]string{"d/a": "here\n"})
	if err := syscall.Mkfifo(filepath.Join(w.top, "d/pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.do(t, "read", o{"path": "d/pipe"}, "no", "not a file")
		w.do(t, "write", o{"path": "d/pipe", "content": "x"}, "no", "not a file")
		w.do(t, "edit", o{"path": "d/pipe", "old": "x", "new": "y"}, "no", "not a file")
		w.do(t, "delete", o{"path": "d/pipe"}, "no", "not a file")
		w.do(t, "list", o{"path": "d"}, "ok", "pipe (not a file)\n")
		w.do(t, "list", o{"path": "d/pipe"}, "no", "not a folder")
		w.do(t, "search", o{"pattern": "here"}, "ok", "d/a:1:here")
		w.do(t, "search", o{"pattern": "here", "path": "d/pipe"}, "no", "not a file")
		w.do(t, "read", o{"path": "d"}, "no", "is a folder")
		w.do(t, "list", o{"path": "d/a"}, "no", "not a folder")
		w.do(t, "write", o{"path": "d", "content": "x"}, "no", "is a folder")
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a pipe was waited for")
	}
}

// A program of the agent's that swaps folders for links while tools write must not make them write elsewhere.
func TestSwappedMeanwhile(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	w := workIn(t, map[string]string{"d/keep": "x\n"})
	top := w.top
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(filepath.Join(top, "d"), filepath.Join(top, "e"))
			if i%2 == 0 {
				_ = os.Symlink(outside, filepath.Join(top, "d"))
			} else {
				_ = syscall.Mkfifo(filepath.Join(top, "d"), 0o600)
			}
			_ = os.Remove(filepath.Join(top, "d"))
			_ = os.Rename(filepath.Join(top, "e"), filepath.Join(top, "d"))
		}
	}()
	end := time.Now().Add(300 * time.Millisecond)
	for i := 0; time.Now().Before(end); i++ {
		for name, args := range map[string]string{
			"write": `{"path":"d/new","content":"x"}`, "read": `{"path":"d/keep"}`, "list": `{"path":"d"}`, "delete": `{"path":"d/new"}`, "search": `{"pattern":"x"}`,
		} {
			w.Call(t.Context(), model.Call{Name: name, Args: json.RawMessage(args)})
		}
	}
	close(stop)
	<-stopped
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("written outside: %v", entries)
	}
}

// FuzzPaths: no path, through whatever links, reads or writes outside of the copy, or writes what is git's.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a", "../x", "l/x", "/etc/passwd", "l/../../x", "m", "m/config", ".git/x", "a/../.git/config", "\x00", "l//..//x", "./././m/../l", `a\..\x`} {
		f.Add(s, "..", ".git")
		f.Add(s, "/", "/project/.git")
		f.Add(s, "a/../..", "l")
	}
	f.Fuzz(func(t *testing.T, path, link, other string) {
		base := t.TempDir()
		top := filepath.Join(base, "top")
		put(t, filepath.Join(base, "x"), "outside")
		put(t, filepath.Join(top, ".git/config"), "git")
		put(t, filepath.Join(top, "a"), "inside")
		_ = os.Symlink(link, filepath.Join(top, "l"))
		_ = os.Symlink(other, filepath.Join(top, "m"))
		w, err := Open(&agent.Request{Copy: top, Dir: "/project"})
		check(t, err)
		defer func() { _ = w.Close() }()
		for _, args := range []o{{"path": path, "content": "bad"}, {"path": path, "old": "git", "new": "bad"}, {"path": path}} {
			for _, name := range []string{"write", "edit", "read", "list", "delete"} {
				got := w.Call(t.Context(), model.Call{Name: name, Args: must(json.Marshal(args))})
				if strings.Contains(got.Text, "outside\n") || name == "read" && strings.HasSuffix(got.Text, "outside") {
					t.Fatalf("%s %q: %s", name, path, got.Text)
				}
			}
		}
		if b, err := os.ReadFile(filepath.Join(base, "x")); err != nil || string(b) != "outside" {
			t.Fatalf("%q with links to %q and %q: changed outside: %q, %v", path, link, other, b, err)
		}
		if entries, _ := os.ReadDir(base); len(entries) != 2 {
			t.Fatalf("%q with links to %q and %q: made %v", path, link, other, entries)
		}
		if b, err := os.ReadFile(filepath.Join(top, ".git/config")); err != nil || string(b) != "git" {
			t.Fatalf("%q with links to %q and %q: changed git's: %q, %v", path, link, other, b, err)
		}
		if entries, _ := os.ReadDir(filepath.Join(top, ".git")); len(entries) != 1 {
			t.Fatalf("%q with links to %q and %q: made %v in .git", path, link, other, entries)
		}
	})
}
