package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// The files of an agent task are part of the record: one that differs, is gone or lies elsewhere is a fault. Secrets are
// in none of its words.
func TestAgentOfATask(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	clean := func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2", "***")) }
	record := func(change func(*Agent)) *Sealed {
		d := must[*Draft](t)(s.Begin(time.Now(), clean, nil))
		text := []byte("diff\n")
		at := filepath.Join(d.Dir, "agents", "a.patch")
		for _, err := range []error{os.Mkdir(filepath.Dir(at), 0o700), os.WriteFile(at, text, 0o600)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		file := AgentFile{"agents/a.patch", int64(len(text)), recordfile.Digest(text)}
		a := &Agent{
			Agent: "x", Evidence: new("it says hunter2"), Note: new("hunter2"), Model: new("hunter2"),
			Omitted: []AgentOmitted{{"hunter2", "secret"}}, Patch: &AgentPatch{AgentFile: file, Changed: 1}, Files: []AgentFile{file},
		}
		change(a)
		sealed := must[*Sealed](t)(d.Seal(Run{Status: Passed, Tasks: []Task{{Name: "a", Status: Passed, Agent: a}}}))
		if a.Omitted[0].Path != "hunter2" {
			t.Error("the caller's own is changed")
		}
		return sealed
	}
	sealed := record(func(*Agent) {})
	if text := must[[]byte](t)(os.ReadFile(filepath.Join(sealed.Dir, "run.json"))); strings.Contains(string(text), "hunter2") {
		t.Errorf("a secret is in\n%s", text)
	}
	r := auditOf(t, sealed)
	if len(r.Faults) > 0 || !r.Files["agents/a.patch"] {
		t.Errorf("%+v", r.Faults)
	}
	for name, c := range map[string]struct {
		change func(*Agent)
		damage func(dir string) error
	}{
		"another patch": {func(*Agent) {}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "agents", "a.patch"), []byte("dift\n"), 0o600)
		}},
		"no patch":        {func(*Agent) {}, func(dir string) error { return os.Remove(filepath.Join(dir, "agents", "a.patch")) }},
		"a file outside":  {func(a *Agent) { a.Files = append(a.Files, AgentFile{Path: "../x"}) }, nil},
		"patch not named": {func(a *Agent) { a.Patch.Path = "agents/b.patch" }, nil},
	} {
		sealed := record(c.change)
		if c.damage != nil {
			if err := c.damage(sealed.Dir); err != nil {
				t.Fatal(err)
			}
		}
		if r := auditOf(t, sealed); len(r.Faults) != 1 {
			t.Errorf("%s: %+v", name, r.Faults)
		}
	}
}
