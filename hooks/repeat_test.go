package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// proposed makes a run with a proposal that turns file a from 1 to 2.
func proposed(t *testing.T, store *record.Store, run, task, print string) {
	t.Helper()
	dir := filepath.Join(store.Dir, "runs", run)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	verdict := []byte(`{"schema_version":1,"id":"` + run + `","status":"failed"}` + "\n")
	if err := os.WriteFile(filepath.Join(dir, "run.json"), verdict, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(verdict)
	d, err := draft.Begin(dir, run, "sha256:"+hex.EncodeToString(sum[:]), task, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := func(text string) *patch.File { return &patch.File{Mode: 0o644, Data: []byte(text)} }
	f := &fix.Fix{State: fix.Proposed, Verdict: new("unverified"), Fingerprint: &print}
	if err := d.Propose(f, []patch.Change{{Path: "a", Before: file("1"), After: file("2")}}); err != nil {
		t.Fatal(err)
	}
	if err := d.Seal(f); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
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
		"the same failure":             {"fp:1", "1", false, "", "open_proposal: run r-1 has a proposal for this failure, which is still open"},
		"its fix is in the tree":       {"fp:1", "2", false, "", "open_proposal"},
		"its file has changed":         {"fp:1", "3", false, "", ""},
		"another failure":              {"fp:2", "1", false, "", ""},
		"a person asked":               {"fp:1", "1", true, timestamp.Of(time.Now().Add(time.Hour)), ""},
		"a person asked, another hook": {"fp:1", "1", true, timestamp.Of(time.Now().Add(-time.Hour)), "open_proposal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := record.At(t.TempDir())
			proposed(t, store, "r-1", "test", "fp:1")
			if err := os.WriteFile(filepath.Join(store.Root, "a"), []byte(c.tree), 0o600); err != nil {
				t.Fatal(err)
			}
			j := &job{
				Engine: &Engine{Store: store}, log: &progress.Log{}, failure: &failedtask.Failure{Run: &record.Sealed{Run: record.Run{ID: "r-2"}}, Task: &pipeline.Task{Name: "test"}},
				print: c.print, typed: c.typed, began: c.began,
			}
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
		"out of the tree": {"1", "applied_proposal: the fix of run r-2 for this failure was applied, and is no longer in the tree; apply it again with: async-pipeline fix apply r-2 test"},
		"in the tree":     {"2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := record.At(t.TempDir())
			file := filepath.Join(store.Root, "a")
			write := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("1")
			fixes := &fix.Store{Root: store.Root, Dir: store.Dir}
			tree := apply.Tree{Fixes: fixes}
			find := func(run string) *fix.Proposal {
				proposed(t, store, run, "test", "fp:1")
				p, err := fixes.Find(run, "test")
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			if _, err := tree.Reject(t.Context(), find("r-1"), "no", apply.Options{}); err != nil {
				t.Fatal(err)
			}
			if _, err := tree.Apply(t.Context(), find("r-2"), apply.Options{}); err != nil {
				t.Fatal(err)
			}
			write(c.tree)
			j := &job{
				Engine: &Engine{Store: store}, log: &progress.Log{}, failure: &failedtask.Failure{Run: &record.Sealed{Run: record.Run{ID: "r-3"}}, Task: &pipeline.Task{Name: "test"}},
				print: "fp:1",
			}
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
	j := &job{
		Engine: &Engine{Store: store}, log: &progress.Log{}, failure: &failedtask.Failure{Run: &record.Sealed{Run: record.Run{ID: "r-2"}}, Task: &pipeline.Task{Name: `test["it's"]`}},
		print: "fp:x",
	}
	for i := range MostOpen {
		if got := j.repeated(t.Context()); got != "" {
			t.Fatalf("%d are open: %s", i, got)
		}
		proposed(t, store, "r-1", fmt.Sprintf("task%d", i), fmt.Sprintf("fp:%d", i))
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
