package fix

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		for _, dir := range parents(name) {
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
	return storeAt(t, tempDir(t), before)
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

func storeAt(t testing.TB, root string, before files) *Store {
	t.Helper()
	before.write(t, root)
	s := &Store{Root: root, Dir: filepath.Join(root, ".async")}
	check(t, os.MkdirAll(s.runDir(runID), 0o700))
	return s
}

func (s *Store) runDir(run string) string { return filepath.Join(s.Dir, "runs", run) }

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
	d, err := Begin(s.runDir(run), run, s.verdict(t, run), task, nil)
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
func (s *Store) verdict(t testing.TB, run string) string {
	t.Helper()
	path := filepath.Join(s.runDir(run), "run.json")
	if !exists(path) {
		check(t, os.MkdirAll(s.runDir(run), 0o700))
		check(t, os.WriteFile(path, []byte(`{"schema_version":1,"id":"`+run+`","status":"failed"}`+"\n"), 0o600))
	}
	sum, err := runDigest(s.runDir(run))
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
