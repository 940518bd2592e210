package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/digest"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A base is made again from git's commit, from what was stored, and from the tree as it is now, each only by its
// digest.
func TestRestore(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{".", "app"} {
		t.Run(sub, func(t *testing.T) {
			t.Parallel()
			top := temp(t)
			write(t, top, map[string]string{
				".gitignore": "deps\n", "app/main.go": "package main\n", "app/changed": "as committed\n",
			})
			must(t, os.Chmod(top+"/app/main.go", 0o755), os.Symlink("main.go", top+"/app/link"))
			run(t, top, "init", "-q")
			run(t, top, "add", "-A")
			run(t, top, "commit", "-q", "-m", "x")
			write(t, top, map[string]string{"app/changed": "dirty\n", "app/new": "new\n", "app/deps/lib": "ignored\n"})
			root := filepath.Join(top, sub)
			include := "deps"
			if sub == "." {
				include = "app/deps"
			}
			base, err := Make(t.Context(), temp(t), Source{Root: root, Include: []string{include}})
			must(t, err)
			defer func() { _ = base.Close() }()
			stored := map[string]string{}
			loose, err := base.Loose(t.Context())
			must(t, err)
			for _, p := range loose {
				f, err := base.Read(p)
				must(t, err)
				stored[digest.Of(f.Data)] = string(f.Data)
			}
			saved := Saved{
				Root: root, Sub: base.Sub, Commit: base.Commit, Manifest: base.Manifest,
				Content: func(sum string) ([]byte, bool) { s, ok := stored[sum]; return []byte(s), ok },
			}

			// The tree goes on, and so does git.
			write(t, top, map[string]string{"app/main.go": "package other\n", "app/changed": "again\n"})
			run(t, top, "add", "-A")
			run(t, top, "commit", "-q", "-m", "y")
			again, err := Restore(t.Context(), temp(t), saved)
			must(t, err)
			if now := time.Now().Unix(); second(t, filepath.Join(again.Dir, "app/main.go")) > now-2 {
				t.Error("what is put in the place of a file may be of the same second")
			}
			defer func() { _ = again.Close() }()
			if d := tree.Compare(base.Manifest, again.Manifest); len(d) > 0 || again.Top != base.Top || again.Sub != base.Sub || again.Commit != base.Commit {
				t.Errorf("%d differ; %+v", len(d), again)
			}
			if got, want := strings.Join(again.Paths(), " "), strings.Join(base.Paths(), " "); got != want {
				t.Errorf("paths %s, want %s", got, want)
			}
			if got, want := strings.Join(again.Taken, " "), strings.Join(base.Taken, " "); got != want {
				t.Errorf("taken %s, want %s", got, want)
			}
			c, err := again.Copy(t.Context(), filepath.Join(temp(t), "copy"))
			must(t, err)
			if got := run(t, c.Dir, "rev-parse", "HEAD"); strings.TrimSpace(got) != base.Commit {
				t.Errorf("HEAD is %s, want %s", got, base.Commit)
			}
			if got := run(t, c.Dir, "status", "--porcelain"); strings.TrimSpace(got) != "M app/changed\n?? app/new" {
				t.Errorf("status %q", got)
			}

			for what, damage := range map[string]func(*Saved){
				"a content is gone": func(s *Saved) {
					s.Content = func(string) ([]byte, bool) { return nil, false }
				},
				"a content is another": func(s *Saved) {
					s.Content = func(string) ([]byte, bool) { return []byte("x"), true }
				},
				"the commit is gone":    func(s *Saved) { s.Commit = strings.Repeat("1", 40) },
				"the root is elsewhere": func(s *Saved) { s.Sub = "other" },
			} {
				parent, bad := temp(t), saved
				damage(&bad)
				if b, err := Restore(t.Context(), parent, bad); !errors.Is(err, ErrGone) {
					t.Errorf("%s: %v, %v", what, b, err)
				}
				if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
					t.Errorf("%s: %v is left behind, %v", what, left, err)
				}
			}
		})
	}
}
