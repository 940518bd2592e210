package fix

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A provenance names every file of the fix and what it was made of, without secrets, and the digest of the policy is of what is
// stored.
func TestProvenance(t *testing.T) {
	t.Parallel()
	before := files{"a": "f:1\n"}
	s := newStore(t, before)
	check(t, os.MkdirAll(filepath.Join(s.runDir(runID), "context"), 0o700))
	check(t, os.WriteFile(filepath.Join(s.runDir(runID), "context", "test.json"), []byte("{}\n"), 0o600))
	d, err := Begin(s.runDir(runID), runID, s.verdict(t, runID), "test", func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("hunter2"), []byte("[hidden]"))
	})
	check(t, err)
	defer func() { check(t, d.Close()) }()
	check(t, d.Transcript(1, "prompt", map[string]any{"text": "repair with hunter2"}))
	check(t, d.Transcript(1, "text", map[string]any{"text": "yes"}))
	log, rel, err := d.Log("check")
	check(t, err)
	_, err = log.Write([]byte("output\n"))
	check(t, err)
	check(t, log.Close())
	f := &Fix{State: NoFix, Provenance: &Provenance{
		Policy: &Policy{Agent: "a", Command: "curl hunter2", Prompt: ptr("use hunter2"), Protect: []string{"hunter2/**"}},
		Agent:  &Program{Name: "a", Command: []string{"a", "--key=hunter2"}},
	}}
	check(t, d.Propose(f, change(before, files{"a": "f:2\n"})))
	f.Verdict = ptr("unverified")
	check(t, d.Seal(f))
	p, err := s.Find(runID, "test")
	check(t, err)
	got := p.Provenance
	var names []string
	for _, e := range got.Files {
		names = append(names, e.Path)
	}
	if want := "fixes/test.patch fixes/test.transcript.jsonl " + rel; strings.Join(names, " ") != want {
		t.Errorf("files %q, want %q", names, want)
	}
	if got.Pack == nil || got.Pack.Digest != digest([]byte("{}\n")) || got.Pack.Path != "context/test.json" {
		t.Errorf("pack %+v", got.Pack)
	}
	if len(got.Prompts) != 1 || got.Prompts[0] != (PromptRef{1, digest([]byte("repair with [hidden]"))}) {
		t.Errorf("prompts %+v", got.Prompts)
	}
	if got.Policy.Command != "curl [hidden]" || *got.Policy.Prompt != "use [hidden]" || got.Policy.Protect[0] != "[hidden]/**" || got.Agent.Command[1] != "--key=[hidden]" {
		t.Errorf("policy %+v, agent %+v", got.Policy, got.Agent)
	}
	if r := audited(t, s, runID); len(r.Faults) > 0 {
		t.Errorf("%+v", r.Faults)
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, "fixes", "test.json"))
	check(t, err)
	if bytes.Contains(text, []byte("hunter2")) {
		t.Error("the record holds the secret")
	}
}

// A fix that was sealed right before its maker was killed is no fault, and neither is one of an earlier version.
func TestAuditOfWhatSaysLess(t *testing.T) {
	t.Parallel()
	before := files{"a": "f:1\n"}
	s := newStore(t, before)
	sealed(t, s, "test", before, files{"a": "f:2\n"}, nil)
	folder := filepath.Join(s.runDir(runID), "fixes")
	text, err := os.ReadFile(filepath.Join(folder, "events.jsonl"))
	check(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	check(t, os.WriteFile(filepath.Join(folder, "events.jsonl"), []byte(lines[0]), 0o600))
	check(t, os.Remove(filepath.Join(folder, "events.jsonl.end")))
	j, err := OpenJournal(s.runDir(runID), s.verdict(t, runID), nil) // the next command makes the end file anew
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
