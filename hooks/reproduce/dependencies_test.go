package reproduce

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Which dependencies run before the check: of those that the run did not run, from the first on that may be older than
// its inputs; where a copy lacks what one makes, all.
func TestDependencies(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	m := &tree.Manifest{}
	for _, file := range []struct {
		name string
		age  time.Duration
	}{{"app/made", time.Hour}, {"app/old", 3 * time.Hour}, {"app/source", 2 * time.Hour}} {
		name := filepath.Join(root, filepath.FromSlash(file.name))
		at := time.Now().Add(-file.age)
		for _, err := range []error{
			os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, nil, 0o666), os.Chtimes(name, at, at),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		m.Entries = append(m.Entries, tree.Entry{Path: file.name})
	}
	source, made, old := []string{"source"}, []string{"made"}, []string{"old"}
	for name, c := range map[string]struct {
		build, link   pipeline.Task
		ran           string
		stale, unmade string
	}{
		"the run ran them":         {pipeline.Task{}, pipeline.Task{}, "build link", "", "build link"},
		"it ran one":               {pipeline.Task{}, pipeline.Task{}, "build", "link", "build link"},
		"it ran none":              {pipeline.Task{}, pipeline.Task{}, "", "build link", "build link"},
		"up to date":               {pipeline.Task{Inputs: source, Outputs: made}, pipeline.Task{Inputs: source, Outputs: made}, "", "", ""},
		"older than its inputs":    {pipeline.Task{Inputs: source, Outputs: made}, pipeline.Task{Inputs: source, Outputs: old}, "", "link", ""},
		"what comes after it":      {pipeline.Task{Inputs: source, Outputs: old}, pipeline.Task{Inputs: source, Outputs: made}, "", "build link", ""},
		"outputs that are gone":    {pipeline.Task{Inputs: source, Outputs: made}, pipeline.Task{Inputs: source, Outputs: []string{"gone"}}, "build", "link", "build link"},
		"outputs of no inputs":     {pipeline.Task{Outputs: made}, pipeline.Task{Inputs: source, Outputs: made}, "", "build link", ""},
		"of another folder":        {pipeline.Task{Inputs: source, Outputs: []string{"app/made"}}, pipeline.Task{Inputs: source, Outputs: made}, "link", "build link", "build link"},
		"done by an agent":         {pipeline.Task{Agent: &pipeline.AgentWork{}}, pipeline.Task{}, "", "link", "link"},
		"but for what is left out": {pipeline.Task{Inputs: source, Outputs: []string{"*", "!old", "!source"}}, pipeline.Task{Inputs: source, Outputs: made}, "", "", ""},
	} {
		build, link := c.build, c.link
		build.Name, link.Name, link.DependsOn = "build", "link", []string{"build"}
		config := &pipeline.Config{
			Root: filepath.Join(root, "app"), Tasks: []*pipeline.Task{&build, &link, {Name: "test", DependsOn: []string{"link"}}},
		}
		run := &record.Sealed{}
		for task := range strings.FieldsSeq(c.ran) {
			run.Tasks = append(run.Tasks, record.Task{Name: task, Status: record.Passed})
		}
		base := &scratch.Base{Sub: "app", Manifest: m}
		q := &Request{Base: base, Failure: &failedtask.Failure{Config: config, Run: run, Task: config.Task("test")}}
		if got := strings.Join(names(q.stale()), " "); got != c.stale {
			t.Errorf("%s: stale is %q, want %q", name, got, c.stale)
		}
		if got := strings.Join(names(q.unmade(base)), " "); got != c.unmade {
			t.Errorf("%s: unmade is %q, want %q", name, got, c.unmade)
		}
	}
}
