package scratch

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

// boxEditor is the first argument of this test binary where it is a program in a box: it makes the edits that the
// second one lists, and prints what the folder contains then.
const boxEditor = "edit-as-in-a-box"

// editInBox is this test binary as a program in a box.
func editInBox(list string) {
	var edits []edit
	if err := json.Unmarshal([]byte(list), &edits); err != nil {
		panic(err)
	}
	for _, e := range edits {
		e.make()
	}
	fmt.Print(listing())
	os.Exit(0)
}

// An edit is one thing that a process does to files of its folder. What cannot be done has no effect.
type edit struct {
	Op   string
	A, B string // paths
	N    int
}

var edits = []string{
	"write", "append", "truncate", "rename", "remove", "remove all", "mkdir", "chmod", "link", "symlink", "swap", "xattr", "sparse", "touch", "read",
}

func (e edit) make() {
	switch e.Op {
	case "write":
		_ = os.WriteFile(e.A, fmt.Appendf(nil, "text %d\n", e.N), 0o644)
	case "write many":
		for i := range e.N {
			_ = os.WriteFile(filepath.Join(e.A, fmt.Sprint("f", i)), fmt.Appendln(nil, i), 0o644)
		}
	case "append":
		if f, err := os.OpenFile(e.A, os.O_APPEND|os.O_WRONLY|unix.O_NOFOLLOW, 0); err == nil {
			_, _ = fmt.Fprintln(f, e.N)
			_ = f.Close()
		}
	case "truncate":
		_ = os.Truncate(e.A, int64(e.N%7))
	case "rename":
		if err := os.Rename(e.A, e.B); errors.Is(err, unix.EXDEV) { // a folder of the base: as mv does
			if info, err := os.Lstat(e.B); err == nil && info.IsDir() && os.Remove(e.B) != nil || err == nil && !info.IsDir() {
				return
			}
			_ = copyAll(e.A, e.B)
			_ = os.RemoveAll(e.A)
		}
	case "remove":
		_ = os.Remove(e.A)
	case "remove all":
		_ = os.RemoveAll(e.A)
	case "mkdir":
		_ = os.MkdirAll(e.A, 0o755)
	case "chmod":
		switch info, err := os.Lstat(e.A); {
		case err != nil:
		case info.IsDir():
			_ = os.Chmod(e.A, []fs.FileMode{0o755, 0o700, 0o750, 0o775}[e.N%4])
		case info.Mode().Type() == 0:
			_ = os.Chmod(e.A, []fs.FileMode{0o755, 0o644, 0o600, 0o444}[e.N%4])
		}
	case "link":
		_ = os.Link(e.A, e.B)
	case "symlink":
		_ = os.Symlink(e.A, e.B)
	case "swap": // a folder becomes a file, or a file a folder, and perhaps back
		info, err := os.Lstat(e.A)
		if err != nil {
			return
		}
		_ = os.RemoveAll(e.A)
		if info.IsDir() != (e.N%2 == 0) {
			_ = os.WriteFile(e.A, []byte("once a folder\n"), 0o644)
			return
		}
		_ = os.Mkdir(e.A, 0o755)
		_ = os.WriteFile(filepath.Join(e.A, "in"), []byte("new\n"), 0o644)
	case "xattr":
		_ = unix.Setxattr(e.A, "user.test", []byte("x"), 0)
	case "sparse":
		if f, err := os.Create(e.A); err == nil {
			_ = f.Truncate(1 << 16)
			_, _ = f.WriteAt([]byte("end"), 1<<15)
			_ = f.Close()
		}
	case "touch":
		if f, err := os.OpenFile(e.A, os.O_RDWR|unix.O_NOFOLLOW, 0); err == nil {
			_ = f.Close()
		}
	case "read":
		_, _ = os.ReadFile(e.A)
	}
}

func copyAll(from, to string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, p)
		at := filepath.Join(to, rel)
		switch info, _ := d.Info(); {
		case d.IsDir():
			return os.Mkdir(at, 0o755)
		case d.Type() == fs.ModeSymlink:
			text, _ := os.Readlink(p)
			return os.Symlink(text, at)
		default:
			data, _ := os.ReadFile(p)
			return errors.Join(os.WriteFile(at, data, 0o600), os.Chmod(at, info.Mode().Perm()))
		}
	})
}

// listing returns a line for each path below the current folder.
func listing() string {
	var b strings.Builder
	_ = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		info, ierr := d.Info()
		if err != nil || ierr != nil {
			fmt.Fprintln(&b, p, err, ierr)
			return nil
		}
		switch {
		case d.IsDir():
			fmt.Fprintf(&b, "%s/\n", p)
		case d.Type() == fs.ModeSymlink:
			text, _ := os.Readlink(p)
			fmt.Fprintf(&b, "%s -> %s\n", p, text)
		default:
			data, err := os.ReadFile(p)
			fmt.Fprintf(&b, "%s %v %x %v\n", p, info.Mode().Perm(), sha256.Sum256(data), err)
		}
		return nil
	})
	return b.String()
}

