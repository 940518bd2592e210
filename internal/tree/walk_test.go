package tree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// put makes files: "path=content", "path/" for a folder, "path->text" for a symlink, "path*=content" for an
// executable.
func put(t testing.TB, root string, files ...string) {
	t.Helper()
	for _, f := range files {
		var err error
		path, text, link := strings.Cut(f, "->")
		mode := fs.FileMode(0o644)
		if !link {
			path, text, _ = strings.Cut(f, "=")
			if strings.HasSuffix(path, "*") {
				path, mode = strings.TrimSuffix(path, "*"), 0o755
			}
		}
		full := root + "/" + path
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		switch {
		case link:
			err = os.Symlink(text, full)
		case strings.HasSuffix(f, "/"):
			err = os.MkdirAll(full, 0o755)
		default:
			err = errors.Join(os.WriteFile(full, []byte(text), mode), os.Chmod(full, mode)) // whatever the umask is
		}
		must(t, err)
	}
}

func mustWalk(t testing.TB, root string, o Options) *Manifest {
	t.Helper()
	m, err := Walk(context.Background(), root, o)
	must(t, err)
	return m
}

// lines shows a manifest: kind, path, content of files and links by a short digest; omitted paths with their reason.
func lines(m *Manifest) []string {
	var list []string
	for i := range m.Entries {
		e := &m.Entries[i]
		s := string(kind(e)) + " " + e.Path
		if e.Link != "" {
			s += " -> " + e.Link
		}
		list = append(list, s)
	}
	for _, o := range m.Omitted {
		list = append(list, o.Why+" "+o.Path)
	}
	return list
}

func wantLines(t *testing.T, m *Manifest, want ...string) {
	t.Helper()
	if got := lines(m); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	put(t, outside, "secret=x")
	put(t, root, "a=1", "a-b=2", "a.d/", "dir/f=3", "dir/x*=4", "dir/deep/er/f=5", "empty=", "link->"+outside, "dangling->nowhere",
		".git/config=x", ".async/runs=x", "dir/.async/f=6", "nested/.git=gitdir: elsewhere", "nested/f=7", "nested/deeper/.git/config=x",
		"new\nline=8", "\xff\xfe=9", "-rf=a", "um läut \"q\"\\\t=b", ".gitignore=c", ".GIT/f=d")
	m := mustWalk(t, root, Options{})
	wantLines(t, m, "f -rf", "d .GIT", "f .GIT/f", "f .gitignore", "f a", "f a-b", "d a.d", "l dangling -> nowhere", "d dir", "d dir/.async", "f dir/.async/f",
		"d dir/deep", "d dir/deep/er", "f dir/deep/er/f", "f dir/f", "x dir/x", "f empty", "l link -> "+outside, "d nested", "d nested/deeper", "f nested/f",
		"f new\nline", "f um läut \"q\"\\\t", "f \xff\xfe")
	for path, content := range map[string]string{"a": "1", "dir/x": "4", "empty": "", "dangling": "nowhere", "\xff\xfe": "9"} {
		e, ok := m.Find(path)
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))); !ok || e.Digest != want || e.Size != int64(len(content)) {
			t.Errorf("%q: %+v, want digest %s", path, e, want)
		}
	}
	if e, _ := m.Find("dir/x"); e.Mode != 0o755 {
		t.Errorf("mode of dir/x: %v", e.Mode)
	}
}

func TestWalkRootThroughSymlink(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "real/f=1", "via->real")
	wantLines(t, mustWalk(t, root+"/via", Options{}), "f f")
	for _, bad := range []string{root + "/none", root + "/real/f"} {
		if _, err := Walk(context.Background(), bad, Options{}); err == nil {
			t.Errorf("walked %s", bad)
		}
	}
}

// A FIFO that is opened would block for ever; a socket and a device cannot be copied.
func TestWalkSpecialFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "f=1")
	must(t, syscall.Mkfifo(root+"/fifo", 0o644))
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", root+"/sock")
	if err != nil {
		t.Skip(err) // the temporary folder's name is too long for a socket
	}
	defer func() { _ = l.Close() }()
	want := []string{"f f", "special fifo", "special sock"}
	if syscall.Mknod(root+"/null", syscall.S_IFCHR|0o666, 1<<8|3) == nil { // root only
		want = []string{"f f", "special fifo", "special null", "special sock"}
	}
	wantLines(t, mustWalk(t, root, Options{}), want...)
}

