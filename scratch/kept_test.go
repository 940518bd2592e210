package scratch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// alike compares two bases: files byte by byte, manifests, what git says.
func alike(t testing.TB, kept, fresh *Base) {
	t.Helper()
	got, want := state(t, kept.Dir, false), state(t, fresh.Dir, false)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("the kept base lacks %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("the kept base has %s", line)
		}
	}
	walked, err := tree.Walk(context.Background(), kept.Dir, tree.Options{})
	must(t, err)
	for name, m := range map[string]*tree.Manifest{"walked": walked, "fresh": fresh.Manifest} {
		if m.Digest() != kept.Manifest.Digest() || !slices.Equal(m.Entries, kept.Manifest.Entries) {
			t.Errorf("the manifest is not that of %s:\n%v\n%v", name, kept.Manifest.Entries, m.Entries)
		}
	}
	if fmt.Sprint(kept.Omitted, kept.Taken, kept.PointsBack, kept.Commit, kept.HistoryMissing, kept.links) != fmt.Sprint(fresh.Omitted, fresh.Taken, fresh.PointsBack, fresh.Commit, fresh.HistoryMissing, fresh.links) {
		t.Errorf("the kept base says %+v\nthe fresh one %+v", kept, fresh)
	}
	if !slices.Equal(held(t, kept.rules), held(t, fresh.rules)) {
		t.Error("other rules")
	}
	if fresh.counted == nil {
		return
	}
	for _, args := range [][]string{{"status", "--porcelain", "-z", "--branch"}, {"ls-files", "-s"}, {"for-each-ref"}, {"fsck", "--full", "--strict"}, {"count-objects"}} {
		if got, want := run(t, kept.Dir, args...), run(t, fresh.Dir, args...); got != want {
			t.Errorf("git %v in the kept base\n%s\nin the fresh one\n%s", args, got, want)
		}
	}
}

// After any edits a base that was kept is, byte for byte, the one that would be made anew.
func TestKeptEqualsFresh(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		git           bool
		rounds, seeds int
	}{{"without git", false, 10, 4}, {"git", true, 4, 2}} {
		for seed := range test.seeds {
			t.Run(fmt.Sprintf("%s %d", test.name, seed), func(t *testing.T) {
				t.Parallel()
				e := &editor{t: t, r: rand.New(rand.NewSource(int64(seed))), top: temp(t)}
				t.Cleanup(e.open)
				if test.git {
					e.top = newRepo(t, map[string]string{".gitignore": "*.o\nnode_modules\n", "a": "1"})
				}
				for range 12 {
					e.fresh()
				}
				write(t, e.top, map[string]string{"node_modules/p/i.js": "1", "sub/.gitignore": "x", "large": strings.Repeat("0123456789", 40_000)})
				parent := filepath.Join(temp(t), "work")
				kept := filepath.Join(filepath.Dir(parent), "kept", "base")
				t.Cleanup((&editor{top: filepath.Dir(parent)}).open)
				var done []string
				for round := range test.rounds {
					for range e.r.Intn(4) {
						done = append(done, e.edit())
					}
					if test.git && e.r.Intn(2) == 0 {
						run(t, e.top, "add", "-A")
						run(t, e.top, "commit", "-q", "--allow-empty", "-m", "x")
						if e.r.Intn(2) == 0 {
							run(t, e.top, "gc", "-q", "--prune=now")
						}
					}
					b, err := Make(t.Context(), parent, Source{Root: e.top, Kept: kept})
					must(t, err)
					f, err := Make(t.Context(), parent, Source{Root: e.top})
					must(t, err)
					alike(t, b, f)
					if test.git && round == 1 {
						wantChanges(t, makeCopy(t, b))
					}
					if e.r.Intn(3) == 0 { // the tree changes while the base is in use
						done = append(done, e.edit())
					}
					must(t, f.Close(), b.Close())
					if t.Failed() {
						t.Fatalf("after %q", done)
					}
					if left := held(t, parent); len(left) > 0 {
						t.Fatalf("left behind: %q", left)
					}
				}
			})
		}
	}
}

func factsAt(t *testing.T, p string) facts {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(p, &st))
	return factsOf(&st)
}

