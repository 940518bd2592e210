package fix

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

const runID = "20261121T024000Z-7f3a"

// A files is a tree in a map: path → "f:content", "x:content" (executable), "l:target".
type files map[string]string

func (f files) file(name string) *patch.File {
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

// change gives what changes between two trees, sorted.
func change(before, after files) []patch.Change {
	all := maps.Clone(before)
	maps.Copy(all, after)
	var changes []patch.Change
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if before[name] != after[name] {
			changes = append(changes, patch.Change{Path: name, Before: before.file(name), After: after.file(name)})
		}
	}
	return changes
}

// write makes root hold exactly f besides .git and .async.
func (f files) write(t testing.TB, root string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	check(t, err)
	for _, e := range entries {
		if e.Name() != ".git" && e.Name() != ".async" {
			check(t, os.RemoveAll(filepath.Join(root, e.Name())))
		}
	}
	for name, v := range f {
		put(t, root, name, v)
	}
}

func put(t testing.TB, root, name, v string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	_ = os.Remove(path)
	switch v[:1] {
	case "l":
		check(t, os.Symlink(v[2:], path))
	case "x":
		check(t, os.WriteFile(path, []byte(v[2:]), 0o755))
	default:
		check(t, os.WriteFile(path, []byte(v[2:]), 0o644))
	}
}

// snapshot reads a tree, folders as "d".
func snapshot(t testing.TB, root string) files {
	t.Helper()
	f := files{}
	check(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
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
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			f[filepath.ToSlash(name)] = "l:" + to
			return err
		}
		info, err := e.Info()
		check(t, err)
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

// with adds the folders that the files need.
func (f files) with() files {
	all := maps.Clone(f)
	for name := range f {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			all[dir+"/"] = "d"
		}
	}
	return all
}

func same(t interface {
	Helper()
	Errorf(format string, args ...any)
}, what string, got, want files,
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

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newStore is a root with the files of before, without git.
func newStore(t testing.TB, before files) *Store {
	t.Helper()
	root := tempDir(t)
	before.write(t, root)
	s := &Store{Root: root, Dir: filepath.Join(root, ".async")}
	check(t, os.MkdirAll(runDir(s, runID), 0o700))
	return s
}

// tempDir is a new folder, in memory where that can be had: an apply waits for the disk at every step.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fix-test-*")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	dir, err = filepath.EvalSymlinks(dir)
	check(t, err)
	return dir
}

func runDir(s *Store, run string) string { return filepath.Join(s.Dir, "runs", run) }

