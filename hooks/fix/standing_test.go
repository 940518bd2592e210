package fix

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeeps(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	if why := s.Keeps(runID); why != "" {
		t.Errorf("no run: %s", why)
	}
	verdictOf(t, s, runID)
	if why := s.Keeps(runID); why != "" {
		t.Errorf("no fix: %s", why)
	}
	p := sealed(t, s, "test", one, files{"a.txt": "f:two\n"}, nil)
	if why := s.Keeps(runID); !strings.Contains(why, "nobody has decided") {
		t.Errorf("an open proposal: %q", why)
	}
	_, err := UserTree{Fixes: s}.Apply(t.Context(), p, Options{})
	check(t, err)
	if why := s.Keeps(runID); why != "" {
		t.Errorf("applied: %s", why)
	}
	if drafts, errs := s.Abandoned(); len(drafts)+len(errs) > 0 {
		t.Errorf("abandoned: %v, %v", drafts, errs)
	}

	// A healing that goes on keeps it; so does one that was killed, which is abandoned too.
	d, err := Begin(runDir(s, runID), runID, verdictOf(t, s, runID), "lint", nil)
	check(t, err)
	if why := s.Keeps(runID); !strings.Contains(why, "has not ended") {
		t.Errorf("a healing goes on: %q", why)
	}
	if drafts, errs := s.Abandoned(); len(drafts)+len(errs) > 0 {
		t.Errorf("a healing goes on, and is taken for abandoned: %v, %v", drafts, errs)
	}
	check(t, d.Close())
	if why := s.Keeps(runID); !strings.Contains(why, "has not ended") {
		t.Errorf("a healing was killed: %q", why)
	}
	if drafts, errs := s.Abandoned(); len(errs) > 0 || fmt.Sprint(drafts) != "[{"+runID+" lint}]" {
		t.Errorf("abandoned: %v, %v", drafts, errs)
	}
	drafts, err := Resume(s, nil)
	check(t, err)
	for _, d := range drafts {
		check(t, d.Seal(&Fix{State: Interrupted}))
		check(t, d.Close())
	}
	if why := s.Keeps(runID); why != "" {
		t.Errorf("settled: %s", why)
	}

	// What cannot be read is kept.
	check(t, os.WriteFile(filepath.Join(runDir(s, runID), "fixes", "test.json"), []byte("{"), 0o600))
	if why := s.Keeps(runID); !strings.Contains(why, "cannot be read") {
		t.Errorf("damaged: %q", why)
	}
	check(t, os.RemoveAll(filepath.Join(runDir(s, runID), "fixes")))
	check(t, os.Symlink(t.TempDir(), filepath.Join(runDir(s, runID), "fixes")))
	if why := s.Keeps(runID); !strings.Contains(why, "cannot be read") {
		t.Errorf("a link: %q", why)
	}
}

func TestHookRuns(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	if runs, err := s.HookRuns(runID); len(runs) > 0 || err != nil {
		t.Errorf("of nothing: %v, %v", runs, err)
	}
	j, err := OpenJournal(runDir(s, runID), verdictOf(t, s, runID), nil)
	check(t, err)
	check(t, j.Event("hook_run_finished", map[string]any{"task": "test", "exit_code": 7, "error": "failed", "duration_ms": 12, "log": "fixes/test.log"}))
	check(t, j.Event("healing_began", map[string]any{"task": "test"}))
	check(t, j.Event("hook_run_finished", map[string]any{"task": "lint", "exit_code": nil, "error": "no such program", "duration_ms": 1, "log": nil}))
	check(t, j.Close())
	runs, err := s.HookRuns(runID)
	check(t, err)
	if len(runs) != 2 || runs[0].Task != "test" || *runs[0].ExitCode != 7 || runs[0].DurationMS != 12 || runs[1].ExitCode != nil || runs[1].Error != "no such program" {
		t.Errorf("%+v", runs)
	}
}
