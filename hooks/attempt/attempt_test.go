package attempt

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/budget"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// What an agent may run as the task's own command is its words where all of them are known and none is secret, in the
// folder of the task.
func TestOwnCommandOfARequest(t *testing.T) {
	t.Parallel()
	text := func(words ...pipeline.Text) pipeline.Command { return pipeline.Command{Argv: words} }
	known, here := pipeline.Text{Value: "check"}, t.TempDir()
	tree, dir := filepath.Join(here, "tree"), filepath.Join(here, "copy")
	for _, c := range []struct {
		name string
		run  pipeline.Command
		want []string
	}{
		{"words", text(known, pipeline.Text{Value: "x y"}), []string{"check", "x y"}},
		{"shell text", pipeline.Command{Shell: known}, nil},
		{"a word that is not set", text(known, pipeline.Text{Missing: []string{"KEY"}}), nil},
		{"a word with a secret", text(known, pipeline.Text{Value: "--key=hunter2", Secrets: []string{"KEY"}, Hidden: "--key="}), nil},
	} {
		for _, tier := range []sandbox.Tier{sandbox.View, sandbox.Fence} {
			q := &Request{
				Failure: &failedtask.Failure{
					Config: &pipeline.Config{Root: filepath.Join(tree, "root")},
					Task:   &pipeline.Task{Name: "check", Dir: "a/b", Run: c.run},
					Run:    &record.Sealed{Run: record.Run{ID: "r"}},
				},
				Hook: &pipeline.AgentHook{}, Homes: &homes.Homes{}, Base: &scratch.Base{Sub: "root"}, Budget: budget.Start(pipeline.Budget{}, 0, (&homes.Homes{}).CopyTime), Number: 1,
			}
			r := q.basic(sandbox.Box{Tier: tier, Tree: tree, Copy: dir}, dir, io.Discard)
			top := tree
			if tier == sandbox.Fence {
				top = dir
			}
			if !slices.Equal(r.Run, c.want) || (r.Run == nil) != (c.want == nil) || r.Dir != filepath.Join(top, "root") || r.RunDir != filepath.Join(top, "root", "a", "b") {
				t.Errorf("%s, %s: run %q in %s, works in %s", c.name, tier, r.Run, r.RunDir, r.Dir)
			}
		}
	}
}

func TestEmptyKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		turn agent.Turn
		want failure.Kind
	}{
		{agent.Turn{Control: &agent.Control{Outcome: "fixed"}}, failure.PatchEmpty},
		{agent.Turn{Control: &agent.Control{Outcome: "no_fix"}}, ""},
		{agent.Turn{Text: " \n"}, failure.NoOutput},
		{agent.Turn{Text: "I would do this.", Problem: agent.ErrNoObject.Error()}, failure.VerdictAmbiguous},
		{agent.Turn{Text: "x", Problem: "its summary is missing"}, failure.OutputInvalid},
	} {
		if got, _ := emptyKind(c.turn); got != c.want {
			t.Errorf("%+v: %q, want %q", c.turn, got, c.want)
		}
	}
}

func TestFirstSentence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                    "",
		"no parseable JSON object in output":  "no parseable JSON object in output",
		"one; two; three":                     "one",
		`field "a; b" is unknown; they are x`: `field "a; b" is unknown`,
		`"a\"; b"; c`:                         `"a\"; b"`,
		`holds "cut in the…, no string; two`:  `holds "cut in the…, no string`,
	} {
		if got := firstSentence(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for _, answer := range []string{`{"error":{}}`, `{"error":{"kind":"cancelled"}}`, `{"error":{"kind":"` + strings.Repeat("x; ", 50) + `"}}`} {
		_, err := agent.ParseFailure(answer)
		if got := firstSentence(err.Error()); len(got) > 140 || !strings.HasPrefix(got, `error object: `) || !strings.HasPrefix(err.Error(), got+"; ") {
			t.Errorf("%s: %q", answer, got)
		}
	}
}
