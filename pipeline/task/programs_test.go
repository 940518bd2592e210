package task

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// What a name means is remembered only while nobody can change it: no task runs or ran since, and no result from the cache
// can be restored into PATH.
func TestProgramsRemembered(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, first, second := filepath.Join(top, "root"), filepath.Join(top, "first"), filepath.Join(top, "second")
	bin := filepath.Join(root, "bin")
	for _, dir := range []string{bin, first, second} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink(bin, link); err != nil {
		t.Fatal(err)
	}
	put := func(dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "tool"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(second)
	r := &Runner{Config: &pipeline.Config{Root: root}}
	of := func(path string) string {
		all := r.programs("tool", root, []string{"PATH=" + path})
		if len(all) != 1 {
			return ""
		}
		return filepath.Dir(all[0].Path)
	}
	path, inside, linked := first+":"+second, bin+":"+second, link+":"+second
	for _, p := range []string{path, path, inside, linked, "bin:" + second} {
		if got := of(p); got != second {
			t.Fatalf("%s: %q", p, got)
		}
	}
	put(first)
	put(bin)
	if got := of(path); got != second {
		t.Errorf("it was looked up again: %q", got)
	}
	for p, want := range map[string]string{inside: bin, linked: link, "bin:" + second: root + "/bin"} {
		if got := of(p); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
	over := r.found.begin()
	if got := of(path); got != first {
		t.Errorf("while a task runs: %q", got)
	}
	if err := os.Remove(filepath.Join(first, "tool")); err != nil {
		t.Fatal(err)
	}
	if got := of(path); got != second {
		t.Errorf("while it still runs: %q", got)
	}
	put(first)
	over()
	if got := of(path); got != first {
		t.Errorf("after it: %q", got)
	}
}
