package fix

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// all is every file below a folder with what it holds.
func all(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", path, text)
		return err
	}))
	return b.String()
}

// Unsettled says what Recover is going to do, and does nothing.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	later := files{"a.txt": "f:two\n", "b.txt": "f:b\n"}
	for _, at := range []string{"original a.txt", "journal", "stage a.txt", "write b.txt", "written", "record", "clear"} {
		s, _ := crashed(t, one, later, at)
		before := all(t, s.Root)
		says, err := s.Unsettled(context.Background())
		check(t, err)
		if now := all(t, s.Root); now != before {
			t.Errorf("%s: looking changed\n%s\nto\n%s", at, before, now)
		}
		does, err := s.Recover(context.Background())
		check(t, err)
		if (says == nil) != (does == nil) || says != nil && (says.To != does.To || says.Run != does.Run || says.Task != does.Task || fmt.Sprint(says.Files) != fmt.Sprint(does.Files)) {
			t.Errorf("%s: says %+v, does %+v", at, says, does)
		}
		if says, err = s.Unsettled(context.Background()); says != nil || err != nil {
			t.Errorf("%s: settled, and it says %+v, %v", at, says, err)
		}
	}
}

// An apply that goes on is not an interrupted one, and a journal that cannot be believed is said.
func TestUnsettledOfOthers(t *testing.T) {
	t.Parallel()
	s, _ := crashed(t, one, files{"a.txt": "f:two\n"}, "write a.txt")
	lock, err := s.lock(context.Background())
	check(t, err)
	if r, err := s.Unsettled(context.Background()); r != nil || err != nil {
		t.Errorf("while somebody applies: %+v, %v", r, err)
	}
	check(t, lock.Close())
	check(t, os.WriteFile(s.journalPath(), []byte("{"), 0o600))
	if r, err := s.Unsettled(context.Background()); err == nil {
		t.Errorf("a damaged journal: %+v", r)
	}
	none := &Store{Root: t.TempDir()}
	none.Dir = filepath.Join(none.Root, ".async")
	for range 2 {
		if r, err := none.Unsettled(context.Background()); r != nil || err != nil {
			t.Errorf("of nothing: %+v, %v", r, err)
		}
		check(t, os.WriteFile(none.Dir, nil, 0o600)) // something else has our name
	}
}

func TestKeeps(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	if why := s.Keeps(runID); why != "" {
		t.Errorf("no run: %s", why)
	}
	s.verdict(t, runID)
	if why := s.Keeps(runID); why != "" {
		t.Errorf("no fix: %s", why)
	}
	p := sealed(t, s, "test", one, files{"a.txt": "f:two\n"}, nil)
	if why := s.Keeps(runID); !strings.Contains(why, "nobody has decided") {
		t.Errorf("an open proposal: %q", why)
	}
	_, err := apply(t, s, p, Options{})
	check(t, err)
	if why := s.Keeps(runID); why != "" {
		t.Errorf("applied: %s", why)
	}
	if drafts, errs := s.Abandoned(); len(drafts)+len(errs) > 0 {
		t.Errorf("abandoned: %v, %v", drafts, errs)
	}

	// A healing that goes on keeps it; so does one that was killed, which is abandoned too.
	d, err := Begin(s.runDir(runID), runID, s.verdict(t, runID), "lint", nil)
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
	drafts, err := s.Resume(nil)
	check(t, err)
	for _, d := range drafts {
		check(t, d.Seal(&Fix{State: Interrupted}))
		check(t, d.Close())
	}
	if why := s.Keeps(runID); why != "" {
		t.Errorf("settled: %s", why)
	}

	// What cannot be read is kept.
	check(t, os.WriteFile(filepath.Join(s.runDir(runID), "fixes", "test.json"), []byte("{"), 0o600))
	if why := s.Keeps(runID); !strings.Contains(why, "cannot be read") {
		t.Errorf("damaged: %q", why)
	}
	check(t, os.RemoveAll(filepath.Join(s.runDir(runID), "fixes")))
	check(t, os.Symlink(t.TempDir(), filepath.Join(s.runDir(runID), "fixes")))
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
	j, err := OpenJournal(s.runDir(runID), s.verdict(t, runID), nil)
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
