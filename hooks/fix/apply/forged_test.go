package apply

import (
	"errors"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A record that was changed so that it contradicts itself, or whose run is another one, hides no other and is not
// applied.
func TestForgedRecords(t *testing.T) {
	t.Parallel()
	run := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, "run.json")
			switch name {
			case "gone":
				fixtest.Check(t, os.Remove(path))
			case "link":
				fixtest.Relink(t, path)
			case "changed":
				fixtest.ReplaceIn(t, path, "failed", "passed")
			}
		}
	}
	cases := map[string]struct {
		forge func(t *testing.T, dir string)
		says  string
		all   bool // the whole run is refused
	}{
		"run.json is gone":    {run("gone"), "run.json", true},
		"run.json is a link":  {run("link"), "symbolic link", true},
		"run.json is another": {run("changed"), "one of them was changed", true},
		"made for another run": {func(t *testing.T, dir string) {
			fixtest.ReplaceIn(t, dir+"/fixes/bad.json", `"run_digest":"sha256:`, `"run_digest":"sha256:0`)
		}, "bad.json was made for a run.json with digest sha256:0", false},
		"an original check fails": {func(t *testing.T, dir string) {
			fixtest.ReplaceIn(t, dir+"/fixes/bad.json", `"original_checks":[{"task":"test","passed":true`,
				`"original_checks":[{"task":"test","passed":false`)
		}, "did not pass", false},
		"nothing was checked": {func(t *testing.T, dir string) {
			fixtest.ReplaceIn(t, dir+"/fixes/bad.json", `"verification":{"proposed":`, `"verification":{"p":`)
		}, "nothing was checked", false},
	}
	verified := func(_ *draft.Draft, f *fix.Fix) { f.Verdict = new("verified") }
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTree(t, fixtest.One)
			fixtest.Sealed(t, s.Store, "good", fixtest.One, fixtest.Two, verified)
			p := fixtest.Sealed(t, s.Store, "bad", fixtest.One, fixtest.Two, verified)
			other := "20261122T000000Z-bbbb"
			fixtest.SealedIn(t, s.Store, other, "good", fixtest.Change(fixtest.One, fixtest.Two), verified)
			c.forge(t, fixtest.RunDir(s.Store, fixtest.RunID))

			items, errs := s.List()
			if want := map[bool]int{true: 1, false: 2}[c.all]; len(items) != want {
				t.Errorf("listed: %+v", items)
			}
			if len(errs) == 0 || !errors.Is(errs[0], fix.ErrDamaged) ||
				!strings.Contains(errors.Join(errs...).Error(), c.says) {
				t.Errorf("errors: %v", errs)
			}
			if _, err := s.Find(fixtest.RunID, "bad"); !errors.Is(err, fix.ErrDamaged) ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("Find: %v", err)
			}
			if strings.HasPrefix(name, "run.json") { // the proposal was found before
				if _, err := apply(t, s, p, Options{}); !errors.Is(err, fix.ErrDamaged) || !errors.Is(err, ErrRefused) ||
					!strings.Contains(err.Error(), c.says) {
					t.Errorf("Apply: %v", err)
				}
			}
			fixtest.Same(t, "tree", fixtest.Snapshot(t, s.Root), fixtest.One)
		})
	}
	t.Run("changed in memory", func(t *testing.T) {
		t.Parallel()
		s := newTree(t, fixtest.One)
		p := fixtest.Sealed(t, s.Store, "test", fixtest.One, fixtest.Two, nil)
		p.Verdict = new("verified")
		if _, err := apply(t, s, p, Options{}); !errors.Is(err, fix.ErrDamaged) ||
			!strings.Contains(err.Error(), "nothing was checked") {
			t.Errorf("%v", err)
		}
	})
}

// Records that git tracks came with the repository: they are shown, and never applied.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{".", "pkg"} {
		t.Run(sub, func(t *testing.T) {
			t.Parallel()
			top := fixtest.TempDir(t)
			root := filepath.Join(top, sub)
			fixtest.Check(t, os.MkdirAll(root, 0o755))
			s := treeAt(t, root, fixtest.One)
			fixtest.Check(t, os.WriteFile(filepath.Join(s.Dir, ".gitignore"), []byte("*\n"), 0o600))
			commitAll(t, top)
			path := filepath.ToSlash(filepath.Join(sub, "a.txt"))
			p := fixtest.Sealed(t, s.Store, "test", fixtest.Files{path: "f:one\n"}, fixtest.Files{path: "f:two\n"}, nil)
			if came, err := s.Foreign(t.Context()); came || err != nil {
				t.Errorf("our own: %v %v", came, err)
			}
			if _, err := apply(t, s, p, Options{DryRun: true}); err != nil {
				t.Errorf("our own: %v", err)
			}
			gitRun(t, root, "add", "-f", ".async/runs/"+fixtest.RunID+"/fixes/test.json")
			gitRun(t, root, "commit", "-q", "-m", "records")
			if came, err := s.Foreign(t.Context()); !came || err != nil {
				t.Errorf("tracked: %v %v", came, err)
			}
			for _, dry := range []bool{true, false} {
				_, err := apply(t, s, p, Options{DryRun: dry, AllowDirty: true})
				if !errors.Is(err, ErrForeign) || !errors.Is(err, ErrRefused) ||
					!strings.Contains(err.Error(), "came with the repository") ||
					!strings.Contains(err.Error(), "git rm -r --cached .async") {
					t.Errorf("%v", err)
				}
			}
			if b, _ := os.ReadFile(filepath.Join(root, "a.txt")); string(b) != "one\n" {
				t.Errorf("a.txt is %q", b)
			}
			gitRun(t, root, "rm", "-q", "-r", "--cached", ".async")
			if _, err := apply(t, s, p, Options{}); err != nil {
				t.Errorf("no longer tracked: %v", err)
			}
		})
	}
	t.Run("without git", func(t *testing.T) {
		t.Parallel()
		s := newTree(t, fixtest.One)
		if came, err := s.Foreign(t.Context()); came || err != nil {
			t.Errorf("%v %v", came, err)
		}
	})
}
