package rmtree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// remover makes the test program call All for the path that is its value.
const remover = "RMTREE_TEST_REMOVES"

func TestMain(m *testing.M) {
	if path := os.Getenv(remover); path != "" {
		if err := All(path); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// all calls All as an ordinary user, who owns what is below top: modes mean nothing to root.
func all(t *testing.T, top, path string) error {
	t.Helper()
	if os.Geteuid() != 0 {
		return All(path)
	}
	const nobody = 65534
	must(t, filepath.WalkDir(top, func(p string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(p, nobody, nobody))
	}))
	program := filepath.Join(filepath.Dir(top), "program")
	from, err := os.Open("/proc/self/exe")
	must(t, err)
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(to, from)
	must(t, err, to.Close())
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Dir, cmd.Env = "/", []string{remover + "=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.New(string(out))
	}
	return nil
}

// folder returns a folder that an ordinary user can reach.
func folder(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "rmtree-test-")
	must(t, err)
	top := filepath.Join(base, "top")
	must(t, os.Chmod(base, 0o755), os.Mkdir(top, 0o755)) //nolint:gosec // somebody else enters it
	t.Cleanup(func() { must(t, All(base)) })
	return top
}

// Folders that cannot be read, written or entered are removed with what is in them, also where a name is no UTF-8.
// What a symlink leads to stays as it is.
func TestClosedFolders(t *testing.T) {
	t.Parallel()
	top := folder(t)
	gone, kept := filepath.Join(top, "gone"), filepath.Join(top, "kept")
	must(t,
		os.MkdirAll(filepath.Join(gone, "work", "work", "incompat", "volatile"), 0o755),
		os.MkdirAll(filepath.Join(gone, "\xff\n", "read-only"), 0o755),
		os.Mkdir(kept, 0o755),
		os.WriteFile(filepath.Join(kept, "file"), nil, 0o600),
		os.WriteFile(filepath.Join(gone, "\xff\n", "read-only", "file"), nil, 0o400),
		os.Symlink(kept, filepath.Join(gone, "\xff\n", "read-only", "link")),
		os.Chmod(filepath.Join(gone, "\xff\n", "read-only"), 0o500),
		os.Chmod(filepath.Join(gone, "work", "work"), 0),
		os.Chmod(kept, 0o500),
	)
	must(t, all(t, top, gone))
	if _, err := os.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	info, err := os.Stat(kept)
	must(t, err)
	if _, err := os.Stat(filepath.Join(kept, "file")); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("what a symlink leads to was touched: %v, %v", info.Mode(), err)
	}
}

func TestLinkAndNothing(t *testing.T) {
	t.Parallel()
	top := folder(t)
	must(t, os.Mkdir(filepath.Join(top, "kept"), 0o700), os.Symlink("kept", filepath.Join(top, "link")))
	must(t, All(filepath.Join(top, "link")), All(filepath.Join(top, "none", "none")))
	if entries, err := os.ReadDir(top); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}
