package cache

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Two checkouts use one store at the same time, with changing contents: each makes what it would make alone.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	var both sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		root := filepath.Join(top, name)
		must(t, os.MkdirAll(filepath.Join(root, ".async"), 0o755))
		p := twoTasks(t, root, filepath.Join(top, "shared", "cache"))
		must(t, os.MkdirAll(filepath.Join(top, "shared"), 0o755))
		p.log = filepath.Join(root, ".async", "log")
		both.Go(func() {
			for i := range 20 {
				p.write("src/a", strings.Repeat("x", i%3))
				p.run()
				if got, want := p.read("gen/out.txt"), p.joined(p.config.Tasks[0]); got != want {
					t.Errorf("%s made %q, want %q", name, got, want)
				}
			}
		})
	}
	both.Wait()
}

// A linked work tree uses the cache of the main one; a .git that only claims to be linked does not.
func TestPlace(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	main, linked := filepath.Join(top, "main"), filepath.Join(top, "linked")
	for _, args := range [][]string{
		{"init", "-q", main},
		{"-C", main, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "x"},
		{"-C", main, "worktree", "add", "-q", linked},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	must(t, os.MkdirAll(filepath.Join(linked, "sub"), 0o755))
	claims := filepath.Join(top, "claims")
	must(t, os.Mkdir(claims, 0o755))
	own, err := os.ReadFile(filepath.Join(linked, ".git"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(claims, ".git"), own, 0o600))
	for root, want := range map[string]string{
		main: main, linked: main, filepath.Join(linked, "sub"): filepath.Join(main, "sub"), claims: claims,
	} {
		if got := Place(root); got != filepath.Join(want, ".async", "cache") {
			t.Errorf("%s: %s", root, got)
		}
	}
}
