package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		globs string
		path  string
		want  bool
	}{
		{"**/*.go", "a/b.go", true},
		{"**/*.go", "b.go", true},
		{"**/*.go", "b.js", false},
		{"./src/**", "src/x", true},
		{"src/** !src/gen/**", "src/gen/x", false},
		{"src/** !src/gen/** src/gen/keep", "src/gen/keep", true},
		{"[", "[", false},
	} {
		if got := matches(strings.Fields(c.globs), c.path); got != c.want {
			t.Errorf("%s and %s: %v", c.globs, c.path, got)
		}
	}
}

// Which tasks verification runs: never what depends on the failed task.
func TestTasks(t *testing.T) {
	t.Parallel()
	config := &pipeline.Config{Tasks: []*pipeline.Task{
		{Name: "generate", Inputs: []string{"api/**"}},
		{Name: "build", DependsOn: []string{"generate"}},
		{Name: "test", DependsOn: []string{"build"}},
		{Name: "docs", Inputs: []string{"docs/**"}},
		{Name: "vet", DependsOn: []string{"docs"}},
		{Name: "deploy", DependsOn: []string{"test"}},
	}}
	for _, c := range []struct {
		name, sub, changed string
		verify             []string
		also               bool
		want               string
	}{
		{"inputs not touched", ".", "main.go", nil, true, "build test"},
		{"inputs touched", ".", "api/x", nil, true, "generate build test"},
		{"sub-folder", "app", "app/api/x", nil, true, "generate build test"},
		{"outside of the root", "app", "api/x", nil, true, "build test"},
		{"verify and what it waits for that no run has made", ".", "main.go", []string{"vet"}, true, "build test docs vet"},
		{"the second time without verify", ".", "main.go", []string{"vet"}, false, "build test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := &Request{
				Failure: &failedtask.Failure{Config: config, Task: config.Task("test"), Run: &record.Sealed{Run: record.Run{Tasks: []record.Task{
					{Name: "generate", Status: record.Passed},
					{Name: "build", Status: record.Passed},
					{Name: "docs", Status: record.Skipped},
					{Name: "test", Status: record.Failed},
				}}}},
				Also: c.verify, Base: &scratch.Base{Sub: c.sub}, Changes: []patch.Change{{Path: c.changed}},
			}
			var got []string
			for _, task := range q.tasks(c.also) {
				got = append(got, task.Name)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	if !Better(Unverified, "") || !Better(Verified, Suspect) || !Better(Suspect, Unverified) || Better(Unverified, Suspect) {
		t.Error("verified is better than suspect, and that than unverified")
	}
	if !Better(Unverified, Unverified) {
		t.Error("of two unverified ones the later counts")
	}
	r := Result{Verdict: Verified}
	if r.Cap("tree_changed"); r.String() != "unverified (tree_changed)" {
		t.Errorf("capped: %s", &r)
	}
	r = Result{Verdict: Suspect}
	if r.Cap("tree_changed"); r.String() != Suspect {
		t.Error("only verified is withheld")
	}
}

// Which files are the check's depends on what failed: by the core, where it is known.
func TestScopeOfCore(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "test"}
	q := &Request{
		Base: &scratch.Base{Sub: "."},
		Failure: &failedtask.Failure{
			Config: &pipeline.Config{Tasks: []*pipeline.Task{task}}, Task: task,
			Signature: testreport.Signature{Tests: []string{"adds", "flaky"}},
		},
	}
	if got := q.scope().Failing; !slices.Equal(got, []string{"adds", "flaky"}) {
		t.Errorf("failing without a core: %q", got)
	}
	q.Core = &failedtask.Core{Tests: []string{"adds"}}
	if got := q.scope().Failing; !slices.Equal(got, []string{"adds"}) {
		t.Errorf("failing: %q", got)
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	config := &pipeline.Config{Tasks: []*pipeline.Task{{Name: "build"}, {Name: "test", DependsOn: []string{"build"}}}}
	q := &Request{
		Failure: &failedtask.Failure{Config: config, Task: config.Task("test"), Run: &record.Sealed{Run: record.Run{Tasks: []record.Task{
			{Name: "build", DurationMS: new(int64(7000))},
		}}}},
		Base: &scratch.Base{Sub: "."}, Took: 5 * time.Second,
	}
	if got, want := q.Needs(), sandbox.Grace+17*time.Second; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