// Only what changed is copied again; what cannot be trusted is not used.
func TestKeptIsUsed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   func(t *testing.T, top, kept string, s *Source)
		want bool // the base is brought up to date, not made anew
	}{
		{"one file changed", func(t *testing.T, top, _ string, _ *Source) { write(t, top, map[string]string{"a": "2"}) }, true},
		{"the walked tree agrees", func(t *testing.T, top, _ string, s *Source) {
			m, err := tree.Walk(t.Context(), top, tree.Options{})
			must(t, err)
			s.Tree = m
		}, true},
		{"the walked tree differs", func(t *testing.T, top, _ string, s *Source) {
			m, err := tree.Walk(t.Context(), top, tree.Options{})
			must(t, err)
			for i := range m.Entries {
				if m.Entries[i].Path == "b" {
					m.Entries[i].Digest = "sha256:0"
				}
			}
			s.Tree = m
		}, false},
		{"everything that git ignores", func(_ *testing.T, _, _ string, s *Source) { s.Everything = true }, false},
		{"killed while it was brought up to date", func(t *testing.T, _, kept string, _ *Source) { must(t, os.Remove(kept+"/known")) }, false},
		{"known is broken", func(t *testing.T, _, kept string, _ *Source) {
			text, err := os.ReadFile(kept + "/known")
			must(t, err, os.WriteFile(kept+"/known", text[:len(text)/2], 0o600))
		}, false},
		{"another start of the machine", func(t *testing.T, _, kept string, _ *Source) { tell(t, kept, func(k *known) { k.Boot = "x" }) }, false},
		{"another version", func(t *testing.T, _, kept string, _ *Source) {
			text, err := os.ReadFile(kept + "/known")
			must(t, err, os.WriteFile(kept+"/known", bytes.Replace(text, []byte("base 3\n"), []byte("base 2\n"), 1), 0o600))
		}, false},
		{"another tree", func(t *testing.T, _, kept string, _ *Source) { tell(t, kept, func(k *known) { k.Top += "x" }) }, false},
		{"a symlink stands there", func(t *testing.T, _, kept string, _ *Source) {
			must(t, os.Rename(kept, kept+"-elsewhere"), os.Symlink(kept+"-elsewhere", kept))
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := newRepo(t, map[string]string{"a": "1", "b": "1", "dir/c": "1"})
			time.Sleep(50 * time.Millisecond) // younger files are always copied again
			dir := temp(t)
			s := Source{Root: top, Kept: filepath.Join(dir, "kept", "base")}
			first, err := Make(t.Context(), dir+"/work", s)
			must(t, err)
			before := factsAt(t, first.Dir+"/b")
			must(t, first.Close())
			if _, err := os.Lstat(s.Kept + "/known"); err != nil {
				t.Fatal("it was not kept", err)
			}
			test.do(t, top, s.Kept, &s)
			b, err := Make(t.Context(), dir+"/work", s)
			must(t, err)
			if used := factsAt(t, b.Dir+"/b") == before; used != test.want {
				t.Errorf("brought up to date: %v", used)
			}
			if _, err := os.Lstat(b.holder + "/known"); err == nil {
				t.Error("killed now it would be taken for whole")
			}
			s.Kept, s.Tree = "", nil
			fresh, err := Make(t.Context(), dir+"/work", s)
			must(t, err)
			alike(t, b, fresh)
			must(t, b.Close(), fresh.Close())
		})
	}
}

// tell changes what a kept base says of itself.
func tell(t *testing.T, kept string, change func(*known)) {
	t.Helper()
	var k known
	must(t, readPacked(kept+"/known", k.pack), os.Remove(kept+"/known"))
	change(&k)
	must(t, writePacked(kept+"/known", k.pack))
}

