package apply

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
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
			c.forge(t, fixtest.Dir(s.Store))

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
			s.holds(t, "tree", fixtest.One)
		})
	}
	t.Run("changed in memory", func(t *testing.T) {
		t.Parallel()
		s, p := proposed(t, fixtest.One, fixtest.Two)
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

// Nothing is written or read through a link in the place of a folder of the records.
func TestLinkedFolders(t *testing.T) {
	t.Parallel()
	for _, linked := range []string{".async", "runs", "run", "fixes", "name", "apply"} {
		t.Run(linked, func(t *testing.T) {
			t.Parallel()
			s, p := proposed(t, fixtest.One, fixtest.Two)
			sum := fixtest.VerdictOf(t, s.Store, fixtest.RunID)
			d := fixtest.Begin(t, s.Store, "lint", nil) // a fix that was interrupted
			fixtest.Check(t, d.Close())
			link := map[string]string{
				".async": s.Dir, "runs": filepath.Join(s.Dir, "runs"), "run": fixtest.RunDir(s.Store,
					fixtest.RunID), "fixes": filepath.Join(fixtest.Dir(s.Store), "fixes"),
				"name": filepath.Join(fixtest.Dir(s.Store), "fixes", "test"), "apply": s.dir(),
			}[linked]
			if linked == "name" { // of the draft too
				fixtest.MoveAway(t, filepath.Join(fixtest.Dir(s.Store), "fixes", "lint"))
			}
			elsewhere := fixtest.MoveAway(t, link)
			was := fixtest.Listing(t, elsewhere)
			refuses := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), link+" is a link") ||
					!strings.Contains(err.Error(), "never followed through links") || !strings.Contains(err.Error(), "remove it") {
					t.Errorf("%s: %v", what, err)
				}
			}

			for _, dry := range []bool{true, false} {
				if dry && linked == "apply" {
					continue // a dry run does not go there
				}
				_, err := apply(t, s, p, Options{DryRun: dry})
				refuses("Apply", err)
			}
			if linked == ".async" || linked == "apply" {
				_, err := s.Recover(context.Background())
				refuses("Recover", err)
			}
			if linked != "apply" {
				items, errs := s.List()
				if linked != "name" && len(items) > 0 {
					t.Errorf("List: %+v", items)
				}
				if linked != "name" || len(errs) > 0 {
					refuses("List", errors.Join(errs...))
				}
				drafts, err := draft.Resume(s.Store, nil)
				if len(drafts) > 0 || err == nil || !strings.Contains(err.Error(), "is a link") {
					t.Errorf("Resume: %v %v", drafts, err)
				}
			}
			if linked != "apply" && linked != "name" {
				_, err := s.Find(fixtest.RunID, "test")
				refuses("Find", err)
				_, err = draft.Begin(fixtest.Dir(s.Store), fixtest.RunID, sum, "test", nil)
				refuses("Begin", err)
				_, err = fix.OpenJournal(fixtest.Dir(s.Store), sum, nil)
				refuses("OpenJournal", err)
				_, _, err = draft.HookLog(fixtest.Dir(s.Store), "test", 1, nil)
				refuses("HookLog", err)
			}
			if now := fixtest.Listing(t, elsewhere); now != was {
				t.Errorf("written through the link:\n%s\nit was\n%s", now, was)
			}
			if b, err := os.ReadFile(filepath.Join(s.Root, "a.txt")); string(b) != "one\n" {
				t.Errorf("a.txt is %q, %v", b, err)
			}
		})
	}
}

// The run's folder may have become a link between a crash and its repair, and so may the one for what is kept.
func TestRecoverThroughLinks(t *testing.T) {
	t.Parallel()
	for at, folder := range map[string]string{"record": "runs/" + fixtest.RunID, "write b.txt": "kept"} {
		s, _ := crashed(t, fixtest.One, twoAndB, at)
		link := filepath.Join(s.Dir, filepath.FromSlash(folder))
		elsewhere := fixtest.MoveAway(t, link)
		was := fixtest.Listing(t, elsewhere)
		if folder == "kept" {
			fixtest.Put(t, s.Root, "a.txt", "f:mine\n") // so that its original is kept
		}
		if _, err := s.Recover(context.Background()); err == nil || !strings.Contains(err.Error(), link+" is a link") {
			t.Errorf("%s: %v", at, err)
		}
		if now := fixtest.Listing(t, elsewhere); now != was {
			t.Errorf("%s: written through the link:\n%s", at, now)
		}
	}
}
