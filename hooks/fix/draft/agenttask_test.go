package draft_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// The draft of an agent task keeps its run while it is under way, is taken over when its maker is gone, and leaves the
// files that a record names.
func TestOfTask(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.Files{"a": "f:one\n"})
	dir := fixtest.RunDir(s, fixtest.RunID)
	begin := func(task string) *draft.Draft {
		d, err := draft.OfTask(dir, fixtest.RunID, task, nil)
		fixtest.Check(t, err)
		return d
	}
	d := begin(`review["x"]`)
	if _, err := draft.OfTask(dir, fixtest.RunID, `review["x"]`, nil); err == nil {
		t.Error("a task has two drafts")
	}
	raw, err := d.Raw(1)
	fixtest.Check(t, err)
	fixtest.Check(t, raw.Close())
	change := fixtest.Change(fixtest.Files{"a": "f:one\n"}, fixtest.Files{"a": "f:two\n"})
	saved, err := d.Rescue(1, change)
	if err != nil || saved.Path != "agents/review%5B%22x%22%5D.patch" {
		t.Fatalf("%+v, %v", saved, err)
	}
	fixtest.Check(t, d.Event("x", nil))
	if killed, errs := s.Abandoned(); len(killed) > 0 || len(errs) > 0 || s.Keeps(fixtest.RunID) == "" {
		t.Errorf("at work: abandoned %v, %v, keeps %q", killed, errs, s.Keeps(fixtest.RunID))
	}
	fixtest.Check(t, d.Close()) // as if it was killed
	if killed, errs := s.Abandoned(); len(killed) != 1 || !killed[0].AgentTask || killed[0].Task != `review["x"]` || len(errs) > 0 {
		t.Errorf("abandoned %v, %v", killed, errs)
	}
	drafts, err := draft.Resume(s, nil)
	if err != nil || len(drafts) != 1 || !drafts[0].IsTask() {
		t.Fatalf("%v, %v", drafts, err)
	}
	d = drafts[0]
	other := begin("review") // its files are its own
	fixtest.Check(t, other.Finish())
	fixtest.Check(t, other.Close())
	files, err := d.Files()
	if err != nil || len(files) != 3 || files[0].Path != saved.Path {
		t.Errorf("%+v, %v", files, err)
	}
	fixtest.Check(t, d.Finish())
	fixtest.Check(t, d.Close())
	if killed, errs := s.Abandoned(); len(killed) > 0 || len(errs) > 0 || s.Keeps(fixtest.RunID) != "" {
		t.Errorf("finished: abandoned %v, %v, keeps %q", killed, errs, s.Keeps(fixtest.RunID))
	}
	if recordfile.Exists(filepath.Join(dir, fix.AgentsFolder, d.Name)) {
		t.Error("its folder is left")
	}
	// A folder that is a link is not looked into.
	fixtest.Check(t, os.Rename(filepath.Join(dir, fix.AgentsFolder), filepath.Join(dir, "elsewhere")))
	fixtest.Check(t, os.Symlink("elsewhere", filepath.Join(dir, fix.AgentsFolder)))
	if _, err := fix.UnfinishedTasks(dir); err == nil {
		t.Error("a link is followed")
	}
	if _, err := draft.OfTask(dir, fixtest.RunID, "b", nil); err == nil {
		t.Error("a draft is made through a link")
	}
}
