package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// A fix that was sealed right before its maker was killed is no fault, and neither is one of an earlier version.
func TestAuditOfWhatSaysLess(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:1\n"}
	s := fixtest.NewStore(t, before)
	fixtest.Sealed(t, s, "test", before, fixtest.Files{"a": "f:2\n"}, nil)
	folder := filepath.Join(fixtest.RunDir(s, fixtest.RunID), "fixes")
	text, err := os.ReadFile(filepath.Join(folder, "events.jsonl"))
	fixtest.Check(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	fixtest.Check(t, os.WriteFile(filepath.Join(folder, "events.jsonl"), []byte(lines[0]), 0o600))
	fixtest.Check(t, os.Remove(filepath.Join(folder, "events.jsonl.end")))
	j, err := fix.OpenJournal(fixtest.RunDir(s, fixtest.RunID), fixtest.VerdictOf(t, s, fixtest.RunID), nil) // the next command makes the end file anew
	fixtest.Check(t, err)
	fixtest.Check(t, j.Close())
	r := audited(t, s, fixtest.RunID)
	if len(r.Faults) > 0 || len(r.Notes) == 0 || !strings.Contains(r.Notes[0].Text, "killed right then") {
		t.Errorf("killed: %+v, %+v", r.Faults, r.Notes)
	}

	old := &fix.Store{Root: "../testdata/v1", Dir: "../testdata/v1"}
	r = audited(t, old, fixtest.RunID)
	if len(r.Faults) > 0 || len(r.Notes) < 3 {
		t.Errorf("version 1: %+v, %+v", r.Faults, r.Notes)
	}
}

func audited(t *testing.T, s *fix.Store, run string) *journal.Report {
	t.Helper()
	root, err := os.OpenRoot(fixtest.RunDir(s, run))
	fixtest.Check(t, err)
	defer func() { fixtest.Check(t, root.Close()) }()
	r := journal.NewReport(root)
	_, err = Run(r, fixtest.RunDir(s, run), "")
	fixtest.Check(t, errors.Join(err, Import(r, fixtest.RunDir(s, run))))
	return r
}