// layered is a base, and the boxes for a plain and a layered copy of it.
type layered struct {
	t    *testing.T
	base *Base
	work string
	exe  string
	was  map[string]string // what a box has before any edit, as listed returns it
}

func newLayered(t *testing.T) *layered {
	t.Helper()
	l := &layered{t: t, work: t.TempDir()}
	if err := sandbox.TryOverlay(l.work); err != nil {
		t.Skip("no overlay here: " + err.Error())
	}
	tree := t.TempDir()
	for _, p := range samplePaths() {
		at := filepath.Join(tree, p)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(p+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("a/one", filepath.Join(tree, "points")), os.Mkdir(filepath.Join(tree, "hollow"), 0o755),
		os.Chmod(filepath.Join(tree, "a", "b"), 0o775)); err != nil {
		t.Fatal(err)
	}
	var err error
	if l.base, err = Make(t.Context(), l.work, Source{Root: tree}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.base.Close(); err != nil {
			t.Error(err)
		}
	})
	if l.exe, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	plain, thin := l.copies()
	l.was = listed(l.edit(plain, nil))
	if err := errors.Join(plain.Close(), thin.Close()); err != nil {
		t.Fatal(err)
	}
	return l
}

func samplePaths() []string {
	return []string{"top", "a/one", "a/two", "a/b/three", "a/b/four", "a/b/c/five", "a-b/six", "d/e/f/seven", "d/e/f/eight", "nine.txt"}
}

// copies makes a plain and a layered copy.
func (l *layered) copies() (plain, thin *Copy) {
	l.t.Helper()
	plain, err := l.base.Copy(l.t.Context(), filepath.Join(l.work, "plain"))
	if err != nil {
		l.t.Fatal(err)
	}
	if thin, err = l.base.Layer(filepath.Join(l.work, "thin")); err != nil {
		l.t.Fatal(err)
	}
	return plain, thin
}

// edit makes edits in a box that shows a copy, and returns what the box has then.
func (l *layered) edit(c *Copy, edits []edit) string {
	l.t.Helper()
	box := sandbox.Box{Tier: sandbox.View, Tree: l.base.Top, Copy: c.Dir}
	if c.Work != "" {
		box.Base, box.Work = l.base.Dir, c.Work
	}
	list, err := json.Marshal(edits)
	if err != nil {
		l.t.Fatal(err)
	}
	var out bytes.Buffer
	res, err := box.Run(l.t.Context(), sandbox.Command{
		Argv: []string{l.exe, boxEditor, string(list)}, Dir: l.base.Top, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out,
	})
	if err != nil || res.ExitCode != 0 {
		l.t.Fatalf("%+v, %v: %s", res, err, out.String())
	}
	return out.String()
}

