package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A fix that was sealed right before its maker was killed is no fault, and neither is one of an earlier version.
func TestAuditOfWhatSaysLess(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:1\n"}
	s := fixtest.NewStore(t, before)
	fixtest.Sealed(t, s, "test", before, fixtest.Files{"a": "f:2\n"}, nil)
	folder := filepath.Join(fixtest.Dir(s), "fixes")
	text := fixtest.Read(t, filepath.Join(folder, "events.jsonl"))
	lines := strings.SplitAfter(string(text), "\n")
	fixtest.Check(t, os.WriteFile(filepath.Join(folder, "events.jsonl"), []byte(lines[0]), 0o600))
	fixtest.Check(t, os.Remove(filepath.Join(folder, "events.jsonl.end")))
	// the next command makes the end file anew
	j, err := fix.OpenJournal(fixtest.Dir(s), fixtest.VerdictOf(t, s, fixtest.RunID), nil)
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

// A provenance names every file of the fix and what it was made of, without secrets, and the digest of the policy is
// of what is stored.
func TestProvenance(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:1\n"}
	s := fixtest.NewStore(t, before)
	fixtest.Check(t, os.MkdirAll(filepath.Join(fixtest.Dir(s), "context"), 0o700))
	fixtest.Check(t, os.WriteFile(filepath.Join(fixtest.Dir(s), "context", "test.json"), []byte("{}\n"), 0o600))
	d := fixtest.Begin(t, s, "test", func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("hunter2"), []byte("[hidden]"))
	})
	fixtest.Check(t, d.Transcript(1, "prompt", map[string]any{"text": "repair with hunter2"}))
	fixtest.Check(t, d.Transcript(1, "text", map[string]any{"text": "yes"}))
	log, rel, err := d.Log("check")
	fixtest.Check(t, err)
	fixtest.OK(t)(log.Write([]byte("output\n")))
	fixtest.Check(t, log.Close())
	f := &fix.Fix{State: fix.NoFix, Provenance: &fix.Provenance{
		Policy: &fix.Policy{
			Agent: "a", Command: "curl hunter2", Prompt: new("use hunter2"),
			Protect: []string{"hunter2/**"},
		},
		Agent: &fix.Program{Name: "a", Command: []string{"a", "--key=hunter2"}},
	}}
	fixtest.Check(t, d.Propose(f, fixtest.Change(before, fixtest.Files{"a": "f:2\n"})))
	f.Verdict = new("unverified")
	fixtest.Check(t, d.Seal(f))
	p := fixtest.Find(t, s, fixtest.RunID, "test")
	got := p.Provenance
	var names []string
	for _, e := range got.Files {
		names = append(names, e.Path)
	}
	if want := "fixes/test.patch fixes/test.transcript.jsonl " + rel; strings.Join(names, " ") != want {
		t.Errorf("files %q, want %q", names, want)
	}
	if got.Pack == nil || got.Pack.Digest != recordfile.Digest([]byte("{}\n")) || got.Pack.Path != "context/test.json" {
		t.Errorf("pack %+v", got.Pack)
	}
	if len(got.Prompts) != 1 || got.Prompts[0] != (fix.PromptRef{
		Attempt: 1,
		Digest:  recordfile.Digest([]byte("repair with [hidden]")),
	}) {
		t.Errorf("prompts %+v", got.Prompts)
	}
	if got.Policy.Command != "curl [hidden]" || *got.Policy.Prompt != "use [hidden]" ||
		got.Policy.Protect[0] != "[hidden]/**" || got.Agent.Command[1] != "--key=[hidden]" {
		t.Errorf("policy %+v, agent %+v", got.Policy, got.Agent)
	}
	if r := audited(t, s, fixtest.RunID); len(r.Faults) > 0 {
		t.Errorf("%+v", r.Faults)
	}
	text := fixtest.Read(t, filepath.Join(p.Dir, "fixes", "test.json"))
	if bytes.Contains(text, []byte("hunter2")) {
		t.Error("the record holds the secret")
	}
}
