package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// One census says what three questions say: also of repositories in folders that nobody tracks, and of paths with
// several stages.
func TestCensus(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{".gitignore": "*.o\nbuild/\n", "both": "1", "gone": "1", "dir/a b": "1"})
	run(t, top, "checkout", "-q", "-b", "other")
	write(t, top, map[string]string{"both": "2"})
	run(t, top, "commit", "-q", "-a", "-m", "two")
	run(t, top, "checkout", "-q", "main")
	write(t, top, map[string]string{"both": "3"})
	run(t, top, "commit", "-q", "-a", "-m", "three")
	run(t, top, "read-tree", "-m", "main~1", "main", "other") // a conflict: three stages of one path
	if err := os.Remove(filepath.Join(top, "gone")); err != nil {
		t.Fatal(err)
	}
	write(t, top, map[string]string{
		"new": "", "x.o": "", "build/y": "", "100644 0 0\ttab": "",
		"far/away/repo/.gitignore": "*.tmp\nout/\n", "far/away/repo/n": "", "far/away/repo/t.tmp": "", "far/away/repo/out/z": "",
	})
	run(t, top+"/far/away/repo", "init", "-q")
	c, err := r.Census(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for what, lists := range map[string][2][]string{
		"files":   {c.Files, {".gitignore", "100644 0 0\ttab", "both", "dir/a b", "far/away/repo/.gitignore", "far/away/repo/n", "gone", "new"}},
		"tracked": {c.Tracked, {".gitignore", "both", "dir/a b", "gone"}},
		"ignored": {c.Ignored, {"build/", "far/away/repo/out/", "far/away/repo/t.tmp", "x.o"}},
	} {
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("%s %q, want %q", what, lists[0], lists[1])
		}
	}
}
