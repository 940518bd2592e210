package files

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/git"
)

// What differs is told relative to the root, and a submodule as a folder. What is beside the root is not told, but links
// that lead there are, and those that lead to what differs.
func TestSince(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(err)
	write := func(name, text string) {
		t.Helper()
		must(os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755))
		must(os.WriteFile(filepath.Join(top, name), []byte(text), 0o644))
	}
	in := func(dir string, args ...string) {
		t.Helper()
		args = append([]string{"-C", filepath.Join(top, dir), "-c", "user.name=n", "-c", "user.email=e"}, args...)
		out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	write("proj/src/a", "1")
	write("proj/src/b", "1")
	write("proj/sub/x", "1")
	write("other", "1")
	for link, to := range map[string]string{
		"proj/far": "../other", "proj/near": "src/b", "proj/two": "src/../three", "proj/three": "src/a", "proj/loop": "loop", "proj/none": "gone",
		"proj/dir": "src", "proj/in": "dir/a", "proj/null": os.DevNull,
	} {
		must(os.Symlink(to, filepath.Join(top, link)))
	}
	in("proj/sub", "init", "-q")
	in("proj/sub", "add", ".")
	in("proj/sub", "commit", "-qm", "1")
	in("", "init", "-q", "-b", "main")
	in("", "add", ".")
	in("", "commit", "-qm", "1")
	in("proj/sub", "commit", "-qm", "2", "--allow-empty")
	in("", "switch", "-qc", "branch")
	write("proj/src/a", "2")
	write("other", "2")
	in("", "commit", "-qam", "2")
	write("proj/new", "1")
	repo, err := git.Find(t.Context(), top)
	must(err)
	changes, err := Since(t.Context(), repo, "", filepath.Join(top, "proj"))
	must(err)
	if got := fmt.Sprintln(changes.Base, changes.Paths, changes.Doubtful); got != "main [far in new src/a sub/ three two] [loop none null]\n" || len(changes.Commit) < 40 {
		t.Error(changes.Commit, got)
	}
	write("proj/sub/x", "2")
	write("proj/sub/y", "1")
	must(os.Symlink(os.DevNull, filepath.Join(top, "proj/out")))
	in("", "add", "proj/out")
	in("", "update-index", "--assume-unchanged", "proj/src/b")
	write("proj/src/b", "2")
	changes, err = Since(t.Context(), repo, "HEAD", filepath.Join(top, "proj"))
	must(err)
	if got := fmt.Sprintln(changes.Paths, changes.Doubtful); got != "[new out sub/x sub/y] [loop near none null src/b]\n" {
		t.Error(got)
	}
	if _, err := Since(t.Context(), repo, "nosuch", top); err == nil {
		t.Error("there is no such base")
	}
}
