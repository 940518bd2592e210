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

// Nothing is written or read through a link that stands in the place of a folder of the records.
func TestLinkedFolders(t *testing.T) {
	t.Parallel()
	for _, linked := range []string{".async", "runs", "run", "fixes", "name", "apply"} {
		t.Run(linked, func(t *testing.T) {
			t.Parallel()
			s := newTree(t, fixtest.One)
			p := fixtest.Sealed(t, s.Store, "test", fixtest.One, fixtest.Two, nil)
			sum := fixtest.VerdictOf(t, s.Store, fixtest.RunID)
			d, err := draft.Begin(fixtest.RunDir(s.Store, fixtest.RunID), fixtest.RunID, sum, "lint", nil) // a healing that was interrupted
			fixtest.Check(t, err)
			fixtest.Check(t, d.Close())
			link := map[string]string{
				".async": s.Dir, "runs": filepath.Join(s.Dir, "runs"), "run": fixtest.RunDir(s.Store,
					fixtest.RunID), "fixes": filepath.Join(fixtest.RunDir(s.Store, fixtest.RunID), "fixes"),
				"name": filepath.Join(fixtest.RunDir(s.Store, fixtest.RunID), "fixes", "test"), "apply": s.dir(),
			}[linked]
			if linked == "name" { // of the draft too
				fixtest.MoveAway(t, filepath.Join(fixtest.RunDir(s.Store, fixtest.RunID), "fixes", "lint"))
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
				_, err = apply(t, s, p, Options{DryRun: dry})
				refuses("Apply", err)
			}
			if linked == ".async" || linked == "apply" {
				_, err = s.Recover(context.Background())
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
				_, err = s.Find(fixtest.RunID, "test")
				refuses("Find", err)
				_, err = draft.Begin(fixtest.RunDir(s.Store, fixtest.RunID), fixtest.RunID, sum, "test", nil)
				refuses("Begin", err)
				_, err = fix.OpenJournal(fixtest.RunDir(s.Store, fixtest.RunID), sum, nil)
				refuses("OpenJournal", err)
				_, _, err = draft.HookLog(fixtest.RunDir(s.Store, fixtest.RunID), "test", 1, nil)
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
		s, _ := crashed(t, fixtest.One, fixtest.Files{"a.txt": "f:two\n", "b.txt": "f:b\n"}, at)
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
