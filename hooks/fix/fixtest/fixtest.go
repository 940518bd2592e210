// Package fixtest makes trees and sealed fixes for tests.
package fixtest

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

const RunID = "20261121T024000Z-7f3a"

// Files is a tree in a map: path → "f:content", "x:content" (executable), "r:content" (read-only), "l:target", "p:"
// (a FIFO); folder/ → "d".
type Files map[string]string

func (f Files) File(name string) *patch.File {
	v, ok := f[name]
	if !ok {
		return nil
	}
	kind, data := v[:1], []byte(v[2:])
	switch kind {
	case "x":
		return &patch.File{Mode: 0o755, Data: data}
	case "l":
		return &patch.File{Mode: fs.ModeSymlink | 0o777, Data: data}
	}
	return &patch.File{Mode: 0o644, Data: data}
}

// Change returns what changes between two trees, sorted.
func Change(before, after Files) []patch.Change {
	all := maps.Clone(before)
	maps.Copy(all, after)
	var changes []patch.Change
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if before[name] != after[name] {
			changes = append(changes, patch.Change{Path: name, Before: before.File(name), After: after.File(name)})
		}
	}
	return changes
}

// Write makes root hold exactly f besides .git and .async.
func (f Files) Write(t testing.TB, root string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	Check(t, err)
	for _, e := range entries {
		if e.Name() != ".git" && e.Name() != ".async" {
			Check(t, os.RemoveAll(filepath.Join(root, e.Name())))
		}
	}
	for name, v := range f {
		Put(t, root, name, v)
	}
}

func Put(t testing.TB, root, name, v string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	_ = os.Remove(path)
	switch v[:1] {
	case "l":
		Check(t, os.Symlink(v[2:], path))
	case "d":
		Check(t, os.Mkdir(path, 0o755))
	case "p":
		Check(t, unix.Mkfifo(path, 0o600))
	case "x":
		Check(t, os.WriteFile(path, []byte(v[2:]), 0o755))
	case "r":
		Check(t, os.WriteFile(path, []byte(v[2:]), 0o444))
	default:
		Check(t, os.WriteFile(path, []byte(v[2:]), 0o644))
	}
}

// Snapshot reads a tree, folders as "d".
func Snapshot(t testing.TB, root string) Files {
	t.Helper()
	f := Files{}
	Check(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		switch {
		case name == ".":
			return nil
		case name == ".git" || name == ".async":
			return filepath.SkipDir
		case e.IsDir():
			f[filepath.ToSlash(name)+"/"] = "d"
			return nil
		case e.Type()&fs.ModeNamedPipe != 0:
			f[filepath.ToSlash(name)] = "p:"
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			f[filepath.ToSlash(name)] = "l:" + to
			return err
		}
		info, err := e.Info()
		Check(t, err)
		b, err := os.ReadFile(path)
		kind := "f:"
		if info.Mode()&0o100 != 0 {
			kind = "x:"
		}
		f[filepath.ToSlash(name)] = kind + string(b)
		return err
	}))
	return f
}

// With adds the folders that the files need.
func (f Files) With() Files {
	all := maps.Clone(f)
	for name := range f {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			all[dir+"/"] = "d"
		}
	}
	return all
}

func Same(t interface {
	Helper()
	Errorf(format string, args ...any)
}, what string, got, want Files,
) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if g, ok := got[name]; !ok {
			t.Errorf("%s: %q is missing", what, name)
		} else if g != want[name] {
			t.Errorf("%s: %q is %.80q, want %.80q", what, name, g, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %q is there, and should not be", what, name)
		}
	}
}

func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// NewStore is a root with the files of before, without git.
func NewStore(t testing.TB, before Files) *fix.Store {
	t.Helper()
	root := TempDir(t)
	before.Write(t, root)
	s := &fix.Store{Root: root, Dir: filepath.Join(root, ".async")}
	Check(t, os.MkdirAll(RunDir(s, RunID), 0o700))
	return s
}

// TempDir is a new folder, in memory where that can be had: an apply waits for the disk at every step.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fix-test-*")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { Check(t, os.RemoveAll(dir)) })
	dir, err = filepath.EvalSymlinks(dir)
	Check(t, err)
	return dir
}

func RunDir(s *fix.Store, run string) string { return filepath.Join(s.Dir, "runs", run) }

// Sealed makes a sealed proposal from before to after and finds it. more may change draft and fix before they are
// sealed.
func Sealed(t testing.TB, s *fix.Store, task string, before, after Files, more func(*draft.Draft, *fix.Fix)) *fix.Proposal {
	t.Helper()
	return SealedIn(t, s, RunID, task, Change(before, after), more)
}

func SealedIn(t testing.TB, s *fix.Store, run, task string, changes []patch.Change, more func(*draft.Draft, *fix.Fix)) *fix.Proposal {
	t.Helper()
	d, err := draft.Begin(RunDir(s, run), run, VerdictOf(t, s, run), task, nil)
	Check(t, err)
	defer func() { Check(t, d.Close()) }()
	f := &fix.Fix{State: fix.NoFix, Base: &fix.Base{Tree: "sha256:base"}}
	if changes != nil {
		Check(t, d.Propose(f, changes))
	}
	if more != nil {
		more(d, f)
	}
	believable(f)
	Check(t, d.Seal(f))
	p, err := s.Find(run, task)
	Check(t, err)
	return p
}

