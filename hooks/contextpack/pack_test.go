package contextpack

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func packOf(t *testing.T, task *pipeline.Task, log string, secrets *redact.Set) (map[string]any, []byte) {
	t.Helper()
	root := t.TempDir()
	store, run := fixtest.SealedRun(t, root, strings.ReplaceAll(log, "ROOT", root))
	task.Name = "check"
	packs := &Builder{
		Config: &pipeline.Config{Root: root, Tasks: []*pipeline.Task{task}}, Store: store, Redact: secrets,
		RunTask: func(context.Context, string, *pipeline.Task, sandbox.Box, io.Writer) (record.Task, error) {
			t.Error("an unknown program was run")
			return record.Task{}, nil
		},
	}
	b, err := packs.Pack(t.Context(), run, "check")
	fixtest.Check(t, err)
	var p map[string]any
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatalf("the pack is no JSON: %v", err)
	}
	return p, b
}

func TestPack(t *testing.T) {
	t.Parallel()
	secrets := &redact.Set{}
	secrets.Add("TOKEN", "s3cret-value")
	log := "early\n" + strings.Repeat("line\n", 3000) + "\x1b[31mred\x1b[0m at ROOT/src/a.go:1 with s3cret-value and \u202Ereversed\x07\n"
	p, b := packOf(t, &pipeline.Task{Run: pipeline.Command{Argv: []pipeline.Text{{Value: "./check.sh"}, {Value: "s3cret-value"}}}, Dir: "sub"}, log, secrets)
	tail, _ := p["log_tail"].(string)
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"the end of the log is there", strings.HasSuffix(tail, "red at ./src/a.go:1 with [redacted] and reversed\n")},
		{"at most 4 KiB of it", len(tail) <= tailLimit && strings.HasPrefix(tail, "line\n")},
		{"no secret anywhere", !strings.Contains(string(b), "s3cret-value")},
		{"at most 16 KiB", len(b) <= packLimit},
		{"how to run it again", p["run_again"] == "async-pipeline run --only check"},
		{"the folder", p["dir"] == "sub"},
		{"the exit code", p["exit_code"] == 1.0},
		{"no signal is null", p["signal"] == nil},
		{"it never passed", p["changed"].(map[string]any)["baseline"] == "none"},
		{"without git nobody knows what is dirty", p["git"].(map[string]any)["dirty"] == nil},
	} {
		if !c.ok {
			t.Errorf("%s: not so in %s", c.name, b)
		}
	}
}

// Whatever the parts are, the pack has a bound.
func TestPackIsBounded(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]*pipeline.Task{
		"long command":     {Run: pipeline.Command{Shell: pipeline.Text{Value: "true " + strings.Repeat("x", 50<<10)}}},
		"long description": {Description: strings.Repeat("d", 50<<10), Run: pipeline.Command{Shell: pipeline.Text{Value: "true"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, b := packOf(t, task, strings.Repeat("\"\\\u00e9", 5000), nil); len(b) > packLimit {
				t.Errorf("%d bytes", len(b))
			}
		})
	}
}

// What was stored with the run is what is given later, also when the task is written differently by then.
func TestPackIsStored(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store, run := fixtest.SealedRun(t, root, "first\n")
	packs := &Builder{Config: &pipeline.Config{Root: root}, Store: store}
	fixtest.Check(t, packs.WriteAll(t.Context(), run))
	stored, err := os.ReadFile(filepath.Join(run.Dir, "context", "check.json"))
	fixtest.Check(t, err)
	if b, err := packs.Pack(t.Context(), run, "check"); err != nil || string(b) != string(stored) {
		t.Errorf("Pack gives %s (%v), stored is %s", b, err, stored)
	}
	if _, err := packs.Pack(t.Context(), run, "fine"); err == nil {
		t.Error("a context pack of a task that passed")
	}
	if _, err := packs.Pack(t.Context(), run, "none"); err == nil {
		t.Error("a context pack of a task that is not in the run")
	}
}

