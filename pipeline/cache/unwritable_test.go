package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A failure proves nothing while a folder of outputs may not be written. Root may write everywhere, so it asks itself again
// as nobody.
func TestUnwritableOutputs(t *testing.T) {
	t.Parallel()
	const as = "ASYNC_PIPELINE_TEST_UNWRITABLE"
	root := os.Getenv(as)
	if os.Geteuid() == 0 {
		const nobody = 65534
		base, err := os.MkdirTemp("", "unwritable") // t.TempDir is closed to others
		must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(base) })
		self, err := os.Executable()
		must(t, err)
		program, err := os.ReadFile(self)
		must(t, err)
		again, root := filepath.Join(base, "again"), filepath.Join(base, "tree")
		must(t, errors.Join(os.WriteFile(again, program, 0o600), os.Mkdir(root, 0o700), os.Chown(root, nobody, nobody)))
		for _, name := range []string{base, again} {
			must(t, os.Chmod(name, 0o755))
		}
		cmd := exec.CommandContext(t.Context(), again, "-test.run=^TestUnwritableOutputs$", "-test.count=1")
		cmd.Dir, cmd.Env = "/", []string{as + "=" + root}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("as nobody: %v\n%s", err, out)
		}
		return
	}
	if root == "" {
		root = t.TempDir()
	}
	p := newProject(t, root, filepath.Join(root, ".async", "cache"), &pipeline.Task{Name: "t", Inputs: []string{"src/**"}, Outputs: []string{"out/**"}})
	p.write("src/a", "1")
	p.run()
	out := filepath.Join(root, "out")
	defer func() { _ = os.Chmod(out, 0o700) }()
	for mode, proves := range map[fs.FileMode]bool{0o700: true, 0o500: false} {
		must(t, os.Chmod(out, mode))
		c := p.cache()
		e := c.Look(context.Background(), p.config.Tasks[0])
		c.Ran(e.task)
		c.Compare(context.Background(), e)
		if proves != (e.Unchanged != nil && *e.Unchanged) {
			t.Errorf("with mode %o a failure proves something: %v", mode, !proves)
		}
	}
}
