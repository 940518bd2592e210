package view

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

func TestDrafted(t *testing.T) {
	t.Parallel()
	c := &pipeline.Config{Tasks: []*pipeline.Task{{Name: "test", Description: "Run the tests"}}}
	got := golden(t, "drafted", func(s *Screen) {
		s.Base = "/project"
		s.Drafted(Drafted{
			File: "/project/PIPELINE.hcl", Config: c, Next: "async-pipeline run",
			Found: []string{"go.mod: Go module example.com/shop, Go 1.24", "evil\x1b[2J: Node project, npm"},
			Notes: []string{"the task lint is a comment in the file: it needs golangci-lint, which is not in PATH here"},
		})
		s.Drafted(Drafted{File: "/elsewhere/PIPELINE.hcl", Config: c, Next: "async-pipeline -C /elsewhere run"})
	})
	if strings.Contains(got, "\x1b") {
		t.Errorf("a name reached the terminal as it is: %q", got)
	}
}