// A file of the tree that was written about when it was read may have changed since with the same size and times.
func TestKeptRacy(t *testing.T) {
	t.Parallel()
	from, to := temp(t), temp(t)
	write(t, from, map[string]string{"f": "1"})
	done, err := copyTree(t.Context(), from, to, &plan{files: map[string][]leaf{".": {{name: "f"}}}})
	must(t, err)
	a, err := os.Open(from)
	must(t, err)
	defer func() { _ = a.Close() }()
	b, err := os.Open(to)
	must(t, err)
	defer func() { _ = b.Close() }()
	written := done.got["."][0].From.Ctime
	for after, want := range map[time.Duration]bool{-time.Second: false, 0: false, 4 * time.Millisecond: false, 3 * time.Second: true} {
		k := &known{Start: written + int64(after)}
		if _, ok := k.upToDate(int(a.Fd()), int(b.Fd()), done.got["."], leaf{name: "f"}); ok != want {
			t.Errorf("read %v after it was written: trusted %v", after, ok)
		}
	}
}

// A kept base that somebody wrote into is restored.
func TestKeptTouched(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{"a": "1", "b": "1", "dir/c": "1", "dir/d": "1"})
	dir := temp(t)
	s := Source{Root: top, Kept: filepath.Join(dir, "kept", "base")}
	first, err := Make(t.Context(), dir+"/work", s)
	must(t, err, first.Close())
	in := filepath.Join(s.Kept, "tree")
	at := time.Now().Add(-time.Hour)
	id := run(t, top, "rev-parse", "HEAD:a")
	object := filepath.Join(in, ".git/objects", id[:2], id[2:])
	must(t, os.WriteFile(in+"/a", []byte("2"), 0o644), os.Chtimes(in+"/a", at, at), os.Chmod(in+"/b", 0o755), os.RemoveAll(in+"/dir"), os.Symlink("/etc", in+"/dir"))
	write(t, in, map[string]string{"more/x": "1", ".git/hooks/post-checkout": "evil", ".git/config": "evil", ".git/objects/info/alternates": "/x", ".git/objects/ab/cdef": "x"})
	must(t, os.Chmod(object, 0o600), os.WriteFile(object, []byte("evil"), 0o600))
	b, err := Make(t.Context(), dir+"/work", s)
	must(t, err)
	fresh, err := Make(t.Context(), dir+"/work", Source{Root: top})
	must(t, err)
	alike(t, b, fresh)
	if _, err := os.Lstat(b.Dir + "/.git/hooks"); err == nil {
		t.Error("a hook stayed")
	}
	must(t, b.Close(), fresh.Close())
}

// Of two fixes at one time the second makes a new base, and one is kept.
func TestKeptHasOneOwner(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{"a": "1"})
	dir := temp(t)
	s := Source{Root: top, Kept: filepath.Join(dir, "kept", "base")}
	first, err := Make(t.Context(), dir+"/work", s)
	must(t, err, first.Close())
	one, err := Make(t.Context(), dir+"/work", s)
	must(t, err)
	two, err := Make(t.Context(), dir+"/work", s)
	must(t, err)
	alike(t, two, one)
	must(t, one.Close(), two.Close())
	if left := held(t, dir+"/work"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if kept := held(t, dir+"/kept"); !slices.Contains(kept, "base/known") || slices.ContainsFunc(kept, func(p string) bool { return !strings.HasPrefix(p, "base/") }) {
		t.Errorf("kept %q", kept)
	}
}

// The size that is stored with a base counts what is allocated: small files by whole blocks, holes not at all.
func TestKeptSize(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{"a": "1", "d/b": strings.Repeat("x", 100_000)})
	must(t, os.WriteFile(filepath.Join(top, "hole"), nil, 0o600), os.Truncate(filepath.Join(top, "hole"), 1<<30))
	dir := temp(t)
	s := Source{Root: top, Kept: filepath.Join(dir, "kept", "base")}
	if _, ok := KeptSize(s.Kept); ok {
		t.Error("there is no base, but a size")
	}
	for range 2 { // made, and updated
		b, err := Make(t.Context(), dir+"/work", s)
		must(t, err, b.Close())
		got, ok := KeptSize(s.Kept)
		if !ok || got < 100_000+2*4096 || got > 1<<20 {
			t.Errorf("%d, %v", got, ok)
		}
	}
}

// keptChild names, in the environment of a child of this test, what to keep for ever: root, work and kept folder.
const keptChild = "SCRATCH_TEST_KEEPS"

