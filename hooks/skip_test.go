package hooks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// proposed makes a run with a proposal that turns file a from 1 to 2.
func proposed(t *testing.T, store *record.Store, run, task, print string) *fix.Proposal {
	t.Helper()
	changes := fixtest.Change(fixtest.Files{"a": "f:1"}, fixtest.Files{"a": "f:2"})
	fixes := &fix.Store{Root: store.Root, Dir: store.Dir}
	return fixtest.SealedIn(t, fixes, run, task, changes, fixtest.Printed(print))
}

// failing is the job of a later failure of the task test.
func failing(store *record.Store, print string) *job {
	run := &record.Sealed{Run: record.Run{ID: "20261121T024000Z-0009"}}
	return &job{
		Engine: &Engine{Store: store}, walk: &walk{}, log: &progress.Log{}, print: print,
		failure: &failedtask.Failure{Run: run, Task: &pipeline.Task{Name: "test"}},
	}
}

func TestRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		print, tree string
		typed       bool
		began       string
		want        string
	}{
		"the same failure":             {"fp:1", "1", false, "", "open_proposal: run 20261121T024000Z-0001 has a proposal for this failure, which is still open"},
		"its fix is in the tree":       {"fp:1", "2", false, "", "open_proposal"},
		"its file has changed":         {"fp:1", "3", false, "", ""},
		"another failure":              {"fp:2", "1", false, "", ""},
		"a person asked":               {"fp:1", "1", true, timestamp.Of(time.Now().Add(time.Hour)), ""},
		"a person asked, another hook": {"fp:1", "1", true, timestamp.Of(time.Now().Add(-time.Hour)), "open_proposal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := record.At(t.TempDir())
			proposed(t, store, "20261121T024000Z-0001", "test", "fp:1")
			fixtest.Put(t, store.Root, "a", "f:"+c.tree)
			j := failing(store, c.print)
			j.typed, j.began = c.typed, c.began
			if got := j.repeated(t.Context()); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Rejected, and a later one applied and taken out by hand: what was decided last is said, with the command that puts
// it back.
func TestRepeatedAfterAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tree, want string }{
		"out of the tree": {"1", "applied_proposal: the fix of run 20261121T024000Z-0002 for this failure was applied, and is no longer in the tree; apply it again with: async-pipeline fix apply 20261121T024000Z-0002 test"},
		"in the tree":     {"2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := record.At(t.TempDir())
			fixtest.Put(t, store.Root, "a", "f:1")
			tree := apply.Tree{Fixes: &fix.Store{Root: store.Root, Dir: store.Dir}}
			ok := fixtest.OK(t)
			ok(tree.Reject(t.Context(), proposed(t, store, "20261121T024000Z-0001", "test", "fp:1"), "no", apply.Options{}))
			ok(tree.Apply(t.Context(), proposed(t, store, "20261121T024000Z-0002", "test", "fp:1"), apply.Options{}))
			fixtest.Put(t, store.Root, "a", "f:"+c.tree)
			j := failing(store, "fp:1")
			if got := j.repeated(t.Context()); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Too many proposals that nobody decides on: runs make no more, a person may.
func TestOpenLimit(t *testing.T) {
	t.Parallel()
	store := record.At(t.TempDir())
	j := failing(store, "fp:x")
	for i := range MostOpen {
		if got := j.repeated(t.Context()); got != "" {
			t.Fatalf("%d are open: %s", i, got)
		}
		proposed(t, store, "20261121T024000Z-0001", fmt.Sprintf("task%d", i), fmt.Sprintf("fp:%d", i))
	}
	got := j.repeated(t.Context())
	if !strings.HasPrefix(got, "open_limit: 20 proposals") {
		t.Error(got)
	}
	j.typed = true
	if got := j.repeated(t.Context()); got != "" {
		t.Errorf("a person is held back: %s", got)
	}
}
