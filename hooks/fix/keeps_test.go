package fix_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

func TestKeeps(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	if why := s.Keeps(fixtest.RunID); why != "" {
		t.Errorf("no run: %s", why)
	}
	fixtest.VerdictOf(t, s, fixtest.RunID)
	if why := s.Keeps(fixtest.RunID); why != "" {
		t.Errorf("no fix: %s", why)
	}
	p := fixtest.Sealed(t, s, "test", fixtest.One, fixtest.Files{"a.txt": "f:two\n"}, nil)
	if why := s.Keeps(fixtest.RunID); !strings.Contains(why, "open proposal") {
		t.Errorf("an open proposal: %q", why)
	}
	fixtest.OK(t)(apply.Tree{Fixes: s}.Apply(t.Context(), p, apply.Options{}))
	if why := s.Keeps(fixtest.RunID); why != "" {
		t.Errorf("applied: %s", why)
	}
	if drafts, errs := s.Abandoned(); len(drafts)+len(errs) > 0 {
		t.Errorf("abandoned: %v, %v", drafts, errs)
	}

	// A healing that goes on keeps it; so does one that was killed, which is abandoned too.
	d := fixtest.Begin(t, s, "lint", nil)
	if why := s.Keeps(fixtest.RunID); !strings.Contains(why, "is not finished") {
		t.Errorf("a healing goes on: %q", why)
	}
	if drafts, errs := s.Abandoned(); len(drafts)+len(errs) > 0 {
		t.Errorf("a healing goes on, and is taken for abandoned: %v, %v", drafts, errs)
	}
	fixtest.Check(t, d.Close())
	if why := s.Keeps(fixtest.RunID); !strings.Contains(why, "is not finished") {
		t.Errorf("a healing was killed: %q", why)
	}
	if drafts, errs := s.Abandoned(); len(errs) > 0 || fmt.Sprint(drafts) != "[{"+fixtest.RunID+" lint}]" {
		t.Errorf("abandoned: %v, %v", drafts, errs)
	}
	drafts, err := draft.Resume(s, nil)
	fixtest.Check(t, err)
	for _, d := range drafts {
		fixtest.Check(t, d.Seal(&fix.Fix{State: fix.Interrupted}))
		fixtest.Check(t, d.Close())
	}
	if why := s.Keeps(fixtest.RunID); why != "" {
		t.Errorf("settled: %s", why)
	}

	// What cannot be read is kept.
	fixtest.Check(t, os.WriteFile(filepath.Join(fixtest.Dir(s), "fixes", "test.json"), []byte("{"), 0o600))
	if why := s.Keeps(fixtest.RunID); !strings.Contains(why, "cannot be read") {
		t.Errorf("damaged: %q", why)
	}
	fixtest.Check(t, os.RemoveAll(filepath.Join(fixtest.Dir(s), "fixes")))
	fixtest.Check(t, os.Symlink(t.TempDir(), filepath.Join(fixtest.Dir(s), "fixes")))
	if why := s.Keeps(fixtest.RunID); !strings.Contains(why, "cannot be read") {
		t.Errorf("a link: %q", why)
	}
}

func TestHookRuns(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	if runs, err := s.HookRuns(fixtest.RunID); len(runs) > 0 || err != nil {
		t.Errorf("of nothing: %v, %v", runs, err)
	}
	j, err := fix.OpenJournal(fixtest.Dir(s), fixtest.VerdictOf(t, s, fixtest.RunID), nil)
	fixtest.Check(t, err)
	fixtest.Check(t, j.Event("hook_run_finished", map[string]any{
		"task": "test", "exit_code": 7, "error": "failed",
		"duration_ms": 12, "log": "fixes/test.log",
	}))
	fixtest.Check(t, j.Event("healing_began", map[string]any{"task": "test"}))
	fixtest.Check(t, j.Event("hook_run_finished", map[string]any{
		"task": "lint", "exit_code": nil,
		"error": "no such program", "duration_ms": 1, "log": nil,
	}))
	fixtest.Check(t, j.Close())
	runs, err := s.HookRuns(fixtest.RunID)
	fixtest.Check(t, err)
	if len(runs) != 2 || runs[0].Task != "test" || *runs[0].ExitCode != 7 || runs[0].DurationMS != 12 ||
		runs[1].ExitCode != nil || runs[1].Error != "no such program" {
		t.Errorf("%+v", runs)
	}
}
