package person

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

func env(vars map[string]string) Env { return func(name string) string { return vars[name] } }

func TestName(t *testing.T) {
	t.Parallel()
	if got := Name(env(map[string]string{"USER": "me"})); got != "me" {
		t.Errorf("got %q", got)
	}
	if got := Name(env(nil)); got == "" {
		t.Error("no name without USER")
	}
}

// The script fix_person_only shows processes without their marks.
func TestOnlyByMarks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := Only(root, "applies a fix", env(nil)); err != nil {
		t.Errorf("a person: %v", err)
	}
	for _, mark := range []string{sandbox.HookMark, sandbox.RunnerMark} {
		err := Only(root, "applies a fix", env(map[string]string{mark: "x"}))
		want := "this process was started by a hook or a task (" + mark + " is set): only a person applies a fix"
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", mark, err)
		}
	}
	if got := Hook(env(map[string]string{sandbox.RunnerMark: "x"})); got != "" {
		t.Errorf("a task is no hook: %q", got)
	}
	if got := Hook(env(map[string]string{sandbox.HookMark: "x"})); got == "" {
		t.Error("a hook is not recognised")
	}
}
