package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A treeModel is a tree in memory: what stands at each path.
type treeModel map[string]File

func regular(s string) File    { return File{0o644, []byte(s)} }
func executable(s string) File { return File{0o755, []byte(s)} }
func symlink(s string) File    { return File{fs.ModeSymlink | 0o777, []byte(s)} }

func (t treeModel) changes(after treeModel) []Change {
	var list []Change
	paths := maps.Clone(t)
	maps.Copy(paths, after)
	for p := range paths { // in random order: Encode sorts
		c := Change{Path: p}
		if f, ok := t[p]; ok {
			c.Before = &f
		}
		if f, ok := after[p]; ok {
			c.After = &f
		}
		list = append(list, c)
	}
	return list
}

func (t treeModel) read(p string) (*File, error) {
	if f, ok := t[p]; ok {
		return &f, nil
	}
	return nil, nil
}

// below returns the same tree in a folder.
func (t treeModel) below(folder string) treeModel {
	moved := treeModel{}
	for p, f := range t {
		moved[folder+p] = f
	}
	return moved
}

func (t treeModel) equal(other treeModel) bool {
	return maps.EqualFunc(t, other, func(a, b File) bool { return Equal(&a, &b) })
}

func (t treeModel) String() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&b, "  %q %s %.200q\n", p, gitMode(t[p].Mode), t[p].Data)
	}
	return b.String()
}

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// write makes the tree on disk.
func (t treeModel) write(tb testing.TB, dir string) {
	tb.Helper()
	for p, f := range t {
		full := dir + "/" + p
		must(tb, os.MkdirAll(filepath.Dir(full), 0o755))
		var err error
		if isLink(&f) {
			err = os.Symlink(string(f.Data), full)
		} else {
			err = os.WriteFile(full, f.Data, f.Mode)
		}
		must(tb, err)
	}
}

// readTree reads it back; empty folders and .git are nothing.
func readTree(tb testing.TB, dir string) treeModel {
	tb.Helper()
	t := treeModel{}
	err := filepath.WalkDir(dir, func(full string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := File{Mode: info.Mode()}
		if isLink(&f) {
			var text string
			text, err = os.Readlink(full)
			f.Data = []byte(text)
		} else {
			f.Data, err = os.ReadFile(full)
		}
		t[strings.TrimPrefix(full, dir+"/")] = f
		return err
	})
	must(tb, err)
	return t
}

// gitDir makes the least that git takes for a repository: no process is needed.
func gitDir(tb testing.TB, top string) {
	tb.Helper()
	for _, d := range []string{"objects", "refs"} {
		must(tb, os.MkdirAll(top+"/.git/"+d, 0o755))
	}
	must(tb, os.WriteFile(top+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644))
}

// git runs git in top, which must hold a .git, without anybody's configuration.
func git(tb testing.TB, top string, stdin []byte, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = top, bytes.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(top)}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// repoDir returns a new folder, in memory where the system has such a place: thousands of small trees keep a busy
// disk busy.
func repoDir(tb testing.TB) string {
	tb.Helper()
	top, err := os.MkdirTemp("/dev/shm", "patch-test-")
	if err != nil {
		top, err = os.MkdirTemp(tb.TempDir(), "repo")
	}
	must(tb, err)
	return top
}

// oracle asks git what the patch makes of the tree, in a repository whose top is the tree's.
func oracle(tb testing.TB, before treeModel, diff []byte) (treeModel, error) {
	tb.Helper()
	top := repoDir(tb)
	defer func() { _ = os.RemoveAll(top) }()
	gitDir(tb, top)
	before.write(tb, top)
	if out, err := git(tb, top, diff, "apply"); err != nil {
		return nil, fmt.Errorf("git apply: %w\n%s", err, out)
	}
	return readTree(tb, top), nil
}

func (t treeModel) with(changes []Change) treeModel {
	after := maps.Clone(t)
	for _, c := range changes {
		if c.After == nil {
			delete(after, c.Path)
		} else {
			after[c.Path] = *c.After
		}
	}
	return after
}

// errGit is a wrong answer of git apply; any other error is ours.
var errGit = errors.New("git apply gives another tree")

// roundTrip encodes the way from before to after and follows it in memory and by git at the repository's top.
func roundTrip(tb testing.TB, before, after treeModel) (diff []byte, err error) {
	tb.Helper()
	diff, err = Encode(before.changes(after))
	if err != nil {
		return nil, err
	}
	if again, err := Encode(before.changes(after)); err != nil || !bytes.Equal(diff, again) {
		return diff, fmt.Errorf("encoded twice, got two patches (%w)", err)
	}
	p, err := Parse(diff)
	if err != nil {
		return diff, err
	}
	changes, err := p.Apply(before.read)
	if err != nil {
		return diff, err
	}
	if got := before.with(changes); !got.equal(after) {
		return diff, fmt.Errorf("applied in memory:\n%v", got)
	}
	for _, c := range changes {
		if Equal(c.Before, c.After) {
			return diff, fmt.Errorf("%q is in the patch and does not change", c.Path)
		}
	}
	if before.equal(after) {
		if len(diff) > 0 {
			return diff, errors.New("a patch of nothing")
		}
		return nil, nil // git takes no empty patch
	}
	got, err := oracle(tb, before, diff)
	if err == nil && !got.equal(after) {
		err = fmt.Errorf("%w:\n%v", errGit, got)
	}
	return diff, err
}

// A pair is the way from one tree to another.
type pair struct{ before, after treeModel }

// farTrip asks git, once for all pairs, in a repository where each pair has its own sub-folder: its patch names
// paths relative to the top.
func farTrip(tb testing.TB, pairs []pair) error {
	tb.Helper()
	before, after, diff := treeModel{"f": regular("stays\n")}, treeModel{"f": regular("stays\n")}, []byte(nil)
	for i, p := range pairs {
		folder := fmt.Sprintf("sub dir/ü %d/", i)
		b, a := p.before.below(folder), p.after.below(folder)
		one, err := Encode(b.changes(a))
		if err != nil {
			return err
		}
		diff = append(diff, one...)
		maps.Copy(before, b)
		maps.Copy(after, a)
	}
	got, err := oracle(tb, before, diff)
	if err == nil && !got.equal(after) {
		err = errGit
	}
	if err == nil || len(pairs) == 1 {
		return err
	}
	for _, p := range pairs { // which?
		if err := farTrip(tb, []pair{p}); err != nil {
			return fmt.Errorf("in a sub-folder: %w\nbefore\n%vafter\n%v", err, p.before, p.after)
		}
	}
	return err
}
