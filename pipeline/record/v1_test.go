package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// What is in testdata/v1 was written once and is never made again: today's code must read it for ever.
func TestReadsVersion1(t *testing.T) {
	t.Parallel()
	s := &Store{Root: "testdata/v1", Dir: "testdata/v1/async"}
	runs, errs := s.List()
	if len(runs) != 1 || len(errs) != 0 {
		t.Fatalf("runs %v, errors %v", runs, errs)
	}
	r := must[*Sealed](t)(s.Find("20261121T024000Z-8000"))
	if r.Digest != "sha256:4d010fd0aa80092fc2dbd7dfaf6a1763def698bd5fc69e064d87a757b0f81531" {
		t.Errorf("digest %s", r.Digest)
	}
	if r.SchemaVersion != 1 || r.Root != "/home/me/shop" || *r.Job != "verify" || r.Status != Failed || r.ExitCode != 1 || !r.CI ||
		!r.StartedAt.Equal(time.Date(2026, 11, 21, 2, 40, 0, 500e6, time.UTC)) || r.FinishedAt.Sub(r.StartedAt.Time) != 3250*time.Millisecond || r.DurationMS != 3250 {
		t.Errorf("run %+v", r.Run)
	}
	if *r.Git.Commit != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" || *r.Git.Branch != "main" || !*r.Git.Dirty || r.Healing.Mode != "ci" || *r.Healing.Reason == "" {
		t.Errorf("git %+v, healing %+v", r.Git, r.Healing)
	}
	build, test, deploy := r.Task("build"), r.Task(`test["linux"]`), r.Task("deploy")
	if build.Status != Passed || *build.ExitCode != 0 || build.Attempts != 1 || *build.DurationMS != 900 || build.Log.Bytes != 20 || build.Cache.Result != "miss" || *build.Sandbox != "none" {
		t.Errorf("build %+v", build)
	}
	if test.Status != TimedOut || *test.ExitCode != 124 || *test.Signal != "SIGTERM" || test.Log.LeftOutBytes != 9000000 || test.Cache != nil || *test.ProcessesLeft != 2 {
		t.Errorf("test %+v", test)
	}
	if deploy.Status != Skipped || *deploy.Reason != "dependency" || *deploy.BlockedBy != test.Name || deploy.ExitCode != nil || deploy.StartedAt != nil || deploy.Log != nil {
		t.Errorf("deploy %+v", deploy)
	}
	if got := string(must[[]byte](t)(r.Tail(test.Name, 5))); got != "FAIL\n" {
		t.Errorf("tail %q", got)
	}
	if lines, head := journalEnd(t, r.Dir); lines != r.Journal.Lines || head != *r.Journal.Head {
		t.Errorf("journal ends at %d, %s, sealed %+v", lines, head, r.Journal)
	}
	var g graph
	if err := json.Unmarshal(must[[]byte](t)(os.ReadFile(filepath.Join(r.Dir, "graph.json"))), &g); err != nil || len(g.Tasks) != 3 || g.Tasks[2].DependsOn[0] != test.Name {
		t.Errorf("graph %+v, %v", g, err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "context", filename.Of(test.Name)+".json")); err != nil {
		t.Error(err)
	}

	if got := must[[]string](t)(s.Interrupted()); strings.Join(got, " ") != "20261121T034000Z-8000" {
		t.Errorf("interrupted %v", got)
	}
	// Its journal ends in half a line: a copy of it can be gone on with.
	half := filepath.Join(t.TempDir(), "events.jsonl")
	check(t, os.WriteFile(half, must[[]byte](t)(os.ReadFile("testdata/v1/async/runs/20261121T034000Z-8000/events.jsonl")), 0o600))
	j := must[*journal.Journal](t)(journal.Open(half, nil, nil, nil))
	defer func() { _ = j.Close() }()
	if err := j.Event(Event{Type: "more"}); err != nil {
		t.Error(err)
	}
	if lines, _ := j.End(); lines != 2 {
		t.Errorf("%d lines", lines)
	}
}

// journalEnd reads the journal of a run and gives what its Anchor holds.
func journalEnd(t *testing.T, dir string) (int64, string) {
	t.Helper()
	f := must[*os.File](t)(os.Open(filepath.Join(dir, "events.jsonl")))
	defer func() { _ = f.Close() }()
	lines, torn, err := journal.Read(f, nil)
	if err != nil || torn || len(lines) == 0 {
		t.Fatalf("%d lines, torn %v, %v", len(lines), torn, err)
	}
	return int64(len(lines)), recordfile.Digest(lines[len(lines)-1])
}
