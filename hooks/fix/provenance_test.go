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
	check(t, os.MkdirAll(filepath.Join(runDir(s, runID), "context"), 0o700))
	check(t, os.WriteFile(filepath.Join(runDir(s, runID), "context", "test.json"), []byte("{}\n"), 0o600))
	d, err := Begin(runDir(s, runID), runID, verdictOf(t, s, runID), "test", func(b []byte) []byte {
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
