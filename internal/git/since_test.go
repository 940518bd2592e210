package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSince(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{"same": "1", "later": "1", "dirty": "1", "gone": "1", "removed": "1", "back": "1", "mode": "1"})
	since := func(commit string) string {
		t.Helper()
		all, err := r.Since(t.Context(), commit)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, d := range all {
			words = append(words, d.Change+" "+d.Path)
		}
		return strings.Join(words, ", ")
	}
	first := run(t, top, "rev-parse", "HEAD")
	if got := since(first); got != "" {
		t.Errorf("of the tree as it was committed: %s", got)
	}
	write(t, top, map[string]string{"dirty": "2", "new": "1", ".gitignore": "*.o\n", "x.o": "1"})
	if got := since(first); got != "added .gitignore, changed dirty, added new" {
		t.Errorf("not committed: %s", got)
	}
	write(t, top, map[string]string{"later": "2", "back": "2", "brief": "1"})
	for _, err := range []error{os.Remove(filepath.Join(top, "gone")), os.Chmod(filepath.Join(top, "mode"), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run(t, top, "add", "-A")
	run(t, top, "commit", "-q", "-m", "two")
	write(t, top, map[string]string{"back": "1"})
	for _, name := range []string{"removed", "brief"} {
		if err := os.Remove(filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := since(first); got != "added .gitignore, changed dirty, removed gone, changed later, changed mode, added new, removed removed" {
		t.Errorf("committed in between: %s", got)
	}
	for _, commit := range []string{strings.Repeat("0", 40), "main", "--help", ""} {
		if _, err := r.Since(t.Context(), commit); !errors.Is(err, ErrGone) {
			t.Errorf("%q: %v", commit, err)
		}
	}
}
