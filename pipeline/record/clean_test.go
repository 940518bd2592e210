package record

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Secrets are taken out of strings, and never make a record unreadable.
func TestClean(t *testing.T) {
	t.Parallel()
	secrets := []string{`","at":"`, "123456", "failed", "duration_ms", "hunter22"}
	clean := func(b []byte) []byte {
		s := string(b)
		for _, v := range secrets {
			s = strings.ReplaceAll(s, v, "[redacted]")
		}
		return []byte(s)
	}
	s := At(t.TempDir())
	var line []byte
	d := must[*Draft](t)(s.Begin(noon, clean, func(l []byte) { line = bytes.Clone(l) }))
	err := d.Event(Event{Type: "task_finished", Data: map[string]any{
		"status": "failed", "duration_ms": 123456, "deep": map[string]any{"list": []string{"is hunter22", `x","at":"y`}},
	}})
	check(t, err)
	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	deep := got["deep"].(map[string]any)["list"].([]any)
	if got["status"] != "failed" || got["duration_ms"] != 123456.0 || deep[0] != "is [redacted]" || deep[1] != "x[redacted]y" {
		t.Errorf("line %s", line)
	}
	text := "no hunter22 here"
	given := Run{
		Status: Failed, DurationMS: 123456, Git: &Git{Branch: &text}, Healing: Healing{Mode: "on", Reason: &text},
		Tasks: []Task{{Name: "t", Status: Failed, Error: &text, Hint: &text, Cache: &Cache{Result: "miss", Reason: &text}}},
	}
	sealed := must[*Sealed](t)(d.Seal(given))
	b := must[[]byte](t)(os.ReadFile(filepath.Join(d.Dir, "run.json")))
	if bytes.Contains(b, []byte("hunter22")) || bytes.Count(b, []byte("no [redacted] here")) != 5 {
		t.Errorf("run.json: %s", b)
	}
	if sealed.Status != Failed || sealed.DurationMS != 123456 || *given.Tasks[0].Error != text || *given.Git.Branch != text {
		t.Error("more was cleaned than should be")
	}
}
