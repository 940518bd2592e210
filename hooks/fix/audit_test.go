package fix

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// A fix that was sealed right before its maker was killed is no fault, and neither is one of an earlier version.
func TestAuditOfWhatSaysLess(t *testing.T) {
	t.Parallel()
	before := files{"a": "f:1\n"}
	s := newStore(t, before)
	sealed(t, s, "test", before, files{"a": "f:2\n"}, nil)
	folder := filepath.Join(runDir(s, runID), "fixes")
	text, err := os.ReadFile(filepath.Join(folder, "events.jsonl"))
	check(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	check(t, os.WriteFile(filepath.Join(folder, "events.jsonl"), []byte(lines[0]), 0o600))
	check(t, os.Remove(filepath.Join(folder, "events.jsonl.end")))
	j, err := OpenJournal(runDir(s, runID), verdictOf(t, s, runID), nil) // the next command makes the end file anew
	check(t, err)
	check(t, j.Close())
	r := audited(t, s, runID)
	if len(r.Faults) > 0 || len(r.Notes) == 0 || !strings.Contains(r.Notes[0].Text, "killed right then") {
		t.Errorf("killed: %+v, %+v", r.Faults, r.Notes)
	}

	old := &Store{Root: "testdata/v1", Dir: "testdata/v1"}
	r = audited(t, old, runID)
	if len(r.Faults) > 0 || len(r.Notes) < 3 {
		t.Errorf("version 1: %+v, %+v", r.Faults, r.Notes)
	}
}

func audited(t *testing.T, s *Store, run string) *Report {
	t.Helper()
	root, err := os.OpenRoot(runDir(s, run))
	check(t, err)
	defer func() { check(t, root.Close()) }()
	r := journal.NewReport(root)
	_, err = AuditRun(r, runDir(s, run), "")
	check(t, errors.Join(err, AuditImport(r, runDir(s, run))))
	return r
}
