package verify

import (
	"path"
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

// A patch touches a task by what the cache counts as its inputs, and by what it makes.
func TestTouches(t *testing.T) {
	t.Parallel()
	task := func(inputs ...string) *pipeline.Task {
		return &pipeline.Task{
			Inputs: inputs, Dir: "tools", Reads: []string{"read[1].txt"}, Dotenv: []string{"one.env"}, Outputs: []string{"made/**"},
			Run: pipeline.Command{Shell: pipeline.Text{Value: "cd .. && ./gen.sh"}},
		}
	}
	asks := &pipeline.Task{Agent: &pipeline.AgentWork{}, Inputs: []string{"notes"}, Outputs: []string{"answer.md"}}
	for _, c := range []struct {
		task *pipeline.Task
		path string
		want bool
	}{
		{task("**/*.go"), "a/b.go", true},
		{task("**/*.go"), "b.go", true},
		{task("**/*.go"), "b.js", false},
		{task("./src/**"), "src/x", true},
		{task("src/**", "!src/gen/**"), "src/gen/x", false},
		{task("src/**", "!src/gen/**", "src/gen/keep"), "src/gen/keep", true},
		{task("["), "[", false},
		{task("src"), "src/a/x", true}, // a folder without wildcards is all that is in it
		{task("src"), "srcs", false},
		{task("src", "!read[1].txt"), "read[1].txt", true},
		{task("src"), "one.env", true},
		{task("src"), "two.env", false},
		{task("src"), "made/x", true},
		{task("src"), "tools/gen.sh", true},
		{task("src"), "gen.sh", false},
		{task(), "other", true},
		{&pipeline.Task{Auto: true}, "other", true},
		{asks, "notes/a", false},
		{asks, "answer.md", true},
	} {
		for _, sub := range []string{".", "app"} {
			q := &Request{Base: &scratch.Base{Sub: sub}, Changes: []patch.Change{{Path: path.Join(sub, c.path)}}}
			if got := q.touches(c.task); got != c.want {
				t.Errorf("%v and %s in %s: %v", c.task.Inputs, c.path, sub, got)
			}
		}
	}
}

// Which tasks verification runs: never what depends on the failed task.
func TestTasks(t *testing.T) {
	t.Parallel()
	config := &pipeline.Config{Tasks: []*pipeline.Task{
		{Name: "generate", Inputs: []string{"api/**"}},
		{Name: "schema", Inputs: []string{"schema"}},
		{Name: "types", Inputs: []string{"types/**"}, DependsOn: []string{"schema"}},
		{Name: "build", DependsOn: []string{"generate", "types"}},
		{Name: "test", DependsOn: []string{"build"}},
		{Name: "docs", Inputs: []string{"docs/**"}},
		{Name: "vet", DependsOn: []string{"docs"}},
		{Name: "pages", Inputs: []string{"pages"}, DependsOn: []string{"types"}},
		{Name: "site", DependsOn: []string{"pages"}},
		{Name: "review", Agent: &pipeline.AgentWork{}, Outputs: []string{"answer.md"}},
		{Name: "format", Inputs: []string{"formats"}, DependsOn: []string{"review"}},
		{Name: "summary", DependsOn: []string{"format"}},
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
		{"what is made from something made", ".", "schema/x", []string{"site"}, true, "schema types build test pages site"},
		{"of the middle of a chain", ".", "types/x", nil, true, "types build test"},
		{"the end of a chain", ".", "pages/x", []string{"site"}, true, "build test pages site"},
		{"by way of an agent", ".", "answer.md", []string{"summary"}, true, "build test format summary"},
		{"the second time without verify", ".", "main.go", []string{"vet"}, false, "build test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := &Request{
				Failure: &failedtask.Failure{Config: config, Task: config.Task("test"), Run: &record.Sealed{Run: record.Run{Tasks: []record.Task{
					{Name: "generate", Status: record.Passed},
					{Name: "schema", Status: record.Passed},
					{Name: "types", Status: record.Cached},
					{Name: "pages", Status: record.Passed},
					{Name: "format", Status: record.Passed},
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
	if got, want := q.Needs(), sandbox.Grace+22250*time.Millisecond; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
