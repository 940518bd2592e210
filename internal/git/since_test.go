package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSince(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{"same": "1", "later": "1", "dirty": "1", "gone": "1", "removed": "1", "back": "1", "mode": "1"})
	since := func(commit string) string {
		t.Helper()
		all, err := r.Since(t.Context(), commit)
		must(t, err)
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
	must(t, os.Remove(filepath.Join(top, "gone")), os.Chmod(filepath.Join(top, "mode"), 0o755))
	run(t, top, "add", "-A")
	run(t, top, "commit", "-q", "-m", "two")
	write(t, top, map[string]string{"back": "1"})
	for _, name := range []string{"removed", "brief"} {
		must(t, os.Remove(filepath.Join(top, name)))
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

func TestContentsOfACommit(t *testing.T) {
	t.Parallel()
	top, repo := newRepo(t, map[string]string{"a": "one\n", "d/empty": "", "d/b\n c": "two"})
	commit, _, err := repo.Head(t.Context())
	must(t, err)
	write(t, top, map[string]string{"a": "later\n"})
	run(t, top, "add", "-A")
	run(t, top, "commit", "-q", "-m", "two")

	for id, want := range map[string]bool{commit: true, strings.Repeat("1", 40): false} {
		if here, err := repo.HasCommit(t.Context(), id); err != nil || here != want {
			t.Errorf("%s: %v, %v", id, here, err)
		}
	}
	for _, id := range []string{"", "HEAD", commit[:12], "--all", commit + " "} {
		if _, err := repo.HasCommit(t.Context(), id); err == nil {
			t.Errorf("%q passes for the id of a commit", id)
		}
	}
	blobs, err := repo.Blobs(t.Context(), commit)
	must(t, err)
	got := map[string]string{}
	if err := repo.Contents(t.Context(), blobs, func(b Blob, data []byte) error {
		got[b.Path] = string(data)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got["a"] != "one\n" || got["d/b\n c"] != "two" || got["d/empty"] != "" {
		t.Errorf("%q", got)
	}
	blobs = append([]Blob{{Path: "lost", ID: strings.Repeat("2", 40), Size: 4}}, blobs...)
	var paths []string
	must(t, repo.Contents(t.Context(), blobs, func(b Blob, _ []byte) error {
		paths = append(paths, b.Path)
		return nil
	}))
	if slices.Contains(paths, "lost") || len(paths) != 3 {
		t.Errorf("%q", paths)
	}

	must(t, repo.SetHead(t.Context(), commit))
	if head := strings.TrimSpace(run(t, top, "rev-parse", "HEAD")); head != commit {
		t.Errorf("HEAD is %s", head)
	}
	if s := run(t, top, "status", "--porcelain"); strings.TrimSpace(s) != "M a" {
		t.Errorf("status %q", s)
	}
	if b, err := os.ReadFile(filepath.Join(top, "a")); err != nil || string(b) != "later\n" {
		t.Errorf("a file was touched: %q, %v", b, err)
	}
}
