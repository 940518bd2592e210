package hooks

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/tree"
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
func TestToVerify(t *testing.T) {
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
			h := &healing{
				e: &Engine{Config: config}, task: config.Task("test"), hook: &pipeline.AgentHook{Verify: c.verify},
				base: &scratch.Base{Sub: c.sub},
				run: &record.Sealed{Run: record.Run{Tasks: []record.Task{
					{Name: "generate", Status: record.Passed},
					{Name: "build", Status: record.Passed},
					{Name: "docs", Status: record.Skipped},
					{Name: "test", Status: record.Failed},
				}}},
			}
			var got []string
			for _, task := range h.toVerify([]patch.Change{{Path: c.changed}}, c.also) {
				got = append(got, task.Name)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	of := func(v string) *candidate { return &candidate{verdict: v, verification: &fix.Verification{}} }
	if !of(unverified).better(nil) || !of(verified).better(of(suspect)) || !of(suspect).better(of(unverified)) || of(unverified).better(of(suspect)) {
		t.Error("verified is better than suspect, and that than unverified")
	}
	if !of(unverified).better(of(unverified)) {
		t.Error("of two unverified ones the later counts")
	}
	c := of(verified)
	c.cap("tree_changed")
	if c.verdict != unverified || *c.verification.Reason != "tree_changed" {
		t.Errorf("capped: %+v", c)
	}
	c = of(suspect)
	c.cap("tree_changed")
	if c.verdict != suspect {
		t.Error("only verified is withheld")
	}
	(*candidate)(nil).cap("x")
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
		{ended(`{"outcome": "fixed"}`), failure.OutputInvalid},
	} {
		if got, _ := emptyKind(c.turn); got != c.want {
			t.Errorf("%+v: %q, want %q", c.turn, got, c.want)
		}
	}
}

func TestNewFolders(t *testing.T) {
	t.Parallel()
	of := func(paths ...string) *tree.Manifest {
		m := &tree.Manifest{}
		for _, p := range paths {
			m.Entries = append(m.Entries, tree.Entry{Path: p})
		}
		return m
	}
	got := newFolders(of("a", "a/b", "c"), of("a", "a/b", "a/gen/x", "a/gen/y", "c", "out/deep/z", "secret.txt"))
	if want := []string{"a/gen", "out", "secret.txt"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What is kept back for verification is at most half, and too little is said once with what would have been enough.
func TestReserve(t *testing.T) {
	t.Parallel()
	h := &healing{
		e: &Engine{Config: &pipeline.Config{Tasks: []*pipeline.Task{{Name: "test"}}}}, task: &pipeline.Task{Name: "test"}, fix: &fix.Fix{},
		hook: &pipeline.AgentHook{Budget: pipeline.Budget{Attempts: 1, WallClock: time.Minute}},
		f:    &failedtask.Failure{}, run: &record.Sealed{}, gate: gateResult{took: 5 * time.Second}, base: &scratch.Base{Sub: "."},
	}
	if got := h.reserve(); got != 13*time.Second || h.fix.Note != nil {
		t.Errorf("%s, %v", got, h.fix.Note)
	}
	h.gate.took = time.Minute
	if got := h.reserve(); got != 30*time.Second || h.fix.Note == nil || !strings.Contains(*h.fix.Note, "4m7s would have been enough") {
		t.Errorf("%s, %v", got, *h.fix.Note)
	}
}

func TestPickTier(t *testing.T) {
	t.Parallel()
	if _, err := (&Engine{Tier: "full"}).pickTier(); err == nil {
		t.Error("a tier that this machine does not have is given")
	}
	if tier, err := (&Engine{Tier: sandbox.None}).pickTier(); err != nil || tier != sandbox.None {
		t.Error("what a person grants is refused", err)
	}
}

func TestIdledBefore(t *testing.T) {
	t.Parallel()
	idle := string(failure.IdleTimeout)
	h := &healing{fix: &fix.Fix{Attempts: []fix.Attempt{{Kind: &idle}}}}
	if h.idledBefore(failure.IdleTimeout) {
		t.Error("the first silence deserves one more attempt")
	}
	h.fix.Attempts = append(h.fix.Attempts, fix.Attempt{Kind: &idle})
	if !h.idledBefore(failure.IdleTimeout) {
		t.Error("the second does not")
	}
}
