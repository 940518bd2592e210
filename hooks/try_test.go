package hooks

import (
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// What an agent may run as the task's own command is its words where all of them are known and none is secret, in the folder of
// the task.
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
			h := &healing{
				e:     &Engine{Config: &pipeline.Config{Root: filepath.Join(tree, "root")}, Redact: &redact.Set{}},
				task:  &pipeline.Task{Name: "check", Dir: "a/b", Run: c.run},
				hook:  &pipeline.AgentHook{},
				run:   &record.Sealed{Run: record.Run{ID: "r"}},
				base:  &scratch.Base{Sub: "root"},
				draft: &draft.Draft{},
			}
			r := h.basic(1, sandbox.Box{Tier: tier, Tree: tree, Copy: dir}, dir, io.Discard)
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