// VerdictOf is the digest of a run's run.json, which is made where there is none.
func VerdictOf(t testing.TB, s *fix.Store, run string) string {
	t.Helper()
	path := filepath.Join(RunDir(s, run), "run.json")
	if !recordfile.Exists(path) {
		Check(t, os.MkdirAll(RunDir(s, run), 0o700))
		Check(t, os.WriteFile(path, []byte(`{"schema_version":1,"id":"`+run+`","status":"failed"}`+"\n"), 0o600))
	}
	sum, err := fix.RunDigest(RunDir(s, run))
	Check(t, err)
	return sum
}

// believable adds the verdict and the checks that a proposal must have.
func believable(f *fix.Fix) {
	if f.State != fix.Proposed {
		return
	}
	if f.Verdict == nil {
		f.Verdict = new("unverified")
	}
	if *f.Verdict == "unverified" {
		return
	}
	if f.Verification == nil {
		f.Verification = &fix.Verification{}
	}
	for _, checks := range []*[]fix.Check{&f.Verification.Proposed, &f.Verification.OriginalChecks} {
		if *checks == nil {
			*checks = []fix.Check{{Task: "test", Passed: true, ExitCode: new(0)}}
		}
	}
}

func Manifest(t testing.TB, root string) *tree.Manifest {
	t.Helper()
	m, err := tree.Walk(context.Background(), root, tree.Options{})
	Check(t, err)
	return m
}

func Disposed(t testing.TB, s *fix.Store, want string) {
	t.Helper()
	p, err := s.Find(RunID, "test")
	Check(t, err)
	if p.Disposition != want {
		t.Errorf("the fix is %s, want %s", p.Disposition, want)
	}
}

func Decide(t *testing.T, p *fix.Proposal, to string) {
	t.Helper()
	Check(t, fix.AddState(p.StatePath(), p.Digest, fix.StateChange{By: "x", To: to}))
}

var (
	One = Files{"a.txt": "f:one\n"}
	Two = Files{"a.txt": "f:two\n"}
)

func ReplaceIn(t *testing.T, path, old, with string) {
	t.Helper()
	b, err := os.ReadFile(path)
	Check(t, err)
	if !strings.Contains(string(b), old) {
		t.Fatalf("%s has no %s", path, old)
	}
	Check(t, os.WriteFile(path, []byte(strings.Replace(string(b), old, with, 1)), 0o600))
}

// MoveAway moves a folder elsewhere and puts a link in its place.
func MoveAway(t *testing.T, path string) (elsewhere string) {
	t.Helper()
	elsewhere = filepath.Join(TempDir(t), "elsewhere")
	if recordfile.Exists(path) {
		Check(t, os.CopyFS(elsewhere, os.DirFS(path)))
		Check(t, os.RemoveAll(path))
	} else {
		Check(t, os.MkdirAll(elsewhere, 0o700))
		Check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	}
	Check(t, os.Symlink(elsewhere, path))
	return elsewhere
}

// Listing is every path below a folder with its size.
func Listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	Check(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		Check(t, err)
		info, err := e.Info()
		fmt.Fprintln(&b, path, info.Mode(), info.Size())
		return err
	}))
	return b.String()
}

// All is every file below a folder with what it holds.
func All(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	Check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", path, text)
		return err
	}))
	return b.String()
}

func Relink(t *testing.T, path string) {
	t.Helper()
	Check(t, os.Rename(path, path+".elsewhere"))
	Check(t, os.Symlink(path+".elsewhere", path))
}

// ReadChain reads a journal that must be whole.
func ReadChain(t *testing.T, path string, prev *string) [][]byte {
	t.Helper()
	f, err := os.Open(path)
	Check(t, err)
	defer func() { Check(t, f.Close()) }()
	lines, torn, err := journal.Read(f, prev)
	if err != nil || torn {
		t.Fatalf("%s: torn %v, %v", path, torn, err)
	}
	return lines
}

func Printed(print string) func(*draft.Draft, *fix.Fix) {
	return func(_ *draft.Draft, f *fix.Fix) { f.Fingerprint = new(print) }
}

const LaterRun = "20261122T024000Z-0a0a"

// OK returns a function that fails the test for an error, whatever the call gives besides.
func OK(t testing.TB) func(_ any, err error) {
	return func(_ any, err error) { t.Helper(); Check(t, err) }
}

// Read reads a file.
func Read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	Check(t, err)
	return b
}

// Find finds a fix.
func Find(t testing.TB, s *fix.Store, run, task string) *fix.Proposal {
	t.Helper()
	p, err := s.Find(run, task)
	Check(t, err)
	return p
}

// Begin opens a draft for a task of RunID, which is closed with the test at the latest.
func Begin(t testing.TB, s *fix.Store, task string, clean func([]byte) []byte) *draft.Draft {
	t.Helper()
	d, err := draft.Begin(Dir(s), RunID, VerdictOf(t, s, RunID), task, clean)
	Check(t, err)
	t.Cleanup(func() { Check(t, d.Close()) })
	return d
}

// Dir is the folder of RunID.
func Dir(s *fix.Store) string { return RunDir(s, RunID) }