// A regular file that became a FIFO, a symlink or a folder after it was looked at is never read as the file.
func TestReadRefusesWhatWasReplaced(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "link->f", "f=1", "dir/")
	must(t, syscall.Mkfifo(root+"/fifo", 0o644))
	d, err := os.Open(root)
	must(t, err)
	defer func() { _ = d.Close() }()
	h := &worker{walk: &walk{ctx: context.Background()}}
	for _, name := range []string{"link", "fifo", "dir"} {
		if _, _, err := h.readFile(int(d.Fd()), name, name); !errors.Is(err, errReplaced) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWalkSkip(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "keep=1", "skip/a=1", "skip/b/c=1", "dir/skipped=1", "dir/f=1", ".git/x=1")
	for i := range 300 {
		put(t, root, fmt.Sprintf("skip too/%d/f=", i))
	}
	m := mustWalk(t, root, Options{Skip: func(path string, isDir bool) bool {
		if strings.HasPrefix(path, "skip/") || strings.Contains(path, ".git") {
			t.Errorf("Skip was asked about %s", path)
		}
		return path == "skip" && isDir || path == "dir/skipped" || strings.HasPrefix(path, "skip too/") && !isDir
	}})
	m.Entries = slices.DeleteFunc(m.Entries, func(e Entry) bool { return strings.HasPrefix(e.Path, "skip too") })
	wantLines(t, m, "d dir", "f dir/f", "f keep")
}

func TestWalkCancelled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 300 {
		put(t, root, fmt.Sprintf("d%d/f=x", i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var n atomic.Int32
	_, err := Walk(ctx, root, Options{Skip: func(string, bool) bool {
		if n.Add(1) == 20 {
			cancel()
		}
		return false
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Known: what did not change is not read again (seen by planting a false digest), what changed or is too young is.
func TestWalkKnown(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "old=1", "same-size=1", "touched=1", "chmod=1", "replaced=1", "link->old", "gone=1")
	time.Sleep(60 * time.Millisecond) // older than the walk by more than the clock's tick
	known := mustWalk(t, root, Options{})
	for i := range known.Entries {
		known.Entries[i].Digest = "planted"
	}
	info, err := os.Stat(root + "/same-size")
	must(t, err)
	put(t, root, "same-size=2", "new=1", "tmp=2")
	later := time.Now().Add(time.Hour)
	must(t,
		os.Chtimes(root+"/same-size", info.ModTime(), info.ModTime()), // mtime put back: ctime tells
		os.Chtimes(root+"/touched", later, later),
		os.Chmod(root+"/chmod", 0o755),
		os.Rename(root+"/tmp", root+"/replaced"),
		os.Remove(root+"/gone"),
	)
	m := mustWalk(t, root, Options{Known: known})
	wantLines(t, m, "x chmod", "l link -> old", "f new", "f old", "f replaced", "f same-size", "f touched")
	for i := range m.Entries {
		if e := &m.Entries[i]; (e.Digest == "planted") != (e.Path == "old") {
			t.Errorf("%s has digest %s", e.Path, e.Digest)
		}
	}
	// A manifest that came from elsewhere carries no facts and saves nothing.
	stranger := &Manifest{Entries: known.Entries}
	if e, _ := mustWalk(t, root, Options{Known: stranger}).Find("old"); e.Digest == "planted" {
		t.Error("trusted a manifest without facts")
	}
}

// Racily clean: a file written in the same moment as the walk is read again even if every fact is the same.
func TestWalkKnownRacy(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "f=1")
	known := mustWalk(t, root, Options{})
	for known.facts[0].settled(known.start) { // the machine was busy in between
		put(t, root, "f=1")
		known = mustWalk(t, root, Options{})
	}
	known.Entries[0].Digest = "planted"
	if e, _ := mustWalk(t, root, Options{Known: known}).Find("f"); e.Digest == "planted" {
		t.Error("trusted a file as young as the walk")
	}
	f := fact{Mtime: 10e9 + 1, Ctime: 10e9 + 1}
	for start, want := range map[int64]bool{10e9: false, 10e9 + 1: false, 10e9 + 20e6: false, 10e9 + 21e6: true} {
		if got := f.settled(start); got != want {
			t.Errorf("settled(%d) = %v", start, got)
		}
	}
	whole := fact{Mtime: 10e9, Ctime: 10e9} // a file system that knows only seconds
	if whole.settled(11e9) || !whole.settled(13e9) {
		t.Error("whole seconds")
	}
}

// While files are rewritten, replaced, removed and turned into other things the walk ends, without an error, and
// what it gives is content that the file had at some moment.
func TestWalkWhileTreeChanges(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	big := [2]string{strings.Repeat("a", 300_000), strings.Repeat("b", 300_000)}
	valid := map[string]bool{}
	for _, b := range big {
		valid[fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(b)))] = true
	}
	put(t, root, "atomic="+big[0], "steady=1", "flip=1", "dir/a=1")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			_ = os.WriteFile(root+"/.tmp", []byte(big[i%2]), 0o644)
			_ = os.Rename(root+"/.tmp", root+"/atomic")
			_ = os.WriteFile(root+"/grows", []byte(strings.Repeat("x", i)), 0o644)
			_ = os.RemoveAll(root + "/flip")
			switch i % 4 {
			case 0:
				_ = os.Symlink("/", root+"/flip")
			case 1:
				_ = os.Mkdir(root+"/flip", 0o755)
			case 2:
				_ = syscall.Mkfifo(root+"/flip", 0o644)
			case 3:
				_ = os.WriteFile(root+"/flip", nil, 0o644)
			}
			_ = os.RemoveAll(root + "/dir")
			_ = os.MkdirAll(root+"/dir/b/c", 0o755)
		}
	}()
	for range 150 {
		m := mustWalk(t, root, Options{})
		if _, ok := m.Find("steady"); !ok {
			t.Error("lost a file that did not change")
		}
		if e, ok := m.Find("atomic"); ok && !valid[e.Digest] {
			t.Errorf("atomic: a content it never had: %+v", e)
		}
		for _, e := range m.Entries {
			if strings.HasPrefix(e.Path, "flip/") {
				t.Errorf("followed a link: %s", e.Path)
			}
		}
	}
	cancel()
	<-done
}