// changes describes what a copy says of itself.
func (l *layered) changes(c *Copy) string {
	l.t.Helper()
	changes, omitted, err := c.Changes(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	var b strings.Builder
	for _, ch := range changes {
		fmt.Fprintf(&b, "%s: %s -> %s\n", ch.Path, described(ch.Before), described(ch.After))
	}
	for _, o := range omitted {
		fmt.Fprintf(&b, "%s: %s\n", o.Path, o.Why)
	}
	return b.String()
}

// listed returns the files and symlinks of a listing, by path, with what counts in a patch.
func listed(listing string) map[string]string {
	files := map[string]string{}
	for line := range strings.Lines(listing) {
		p, what, file := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !file { // a folder
			continue
		}
		if mode, rest, regular := strings.Cut(what, " "); regular && len(mode) == len("-rwxr-xr-x") {
			what = strings.ToUpper(mode[3:4]) + " " + rest // of the permission bits, the owner's executable one
		}
		files[p] = what
	}
	return files
}

// compared tells how what a box has differs from what it had before any edit.
func (l *layered) compared(listing string) string {
	now := listed(listing)
	var all []string
	for p, what := range now {
		if was, here := l.was[p]; !here {
			all = append(all, p+" is new")
		} else if was != what {
			all = append(all, p+" changed")
		}
	}
	for p := range l.was {
		if _, here := now[p]; !here {
			all = append(all, p+" is gone")
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// paths describes changes as compared does.
func (l *layered) paths(changes []patch.Change) string {
	var all []string
	for _, ch := range changes {
		switch {
		case ch.Before == nil:
			all = append(all, ch.Path+" is new")
		case ch.After == nil:
			all = append(all, ch.Path+" is gone")
		default:
			all = append(all, ch.Path+" changed")
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func described(f *patch.File) string {
	if f == nil {
		return "none"
	}
	return fmt.Sprintf("%v %.40q %d", f.Mode&^0o077, f.Data, len(f.Data))
}

// randomPath is a path of the sample, one near it, or a folder.
func randomPath(r *rand.Rand) string {
	paths := append(samplePaths(), "a", "a/b", "a/b/c", "d", "d/e", "d/e/f", "hollow", "points", "new", "a/new", "a/b/new/deep", "hollow/x", "top/under", "x/y")
	return paths[r.IntN(len(paths))]
}

func cases(few int) int {
	if os.Getenv("ASYNC_PIPELINE_SWEEP") == "full" {
		return 5000
	}
	if testing.Short() {
		return few / 5
	}
	return few
}

// Whatever a process does in a box: a layered copy shows the same files as a plain one, and has the same changes, which
// are the differences between what a box has before and after.
func TestLayersAsPlain(t *testing.T) {
	t.Parallel()
	l := newLayered(t)
	for n := range cases(25) {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		var list []edit
		for range 1 + r.IntN(12) {
			list = append(list, edit{Op: edits[r.IntN(len(edits))], A: randomPath(r), B: randomPath(r), N: r.IntN(1000)})
		}
		plain, thin := l.copies()
		var has string
		half := r.IntN(len(list) + 1) // two boxes, one after the other, as an agent's commands have
		for _, part := range [][]edit{list[:half], list[half:]} {
			want, got := l.edit(plain, part), l.edit(thin, part)
			if got != want {
				t.Fatalf("case %d: %+v\nplain:\n%s\nlayered:\n%s", n, list, want, got)
			} else {
				has = got
			}
		}
		if want, got := l.changes(plain), l.changes(thin); got != want {
			t.Fatalf("case %d: %+v\nchanges of the plain copy:\n%s\nof the layered:\n%s", n, list, want, got)
		}
		// What a verification does: the same changes are put into a fresh copy.
		changes, _, err := thin.Changes(t.Context())
		if err := errors.Join(err, plain.Close(), thin.Close()); err != nil {
			t.Fatal(err)
		}
		if want, got := l.compared(has), l.paths(changes); got != want {
			t.Fatalf("case %d: %+v\nthe files say:\n%s\nthe changes say:\n%s", n, list, want, got)
		}
		l.put(fmt.Sprintf("case %d: %+v", n, list), changes)
	}
}

// The same as an ordinary user.
func TestLayersAsNobody(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: TestLayersAsPlain runs the same code")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can become nobody; as somebody else the test before is this one")
	}
	var args []string
	if os.Getenv("ASYNC_PIPELINE_SWEEP") != "full" {
		args = append(args, "-test.short")
	}
	asNobody(t, "TestLayersAsPlain", args...)
}

// put puts changes into a plain and a layered copy, and compares what boxes see of them.
func (l *layered) put(name string, changes []patch.Change) {
	l.t.Helper()
	plain, thin := l.copies()
	perr, err := plain.Put(changes), thin.Put(changes)
	if (err == nil) != (perr == nil) {
		l.t.Fatalf("%s: put: plain %v, layered %v", name, perr, err)
	}
	if want, got := l.edit(plain, nil), l.edit(thin, nil); err == nil && got != want {
		l.t.Fatalf("%s, put\nplain:\n%s\nlayered:\n%s", name, want, got)
	}
	if want, got := l.changes(plain), l.changes(thin); err == nil && got != want {
		l.t.Fatalf("%s, put\nchanges of the plain copy:\n%s\nof the layered:\n%s", name, want, got)
	}
	if err := errors.Join(plain.Close(), thin.Close()); err != nil {
		l.t.Fatal(err)
	}
}

// A folder with very many new files, in the patch one by one.
func TestLayersManyFiles(t *testing.T) {
	t.Parallel()
	l := newLayered(t)
	count := 500
	if os.Getenv("ASYNC_PIPELINE_SWEEP") == "full" {
		count = 100_000
	}
	list := []edit{{Op: "write many", A: "hollow", N: count}, {Op: "remove", A: "a/one"}, {Op: "write many", A: "d/e", N: 3}}
	plain, thin := l.copies()
	l.edit(plain, list)
	l.edit(thin, list)
	changes, omitted, err := thin.Changes(t.Context())
	if err != nil || len(changes) != count+4 || len(omitted) > 0 {
		t.Errorf("%d changes, %d omitted, %v", len(changes), len(omitted), err)
	}
	if l.changes(plain) != l.changes(thin) {
		t.Error("a plain copy has other changes")
	}
}