// gitRun runs git in dir with no configuration of anybody.
func gitRun(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commitAll makes dir a repository that holds everything but .async.
func commitAll(t testing.TB, dir string) string {
	t.Helper()
	gitRun(t, dir, "init", "-q")
	check(t, os.WriteFile(filepath.Join(dir, ".git", "info", "exclude"), []byte(".async\n"), 0o600))
	gitRun(t, dir, "add", "-A")
	gitRun(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
	return gitRun(t, dir, "rev-parse", "HEAD")
}

// sealed makes a sealed proposal from before to after and finds it. more may change draft and fix before they are sealed.
func sealed(t testing.TB, s *Store, task string, before, after files, more func(*Draft, *Fix)) *Proposal {
	t.Helper()
	return sealedIn(t, s, runID, task, change(before, after), more)
}

func sealedIn(t testing.TB, s *Store, run, task string, changes []patch.Change, more func(*Draft, *Fix)) *Proposal {
	t.Helper()
	d, err := Begin(runDir(s, run), run, verdictOf(t, s, run), task, nil)
	check(t, err)
	defer func() { check(t, d.Close()) }()
	f := &Fix{State: NoFix, Base: &Base{Tree: "sha256:base"}}
	if changes != nil {
		check(t, d.Propose(f, changes))
	}
	if more != nil {
		more(d, f)
	}
	believable(f)
	check(t, d.Seal(f))
	p, err := s.Find(run, task)
	check(t, err)
	return p
}

// verdict is the digest of a run's run.json, which is made where there is none.
func verdictOf(t testing.TB, s *Store, run string) string {
	t.Helper()
	path := filepath.Join(runDir(s, run), "run.json")
	if !exists(path) {
		check(t, os.MkdirAll(runDir(s, run), 0o700))
		check(t, os.WriteFile(path, []byte(`{"schema_version":1,"id":"`+run+`","status":"failed"}`+"\n"), 0o600))
	}
	sum, err := runDigest(runDir(s, run))
	check(t, err)
	return sum
}

// believable gives a proposal the verdict and the checks that it has to have, where it has none.
func believable(f *Fix) {
	if f.State != Proposed {
		return
	}
	if f.Verdict == nil {
		f.Verdict = ptr("unverified")
	}
	if *f.Verdict == "unverified" {
		return
	}
	if f.Verification == nil {
		f.Verification = &Verification{}
	}
	for _, checks := range []*[]Check{&f.Verification.Proposed, &f.Verification.OriginalChecks} {
		if *checks == nil {
			*checks = []Check{{Task: "test", Passed: true, ExitCode: ptr(0)}}
		}
	}
}

func manifest(t testing.TB, root string) *tree.Manifest {
	t.Helper()
	m, err := tree.Walk(context.Background(), root, tree.Options{})
	check(t, err)
	return m
}

func ptr[T any](v T) *T { return &v }

func disposed(t testing.TB, s *Store, want string) {
	t.Helper()
	p, err := s.Find(runID, "test")
	check(t, err)
	if p.Disposition != want {
		t.Errorf("the fix is %s, want %s", p.Disposition, want)
	}
}

func decide(t *testing.T, p *Proposal, to string) {
	t.Helper()
	check(t, addDecision(p.statePath(), p.digest, decision{By: "x", To: to}))
}

var (
	one = files{"a.txt": "f:one\n"}
	two = files{"a.txt": "f:two\n"}
)

func replaceIn(t *testing.T, path, old, with string) {
	t.Helper()
	b, err := os.ReadFile(path)
	check(t, err)
	if !strings.Contains(string(b), old) {
		t.Fatalf("%s has no %s", path, old)
	}
	check(t, os.WriteFile(path, []byte(strings.Replace(string(b), old, with, 1)), 0o600))
}

// moveAway puts a link in the place of a folder, which stands elsewhere from then on.
func moveAway(t *testing.T, path string) (elsewhere string) {
	t.Helper()
	elsewhere = filepath.Join(tempDir(t), "elsewhere")
	if exists(path) {
		check(t, os.CopyFS(elsewhere, os.DirFS(path)))
		check(t, os.RemoveAll(path))
	} else {
		check(t, os.MkdirAll(elsewhere, 0o700))
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	}
	check(t, os.Symlink(elsewhere, path))
	return elsewhere
}

// listing is every path below a folder with its size.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		check(t, err)
		info, err := e.Info()
		fmt.Fprintln(&b, path, info.Mode(), info.Size())
		return err
	}))
	return b.String()
}

// all is every file below a folder with what it holds.
func all(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", path, text)
		return err
	}))
	return b.String()
}

func relink(t *testing.T, path string) {
	t.Helper()
	check(t, os.Rename(path, path+".elsewhere"))
	check(t, os.Symlink(path+".elsewhere", path))
}

// readChain reads a journal that must be whole.
func readChain(t *testing.T, path string, prev *string) [][]byte {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	defer func() { check(t, f.Close()) }()
	lines, torn, err := journal.Read(f, prev)
	if err != nil || torn {
		t.Fatalf("%s: torn %v, %v", path, torn, err)
	}
	return lines
}

func printed(print string) func(*Draft, *Fix) {
	return func(_ *Draft, f *Fix) { f.Fingerprint = ptr(print) }
}

const laterRun = "20261122T024000Z-0a0a"