// A file that changes while it is read is read again, three times in all; then what was read last counts, and is
// not trusted later.
func TestReadSeesChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		writes       int // how many reads are disturbed
		reads        int
		content      string
		trusted, end bool
	}{
		{"steady", 0, 1, "0", true, false},
		{"once", 1, 2, "01", true, false},
		{"always", 99, 3, "012", false, false},
		{"cut off", 1, 2, "", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			put(t, root, "f=0")
			dir, err := os.Open(root)
			must(t, err)
			reads := 0
			w := &walk{ctx: context.Background(), seen: func() {
				if reads++; reads > tt.writes {
					return
				}
				old, err := os.ReadFile(root + "/f")
				if err != nil {
					t.Error(err)
				}
				next := string(old) + strconv.Itoa(reads)
				if tt.end {
					next = ""
				}
				put(t, root, "f="+next)
			}}
			m, err := w.run(root, dir)
			if err != nil || len(m.Entries) != 1 {
				t.Fatal(m, err)
			}
			e := m.Entries[0]
			if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(tt.content))); e.Digest != want || e.Size != int64(len(tt.content)) || reads != tt.reads {
				t.Errorf("%d reads, %+v, want %d and %q", reads, e, tt.reads, tt.content)
			}
			if (m.facts[0] != fact{}) != tt.trusted {
				t.Errorf("facts %+v", m.facts[0])
			}
		})
	}
}

