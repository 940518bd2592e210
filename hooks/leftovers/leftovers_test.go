package leftovers

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// The changes of an attempt whose runner was killed are kept. How long it took nobody knows, so the record does not
// say 0. The attempts before it are in the record with what is on disk of them, and with no kind of failure.
func TestSettle(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	for _, now := range []string{cache, t.TempDir()} { // the killed runner may have had another cache folder
		settles(t, cache, now)
	}
}

func settles(t *testing.T, cache, now string) {
	t.Helper()
	root := t.TempDir()
	fixtest.Put(t, root, "a", "f:bad\n")
	store, run := fixtest.SealedRun(t, root, "it is bad\n")
	at, err := homes.Find(t.Context(), store, cache)
	fixtest.Check(t, err)
	fixtest.Check(t, os.MkdirAll(at.Work, 0o700))
	base, err := scratch.Make(t.Context(), at.Work, scratch.Source{Root: root})
	fixtest.Check(t, err)
	c, err := base.Copy(t.Context(), filepath.Join(at.Work, "agent"))
	fixtest.Check(t, err)
	fixtest.Put(t, c.Dir, "a", "f:good\n")
	d, err := draft.Begin(run.Dir, run.ID, run.Digest, "check", nil)
	fixtest.Check(t, err)
	fixtest.Check(t, d.BeginWork(1, draft.Workplace{Copy: c.Dir, Base: base.Holder(), Agent: "b", StartedAt: timestamp.Now()}))
	for _, request := range []map[string]any{
		{"input_tokens": 100, "output_tokens": 10},
		{"input_tokens": 200, "output_tokens": 20},
		{"input_tokens": 7, "output_tokens": 7, "reviewer": true},
	} {
		fixtest.Check(t, d.Transcript(1, "request", request))
	}
	fixtest.Put(t, run.Dir, "fixes/check/attempt-1.patch", "f:a patch")
	fixtest.Check(t, d.Transcript(1, "retry", map[string]any{"kind": "server_overload", "class": "transient", "evidence": "529", "decision": "retry"}))
	fixtest.Check(t, d.EndWork(1))
	fixtest.Check(t, d.Transcript(2, "request", map[string]any{"input_tokens": 3, "output_tokens": 2}))
	fixtest.Check(t, d.BeginWork(2, draft.Workplace{
		Copy: c.Dir, Base: base.Holder(), Agent: "a", Sandbox: "none", StartedAt: timestamp.Now(),
	}))
	fixtest.Check(t, d.Close())

	said, err := Settle(t.Context(), store, now, &redact.Set{}, nil, cache)
	if err != nil || len(said) != 1 || !strings.Contains(said[0], "attempt-2.patch") {
		t.Fatalf("%q, %v", said, err)
	}
	f := fixtest.Find(t, &fix.Store{Root: root, Dir: store.Dir}, run.ID, "check")
	text := string(fixtest.Read(t, filepath.Join(run.Dir, "fixes", "check.json")))
	if f.State != fix.Interrupted || len(f.Attempts) != 2 || strings.Contains(text, "duration_ms") {
		t.Fatalf("%s", text)
	}
	if a := f.Attempts[0]; a.Number != 1 || a.Agent != "b" || *a.Kind != "server_overload" || *a.Class != "transient" || *a.Evidence != "529" || a.Rescue == nil || *a.Tokens.Input != 300 ||
		*a.Tokens.Output != 30 || *a.Requests != 2 {
		t.Errorf("%s", text)
	}
	if a := f.Attempts[1]; a.Number != 2 || *a.Kind != "lifecycle_close" || a.Rescue == nil || a.Tokens.Input != nil ||
		*a.Tokens.AtLeast != 5 {
		t.Errorf("%s", text)
	}
	if notes, _ := filepath.Glob(filepath.Join(run.Dir, "fixes", "check", "*.copy.json")); len(notes) > 0 {
		t.Errorf("left: %q", notes)
	}
}

// Every run asks whether something was left. Where nothing was, no lock is taken; a copy alone, in the person's
// cache folder or in the system's temporary one, is removed.
func TestSettleNothing(t *testing.T) {
	root, cache, temp := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	fixtest.Put(t, root, "a", "f:bad\n")
	store, _ := fixtest.SealedRun(t, root, "it is bad\n")
	at, err := homes.Find(t.Context(), store, cache)
	fixtest.Check(t, err)
	fixtest.Check(t, os.MkdirAll(at.Work, 0o700))
	settle := func(bin *scratch.Bin) {
		t.Helper()
		said, err := Settle(t.Context(), store, cache, &redact.Set{}, bin)
		if err != nil || len(said) != 0 {
			t.Fatalf("%q, %v", said, err)
		}
	}
	settle(nil)
	if _, err := os.Stat(filepath.Join(store.Dir, "heal.lock")); err == nil {
		t.Error("the lock was taken")
	}
	leave := func(work string) string {
		copied := filepath.Join(work, "copy")
		fixtest.Check(t, os.MkdirAll(copied, 0o700))
		old := time.Now().Add(-48 * time.Hour)
		fixtest.Check(t, os.Chtimes(copied, old, old))
		return copied
	}
	left := leave(at.Work)
	settle(nil)
	if _, err := os.Stat(left); err == nil {
		t.Error("a copy is still there")
	}
	var full scratch.Bin // nothing is removed before it is emptied, or by it any more
	fixtest.Check(t, full.Empty())
	left = leave(at.Work)
	settle(&full)
	if entries, err := os.ReadDir(at.Work); err != nil || len(entries) != 2 || recordfile.Exists(left) {
		t.Errorf("not set aside, with a stamp: %v, %v", entries, err)
	}
	private := filepath.Join(temp, "async-pipeline-"+strconv.Itoa(os.Getuid()))
	leave(filepath.Join(private, "scratch", filepath.Base(at.Work)))
	if homes.NoWork(store, cache) {
		t.Error("the folder for temporary files was not looked at")
	}
}