// A context folder that is a link is neither written nor read through.
func TestPackThroughALink(t *testing.T) {
	t.Parallel()
	root, elsewhere := t.TempDir(), t.TempDir()
	store, run := fixtest.SealedRun(t, root, "log\n")
	packs := &Builder{Config: &pipeline.Config{Root: root, Tasks: []*pipeline.Task{{Name: "check"}}}, Store: store}
	context := filepath.Join(run.Dir, "context")
	for _, err := range []error{os.RemoveAll(context), os.Symlink(elsewhere, context), os.WriteFile(filepath.Join(elsewhere, "check.json"), []byte("private"), 0o600)} {
		fixtest.Check(t, err)
	}
	if err := packs.WriteAll(t.Context(), run); err == nil || !strings.Contains(err.Error(), context+" is a link") {
		t.Errorf("WritePacks: %v", err)
	}
	if b, err := packs.Pack(t.Context(), run, "check"); err == nil {
		t.Errorf("Pack: %s", b)
	}
	if b, err := os.ReadFile(filepath.Join(elsewhere, "check.json")); string(b) != "private" {
		t.Errorf("%q, %v", b, err)
	}
}

// A name that a shell would read differently is quoted, and what is not shown stands escaped: the name stays what it
// is.
func TestPackOfAnOddName(t *testing.T) {
	t.Parallel()
	const name = "check[\"it's\u202e\"]"
	packs := &Builder{Config: &pipeline.Config{}}
	b, err := packs.encode(pack{Task: name, RunAgain: "async-pipeline run --only " + shelltext.Quote(name)}, &place{})
	var p pack
	if err != nil || json.Unmarshal(b, &p) != nil || p.Task != name {
		t.Fatalf("%s, %v", b, err)
	}
	if strings.ContainsRune(string(b), '\u202e') || p.RunAgain != "async-pipeline run --only 'check[\"it'\\''s\u202e\"]'" {
		t.Errorf("%s", b)
	}
}

// Which earlier run is the baseline: the newest that passed or restored the task, whatever else became of it.
func TestLastPass(t *testing.T) {
	t.Parallel()
	s := record.At(t.TempDir())
	began := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	var ids []string
	for _, status := range []string{record.Failed, record.Passed, record.Cached, record.Failed, record.Skipped, record.Failed} {
		began = began.Add(time.Minute)
		d, err := s.Begin(began, nil, nil)
		fixtest.Check(t, err)
		r, err := d.Seal(record.Run{Status: record.Failed, ExitCode: 1, Tasks: []record.Task{{Name: "check", Status: status}}})
		fixtest.Check(t, err)
		ids = append(ids, r.ID)
	}
	for i, want := range []int{-1, -1, 1, 2, 2, 2} {
		passed, all := lastPasses(s, ids[i], []string{"check", "other"})
		got := passed["check"]
		switch {
		case want < 0 && (got != nil || !all):
			t.Errorf("before run %d: %v, %v; want none", i, got, all)
		case want >= 0 && (got == nil || got.ID != ids[want] || got.Tasks != nil):
			t.Errorf("before run %d: %v; want run %d", i, got, want)
		}
		if passed["other"] != nil || !all {
			t.Errorf("a task of no run: %v", passed["other"])
		}
	}
}

// What lies beside the root in the same work tree is named from the root.
func TestPackPlaceClean(t *testing.T) {
	t.Parallel()
	p := &place{roots: []rename{{failedtask.RootPath("/srv/repo/app"), ".$1"}, {failedtask.RootPath("/srv/repo"), "..$1"}}}
	if got := p.clean("/srv/repo/app/a.go \x1b[1m/srv/repo/lib/b.go\x1b[0m /srv/repository /srv/repo"); got != "./a.go ../lib/b.go /srv/repository .." {
		t.Errorf("%q", got)
	}
}