// Unreadable files and folders are named. The kernel refuses root nothing, so root looks again as nobody, in a copy
// of the test program.
func TestWalkUnreadable(t *testing.T) {
	const as = "WALK_AS_NOBODY"
	if root := os.Getenv(as); root != "" {
		wantLines(t, mustWalk(t, root, Options{}), "f a", "d listed", "unreadable closed", "unreadable listed/f", "unreadable secret")
		return
	}
	base := t.TempDir()
	root := base + "/tree"
	put(t, root, "a=1", "secret=1", "closed/f=1", "listed/f=1")
	for _, dir := range []string{filepath.Dir(base), base, root} {
		must(t, os.Chmod(dir, 0o755))
	}
	for path, mode := range map[string]fs.FileMode{"secret": 0, "closed": 0, "listed": 0o444} {
		must(t, os.Chmod(root+"/"+path, mode))
		defer func() { _ = os.Chmod(root+"/"+path, 0o755) }() //nolint:gosec // so that it can be removed
	}
	if os.Geteuid() != 0 {
		wantLines(t, mustWalk(t, root, Options{}), "f a", "d listed", "unreadable closed", "unreadable listed/f", "unreadable secret")
		return
	}
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err)
	// it is run
	must(t, errors.Join(os.WriteFile(base+"/again", program, 0o700), os.Chmod(base+"/again", 0o755)))
	cmd := exec.CommandContext(t.Context(), base+"/again", "-test.run=^TestWalkUnreadable$", "-test.count=1")
	cmd.Dir, cmd.Env = "/", []string{as + "=" + root, "TMPDIR=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// No open file is left behind, also when the walk is cancelled.
func TestWalkClosesWhatItOpens(t *testing.T) {
	root := t.TempDir()
	for i := range 200 {
		put(t, root, fmt.Sprintf("d%d/e/f=x", i))
	}
	open := func() int {
		list, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	_ = mustWalk(t, root, Options{})
	before := open()
	for i := range 30 {
		ctx, cancel := context.WithCancel(context.Background())
		var n atomic.Int32
		_, _ = Walk(ctx, root, Options{Skip: func(string, bool) bool {
			if n.Add(1) == int32(i*10) {
				cancel()
			}
			return false
		}})
		cancel()
	}
	if after := open(); after > before {
		t.Errorf("%d open files before, %d after", before, after)
	}
}

// A walk of some paths finds what a whole walk finds there, and brings it up to date.
func TestWalkOnly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "a/b/one=1", "a/b-c=2", "a/b/d/two=3", "ab/three=4", "e/f/g/four=5", "l->a", "top=6")
	time.Sleep(50 * time.Millisecond)
	for _, tt := range []struct {
		only, want string
	}{
		{"a/b", "a a/b a/b/d a/b/d/two a/b/one"},
		{"a/b a/b/d a/b/d/two", "a a/b a/b/d a/b/d/two a/b/one"},
		{"a/b/one top", "a a/b a/b/one top"},
		{"e/f/g/none none e/none/x", "e e/f e/f/g"},
		{"l/b/one", "l"}, // no link is followed
		{"top/x", "top"},
		{"", "a a/b a/b-c a/b/d a/b/d/two a/b/one ab ab/three e e/f e/f/g e/f/g/four l top"},
	} {
		only := strings.Fields(tt.only)
		if tt.only == "" {
			only = []string{"", "a"}
		}
		var got []string
		for _, e := range mustWalk(t, root, Options{Only: only}).Entries {
			got = append(got, e.Path)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q: %q, want %q", only, got, tt.want)
		}
	}
	if m := mustWalk(t, root, Options{Only: []string{}}); len(m.Entries) != 0 {
		t.Errorf("of no path: %v", m.Entries)
	}

	known := mustWalk(t, root, Options{})
	put(t, root, "a/b/one=7", "a/b/new=8", "top=9", "a/b.x=10")
	must(t, os.RemoveAll(filepath.Join(root, "a/b/d")))
	only := []string{"a/b", "e/f"}
	if !known.Update(mustWalk(t, root, Options{Only: only, Known: known}), only) {
		t.Error("nothing was brought up to date")
	}
	want := mustWalk(t, root, Options{})
	for _, e := range want.Entries {
		got, ok := known.Find(e.Path)
		if e.Path != "top" && e.Path != "a/b.x" && (!ok || got != e) || e.Path == "a/b.x" && ok || e.Path == "top" && got == e {
			t.Errorf("%s: %v %v, want %v", e.Path, ok, got, e)
		}
	}
	if _, ok := known.Find("a/b/d/two"); ok || len(known.Entries) != len(want.Entries)-1 {
		t.Errorf("%d entries, want all but a/b.x of %d", len(known.Entries), len(want.Entries))
	}
	if known.Update(mustWalk(t, root, Options{Only: only, Known: known}), only) {
		t.Error("nothing changed, and something was brought up to date")
	}
	// What was found by the part is as fresh as the part, what was not is as old as the whole walk.
	time.Sleep(50 * time.Millisecond)
	only = []string{"top", "a/b"}
	known.Update(mustWalk(t, root, Options{Only: only, Known: known}), only)
	var b bytes.Buffer
	must(t, known.Save(&b, root, "boot", func(string) bool { return false }))
	again, err := Recall(b.Bytes(), root, "boot")
	must(t, err)
	for i, e := range again.Entries {
		if start, want := again.startOf(i), known.startOf(i); start != want || strings.Contains(" top a/b/one a/b/new ", " "+e.Path+" ") == (start == known.start) {
			t.Errorf("%s was found by a walk of %d, want %d", e.Path, start, want)
		}
	}
}

