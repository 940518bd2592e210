package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/access"
)

// see runs a shell text in dir and returns what it accessed below dir, as "<kind> <path>", and why not all was seen.
func see(t *testing.T, dir, text string) (seen []string, blind []string, out string) {
	t.Helper()
	names := map[access.Kind]string{access.Looked: "looked", access.Read: "read", access.Written: "written", access.Made: "made", access.Listed: "listed", access.Moved: "moved", access.Removed: "removed"}
	var b bytes.Buffer
	var mu sync.Mutex
	res, err := Box{Tier: None}.Run(t.Context(), Command{
		Argv: []string{"/bin/sh", "-euc", text}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Stdout: &b, Stderr: &b,
		Seen: func(a access.Path) {
			mu.Lock()
			defer mu.Unlock()
			if a.Kind == access.Blind {
				blind = append(blind, a.Name)
			} else if rel, ok := below(dir, filepath.Clean(a.Name)); ok && rel != "." {
				seen = append(seen, names[a.Kind]+" "+rel)
			}
		},
	})
	if err != nil || res.ExitCode != 0 || res.ProcessesLeft != 0 {
		t.Fatalf("%v %+v\n%s", err, res, b.String())
	}
	slices.Sort(seen)
	return slices.Compact(seen), blind, b.String()
}

func TestSeen(t *testing.T) {
	t.Parallel()
	dir := Resolved(t.TempDir())
	for _, d := range []string{"sub", "empty"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "sub/b", "c", "tool", "moved"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\ncat sub/b\n"), 0o755); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"cat a >/dev/null":                    {"read a"},
		"cat ./sub/../a >/dev/null":           {"read a"},
		"cd sub; cat b ../a >/dev/null":       {"looked sub", "read a", "read sub/b"},
		"test -e nothing || true":             {"looked nothing"},
		"ls empty":                            {"listed empty"},
		"./tool >/dev/null":                   {"read sub/b", "read tool"},
		"echo x >new":                         {"made new"},
		"echo x >>log":                        {"written log"},
		"mkdir m; ln -s a m/l; ln a m/h":      {"made m", "made m/h", "made m/l", "read a"},
		"mv moved gone":                       {"made gone", "moved moved"},
		"touch t1; mkdir t2; rm t1; rmdir t2": {"written t1", "made t2", "removed t1", "removed t2"},
		"readlink link":                       {"read link"},
		"cat <c >/dev/null":                   {"read c"},
		"(cat a & wait) >/dev/null":           {"read a"},
		"setsid sh -c 'cat sub/b >/dev/null'": {"read sub/b"},
	} {
		seen, blind, _ := see(t, dir, text)
		for _, w := range want {
			if !slices.Contains(seen, w) {
				t.Errorf("%s: %q is not in %q", text, w, seen)
			}
		}
		if len(blind) > 0 {
			t.Errorf("%s: %q", text, blind)
		}
		for _, s := range seen {
			if strings.HasPrefix(s, "read ") && !slices.Contains(want, s) && s != "read m" && s != "read empty" {
				t.Errorf("%s: %q was not read", text, s)
			}
		}
	}
}

// Calls that few programs make, in a language that makes any.
func TestSeenCalls(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("perl"); err != nil || runtime.GOARCH != "amd64" {
		t.Skip("numbers of system calls of amd64, made by perl: ", err)
	}
	dir := Resolved(t.TempDir())
	for text, want := range map[string]string{
		`syscall(254, syscall(253), my $n = "watched", 2)`:                                                           "looked watched",
		`syscall(464, -100, my $n = "a", 0, my $x = "user.x", 0, 0)`:                                                 "looked a",
		`syscall(468, -100, my $n = "b", my $x = "x" x 64, 24, 0)`:                                                   "looked b",
		`use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un("db.sock"))`:                         "looked db.sock",
		`use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("here"))`:                               "made here",
		`use Socket; socket(S, PF_INET, SOCK_STREAM, 0); connect(S, sockaddr_in(1, inet_aton("127.0.0.1"))); -e "c"`: "looked c",
	} {
		seen, blind, out := see(t, dir, "perl -e '"+text+"'")
		if !slices.Contains(seen, want) || len(blind) > 0 {
			t.Errorf("%s: %q is not in %q %q %s", text, want, seen, blind, out)
		}
	}
}

// A command that is seen ends as another does: by itself, by a timeout, with its processes.
func TestSeenEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen := 0
	c := Command{Argv: []string{"/bin/sh", "-c", "sleep 1000 & exec sleep 1000"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Seen: func(access.Path) { seen++ }}
	c.Timeout = 300e6
	res, err := Box{Tier: None}.Run(t.Context(), c)
	if err != nil || !res.TimedOut || seen == 0 {
		t.Errorf("%v %+v, %d seen", err, res, seen)
	}
	c.Timeout, c.Argv = 0, []string{"nothing-of-this-name"}
	var b bytes.Buffer
	c.Stderr = &b
	if res, err := (Box{Tier: None}).Run(t.Context(), c); err != nil || res.ExitCode != 127 || !strings.Contains(b.String(), "nothing-of-this-name") {
		t.Errorf("%v %+v %q", err, res, b.String())
	}
}

// A program in a namespace in which paths mean something else is not seen as a whole, and that is said.
func TestSeenMounts(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "unshare", "-rm", "true").Run(); err != nil {
		t.Skip("unshare cannot make a namespace here: ", err)
	}
	_, blind, _ := see(t, t.TempDir(), "unshare -rm sh -c 'mount -t tmpfs none /mnt'")
	if len(blind) != 1 {
		t.Errorf("%q", blind)
	}
}

func BenchmarkSeen(b *testing.B) {
	for name, seen := range map[string]func(access.Path){"not": nil, "seen": func(access.Path) {}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := Box{Tier: None}.Run(b.Context(), Command{
					Argv: []string{"/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do [ -e /usr/bin/env ]; i=$((i+1)); done"},
					Dir:  "/", Env: []string{"PATH=/usr/bin:/bin"}, Seen: seen,
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
