package fix_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/hooks/runaudit"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// testdata/v1 was written by the first version and is never written again.
func TestFrozenV1(t *testing.T) {
	t.Parallel()
	s := &fix.Store{Root: t.TempDir(), Dir: filepath.Join("testdata", "v1")}
	items, errs := s.List()
	if len(errs) > 0 || len(items) != 3 {
		t.Fatalf("%+v %v", items, errs)
	}
	p, err := s.Find("latest", "test")
	fixtest.Check(t, err)
	if p.Disposition != fix.Applied || *p.Verdict != "suspect" || len(p.Patch.Files) != 2 ||
		p.Flags[0].Rule != "check_file" ||
		*p.Flags[0].Line != 3 || p.Attempts[0].Number != 1 || *p.Budget.Used.Attempts != 1 || p.Base.Commit == nil ||
		p.Verification.Proposed[0].Task != "test" || p.Reproduction.Result != "same" || len(p.Rescue) != 1 ||
		!strings.HasPrefix(string(p.Diff), "diff --git ") {
		t.Errorf("%+v", p)
	}
	parsed, recorded, err := p.ParseDiff()
	if err != nil || len(parsed.Files) != 2 || len(recorded) != 2 {
		t.Errorf("patch: %+v %v", parsed, err)
	}
	if p, err = s.Find("latest", `unit["linux"]`); err != nil || p.State != fix.Interrupted || len(p.Rescue) != 1 {
		t.Errorf("%+v %v", p, err)
	}
	if p, err = s.Find("latest", "lint"); err != nil || p.State != fix.Skipped || *p.Reason != "heal_locked" {
		t.Errorf("%+v %v", p, err)
	}
	if lines := fixtest.ReadChain(t, filepath.Join(s.Dir, "runs", "20261121T024000Z-7f3a", "fixes", "events.jsonl"),
		nil); len(lines) < 2 {
		t.Errorf("%d events", len(lines))
	}
}

// testdata/v1-shop was recorded by a version that writes digests of everything: a run with five failed tasks, what
// became of each, and a later run that passes. It is never recorded again.
func TestFrozenShop(t *testing.T) {
	t.Parallel()
	const failed, passed = "20261122T150223Z-e211", "20261122T150234Z-9706"
	dir := filepath.Join("testdata", "v1-shop")
	runs, s := &record.Store{Root: dir, Dir: dir}, &fix.Store{Root: dir, Dir: dir}
	run, err := runs.Find(failed)
	fixtest.Check(t, err)
	if run.Status != record.Failed || len(run.Tasks) != 5 || *run.Task("lint").ExitCode != 3 {
		t.Errorf("%+v", run.Run)
	}

	items, errs := s.List()
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	ended := failedtask.Ends(runs)
	ends, errs := ended.Tasks, ended.Errs
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	fix.Follow(items, ends)
	var got []string
	for _, i := range items {
		got = append(got, i.Task+" "+i.State+" "+i.Disposition)
		if i.Task == "test" && (i.PassedIn == nil || *i.PassedIn != passed || i.Applied[0] != "price.sh") {
			t.Errorf("%+v", i)
		}
	}
	if want := "types failed none, stock proposed rejected, docs skipped none, lint no_fix none, test proposed applied"; strings.Join(got, ", ") != want {
		t.Errorf("list: %s", got)
	}

	p, err := s.Find("latest", "test")
	fixtest.Check(t, err)
	if *p.Verdict != "verified" || p.AgentSaid.Summary != "A price is pieces times five." ||
		p.Provenance.Agent.Name != "fixer" || len(p.Provenance.Files) != 9 ||
		p.Patch.Files[0].Path != "price.sh" || !p.Verification.OriginalChecks[0].Passed {
		t.Errorf("%+v", p)
	}
	saved, err := p.SavedBase()
	fixtest.Check(t, err)
	if b, ok := saved.Content(p.Patch.Files[0].Before.Digest); !ok || !strings.Contains(string(b), "$1 + 5") ||
		saved.Commit == "" || saved.Sub != "." {
		t.Errorf("%+v: %q", saved, b)
	}
	if p, err = s.Find(failed, "stock"); err != nil || *p.Verdict != "suspect" || len(p.Flags) != 2 ||
		p.Decided[0].Reason != "The shelf holds four." {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = s.Find(failed, "lint"); err != nil || len(p.Rescue) != 1 {
		t.Errorf("%+v, %v", p, err)
	} else if b, err := os.ReadFile(filepath.Join(p.Dir, p.Rescue[0])); err != nil ||
		!strings.Contains(string(b), "+# rounded?") {
		t.Errorf("%q, %v", b, err)
	}
	if p, err = s.Find(failed, "types"); err != nil || *p.Kind != "cli_error" || p.Attempts[0].Decision.Next != "stop" {
		t.Errorf("%+v, %v", p, err)
	}
	if ran, err := s.HookRuns(failed); err != nil || len(ran) != 1 || ran[0].Task != "docs" || *ran[0].ExitCode != 0 {
		t.Errorf("%+v, %v", ran, err)
	}
	if n, errs := s.Stats(ends); len(errs) > 0 || n.Healings.Total != 5 || n.Proposals.Applied != 1 ||
		n.Proposals.Passed != 1 || n.Total.Attempts != 4 {
		t.Errorf("%+v, %v", n, errs)
	}
	for run, files := range map[string]int{failed: 54, passed: 4} {
		if a, err := runaudit.Audit(runs, run, ""); err != nil || len(a.Faults) > 0 || a.Files != files {
			t.Errorf("%s: %+v, %v", run, a, err)
		}
	}
}