// A walk that knows an earlier one finds what a walk that knows nothing does, whatever happened in between. The names are
// near / in the order of bytes, where a folder and what is in it are apart.
func TestKnownRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		root := t.TempDir()
		var known *Manifest
		name := func() string {
			parts := make([]string, 1+r.IntN(3))
			for i := range parts {
				parts[i] = []string{"a", "a-", "a0", "a.b", "b"}[r.IntN(5)]
			}
			return filepath.Join(append([]string{root}, parts...)...)
		}
		for round := range 6 {
			for range 1 + r.IntN(12) {
				p := name()
				switch r.IntN(6) {
				case 0:
					_ = os.RemoveAll(p)
				case 1:
					_ = os.Rename(p, name())
				case 2:
					_ = os.Symlink(name(), p)
				case 3:
					_ = os.Chmod(p, 0o700)
				default:
					_ = os.MkdirAll(filepath.Dir(p), 0o755)
					_ = os.WriteFile(p, []byte(strconv.Itoa(r.IntN(3))), 0o600)
				}
			}
			if r.IntN(2) == 0 {
				time.Sleep(2 * time.Duration(tick)) // else all is read again
			}
			var only []string
			if round > 2 && r.IntN(2) == 0 {
				only = []string{"a", "a-/b", strings.TrimPrefix(name(), root+"/")}
			}
			want := mustWalk(t, root, Options{Only: only})
			got := mustWalk(t, root, Options{Only: only, Known: known})
			if !slices.Equal(got.Entries, want.Entries) || !slices.Equal(got.facts, want.facts) || !slices.Equal(got.Omitted, want.Omitted) {
				t.Fatalf("seed %d, round %d, only %q:\n%v\nwant\n%v", seed, round, only, got.Entries, want.Entries)
			}
			for i, e := range got.Entries {
				was, there := Entry{}, false
				if known != nil {
					was, there = known.Find(e.Path)
				}
				if anew := slices.Contains(got.Anew, i); !anew && (!there || was != e) {
					t.Fatalf("seed %d, round %d: %v is anew: %v, was %v", seed, round, e, anew, was)
				}
			}
			if only == nil {
				known = got
			} else if known != nil {
				known.Update(got, only)
			}
		}
	}
}

// What was stored and is damaged is never recalled in part, and does no harm.
func TestRecallDamaged(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"a", "b/c", "b/d"} {
		put(t, root, name+"="+name)
	}
	must(t, os.Symlink("a", filepath.Join(root, "link")))
	m := mustWalk(t, root, Options{})
	var stored bytes.Buffer
	must(t, m.Save(&stored, root, "boot", func(string) bool { return false }))
	got, err := Recall(stored.Bytes(), root, "boot")
	if err != nil || !slices.Equal(got.Entries, m.Entries) || !slices.Equal(got.facts, m.facts) || got.start != m.start {
		t.Fatalf("%v\n%v\n%v", err, got, m)
	}
	for i := range stored.Len() {
		if m, err := Recall(stored.Bytes()[:i], root, "boot"); m != nil || err == nil {
			t.Errorf("the first %d bytes were recalled", i)
		}
		for _, to := range []byte{0, 1, 0x7f, 0xff} {
			b := bytes.Clone(stored.Bytes())
			if b[i] == to {
				continue
			}
			b[i] = to
			if m, err := Recall(b, root, "boot"); m != nil || err == nil {
				t.Errorf("with %x at %d it was recalled", to, i)
			}
			body := b[:max(0, len(b)-crc32.Size)] // damaged before it was stored
			b = binary.LittleEndian.AppendUint32(body, checksum(body))
			if known, err := Recall(b, root, "boot"); err == nil {
				mustWalk(t, root, Options{Known: known})
			}
		}
	}
	if m, err := Recall(append(stored.Bytes(), 0), root, "boot"); m != nil || err == nil {
		t.Error("with a byte more it was recalled")
	}
}

// A walk shares the entries of an unchanged tree with the one before. To bring one of them up to date leaves the other.
func TestUpdateLeavesShared(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "a=1", "b=2")
	time.Sleep(2 * time.Duration(tick))
	first := mustWalk(t, root, Options{})
	second := mustWalk(t, root, Options{Known: first})
	if len(second.Anew) > 0 || &first.Entries[0] != &second.Entries[0] {
		t.Error("an unchanged tree has entries of its own")
	}
	was := first.Entries[0]
	put(t, root, "a=3")
	second.Update(mustWalk(t, root, Options{Known: second, Only: []string{"a"}}), []string{"a"})
	if first.Entries[0] != was || second.Entries[0] == was {
		t.Errorf("%v became %v and %v", was, first.Entries[0], second.Entries[0])
	}
}

// A file that was too fresh to be known is read again once: by the next walk, which is remembered instead.
func TestFreshIsAnew(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "a=1")
	fresh := mustWalk(t, root, Options{})
	time.Sleep(2 * time.Duration(tick))
	again := mustWalk(t, root, Options{Known: fresh})
	later := mustWalk(t, root, Options{Known: again})
	if len(again.Anew) != 1 || len(later.Anew) != 0 {
		t.Errorf("%d and then %d files are anew, want 1 and 0", len(again.Anew), len(later.Anew))
	}
}