// keepsForEver is the child.
func keepsForEver(arg string) {
	parts := strings.Split(arg, "|")
	for {
		b, err := Make(context.Background(), parts[1], Source{Root: parts[0], Kept: parts[2]})
		if err == nil {
			err = b.Close()
		}
		if err != nil {
			panic(err)
		}
	}
}

// Killed at any moment, a fix leaves a kept base that is whole, or none.
func TestKeptKilled(t *testing.T) {
	t.Parallel()
	top := newRepo(t, map[string]string{"a": "1", "dir/b": "1"})
	e := &editor{t: t, r: rand.New(rand.NewSource(1)), top: top}
	t.Cleanup(e.open)
	for range 60 {
		e.fresh()
	}
	dir := temp(t)
	work, kept := dir+"/work", dir+"/kept/base"
	must(t, os.Mkdir(work, 0o700)) // a child may be killed before it makes it
	whole := 0
	const rounds = 5
	for range rounds {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), keptChild+"="+top+"|"+work+"|"+kept)
		must(t, cmd.Start())
		time.Sleep(time.Duration(e.r.Intn(120)) * time.Millisecond)
		e.fresh()
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		_, err := Sweep(work, nil)
		must(t, err)
		if left := held(t, work); len(left) > 0 {
			t.Fatalf("not swept: %q", left)
		}
		if _, err := os.Lstat(kept + "/known"); err == nil {
			whole++
		}
		e.edit()
		b, err := Make(t.Context(), work, Source{Root: top, Kept: kept})
		must(t, err)
		fresh, err := Make(t.Context(), work, Source{Root: top})
		must(t, err)
		alike(t, b, fresh)
		must(t, b.Close(), fresh.Close())
	}
	t.Logf("%d of %d were whole", whole, rounds)
}

// The manifest of a base is in the order of paths, as that of a walk is, also where a name goes on below the slash.
func TestManifestOrder(t *testing.T) {
	t.Parallel()
	top := temp(t)
	write(t, top, map[string]string{"a-b": "1", "a/c-/d": "1", "a/c/d": "1", "a/c!": "1", "a0": "1", "b/a/c": "1", "z": "1", ".a/b": "1", "a!/x": "1"})
	b, err := Make(t.Context(), temp(t), Source{Root: top})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	if !slices.IsSortedFunc(b.Manifest.Entries, func(a, b tree.Entry) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("not in order: %v", b.Manifest.Entries)
	}
	walked, err := tree.Walk(t.Context(), top, tree.Options{})
	must(t, err)
	if got, want := b.Manifest.Digest(), walked.Digest(); got != want || len(b.Manifest.Entries) != len(walked.Entries) {
		t.Errorf("%d entries, digest %s; a walk gives %d, %s", len(b.Manifest.Entries), got, len(walked.Entries), want)
	}
}

// A folder that goes away after the plan was made is not left in a base that is brought up to date.
func TestFolderGoesWhileKeptIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	top, parent := temp(t), temp(t)
	write(t, top, map[string]string{"a": "1", "dir/x": "1", "dir/deep/y": "1"})
	kept := filepath.Join(parent, "kept", "base")
	first, err := Make(t.Context(), parent, Source{Root: top, Kept: kept})
	must(t, err, first.Close())
	m, err := newMaker(t.Context(), Source{Root: top})
	must(t, err)
	m.base.holder, err = newFolder(parent, kept)
	must(t, err)
	defer func() { must(t, m.base.Close()) }()
	m.base.Dir = filepath.Join(m.base.holder, "tree")
	m.known, err = takeKnown(m.base.holder, m.base.Top)
	must(t, err)
	if m.known == nil {
		t.Fatal("the base was not kept")
	}
	m.now = newKnown(m.base.Top, time.Now().UnixNano())
	root, err := os.OpenRoot(top)
	must(t, err)
	p, err := (&chooser{root: root, known: m.known}).choose(t.Context())
	must(t, err, root.Close(), os.RemoveAll(filepath.Join(top, "dir")), m.copy(t.Context(), p, nil))
	if _, err := os.Lstat(filepath.Join(m.base.Dir, "dir")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dir is still there: %v", err)
	}
	if len(m.base.Manifest.Entries) != 1 {
		t.Errorf("the manifest has %v", m.base.Manifest.Entries)
	}
}
